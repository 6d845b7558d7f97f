//! Whom it is told what an Event said.
//!
//! Who could read an environment then is told what was said of a resource while it belonged there. What was said while it belonged
//! nowhere is told where it belonged next, since an Event may arrive before its object; and, once the resource has
//! ended, where it belonged last, as long as that environment kept the audience that it had then. An Event is about the
//! object whose uid it gives or, where it gives none, about whoever carries the name when it is said, or did last.

/// SQL of the offset from which on Events are told where the stay `s` of the resource `r` began: from its own on or, where
/// the resource came there, from where it had belonged last, of what `$others` selects as `p`. Where it belonged before `:from`,
/// or before the floor of its kind, is not known.
macro_rules! told_from {
    ($others:literal) => {
        concat!(
            "CASE WHEN s.came THEN min(s.since, max(:from,
                coalesce((SELECT max(w.floor) FROM whole w WHERE w.kind_id = r.kind_id), 0),
                coalesce((SELECT max(p.to_offset) FROM ",
            $others,
            " AND p.from_offset < s.since AND p.from_offset < p.to_offset), 0)))
            ELSE s.since END"
        )
    };
}
pub(super) use told_from;

/// SQL that joins the Events `k` that name the resource `r` without its uid.
macro_rules! named {
    () => {
        r#"JOIN kind rk ON rk.id = r.kind_id
            JOIN kube_event k ON k.uid = '' AND k.name = r.name AND k.kind = rk.kind AND k.namespace = r.namespace
                AND k."group" = rk."group" AND k.cluster_id = r.cluster_id"#
    };
}
pub(super) use named;

/// SQL of tables for `WITH`, of which `told_of` has Events by their `id`, each with offsets from which on and until which it is
/// told what they said: of `$memberships`, which ends with a table `m`, as far as `:scope` reads their environments by `:at`,
/// and of stays that are told of `$besides`. `:from` is an offset at which, or after which, what is kept begins.
macro_rules! told_of {
    ($memberships:literal, $besides:literal) => {
        concat!(
            r#"whole AS (
                SELECT k.id AS kind_id, f.floor FROM kind_floor f JOIN cluster c ON c.name = f.cluster
                JOIN kind k ON k.cluster_id = c.id AND k."group" = f."group" AND k.kind = f.kind
            ),
            held AS (
                SELECT m.environment_id AS environment, m.resource_id AS id, m.from_offset >= e.from_offset AS came,
                    max(m.from_offset, e.from_offset) AS since, min(m.to_offset, e.to_offset) AS "to", e.to_offset AS ends
                FROM "#,
            $memberships,
            " CROSS JOIN environment_audience e ON e.environment_id = m.environment_id WHERE ",
            $crate::scope::belonged!(),
            " AND ",
            $crate::scope::reads!(),
            // Rows that follow each other are one stay.
            r#"),
            begun AS (
                SELECT *, coalesce(lag("to") OVER (PARTITION BY environment, id ORDER BY since), -1) < since AS begins
                FROM held
            ),
            stay AS MATERIALIZED (
                SELECT id, max(begins AND came) AS came, min(since) AS since, max("to") AS "to", max(ends) AS ends
                FROM (SELECT *, sum(begins) OVER (PARTITION BY environment, id ORDER BY since) AS number FROM begun)
                GROUP BY environment, id, number
                "#,
            $besides,
            r#"
            ),
            ended AS MATERIALIZED (
                SELECT s.id, s."to" AS since, s.ends, v.from_offset AS went, v.to_offset AS back FROM stay s
                JOIN version v ON v.resource_id = s.id AND v.deleted = 1 AND v.from_offset BETWEEN s."to" AND min(s.ends - 1, :at)
                WHERE s."to" = (SELECT max(last.to_offset) FROM membership last WHERE last.resource_id = s.id
                    AND last.from_offset < last.to_offset AND last.to_offset <= v.from_offset)
            ),
            by_uid AS MATERIALIZED (
                SELECT s.id, "#,
            $crate::event_audience::told_from!("membership p WHERE p.resource_id = s.id"),
            r#" AS since, min(s."to" - 1, :at) AS until FROM stay s JOIN resource r ON r.id = s.id
                UNION ALL SELECT id, since, min(ends - 1, back - 1, :at) FROM ended
            ),
            told_of AS (
                SELECT k.id, s.since, s.until FROM by_uid s JOIN resource r ON r.id = s.id
                JOIN kube_event k ON k.uid = r.uid AND k.uid <> '' AND k.cluster_id = r.cluster_id
                UNION ALL
                SELECT k.id, "#,
            $crate::event_audience::told_from!(
                "resource o CROSS JOIN membership p ON p.resource_id = o.id
                    WHERE o.kind_id = r.kind_id AND o.name = r.name AND o.namespace = r.namespace"
            ),
            r#", min(s."to" - 1, :at) FROM stay s JOIN resource r ON r.id = s.id "#,
            $crate::event_audience::named!(),
            r#" UNION ALL
                SELECT k.id, s.since, min(s.ends - 1, :at, coalesce((
                        SELECT min(v.from_offset) - 1 FROM resource o CROSS JOIN version v ON v.resource_id = o.id
                        WHERE o.kind_id = r.kind_id AND o.name = r.name AND o.namespace = r.namespace
                            AND v.from_offset > s.went AND v.deleted = 0), :at))
                FROM ended s JOIN resource r ON r.id = s.id "#,
            $crate::event_audience::named!(),
            r#" WHERE s.since = (SELECT max(p.to_offset) FROM resource o CROSS JOIN membership p ON p.resource_id = o.id
                    WHERE o.kind_id = r.kind_id AND o.name = r.name AND o.namespace = r.namespace
                        AND p.from_offset < s.went AND p.from_offset < p.to_offset)
            )"#
        )
    };
}
pub(super) use told_of;

/// The resources `:of`, a number or a JSON array of some.
macro_rules! told_of_resources {
    () => {
        $crate::event_audience::told_of!(
            "json_each(:of) i CROSS JOIN membership m ON :scope IS NOT NULL AND m.resource_id = i.value",
            // Not even belonging nowhere.
            r#"UNION ALL SELECT i.value, 0, 0, :at + 1, 0 FROM json_each(:of) i WHERE :scope IS NULL"#
        )
    };
}
pub(super) use told_of_resources;
