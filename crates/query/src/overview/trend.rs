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

/// One environment goes from one health to another.
struct Move {
    time: Timestamp,
    from: Option<Health>,
    to: Option<Health>,
}

/// What environments do over a span, each in the order of its offsets.
struct Courses {
    until: Timestamp,
    all: Vec<Course>,
    moves: Vec<Move>,
}

/// Where one environment has come to.
#[derive(Clone, Copy, Default)]
struct Course {
    shown: Option<Health>,
    last: Option<LastStep>,
    /// What shows once a time of grace is over.
    pending: Option<Step>,
}

/// The last step of an environment: when it was, the number of the move that it was if it was one, and what showed before it.
#[derive(Clone, Copy)]
struct LastStep {
    time: Timestamp,
    number: Option<usize>,
    before: Option<Health>,
}

impl Courses {
    /// Of so many environments, up to a time.
    fn new(environments: usize, until: Timestamp) -> Self {
        Courses { until, all: vec![Course::default(); environments], moves: Vec::new() }
    }

    /// Takes in what holds of an environment from a time on.
    fn push(&mut self, who: usize, time: Timestamp, said: Said) {
        self.end_grace(who, time);
        let shown = if said.grace_until.is_some() { said.grace_state } else { said.state };
        self.step(who, (time, shown));
        self.all[who].pending = said.grace_until.map(|until| (until, said.state));
    }

    /// Ends a time of grace that is over before a time.
    fn end_grace(&mut self, who: usize, before: Timestamp) {
        if let Some(step) = self.all[who].pending.take().filter(|(until, _)| *until < before) {
            self.step(who, step);
        }
    }

    /// Of several steps of an environment at one time the last holds, as in its history, and where the clock was set back, the one
    /// after that.
    fn step(&mut self, who: usize, (time, to): Step) {
        let course = &mut self.all[who];
        if let Some(LastStep { number, before, .. }) = course.last.filter(|last| last.time >= time) {
            course.shown = before;
            if let Some(undone) = number.and_then(|number| self.moves.get_mut(number)) {
                undone.to = undone.from;
            }
        }
        let from = course.shown;
        let mut last = LastStep { time, number: None, before: from };
        if to != from && time <= self.until {
            last.number = Some(self.moves.len());
            self.moves.push(Move { time, from, to });
            course.shown = to;
        }
        course.last = Some(last);
    }

    /// All moves in the order of time; what came before the time from which they are counted is a move at that.
    fn finish(mut self, counted_since: Timestamp) -> Vec<Move> {
        for who in 0..self.all.len() {
            self.end_grace(who, self.until);
        }
        self.moves.retain(|one| one.from != one.to);
        for one in &mut self.moves {
            one.time = one.time.max(counted_since);
        }
        // They nearly are, since recorded time goes on with the offsets; what one environment does at one time stays in its order.
        self.moves.sort_by_key(|one| one.time);
        self.moves
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
    let mut courses = Courses::new(environments.len(), span.until);
    let mut one_by_one: Vec<usize> = (0..environments.len()).collect();
    if !scope.is_narrow() {
        let start = timeline::offset_at(log, counted_since, moment.offset)?.max(kept.offset);
        let mut look = |moves: &Moves| -> Result<Timestamp> {
            let alone = interrupted(view, moment, scope, (moves.first().min(start), start))?;
            one_by_one.retain(|who| alone.contains(&environments[*who]));
            let mut who = moves.who(environments);
            for who in who.iter_mut().filter(|who| who.is_some_and(|who| alone.contains(&environments[who])))
            {
                *who = None;
            }
            Ok(add(&mut courses, moves, moment, &who, (start, counted_since)))
        };
        let offsets = (start, moment.checkpoint());
        let lately = in_memory.moves.since(view, offsets, moment.is_newest(), &mut look)?;
        counted_since = match lately {
            Some(since) => since,
            None => look(&Moves::of(view, (start, moment.offset), environments)?),
        }?;
    }
    for who in one_by_one {
        let series = series::series_of_environment(view, log, moment, scope, environments[who], span)?;
        counted_since = counted_since.max(series.span.since);
        for mark in &series.marks {
            courses.step(who, (mark.time, mark.health));
        }
    }
    let gaps = moment.snapshot_over(view, scope, &Concerns::Everything, span.since)?.coverage.gaps;
    let edges = timeline::edges(span, parts);
    let buckets = buckets(&edges, &courses.finish(counted_since), counted_since, &gaps);
    Ok(Trend { since: span.since, until: span.until, counted_since, buckets, gaps })
}

/// Adds what environments showed since an offset and a time, or since a later one where there is no more; returns since when.
/// `who` says which environment each place is of.
fn add(
    courses: &mut Courses,
    moves: &Moves,
    moment: &Moment,
    who: &[Option<usize>],
    (start, since): (Offset, Timestamp),
) -> Timestamp {
    let first = moves.first();
    let since = moves.cut().filter(|_| first > start).map_or(since, |cut| cut.max(since));
    let (held, moved) = moves.from(start.max(first));
    for (who, said) in who.iter().zip(held) {
        if let (Some(who), Some(said)) = (who, said) {
            let grace_until = said.grace_until.filter(|until| *until > since);
            courses.push(*who, since, Said { grace_until, ..said });
        }
    }
    for Moved { place, time, said, .. } in moved.take_while(|one| one.offset <= moment.offset) {
        if let Some(who) = who[*place].filter(|_| *time <= moment.clock()) {
            courses.push(who, *time, *said);
        }
    }
    since
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

/// The parts between these edges.
fn buckets(edges: &[Timestamp], moves: &[Move], counted_since: Timestamp, gaps: &[Gap]) -> Vec<TrendBucket> {
    let (mut counts, mut rest) = (HealthCounts::default(), moves);
    let mut apply = |counts: &mut HealthCounts, until: Timestamp, most: &mut HealthCounts| {
        let (now, later) = rest.split_at(rest.partition_point(|one| one.time <= until));
        rest = later;
        for together in now.chunk_by(|one, next| one.time == next.time) {
            for one in together {
                count(counts, one.from, |count| count.saturating_sub(1));
                count(counts, one.to, |count| count + 1);
            }
            // Of no other health there are more than there were.
            for one in together {
                let now = *counts.slot(one.to);
                count(most, one.to, |most| most.max(now));
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use strandline_model::HealthCounts;

    const UNTIL: i64 = 60;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second)
    }

    fn said() -> impl Strategy<Value = Said> {
        let health = || {
            prop::option::of(prop::sample::select(&[Health::Healthy, Health::Degraded, Health::Missing][..]))
        };
        (health(), health(), prop::option::of(0..UNTIL + 20)).prop_map(|(state, grace_state, until)| Said {
            state,
            grace_state,
            grace_until: until.map(at),
        })
    }

    /// What one environment shows at a time, the end of it included.
    fn shown(rows: &[(Timestamp, Said)], time: Timestamp) -> Option<Health> {
        let (_, said) = rows.iter().rev().find(|(since, _)| *since <= time)?;
        match said.grace_until {
            // It is over where that is seen, in whatever comes later.
            Some(until) if until > time || until >= at(UNTIL) => said.grace_state,
            _ => said.state,
        }
    }

    proptest! {
        #[test]
        fn the_courses_of_environments_are_what_each_shows_at_every_time(
            rows in prop::collection::vec((0..3_usize, 0..4_i64, said()), 0..24)
        ) {
            let (mut courses, mut time) = (Courses::new(3, at(UNTIL)), 0);
            let mut by_who = vec![Vec::new(); 3];
            for (who, later, said) in rows {
                time += later;
                // A time of grace is of the future.
                let grace_until = said.grace_until.filter(|until| *until > at(time));
                let said = Said { grace_until, ..said };
                courses.push(who, at(time), said);
                by_who[who].push((at(time), said));
            }
            let mut counts = HealthCounts::default();
            let mut moves = courses.finish(at(0)).into_iter().peekable();
            for second in 0..=UNTIL {
                while let Some(Move { from, to, .. }) = moves.next_if(|next| next.time <= at(second)) {
                    count(&mut counts, from, |count| count - 1);
                    count(&mut counts, to, |count| count + 1);
                }
                let mut expected = HealthCounts::default();
                for rows in &by_who {
                    count(&mut expected, shown(rows, at(second)), |count| count + 1);
                }
                prop_assert_eq!(counts, expected, "at {}", second);
            }
        }
    }

    #[test]
    fn where_the_clock_is_set_back_what_comes_after_it_holds() {
        let mut courses = Courses::new(1, at(UNTIL));
        let steps = [(10, Health::Healthy), (20, Health::Degraded), (15, Health::Missing)];
        for (second, health) in steps {
            courses.push(0, at(second), Said { state: Some(health), grace_state: None, grace_until: None });
        }
        let moves: Vec<_> = courses.finish(at(0)).iter().map(|one| (one.time, one.from, one.to)).collect();
        let (healthy, missing) = (Some(Health::Healthy), Some(Health::Missing));
        assert_eq!(moves, [(at(10), None, healthy), (at(15), healthy, missing)]);
    }
}
