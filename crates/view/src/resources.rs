//! Resources and their versions.

use rusqlite::{OptionalExtension, params};

use super::context::{Apply, Rules};
use super::links::{self, Carried, Known, Relinked};
use super::{OPEN, health_at};
use strandline_health_lua::Judge;
use strandline_model::{DeletionCause, Health, ResourceId, ResourceKey, Stored, Timestamp, Uid, Verdict};
use strandline_object::{Object, ObjectError};

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
    /// What its labels and edges changed, where they did or it came or went.
    pub(super) relinked: Option<Relinked>,
}

/// All that the view takes from an object whatever it holds of it already.
pub(super) struct State {
    pub(super) verdict: Verdict,
    carried: Carried,
    created_at: Option<Timestamp>,
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
    if before.standing == Standing::Absent {
        introduce(at, id, key, uid, state.created_at)?;
    }
    open(at, id, &before, Some(state.verdict.health), &state.verdict, state.terminating)?;
    let relinked = links::declare(at, id, &state.carried, body)?;
    at.touched.resources.insert(id);
    Ok(Applied { before: before.standing, relinked })
}

/// Records the end of a resource; tells how it stood before and what its links were to.
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
    Ok(Applied { before: before.standing, relinked: Some(relinked) })
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

/// The last version of a resource, as it is judged by now.
struct Last {
    standing: Standing,
    health_since: Timestamp,
}

fn close(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Last> {
    let Some((from, last)) = last(at, id)? else {
        return Ok(Last { standing: Standing::Absent, health_since: at.observed_at });
    };
    let sql = "UPDATE version SET to_offset = ?3 WHERE resource_id = ?1 AND from_offset = ?2";
    at.connection.prepare_cached(sql)?.execute(params![id.0, from, at.offset.as_i64()])?;
    Ok(last)
}

/// Where the last version of a resource begins, and how the resource stands since.
fn last(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Option<(i64, Last)>> {
    let sql = "SELECT from_offset, deleted, iif(later_offset IS NULL, health, later_health),
            iif(later_offset IS NULL OR later_health IS health, health_since, later_at)
        FROM version WHERE resource_id = ?1 ORDER BY from_offset DESC LIMIT 1";
    let row = at.connection.prepare_cached(sql)?.query_row([id.0], |row| {
        let health = health_at(row, 2, "version.health")?;
        let standing = if row.get(1)? { Standing::Absent } else { Standing::Alive(health) };
        Ok((row.get(0)?, Last { standing, health_since: Timestamp::from_micros(row.get(3)?) }))
    });
    row.optional()
}

/// Adds a version; `alive` is none where it is the end.
fn open(
    at: &Apply<'_>,
    id: ResourceId,
    before: &Last,
    alive: Option<Option<Health>>,
    verdict: &Verdict,
    terminating: Option<Timestamp>,
) -> rusqlite::Result<()> {
    let moved = before.standing != alive.map_or(Standing::Absent, Standing::Alive);
    let health_since = if moved { at.observed_at } else { before.health_since };
    let sql =
        "INSERT INTO version (resource_id, from_offset, to_offset, observed_at, deleted, health, reason,
        message, rule, rule_set_id, health_since, moved, terminating, later_at, later_health, later_reason, later_message)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    let later = verdict.later.as_ref();
    at.connection.prepare_cached(sql)?.execute(params![
        id.0,
        at.offset.as_i64(),
        OPEN,
        at.observed_at.as_micros(),
        alive.is_none(),
        verdict.health.map(Stored::number),
        verdict.reason,
        verdict.message,
        verdict.rule,
        at.rules.id,
        health_since.as_micros(),
        moved,
        terminating.map(Timestamp::as_micros),
        later.map(|later| later.due(at.observed_at).as_micros()),
        later.and_then(|later| later.health).map(Stored::number),
        later.map(|later| &later.reason),
        later.map(|later| &later.message),
    ])?;
    Ok(())
}

/// How a resource stands in the view at this moment.
pub(super) fn standing(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Standing> {
    Ok(last(at, id)?.map_or(Standing::Absent, |(_, last)| last.standing))
}
