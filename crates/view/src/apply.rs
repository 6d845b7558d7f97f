//! One record, applied to the view: what follows from it alone, and then what that changes.

use rusqlite::Connection;

use super::activity_draft::{ActivityDraft, OwnChange};
use super::context::{Apply, Cache, Rules, Touched};
use super::links::Known;
use super::presence::Presence;
use super::resources::{Applied, State};
use super::{
    activity, catalog, coverage, due, environment_health, feed, homes, images, kube_events, membership,
    resources,
};
use strandline_health_lua::Judge;
use strandline_model::{Change, Offset, Record, ResourceKey, Timestamp};
use strandline_object::kube_event::{self, KubeEvent};

/// What follows from a record alone, without a look at the view.
pub(super) enum Prepared {
    /// The state of a resource.
    Resource(State),
    /// A Kubernetes Event.
    Event(KubeEvent),
    /// Nothing beyond the record itself.
    Other,
}

impl Prepared {
    pub(super) fn of(record: &Record, judge: &Judge, rules: Rules<'_>, known: &mut Known) -> Self {
        match &record.change {
            Change::Applied { key, body, .. } if key.kind.is_event() => {
                Prepared::Event(kube_event::read(body))
            }
            Change::Applied { id, body, .. } => {
                Prepared::Resource(State::of((*id, record.observed_at), body, judge, rules, known))
            }
            _ => Prepared::Other,
        }
    }
}

/// Applies a record within the caller's transaction and returns what it touched.
pub(super) fn apply(
    connection: &Connection,
    cache: &mut Cache,
    rules: Rules<'_>,
    (record, prepared): &(Record, Prepared),
) -> rusqlite::Result<Touched> {
    let mut at = begin(connection, cache, rules, (record.offset, record.observed_at));
    let own = match &record.change {
        Change::Applied { id, .. } | Change::Deleted { id, .. } => Some(*id),
        _ => None,
    };
    due::settle(&mut at, own)?;
    match (&record.change, prepared) {
        (Change::Applied { key, uid, .. }, Prepared::Event(event)) => {
            kube_events::apply(&mut at, key, uid, event)?
        }
        (Change::Applied { id, key, uid, body, changed_by, .. }, Prepared::Resource(state)) => {
            let health = state.verdict.health;
            let applied = resources::applied(&mut at, *id, key, uid, (state, body))?;
            let after = Presence::Present(health);
            let absent = applied.before == Presence::Absent;
            at.activity.set_own(*id, if absent { OwnChange::Created } else { OwnChange::Changed });
            count(&mut at, key, applied.before, after)?;
            feed::note_applied(&mut at, applied.before, state.created_at, changed_by.as_ref())?;
            match applied.relinked {
                Some(relinked) => {
                    membership::settle(&mut at, *id, (applied.before, after), relinked.owned)?;
                }
                None => membership::rejudge(&mut at, *id, health)?,
            }
        }
        // Every state is prepared; and of Events, what was counted stays counted.
        (Change::Applied { .. }, Prepared::Other) => {}
        (Change::Deleted { key, .. }, _) if key.kind.is_event() => {}
        (Change::Deleted { id, key, cause, .. }, _) => {
            let Applied { before, relinked } = resources::deleted(&mut at, *id, cause)?;
            count(&mut at, key, before, Presence::Absent)?;
            at.activity.set_own(*id, OwnChange::Deleted);
            feed::note_deleted(&mut at, cause);
            let owned = relinked.unwrap_or_default().owned;
            membership::settle(&mut at, *id, (before, Presence::Absent), owned)?;
        }
        // What was true later came with a later change.
        (Change::Forgotten { .. }, _) => {}
        // The view is built from what is left of what was recorded.
        (Change::Erased(_), _) => {}
        (Change::Coverage(mark), _) => coverage::mark(&mut at, mark)?,
        (Change::Clock(mark), _) => coverage::clock(&at, mark)?,
        (Change::Declared { source, fact, .. }, _) => catalog::declared(&mut at, *source, fact)?,
        (Change::Withdrawn { kind, name, .. }, _) => catalog::withdrawn(&mut at, *kind, name)?,
    }
    end(at)
}

/// Applies that it was this late at an offset of which retention has left no change.
pub(super) fn pass_time(
    connection: &Connection,
    cache: &mut Cache,
    rules: Rules<'_>,
    moment: (Offset, Timestamp),
) -> rusqlite::Result<Touched> {
    let mut at = begin(connection, cache, rules, moment);
    due::settle(&mut at, None)?;
    end(at)
}

fn begin<'a>(
    connection: &'a Connection,
    cache: &'a mut Cache,
    rules: Rules<'a>,
    (offset, observed_at): (Offset, Timestamp),
) -> Apply<'a> {
    let Cache { ids, segments, gaps, environments, tallies, lines, due } = cache;
    let (touched, activity) = (Touched::default(), ActivityDraft::default());
    Apply {
        connection,
        ids,
        segments,
        gaps,
        environments,
        tallies,
        lines,
        due,
        rules,
        offset,
        observed_at,
        newcomer: None,
        labels: None,
        touched,
        activity,
    }
}

/// What follows from all that a change has moved.
fn end(mut at: Apply<'_>) -> rusqlite::Result<Touched> {
    environment_health::settle(&mut at)?;
    images::note_newcomer(&mut at);
    homes::count(&mut at)?;
    activity::write(&mut at)?;
    at.tallies.end_record(at.connection)?;
    Ok(at.touched)
}

/// Counts a resource among those of its kind and namespace after it came, went or changed.
fn count(at: &mut Apply<'_>, key: &ResourceKey, before: Presence, after: Presence) -> rusqlite::Result<()> {
    let cluster = at.ids.cluster(at.connection, &key.cluster)?;
    let kind = at.ids.kind(at.connection, cluster, &key.kind)?;
    let by = match (before, after) {
        (Presence::Absent, Presence::Present(_)) => 1,
        (Presence::Present(_), Presence::Absent) => -1,
        _ => 0,
    };
    at.tallies.add_resource(kind, &key.namespace, by, at.offset);
    Ok(())
}
