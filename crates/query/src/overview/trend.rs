//! The health of many environments over a span of time.
//!
//! What all of them showed at the beginning and what moved since is taken from what is kept in memory or, where that does not
//! reach so far, from the view, so that neither environments nor parts of the span are walked one by one. Of whom a caller lost
//! or won sight meanwhile, and of a caller who sees little of all, each environment is read by itself.

use std::collections::HashSet;

use rusqlite::{Connection, named_params};

use crate::concerns::Concerns;
use crate::error::Result;
use crate::moment::Moment;
use crate::overview::moves::{Moved, Moves, Said};
use crate::question::Context;
use crate::scope::ResolvedScope;
use crate::series;
use crate::spans::Span;
use crate::timeline;
use strandline_model::{Health, HealthCounts, Offset, Timestamp};
use strandline_protocol::{Gap, Trend, TrendBucket};

/// A time from which on health is as it says.
type Step = (Timestamp, Option<Health>);

/// The health of one environment over the span.
#[derive(Default)]
struct Course {
    steps: Vec<Step>,
    /// What shows once a time of grace is over.
    pending: Option<Step>,
}

impl Course {
    /// Takes in what holds from a time on.
    fn push(&mut self, (time, said): (Timestamp, Said)) {
        self.end_grace(time);
        let shown = if said.grace_until.is_some() { said.grace_state } else { said.state };
        self.step((time, shown));
        self.pending = said.grace_until.map(|until| (until, said.state));
    }

    /// Ends a time of grace that is over before a time.
    fn end_grace(&mut self, before: Timestamp) {
        if let Some(step) = self.pending.take().filter(|(until, _)| *until < before) {
            self.step(step);
        }
    }

    /// Of several steps at one time the last holds, as in the history of one environment.
    fn step(&mut self, step: Step) {
        if self.steps.last().is_some_and(|(time, _)| *time >= step.0) {
            self.steps.pop();
        }
        self.steps.push(step);
    }
}

/// The health of environments, by the view's numbers, over a span in so many parts.
pub(super) fn trend(
    context: &mut Context<'_>,
    environments: &[i64],
    (span, parts): (Span, usize),
) -> Result<Trend> {
    let Context { view, log, moment, scope, kept: in_memory, .. } = context;
    let kept = log.compacted()?;
    let begin = if kept.offset.get() == 0 { log.observed_at(Offset::new(1))? } else { kept.observed_at };
    let mut counted_since = begin.map_or(span.until, |begin| begin.clamp(span.since, span.until));
    let mut steps: Vec<Vec<Step>> = Vec::with_capacity(environments.len());
    let mut one_by_one = Vec::new();
    if scope.is_narrow() {
        one_by_one.extend_from_slice(environments);
    } else {
        let start = timeline::offset_at(log, counted_since, moment.offset)?.max(kept.offset);
        let course = |moves: &Moves| courses(moves, moment, environments, (start, counted_since));
        let offsets = (start, moment.checkpoint());
        let lately = in_memory.moves.since(view, offsets, moment.is_newest(), course)?;
        let Courses { all, since, first } = match lately {
            Some(courses) => courses,
            None => course(&Moves::of(view, (start, moment.offset), environments)?),
        };
        counted_since = since;
        let interrupted = interrupted(view, moment, scope, (first.min(start), start))?;
        for (environment, mut course) in environments.iter().zip(all) {
            if interrupted.contains(environment) {
                one_by_one.push(*environment);
            } else {
                course.end_grace(span.until);
                steps.push(course.steps);
            }
        }
    }
    for environment in one_by_one {
        let series = series::series_of_environment(view, log, moment, scope, environment, span)?;
        counted_since = counted_since.max(series.span.since);
        steps.push(series.marks.iter().map(|mark| (mark.time, mark.health)).collect());
    }
    let gaps = moment.snapshot_over(view, scope, &Concerns::Everything, span.since)?.coverage.gaps;
    let edges = timeline::edges(span, parts);
    let buckets = buckets(&edges, moves(&steps, span, counted_since), counted_since, &gaps);
    Ok(Trend { since: span.since, until: span.until, counted_since, buckets, gaps })
}

/// The health of environments over a span.
struct Courses {
    /// Of each environment.
    all: Vec<Course>,
    /// Since when.
    since: Timestamp,
    /// The first offset that was looked at.
    first: Offset,
}

/// The health of environments since an offset and a time, or since a later one where there is no more.
fn courses(
    moves: &Moves,
    moment: &Moment,
    environments: &[i64],
    (start, since): (Offset, Timestamp),
) -> Courses {
    let mut all: Vec<Course> = environments.iter().map(|_| Course::default()).collect();
    let (first, who) = (moves.first(), moves.who(environments));
    let since = moves.cut().filter(|_| first > start).map_or(since, |cut| cut.max(since));
    let (held, moved) = moves.from(start.max(first));
    for (who, said) in who.iter().zip(held) {
        if let (Some(number), Some(said)) = (who, said) {
            let grace_until = said.grace_until.filter(|until| *until > since);
            all[*number].push((since, Said { grace_until, ..said }));
        }
    }
    for Moved { place, time, said, .. } in moved.take_while(|one| one.offset <= moment.offset) {
        if let Some(number) = who[*place].filter(|_| *time <= moment.clock()) {
            all[number].push((*time, *said));
        }
    }
    Courses { all, since, first }
}

/// Environments that ended after the first offset that was looked at and began again or, for a caller who does not see
/// everything, came to others' sight since the start.
fn interrupted(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    (first, start): (Offset, Offset),
) -> Result<HashSet<i64>> {
    let sql =
        "SELECT DISTINCT e.environment_id FROM environment_audience e INDEXED BY environment_audience_by_end
        WHERE e.to_offset > :first AND e.to_offset <= :at AND e.to_offset < 140737488355327
            AND (:scope IS NOT NULL AND e.to_offset > :start OR NOT EXISTS (SELECT 1 FROM environment_audience n
                WHERE n.environment_id = e.environment_id AND n.from_offset = e.to_offset))";
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":first": first.as_i64(), ":start": start.as_i64(), ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
    };
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// One environment goes from one health to another.
struct Move {
    time: Timestamp,
    from: Option<Health>,
    to: Option<Health>,
}

/// What all environments do within a span, in the order of time; what they were before is a move at its beginning.
fn moves(steps: &[Vec<Step>], span: Span, counted_since: Timestamp) -> Vec<Move> {
    let mut moves = Vec::new();
    for steps in steps {
        let mut from = None;
        for (time, to) in steps.iter().filter(|(time, _)| *time <= span.until) {
            if *to != from {
                moves.push(Move { time: (*time).max(counted_since), from, to: *to });
                from = *to;
            }
        }
    }
    // What one environment does at one time stays in its order.
    moves.sort_by_key(|one| one.time);
    moves
}

/// The parts between these edges.
fn buckets(
    edges: &[Timestamp],
    moves: Vec<Move>,
    counted_since: Timestamp,
    gaps: &[Gap],
) -> Vec<TrendBucket> {
    let mut counts = HealthCounts::default();
    let mut moves = moves.into_iter().peekable();
    let mut apply = |counts: &mut HealthCounts, until: Timestamp, most: &mut HealthCounts| {
        while let Some(time) = moves.peek().map(|next| next.time).filter(|time| *time <= until) {
            while let Some(Move { from, to, .. }) = moves.next_if(|next| next.time == time) {
                count(counts, from, |count| count.saturating_sub(1));
                count(counts, to, |count| count + 1);
            }
            raise(most, *counts);
        }
    };
    if let Some(first) = edges.first() {
        apply(&mut counts, *first, &mut HealthCounts::default());
    }
    let part = |edge: &[Timestamp]| {
        let (from, until) = (edge[0], edge[1]);
        let mut most = counts;
        apply(&mut counts, until, &mut most);
        let open = |gap: &Gap| gap.since < until && gap.until.is_none_or(|end| end > from);
        let covered = from >= counted_since && !gaps.iter().any(open);
        TrendBucket { from, until, environments: counts, most, covered }
    };
    edges.windows(2).map(part).collect()
}

/// Changes how many have a health; those without one are not counted.
fn count(counts: &mut HealthCounts, health: Option<Health>, change: impl Fn(u64) -> u64) {
    if health.is_some() {
        let slot = counts.slot(health);
        *slot = change(*slot);
    }
}

/// The higher of two counts of each health.
fn raise(most: &mut HealthCounts, mut now: HealthCounts) {
    for health in Health::ALL.map(Some) {
        let slot = most.slot(health);
        *slot = (*slot).max(*now.slot(health));
    }
}
