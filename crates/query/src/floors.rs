//! Kinds of which retention lets go before the rest: at moments before their floor they are not known.

use rusqlite::{Connection, OptionalExtension, named_params};

use crate::concerns::Concerns;
use crate::error::Result;
use crate::filters::ResourceRef;
use crate::gaps::counts;
use crate::scope::{ResolvedScope, clusters_asked_about, looked_at};
use strandline_model::{Offset, Timestamp, reason};
use strandline_protocol::Gap;
use strandline_sqlite::column::PackedUid;

/// The kinds that are not known at a moment, as gaps.
pub(super) fn gaps(
    view: &Connection,
    scope: &ResolvedScope,
    at: Offset,
    concerns: &Concerns<'_>,
) -> Result<Vec<Gap>> {
    let (environment, cluster) = concerns.as_sql();
    let sql = concat!(
        r#"SELECT c.name, f."group", f.kind, f.since, f.floor, f.floor_at
        FROM "#,
        clusters_asked_about!(),
        r#" c CROSS JOIN kind_floor f ON f.cluster = c.name AND f.floor > :at
        WHERE "#,
        counts!(),
        " AND (:environment IS NOT NULL OR ",
        looked_at!(cluster),
        r#") ORDER BY c.name, f."group", f.kind"#
    );
    let params = named_params! {
        ":at": at.as_i64(), ":cluster": cluster, ":environment": environment, ":scope": concerns.scope(view, scope, at)?,
    };
    let mut statement = view.prepare_cached(sql)?;
    let rows = statement.query_map(params, |row| {
        let (floor, time) = (row.get::<_, i64>(4)?, Timestamp::from_micros(row.get(5)?));
        Ok(Gap {
            cluster: row.get(0)?,
            group: row.get(1)?,
            kind: row.get(2)?,
            namespace: String::new(),
            since: Timestamp::from_micros(row.get(3)?),
            until: None,
            reason: reason::COMPACTED.to_owned(),
            message: format!(
                "the kind has a shorter retention; it is available from offset {floor} of {time}"
            ),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// From where on the kind of what carries a uid is known, where that is after the moment.
pub(super) fn of_uid(
    view: &Connection,
    at: Offset,
    resource: &ResourceRef,
) -> Result<Option<(Offset, Timestamp)>> {
    let sql = r#"SELECT f.floor, f.floor_at FROM resource r JOIN kind k ON k.id = r.kind_id
        JOIN cluster c ON c.id = r.cluster_id
        JOIN kind_floor f ON f.cluster = c.name AND f."group" = k."group" AND f.kind = k.kind
        WHERE r.uid = :uid AND (:cluster IS NULL OR c.name = :cluster) AND f.floor > :at
        ORDER BY f.floor LIMIT 1"#;
    let params = named_params! { ":uid": PackedUid(resource.uid.as_str()), ":cluster": resource.cluster, ":at": at.as_i64() };
    let found = view
        .prepare_cached(sql)?
        .query_row(params, |row| Ok((Offset::from_i64(row.get(0)?), Timestamp::from_micros(row.get(1)?))));
    Ok(found.optional()?)
}
