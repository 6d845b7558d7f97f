//! One record, applied to the view: what follows from it alone, and then what that changes.

use rusqlite::Connection;

use super::context::{Apply, Rules, Touched};
use super::happenings::{self, Happened, Own};
use super::ids::Ids;
use super::links::Known;
use super::options::Sizes;
use super::resources::{Applied, Standing, State};
use super::{catalog, coverage, due, environment_health, kube_events, membership, resource_count, resources};
use strandline_health_lua::Judge;
use strandline_model::{Change, Offset, Record, Timestamp};
use strandline_object::kube_event::{self, KubeEvent};

/// What follows from a record alone, without a look at the view.
pub(super) enum Gist {
    /// The state of a resource.
    State(State),
    /// What a Kubernetes Event says.
    Said(KubeEvent),
    /// Nothing that it does not say itself.
    Plain,
}

impl Gist {
    pub(super) fn of(record: &Record, judge: &Judge, rules: Rules<'_>, known: &mut Known) -> Self {
        match &record.change {
            Change::Applied { key, body, .. } if key.kind.is_event() => Gist::Said(kube_event::read(body)),
            Change::Applied { id, body, .. } => {
                Gist::State(State::of((*id, record.observed_at), body, judge, rules, known))
            }
            _ => Gist::Plain,
        }
    }
}

/// Applies a record within the caller's transaction and tells what it touched.
pub(super) fn apply(
    connection: &Connection,
    ids: &mut Ids,
    rules: Rules<'_>,
    sizes: Sizes,
    (record, gist): &(Record, Gist),
) -> rusqlite::Result<Touched> {
    let mut at = begin(connection, ids, rules, sizes, (record.offset, record.observed_at));
    let own = match &record.change {
        Change::Applied { id, .. } | Change::Deleted { id, .. } => Some(*id),
        _ => None,
    };
    due::settle(&mut at, own)?;
    match (&record.change, gist) {
        (Change::Applied { key, uid, .. }, Gist::Said(event)) => kube_events::said(&mut at, key, uid, event)?,
        (Change::Applied { id, key, uid, body, .. }, Gist::State(state)) => {
            let health = state.verdict.health;
            let applied = resources::applied(&mut at, *id, key, uid, (state, body))?;
            let after = Standing::Alive(health);
            let absent = applied.before == Standing::Absent;
            at.happened.own(*id, if absent { Own::Created } else { Own::Changed });
            resource_count::changed(&mut at, key, applied.before, after)?;
            match applied.relinked {
                Some(relinked) => {
                    membership::settle(&mut at, *id, (applied.before, after), relinked.owned)?;
                }
                None => membership::rejudge(&mut at, *id, health)?,
            }
        }
        // No state goes without its gist; and of Events, what was said stays said.
        (Change::Applied { .. }, Gist::Plain) => {}
        (Change::Deleted { key, .. }, _) if key.kind.is_event() => {}
        (Change::Deleted { id, key, cause, .. }, _) => {
            let Applied { before, relinked } = resources::deleted(&mut at, *id, cause)?;
            resource_count::changed(&mut at, key, before, Standing::Absent)?;
            at.happened.own(*id, Own::Deleted);
            let owned = relinked.unwrap_or_default().owned;
            membership::settle(&mut at, *id, (before, Standing::Absent), owned)?;
        }
        // What held later was told of by a later change.
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
    ids: &mut Ids,
    rules: Rules<'_>,
    sizes: Sizes,
    moment: (Offset, Timestamp),
) -> rusqlite::Result<Touched> {
    let mut at = begin(connection, ids, rules, sizes, moment);
    due::settle(&mut at, None)?;
    end(at)
}

fn begin<'a>(
    connection: &'a Connection,
    ids: &'a mut Ids,
    rules: Rules<'a>,
    sizes: Sizes,
    (offset, observed_at): (Offset, Timestamp),
) -> Apply<'a> {
    let (touched, happened) = (Touched::default(), Happened::default());
    Apply { connection, ids, rules, sizes, offset, observed_at, touched, happened }
}

/// What follows from all that a change has moved.
fn end(mut at: Apply<'_>) -> rusqlite::Result<Touched> {
    environment_health::settle(&mut at)?;
    happenings::settle(&at)?;
    Ok(at.touched)
}
