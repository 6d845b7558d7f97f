//! Resources and their versions.

use std::collections::BTreeSet;

use rusqlite::params;

use super::addresses::Address;
use super::columns::OPEN;
use super::context::{Apply, Newcomer, Rules};
use super::links::{self, Carried, Kept, Known, Relinked};
use super::presence::{Presence, last_version};
use strandline_health_lua::Judge;
use strandline_model::{DeletionCause, Health, ResourceId, ResourceKey, Timestamp, Uid, Verdict};
use strandline_object::{Object, ObjectError};
use strandline_sqlite::column::PackedUid;

/// What was known of a resource before.
struct Former {
    presence: Presence,
    health_since: Timestamp,
}

/// What a new state changed besides itself.
pub(super) struct Applied {
    /// Whether the resource was there before.
    pub(super) before: Presence,
    /// What its labels and edges changed, where they did or it came or went.
    pub(super) relinked: Option<Relinked>,
}

/// All that the view takes from an object whatever it holds of it already.
pub(super) struct State {
    pub(super) verdict: Verdict,
    carried: Carried,
    pub(super) created_at: Option<Timestamp>,
    terminating: Option<Timestamp>,
}

impl State {
    /// Reads an object; one that cannot be read is Unknown and has no links, but is there all the same.
    pub(super) fn of(
        (id, seen): (ResourceId, Timestamp),
        body: &str,
        judge: &Judge,
        rules: Rules<'_>,
        known: &mut Known,
    ) -> Self {
        match Object::parse(body) {
            Ok(object) => State {
                verdict: judge.judge(&object).seen_at(seen),
                carried: Carried::of(id, Some(&object), rules, known),
                created_at: object.metadata.creation_timestamp,
                terminating: object.metadata.deletion_timestamp,
            },
            Err(error) => State {
                verdict: unreadable(&error),
                carried: Carried::of(id, None, rules, known),
                created_at: None,
                terminating: None,
            },
        }
    }
}

fn unreadable(error: &ObjectError) -> Verdict {
    Verdict {
        health: Some(Health::Unknown),
        reason: "Unreadable".into(),
        message: error.to_string(),
        rule: "unreadable".into(),
        later: None,
    }
}

/// Records a state of a resource.
pub(super) fn applied(
    at: &mut Apply<'_>,
    id: ResourceId,
    key: &ResourceKey,
    uid: &Uid,
    (state, body): (&State, &str),
) -> rusqlite::Result<Applied> {
    let before = close(at, id)?;
    if before.presence == Presence::Absent {
        introduce(at, id, key, uid, (state, body))?;
    }
    open(at, id, &before, Some(state.verdict.health), &state.verdict, state.terminating)?;
    let relinked = links::declare(at, id, &state.carried, body)?;
    at.touched.resources.insert(id);
    Ok(Applied { before: before.presence, relinked })
}

/// Records the end of a resource; returns whether it was there before and what its links were to.
pub(super) fn deleted(
    at: &mut Apply<'_>,
    id: ResourceId,
    cause: &DeletionCause,
) -> rusqlite::Result<Applied> {
    let before = close(at, id)?;
    let reason = match cause {
        DeletionCause::Watched => "Deleted",
        DeletionCause::Relist { .. } => "MissingFromRelist",
        DeletionCause::Replaced { .. } => "Replaced",
        DeletionCause::Unfollowed { .. } => "NoLongerFollowed",
        DeletionCause::KindRemoved { .. } => "KindRemoved",
        DeletionCause::Forgotten { .. } => "Forgotten",
    };
    let (reason, message, rule) = (reason.into(), String::new(), String::new());
    let verdict = Verdict { health: None, reason, message, rule, later: None };
    open(at, id, &before, None, &verdict, None)?;
    let relinked = links::withdraw(at, id)?;
    at.touched.resources.insert(id);
    Ok(Applied { before: before.presence, relinked: Some(relinked) })
}

/// Adds a resource unless it was there in an earlier life.
fn introduce(
    at: &mut Apply<'_>,
    id: ResourceId,
    key: &ResourceKey,
    uid: &Uid,
    (state, body): (&State, &str),
) -> rusqlite::Result<()> {
    let cluster = at.ids.cluster(at.connection, &key.cluster)?;
    let kind = at.ids.kind(at.connection, cluster, &key.kind)?;
    let Kept { labels, links, images, spec } = state.carried.kept(at, body)?;
    let sql = "INSERT OR IGNORE INTO resource (id, cluster_id, kind_id, namespace, name, uid, created_at, labels, links, images, spec)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let row = params![
        id,
        cluster,
        kind,
        key.namespace,
        key.name,
        PackedUid(uid.as_str()),
        state.created_at,
        labels,
        links,
        images,
        spec,
    ];
    if at.connection.prepare_cached(sql)?.execute(row)? > 0 {
        at.lines.add_resource(id);
        at.newcomer = Some(Newcomer { id, images: BTreeSet::new() });
        let ResourceKey { kind: name_of_kind, namespace, name, .. } = key.clone();
        let uid = uid.as_str().to_owned();
        let address = Address { cluster, kind_id: kind, kind: name_of_kind, namespace, name, uid };
        at.ids.addresses.introduce(id, address);
    }
    Ok(())
}

/// Ends the last version of a resource, and returns what it was.
fn close(at: &mut Apply<'_>, id: ResourceId) -> rusqlite::Result<Former> {
    let last = if at.ids.is_newer(at.connection, id)? { None } else { last_version(at, id)? };
    let Some(last) = last else {
        return Ok(Former { presence: Presence::Absent, health_since: at.observed_at });
    };
    let sql = "UPDATE version SET to_offset = ?3 WHERE resource_id = ?1 AND from_offset = ?2";
    at.connection.prepare_cached(sql)?.execute(params![id, last.from, at.offset])?;
    Ok(Former { presence: last.presence, health_since: last.health_since })
}

/// Adds a version; `alive` is none where it is the end.
fn open(
    at: &mut Apply<'_>,
    id: ResourceId,
    before: &Former,
    alive: Option<Option<Health>>,
    verdict: &Verdict,
    terminating: Option<Timestamp>,
) -> rusqlite::Result<()> {
    at.ids.note_newest(id);
    let moved = before.presence != alive.map_or(Presence::Absent, Presence::Present);
    let lasted = if moved { 0 } else { at.observed_at.as_micros() - before.health_since.as_micros() };
    let reason = at.ids.words.text(at.connection, &verdict.reason)?;
    let rule = at.ids.words.text(at.connection, &verdict.rule)?;
    let sql =
        "INSERT INTO version (resource_id, from_offset, to_offset, observed_at, deleted, health, reason,
        message, rule, rule_set_id, lasted, moved, terminating, later_at, later_health, later_reason, later_message)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    let later = verdict.later.as_ref();
    if let Some(later) = later {
        at.due.note(later.due(at.observed_at));
    }
    at.connection.prepare_cached(sql)?.execute(params![
        id,
        at.offset,
        OPEN,
        at.observed_at,
        alive.is_none(),
        verdict.health,
        reason,
        verdict.message,
        rule,
        at.rules.id,
        lasted,
        moved,
        terminating,
        later.map(|later| later.due(at.observed_at)),
        later.and_then(|later| later.health),
        later.map(|later| &later.reason),
        later.map(|later| &later.message),
    ])?;
    Ok(())
}
