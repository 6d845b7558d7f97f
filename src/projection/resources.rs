//! Resources, their versions and labels.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};

use super::context::Apply;
use super::{OPEN, edges, health_from_i64, health_to_i64};
use crate::edges::{EdgeRef, Relations};
use crate::model::{DeletionCause, Health, ResourceId, ResourceKey, Timestamp, Uid, Verdict};
use crate::object::{Object, ObjectError};

/// Whether a resource exists and, if so, its health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Not there.
    Absent,
    /// There, with a health unless its kind has none.
    Alive(Option<Health>),
}

/// What a new state changed besides itself.
pub(super) struct Applied {
    /// How the resource stood before.
    pub(super) before: Standing,
    /// Whether it came into being or its labels or edges changed, so that it may belong elsewhere.
    pub(super) relinked: bool,
}

/// All that the view takes from an object.
pub(super) struct State {
    pub(super) verdict: Verdict,
    labels: BTreeMap<String, String>,
    edges: Vec<EdgeRef>,
    created_at: Option<Timestamp>,
    terminating: Option<Timestamp>,
}

/// Reads an object; one that cannot be read is Unknown and has no links, but is there all the same.
pub(super) fn judge(body: &str) -> State {
    Object::parse(body).map_or_else(unreadable, |object| {
        let labels = object.metadata.labels.iter();
        State {
            verdict: crate::health::assess(&object),
            labels: labels.map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            edges: crate::edges::edges(&object, &Relations::default()),
            created_at: object.metadata.creation_timestamp,
            terminating: object.metadata.deletion_timestamp,
        }
    })
}

fn unreadable(error: ObjectError) -> State {
    let verdict = Verdict {
        health: Some(Health::Unknown),
        reason: "Unreadable".into(),
        message: error.to_string(),
        rule: "unreadable".into(),
    };
    State { verdict, labels: BTreeMap::new(), edges: Vec::new(), created_at: None, terminating: None }
}

/// Records a state of a resource.
pub(super) fn applied(
    at: &mut Apply<'_>,
    id: ResourceId,
    key: &ResourceKey,
    uid: &Uid,
    state: &State,
) -> rusqlite::Result<Applied> {
    let before = close(at, id)?;
    if before == Standing::Absent {
        introduce(at, id, key, uid, state.created_at)?;
    }
    open(at, id, false, &state.verdict, state.terminating)?;
    let relabelled = relabel(at, id, &state.labels)?;
    let relinked = edges::declare(at, id, &state.edges)? | relabelled | (before == Standing::Absent);
    at.touched.resources.insert(id);
    Ok(Applied { before, relinked })
}

/// Records the end of a resource; tells how it stood before.
pub(super) fn deleted(
    at: &mut Apply<'_>,
    id: ResourceId,
    cause: &DeletionCause,
) -> rusqlite::Result<Standing> {
    let before = close(at, id)?;
    let reason = match cause {
        DeletionCause::Watched => "Deleted",
        DeletionCause::Relist { .. } => "MissingFromRelist",
        DeletionCause::Replaced { .. } => "Replaced",
        DeletionCause::Unfollowed { .. } => "NoLongerFollowed",
    };
    let verdict =
        Verdict { health: None, reason: reason.into(), message: String::new(), rule: String::new() };
    open(at, id, true, &verdict, None)?;
    edges::declare(at, id, &[])?;
    at.touched.resources.insert(id);
    Ok(before)
}

/// Adds a resource unless it was there in an earlier life.
fn introduce(
    at: &mut Apply<'_>,
    id: ResourceId,
    key: &ResourceKey,
    uid: &Uid,
    created_at: Option<Timestamp>,
) -> rusqlite::Result<()> {
    let cluster = at.ids.cluster(at.connection, &key.cluster)?;
    let kind = at.ids.kind(at.connection, cluster, &key.kind)?;
    let sql = "INSERT OR IGNORE INTO resource (id, cluster_id, kind_id, namespace, name, uid, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let created_at = created_at.map(Timestamp::as_micros);
    let row = params![id.0, cluster, kind, key.namespace, key.name, uid.as_str(), created_at];
    at.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}

fn close(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Standing> {
    let Some((from, standing)) = last(at, id)? else { return Ok(Standing::Absent) };
    let sql = "UPDATE version SET to_offset = ?3 WHERE resource_id = ?1 AND from_offset = ?2";
    at.connection.prepare_cached(sql)?.execute(params![id.0, from, at.offset.as_i64()])?;
    Ok(standing)
}

/// Where the last version of a resource begins, and how the resource stands since.
fn last(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Option<(i64, Standing)>> {
    let sql = "SELECT from_offset, deleted, health FROM version WHERE resource_id = ?1
        ORDER BY from_offset DESC LIMIT 1";
    let row = at.connection.prepare_cached(sql)?.query_row([id.0], |row| {
        let health: Option<i64> = row.get(2)?;
        let standing =
            if row.get(1)? { Standing::Absent } else { Standing::Alive(health.map(health_from_i64)) };
        Ok((row.get(0)?, standing))
    });
    row.optional()
}

fn open(
    at: &Apply<'_>,
    id: ResourceId,
    deleted: bool,
    verdict: &Verdict,
    terminating: Option<Timestamp>,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO version
        (resource_id, from_offset, to_offset, observed_at, deleted, health, reason, message, rule, terminating)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    at.connection.prepare_cached(sql)?.execute(params![
        id.0,
        at.offset.as_i64(),
        OPEN,
        at.observed_at.as_micros(),
        deleted,
        verdict.health.map(health_to_i64),
        verdict.reason,
        verdict.message,
        verdict.rule,
        terminating.map(Timestamp::as_micros)
    ])?;
    Ok(())
}

/// Makes a resource carry exactly these labels; tells whether any changed.
fn relabel(at: &Apply<'_>, id: ResourceId, labels: &BTreeMap<String, String>) -> rusqlite::Result<bool> {
    if labels_of(at, id)? == *labels {
        return Ok(false);
    }
    at.connection.prepare_cached("DELETE FROM label WHERE resource_id = ?1")?.execute([id.0])?;
    let sql = "INSERT INTO label (resource_id, name, value) VALUES (?1, ?2, ?3)";
    let mut insert = at.connection.prepare_cached(sql)?;
    for (name, value) in labels {
        insert.execute(params![id.0, name, value])?;
    }
    Ok(true)
}

fn labels_of(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut statement =
        at.connection.prepare_cached("SELECT name, value FROM label WHERE resource_id = ?1")?;
    let rows = statement.query_map([id.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// How a resource stands in the view at this moment.
pub(super) fn standing(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Standing> {
    Ok(last(at, id)?.map_or(Standing::Absent, |(_, standing)| standing))
}
