//! Kubernetes Events, folded: which notes an object got, how often, and when.
//!
//! Every Event object counts for itself and is dropped by its cluster within the hour, while controllers may go on
//! to send the same by another. So what is kept is the growth of each object's count, added to the note that the object
//! has at that time: clusters join similar Events by giving a counted object another note.
//!
//! Why: docs/decisions/0025-kubernetes-events-are-folded-not-resources.md.

use rusqlite::{OptionalExtension, params};

use super::activity;
use super::columns::OPEN;
use super::context::Apply;
use super::event_feed::reason_mark;
use strandline_model::{ResourceKey, Timestamp, Uid};
use strandline_object::kube_event::KubeEvent;
use strandline_sqlite::column::PackedUid;

/// How often an Event was counted, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tally {
    count: i64,
    first_at: i64,
    last_at: i64,
}

impl Tally {
    /// When it was said last, by the cluster's clock as far as that is not ahead of ours.
    fn said_at(&self, observed_at: Timestamp) -> i64 {
        self.last_at.min(observed_at.as_micros())
    }
}

/// Applies a state of an Event object; `uid` is the Event's own, the same in both API groups that serve it.
pub(super) fn apply(
    at: &mut Apply<'_>,
    key: &ResourceKey,
    uid: &Uid,
    event: &KubeEvent,
) -> rusqlite::Result<()> {
    if event.regarding.name.is_empty() && event.regarding.uid.is_empty() {
        return Ok(());
    }
    let cluster = at.ids.cluster(at.connection, &key.cluster)?;
    let growth = grow(at, cluster, uid, i64::from(event.count))?;
    let id = event_id(at, cluster, &key.cluster, event)?;
    let current = last(at, id)?;
    let wanted = add(current.map(|(_, tally)| tally), growth, event, at.observed_at);
    match current {
        Some((_, tally)) if tally == wanted => return Ok(()),
        Some((from, _)) => {
            let sql = "UPDATE kube_event_count SET to_offset = ?3 WHERE event_id = ?1 AND from_offset = ?2";
            at.connection.prepare_cached(sql)?.execute(params![id, from, at.offset])?;
        }
        None => {}
    }
    open(at, id, wanted)?;
    activity::write_event(at, id, current.is_none())
}

/// By how much an Event object counts further than ever before.
fn grow(at: &Apply<'_>, cluster: i64, uid: &Uid, count: i64) -> rusqlite::Result<i64> {
    let key = params![cluster, PackedUid(uid.as_str())];
    let sql = "SELECT count FROM kube_event_object WHERE cluster_id = ?1 AND uid = ?2";
    let before = at.connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
    let growth = count - before.unwrap_or(0);
    if growth <= 0 {
        return Ok(0);
    }
    let sql = "INSERT OR REPLACE INTO kube_event_object (cluster_id, uid, count, last_offset) VALUES (?1, ?2, ?3, ?4)";
    at.connection.prepare_cached(sql)?.execute(params![
        cluster,
        PackedUid(uid.as_str()),
        count,
        at.offset
    ])?;
    Ok(growth)
}

/// The tally after one more state. A new note counts once at least, even where a counted object
/// was only given another note.
fn add(current: Option<Tally>, growth: i64, event: &KubeEvent, observed_at: Timestamp) -> Tally {
    let last_at = event.last_at.unwrap_or(observed_at).as_micros();
    let first_at = event.first_at.map_or(last_at, Timestamp::as_micros);
    match current {
        None => Tally { count: growth.max(1), first_at, last_at },
        Some(current) => Tally {
            count: current.count.saturating_add(growth),
            first_at: current.first_at.min(first_at),
            last_at: current.last_at.max(last_at),
        },
    }
}

/// The view's number of an Event's note and object.
fn event_id(at: &Apply<'_>, cluster: i64, cluster_name: &str, event: &KubeEvent) -> rusqlite::Result<i64> {
    let identity = identity(cluster_name, event);
    let select = "SELECT id FROM kube_event WHERE identity = ?1";
    let found = at.connection.prepare_cached(select)?.query_row([identity], |row| row.get(0)).optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    let about = &event.regarding;
    let insert = r#"INSERT INTO kube_event
        (identity, cluster_id, "group", kind, namespace, name, uid, type, reason, note, component, reason_mark)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"#;
    at.connection.prepare_cached(insert)?.insert(params![
        identity,
        cluster,
        about.kind.group,
        about.kind.kind,
        about.namespace,
        about.name,
        PackedUid(&about.uid),
        event.r#type,
        event.reason,
        event.note,
        event.component,
        reason_mark(&event.reason)
    ])
}

/// Identifies a note and its object, the same in every view of a log.
fn identity(cluster: &str, event: &KubeEvent) -> [u8; 16] {
    let about = &event.regarding;
    let mut hasher = blake3::Hasher::new();
    for part in [
        cluster,
        &about.kind.group,
        &about.kind.kind,
        &about.namespace,
        &about.name,
        &about.uid,
        &event.r#type,
        &event.reason,
        &event.note,
        &event.component,
    ] {
        // With its length, so that no text can pass for two.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut identity = [0; 16];
    identity.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    identity
}

/// Reads where the last row of an Event begins, and its tally.
fn last(at: &Apply<'_>, id: i64) -> rusqlite::Result<Option<(i64, Tally)>> {
    let sql = "SELECT from_offset, count, first_at, last_at FROM kube_event_count WHERE event_id = ?1
        ORDER BY from_offset DESC LIMIT 1";
    let row = at.connection.prepare_cached(sql)?.query_row([id], |row| {
        let (count, first_at, last_at) = (row.get("count")?, row.get("first_at")?, row.get("last_at")?);
        Ok((row.get("from_offset")?, Tally { count, first_at, last_at }))
    });
    row.optional()
}

fn open(at: &Apply<'_>, id: i64, tally: Tally) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO kube_event_count (event_id, from_offset, to_offset, count, first_at, last_at, said_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let said_at = tally.said_at(at.observed_at);
    let Tally { count, first_at, last_at } = tally;
    let row = params![id, at.offset, OPEN, count, first_at, last_at, said_at];
    at.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}
