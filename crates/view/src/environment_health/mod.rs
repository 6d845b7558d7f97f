//! The health of environments over time.
//!
//! An environment is as healthy as the worst of its roots that have a health and count. While a kind that it holds,
//! or its cluster as a whole, is not watched it is Unknown, with what was last known kept beside it. Where users
//! give Progressing a grace time, a row has what the environment shows until that has passed: a reader knows
//! the time that it reads for, and the projector does not.
//!
//! An environment is Unknown only for gaps that concern it: its cluster's discovery, or a kind of which it holds
//! resources. One broken kind, or one API group whose server is down, must not make every environment of a cluster
//! Unknown. Answers name all gaps of its clusters all the same, because what was never seen cannot be counted. A kind that
//! is *excluded*, by choice or because it cannot be watched, is no gap: nobody promised it.
//!
//! Every offset has its row, so that any of them can be asked for. What it takes to find a row is remembered from the last
//! change on, and a row is written when it ends, or with the transaction.

mod rows;
mod state;

use std::collections::BTreeSet;

use rusqlite::Connection;

pub(super) use self::rows::{write, write_counts_of_members};
pub(super) use self::state::EnvironmentStates;
use self::state::{Place, Tallies};
use super::context::Apply;
use super::open_gaps::OpenGaps;
use strandline_model::{Health, HealthCounts, Timestamp};
use strandline_sqlite::column::VIEW;

/// One row of health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HealthRow {
    state: Option<Health>,
    since: Timestamp,
    known: Option<Health>,
    known_since: Timestamp,
    grace: Option<Grace>,
    counts: HealthCounts,
}

/// How an environment shows that has not been Progressing for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grace {
    state: Option<Health>,
    since: Timestamp,
    until: Timestamp,
}

impl HealthRow {
    /// Since when a health has been known that is known now: a time of grace, which did not show, does not end it.
    fn lasts(&self, known: Option<Health>, now: Timestamp) -> Option<Timestamp> {
        let patient = self.grace.filter(|grace| grace.until > now && grace.state == known);
        let same = (self.known == known).then_some(self.known_since);
        same.or(patient.map(|grace| grace.since))
    }

    /// What shows, from when on, and what will show later on by itself.
    fn shown(&self) -> (Option<Health>, Timestamp, Option<Grace>) {
        (self.state, self.since, self.grace)
    }
}

/// What the counted members of an environment amount to.
#[derive(Default)]
struct Members {
    counts: HealthCounts,
    worst: Option<Health>,
    /// The worst without those that are Progressing.
    settled: Option<Health>,
    /// The kinds of which there are any.
    kinds: BTreeSet<i64>,
}

/// Brings the health of every touched environment up to date.
pub(super) fn settle(at: &mut Apply<'_>) -> rusqlite::Result<()> {
    for environment in at.touched.environments.clone() {
        let wanted = judge(at, environment)?;
        let state = at.environments.get(at.connection, environment)?;
        if state.current() == wanted.as_ref() {
            continue;
        }
        let moved = state.current().map(HealthRow::shown) != wanted.as_ref().map(HealthRow::shown);
        at.environments.get_mut(at.connection, environment)?.succeed(wanted.as_ref());
        rows::close(at, environment, moved)?;
        if let Some(row) = wanted {
            rows::open(at, environment, row, moved)?;
        }
    }
    Ok(())
}

/// Counts members of a kind and health more, or less, and of these those that count.
pub(super) fn count(
    at: &mut Apply<'_>,
    environment: i64,
    of: (i64, Option<Health>),
    by: (i64, i64),
) -> rusqlite::Result<()> {
    at.environments.get_mut(at.connection, environment)?.count(of, by);
    at.touched.environments.insert(environment);
    Ok(())
}

/// The health that an environment is to have; none where there is no such environment.
fn judge(at: &mut Apply<'_>, environment: i64) -> rusqlite::Result<Option<HealthRow>> {
    let state = at.environments.get(at.connection, environment)?;
    let members = Members::of(&state.tallies)?;
    let Some(places) = state.places(at.connection, environment)? else { return Ok(None) };
    let gap = gap(at.gaps, at.connection, places, &members.kinds)?;
    let known = members.worst;
    // A gap does not end what is known, so that a short one does not make an old trouble look new.
    let current = state.current().copied();
    let mut lasts = current.and_then(|current| current.lasts(known, at.observed_at));
    if lasts.is_none() && current.is_some_and(|current| current.known_since == at.observed_at) {
        // What lasts no time does not end what was before it.
        let before = state.before(at.connection, environment)?;
        lasts = before.and_then(|before| before.lasts(known, at.observed_at));
    }
    let known_since = lasts.unwrap_or(at.observed_at);
    let (state, since, grace) = match gap {
        Some(since) => (Some(Health::Unknown), since, None),
        None => {
            let until = known_since.plus(at.rules.set.progressing_grace);
            (known, known_since, grace(current.as_ref(), &members, at.observed_at, until))
        }
    };
    Ok(Some(HealthRow { state, since, known, known_since, grace, counts: members.counts }))
}

/// How the environment shows until it has been Progressing for long enough; where nothing else is known of it, it is
/// Progressing from the start.
fn grace(current: Option<&HealthRow>, members: &Members, now: Timestamp, until: Timestamp) -> Option<Grace> {
    let patient = members.worst == Some(Health::Progressing) && members.settled.is_some() && until > now;
    patient.then(|| {
        let shown = current.map(|current| match current.grace {
            Some(grace) if grace.until > now => (grace.state, grace.since),
            _ => (current.state, current.since),
        });
        let kept = shown.filter(|(state, _)| *state == members.settled);
        Grace { state: members.settled, since: kept.map_or(now, |(_, since)| since), until }
    })
}

impl Members {
    /// The members by health, and the worst health among those that count.
    fn of(tallies: &Tallies) -> rusqlite::Result<Self> {
        let mut members = Members::default();
        for ((kind, health), tally) in tallies {
            // A stored count that is too small shows when it is counted down.
            let total = u64::try_from(tally.total)
                .map_err(|_| VIEW.impossible("member_count.total", "count", tally.total))?;
            *members.counts.slot(*health) += total;
            if tally.total > 0 {
                members.kinds.insert(*kind);
            }
            if tally.counted > 0 {
                members.worst = members.worst.max(*health);
                members.settled = members.settled.max(health.filter(|health| *health != Health::Progressing));
            }
        }
        Ok(members)
    }
}

/// Since when something that the environment holds has not been watched. Where the whole cluster may not be seen, a watch
/// of the environment's own namespace will do.
fn gap(
    gaps: &mut OpenGaps,
    connection: &Connection,
    places: &[Place],
    kinds: &BTreeSet<i64>,
) -> rusqlite::Result<Option<Timestamp>> {
    let mut since = None;
    for (cluster, namespace) in places {
        let gaps = gaps.of(connection, *cluster)?;
        for gap in &gaps.open {
            let is_here = gap.namespace.is_empty() || namespace.is_empty() || gap.namespace == *namespace;
            let is_earlier = since.is_none_or(|since| gap.since < since);
            if is_here
                && is_earlier
                && (gap.is_discovery || kinds.contains(&gap.kind))
                && (!gap.namespace.is_empty() || !gaps.watched.has(connection, gap.kind, namespace)?)
            {
                since = Some(gap.since);
            }
        }
    }
    Ok(since)
}
