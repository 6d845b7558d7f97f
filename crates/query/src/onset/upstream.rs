//! What something hangs on: from it up its owners and along its edges to causes.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, Statement, named_params};

use crate::error::Result;
use crate::judged::judged;
use crate::onset::rank::Links;
use strandline_model::Health;
use strandline_sqlite::column::VIEW;

/// The most resources that are met.
const MET_MAX: usize = 1000;

/// What any of `:of` hung on at some time between `:from` and `:at`, as far as it ever arrived, with who hangs on it:
/// its own word by uid and by address, the word of others, and what selects it.
macro_rules! causes {
    ($kinds:literal) => {
        concat!(
            "SELECT e.declared_by AS hangs, far.id AS cause FROM json_each(:of) i JOIN edge e ON e.declared_by = i.value
                JOIN far f ON f.id = e.far_id AND f.uid <> '' JOIN resource me ON me.id = e.declared_by
                JOIN resource far ON far.uid = f.uid AND far.cluster_id = me.cluster_id
                WHERE e.outward = 0 AND e.from_offset <= :at AND e.to_offset > :from AND e.kind ", $kinds,
            " UNION SELECT e.declared_by, far.id FROM json_each(:of) i JOIN edge e ON e.declared_by = i.value
                JOIN far f ON f.id = e.far_id AND f.uid = '' AND f.name <> ''
                JOIN resource far ON far.kind_id = f.kind_id AND far.namespace = f.namespace AND far.name = f.name
                WHERE e.outward = 0 AND e.from_offset <= :at AND e.to_offset > :from AND e.kind ", $kinds,
            " UNION SELECT me.id, e.declared_by FROM json_each(:of) i JOIN resource me ON me.id = i.value
                JOIN far f ON f.uid = me.uid AND f.uid <> '' JOIN edge e ON e.far_id = f.id
                JOIN resource it ON it.id = e.declared_by AND it.cluster_id = me.cluster_id
                WHERE e.outward = 1 AND e.from_offset <= :at AND e.to_offset > :from AND e.kind ", $kinds,
            " UNION SELECT me.id, e.declared_by FROM json_each(:of) i JOIN resource me ON me.id = i.value
                JOIN far f ON f.kind_id = me.kind_id AND f.name = me.name AND f.namespace = me.namespace AND f.uid = ''
                JOIN edge e ON e.far_id = f.id
                WHERE e.outward = 1 AND e.from_offset <= :at AND e.to_offset > :from AND e.kind ", $kinds,
            " UNION SELECT s.resource_id, s.declared_by FROM json_each(:of) i JOIN selected s ON s.resource_id = i.value
                WHERE s.outward = 1 AND s.from_offset <= :at AND s.to_offset > :from AND s.kind ", $kinds,
            " UNION SELECT s.declared_by, s.resource_id FROM json_each(:of) i JOIN selected s ON s.declared_by = i.value
                WHERE s.outward = 0 AND s.from_offset <= :at AND s.to_offset > :from AND s.kind ", $kinds
        )
    };
}

/// Offsets between which links are looked at: after the first, up to the second.
pub(super) type Between = (i64, i64);

/// What the sick hang on, themselves included, with how many links away.
pub(super) fn of(view: &Connection, between: Between, sick: &[i64]) -> Result<HashMap<i64, u64>> {
    met(view, between, sick, causes!(">= 0"))
}

/// Who owns the sick, themselves included: what these say of their health sums up what is below.
pub(super) fn above(view: &Connection, between: Between, sick: &[i64]) -> Result<HashSet<i64>> {
    Ok(met(view, between, sick, causes!("= 0"))?.into_keys().collect())
}

fn met(view: &Connection, between: Between, sick: &[i64], sql: &str) -> Result<HashMap<i64, u64>> {
    let mut met: HashMap<i64, u64> = sick.iter().map(|id| (*id, 0)).collect();
    let (mut edge, mut steps) = (sick.to_vec(), 0);
    let mut statement = view.prepare_cached(sql)?;
    while !edge.is_empty() && met.len() < MET_MAX {
        steps += 1;
        let mut next = Vec::new();
        for (_, cause) in pairs(&mut statement, between, &edge)? {
            if met.len() < MET_MAX && !met.contains_key(&cause) {
                met.insert(cause, steps);
                next.push(cause);
            }
        }
        edge = next;
    }
    Ok(met)
}

/// Whether a resource was there and needed no attention just before an offset.
pub(super) fn was_well(view: &Connection, resource: i64, offset: i64) -> Result<bool> {
    let sql = concat!(
        "SELECT ",
        judged!("health"),
        " FROM version v WHERE v.resource_id = :id AND v.from_offset <= :at ORDER BY v.from_offset DESC LIMIT 1"
    );
    let params = named_params! { ":id": resource, ":at": offset - 1 };
    let health = |row: &Row<'_>| VIEW.get_at::<Option<Health>>(row, 0, "version.health");
    let before = view.prepare_cached(sql)?.query_row(params, health).optional()?;
    Ok(before.is_some_and(|health| !health.is_some_and(Health::needs_attention)))
}

/// What each of these hangs on directly.
pub(super) fn direct(view: &Connection, between: Between, of: &[i64]) -> Result<Links> {
    links(view, between, of, causes!(">= 0"))
}

/// The owners of each of these, as far as they have any.
pub(super) fn owners(view: &Connection, between: Between, owned: &[i64]) -> Result<Links> {
    links(view, between, owned, causes!("= 0"))
}

/// What each of these says itself that it acts on: what it routes to, scales, or is put on.
pub(super) fn acts_on(view: &Connection, between: Between, of: &[i64]) -> Result<Links> {
    let sql = "SELECT e.declared_by, it.id FROM json_each(:of) i JOIN edge e ON e.declared_by = i.value
            JOIN far f ON f.id = e.far_id AND f.uid <> '' JOIN resource me ON me.id = e.declared_by
            JOIN resource it ON it.uid = f.uid AND it.cluster_id = me.cluster_id
            WHERE e.outward = 1 AND e.from_offset <= :at AND e.to_offset > :from
        UNION SELECT e.declared_by, it.id FROM json_each(:of) i JOIN edge e ON e.declared_by = i.value
            JOIN far f ON f.id = e.far_id AND f.uid = '' AND f.name <> ''
            JOIN resource it ON it.kind_id = f.kind_id AND it.namespace = f.namespace AND it.name = f.name
            WHERE e.outward = 1 AND e.from_offset <= :at AND e.to_offset > :from";
    links(view, between, of, sql)
}

fn links(view: &Connection, between: Between, of: &[i64], sql: &str) -> Result<Links> {
    let mut statement = view.prepare_cached(sql)?;
    let mut found = Links::new();
    for (one, other) in pairs(&mut statement, between, of)? {
        if one != other {
            found.entry(one).or_default().push(other);
        }
    }
    Ok(found)
}

fn pairs(statement: &mut Statement<'_>, (from, at): Between, of: &[i64]) -> Result<Vec<(i64, i64)>> {
    let of = serde_json::json!(of).to_string();
    let params = named_params! { ":of": of, ":from": from, ":at": at };
    let rows = statement.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
