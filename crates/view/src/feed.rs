//! The feed of changes: what somebody asked for, apart from what controllers do and report.
//!
//! What has an owner is made by it, and is left out. Of the rest a change is one of what is asked for: the spec, or
//! whatever else the object holds besides its metadata and status; or that it is there at all. A field manager that ever wrote
//! a status in an environment is a controller there, whatever its name, but for GitOps tools: whether its changes are shown is
//! for who asks.

use std::time::Duration;

use rusqlite::params;

use super::activity_draft::Request;
use super::context::Apply;
use super::event_feed::Said;
use super::presence::Presence;
use strandline_model::{ChangedBy, DeletionCause, Happening, Timestamp};
use strandline_object::Object;

/// What is seen for the first time so long after it was created was there before it was watched; and clusters keep what
/// they report no longer than this.
const NEW: Duration = Duration::from_secs(3600);

/// Members of an object that do not say what is asked of it.
const NOT_ASKED: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// Kinds that programs write for programs, all the time.
const BOOKKEEPING: [(&str, &str); 3] =
    [("coordination.k8s.io/", "Lease"), ("v1", "Endpoints"), ("discovery.k8s.io/", "EndpointSlice")];

/// A digest of what is asked of a resource; none where something owns it, or it is there for programs alone.
pub(super) fn spec_digest(object: &Object<'_>) -> Option<i64> {
    let of = |(group, kind): &(&str, &str)| object.kind == *kind && object.api_version.starts_with(group);
    if !object.metadata.owner_references.is_empty() || BOOKKEEPING.iter().any(of) {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    for (name, text) in object.fields().filter(|(name, _)| !NOT_ASKED.contains(name)) {
        for part in [name, text] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
    }
    hasher.finalize().as_bytes().first_chunk().map(|first| i64::from_le_bytes(*first))
}

/// Notes whether somebody asked for a new state of the record's resource, and who is known for a controller by it.
pub(super) fn note_applied(
    at: &mut Apply<'_>,
    before: Presence,
    created_at: Option<Timestamp>,
    by: Option<&ChangedBy>,
) -> rusqlite::Result<()> {
    let by = by.filter(|by| !by.manager.is_empty());
    let (old, new) = at.activity.spec;
    let is_asked = match before {
        Presence::Absent => {
            new.is_some() && created_at.is_some_and(|created| created.plus(NEW) >= at.observed_at)
        }
        Presence::Present(_) => old.is_some() && new.is_some() && old != new,
    };
    // Of a state with another spec that was read late the last writer is known, who may have written the status alone.
    let writer = by.filter(|by| !by.wrote_status());
    if let Some(by) = by.filter(|by| by.wrote_status() && !by.is_gitops_tool()) {
        at.activity.reporter = Some(at.ids.manager(at.connection, &by.manager)?);
    }
    if is_asked {
        let manager = writer.map(|by| at.ids.manager(at.connection, &by.manager)).transpose()?;
        at.activity.request = Some(Request { manager });
    }
    Ok(())
}

/// Notes that the record's resource ended, where that was seen and is no end of watching it. Who asked for it, no cluster says.
pub(super) fn note_deleted(at: &mut Apply<'_>, cause: &DeletionCause) {
    let is_seen = match cause {
        DeletionCause::Watched | DeletionCause::Relist { .. } | DeletionCause::Replaced { .. } => true,
        DeletionCause::Unfollowed { .. }
        | DeletionCause::KindRemoved { .. }
        | DeletionCause::Forgotten { .. } => false,
    };
    if is_seen && at.activity.spec.0.is_some() {
        at.activity.request = Some(Request { manager: None });
    }
}

/// Writes a Warning for an environment, unless it was said long ago: an environment that is declared today has not seen what
/// its resources went through before.
pub(super) fn insert_warning(at: &Apply<'_>, environment: i64, said: &Said) -> rusqlite::Result<()> {
    if !said.is_warning || said.said_at.plus(NEW) < at.observed_at {
        return Ok(());
    }
    insert(at, environment, Happening::Warned, said.event, None)
}

/// Writes an entry for an environment.
pub(super) fn insert(
    at: &Apply<'_>,
    environment: i64,
    what: Happening,
    subject: i64,
    manager: Option<i64>,
) -> rusqlite::Result<()> {
    let sql = r#"INSERT OR IGNORE INTO feed ("offset", environment_id, what, subject, observed_at, manager_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)"#;
    let row = params![at.offset, environment, what, subject, at.observed_at, manager];
    at.connection.prepare_cached(sql)?.execute(row)?;
    Ok(())
}
