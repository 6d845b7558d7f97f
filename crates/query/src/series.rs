//! The health of an environment or a resource as a series of states over time.

use rusqlite::{Connection, Row, named_params};

use crate::error::Result;
use crate::judged::{later, later_columns, word};
use crate::moment::Moment;
use crate::scope::{ResolvedScope, belonged, reads};
use crate::spans::Span;
use strandline_log::LogReader;
use strandline_model::{Health, Offset, Timestamp};
use strandline_protocol::{HealthHistory, HealthInterval, HealthTime, LaterHealth};
use strandline_sqlite::column::VIEW;

/// The most moves of health that one answer looks at.
const MOVES_MAX: usize = 10_000;

/// Worsening this often within an hour is flapping.
const FLAPS: u64 = 3;
const HOUR: std::time::Duration = std::time::Duration::from_secs(3600);

/// A moment from which on health is as it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) offset: i64,
    pub(super) time: Timestamp,
    pub(super) health: Option<Health>,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) rule_set: String,
}

/// Offsets between which something is in sight of the caller, the later one not among them.
pub(super) type VisibleRange = (i64, i64);

/// The health of something over a span, as far as it is in sight.
pub(super) struct HealthSeries {
    /// The marks since the beginning of the span and the one before, the earliest first; no two neighbours are alike.
    pub(super) marks: Vec<Mark>,
    /// When it was in sight, the earliest first.
    pub(super) sight: Vec<VisibleRange>,
    /// Begins later than was asked for where there are too many marks to look at.
    pub(super) span: Span,
}

impl HealthSeries {
    /// The marks within a span, with the health before each. What had none and has none did not change.
    pub(super) fn moves_within(&self, span: Span) -> impl Iterator<Item = (&Mark, Option<Health>)> {
        let before = std::iter::once(None).chain(self.marks.iter().map(|mark| mark.health));
        let moves = self.marks.iter().zip(before).filter(|(mark, before)| mark.health != *before);
        moves.filter(move |(mark, _)| span.since <= mark.time && mark.time <= span.until)
    }

    /// What it amounts to, with at most so many intervals.
    pub(super) fn history(&self, limit: usize) -> HealthHistory {
        summary(&self.marks, self.span, limit)
    }
}

/// The health of an environment, by the view's number of it, as far as the caller may read it.
pub(super) fn series_of_environment(
    view: &Connection,
    log: &LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    number: i64,
    span: Span,
) -> Result<HealthSeries> {
    let sql = concat!(
        "SELECT e.from_offset, e.to_offset FROM environment_audience e
        WHERE e.environment_id = :id AND e.from_offset <= :at AND ",
        reads!(),
        " ORDER BY e.from_offset DESC LIMIT :limit"
    );
    let sight = sight(view, sql, number, moment.offset, scope)?;
    let marks = marks(view, OF_ENVIRONMENT, moment.offset, number, span)?;
    course(log, marks, sight, span)
}

/// The health of a resource, by the log's number of it, as far as it belonged to what the caller may read.
pub(super) fn series_of_resource(
    view: &Connection,
    log: &LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    number: i64,
    span: Span,
) -> Result<HealthSeries> {
    let sql = concat!(
        "SELECT max(m.from_offset, e.from_offset), min(m.to_offset, e.to_offset)
        FROM membership m CROSS JOIN environment_audience e ON e.environment_id = m.environment_id
        WHERE m.resource_id = :id AND ",
        belonged!(),
        " AND ",
        reads!(),
        " ORDER BY 1 DESC LIMIT :limit"
    );
    let sight = if scope.is_everything() {
        vec![(0, i64::MAX)]
    } else {
        sight(view, sql, number, moment.offset, scope)?
    };
    let marks = marks(view, OF_RESOURCE, moment.offset, number, span)?;
    course(log, marks, sight, span)
}

/// When something was in sight, the earliest first, what touches joined.
fn sight(
    view: &Connection,
    sql: &str,
    number: i64,
    at: Offset,
    scope: &ResolvedScope,
) -> Result<Vec<VisibleRange>> {
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":id": number, ":at": at.as_i64(), ":scope": scope.as_sql(), ":limit": MOVES_MAX as i64,
    };
    let rows = statement.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut all = rows.collect::<rusqlite::Result<Vec<VisibleRange>>>()?;
    all.sort_unstable();
    let mut joined: Vec<VisibleRange> = Vec::new();
    for (from, to) in all {
        // An end after the moment is not known at it, even where both are of the same microsecond.
        let to = if to > at.as_i64() { i64::MAX } else { to };
        match joined.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => joined.push((from, to)),
        }
    }
    Ok(joined)
}

/// What a row says, given since and until when it holds: the latest first.
type Said = fn(&Row<'_>, Timestamp, Timestamp) -> rusqlite::Result<Vec<Mark>>;

/// The marks since the beginning of a span and the one before, the earliest first. A row's second column is its time.
fn marks(
    view: &Connection,
    (sql, said): (&str, Said),
    at: Offset,
    number: i64,
    span: Span,
) -> Result<Vec<Mark>> {
    let mut statement = view.prepare_cached(sql)?;
    let mut rows =
        statement.query(named_params! { ":id": number, ":at": at.as_i64(), ":limit": MOVES_MAX as i64 })?;
    let mut marks = Vec::new();
    // Until when the row that is read holds, which is what the one after it says.
    let mut end = span.until;
    while let Some(row) = rows.next()? {
        let time = Timestamp::from_micros(row.get(1)?);
        marks.extend(said(row, time, end)?);
        // What it was just before the span decides whether it changed at its beginning.
        if time < span.since {
            break;
        }
        end = time;
    }
    marks.reverse();
    Ok(marks)
}

const OF_ENVIRONMENT: (&str, Said) = (
    "SELECT h.from_offset, h.observed_at, h.state, s.name, h.grace_state, h.grace_until
        FROM environment_health h JOIN rule_set s ON s.id = h.rule_set_id
        WHERE h.environment_id = :id AND h.from_offset <= :at ORDER BY h.from_offset DESC LIMIT :limit",
    environment_said,
);

fn environment_said(row: &Row<'_>, time: Timestamp, end: Timestamp) -> rusqlite::Result<Vec<Mark>> {
    let (offset, rule_set): (i64, String) = (row.get(0)?, row.get(3)?);
    let mark = |time, health| {
        let (reason, message) = (String::new(), String::new());
        Mark { offset, time, health, reason, message, rule_set: rule_set.clone() }
    };
    let state = VIEW.get_at(row, 2, "environment_health.state")?;
    let Some(patience) = row.get::<_, Option<i64>>(5)?.map(Timestamp::from_micros) else {
        return Ok(vec![mark(time, state)]);
    };
    let over = (patience < end).then(|| mark(patience, state));
    let meanwhile = VIEW.get_at(row, 4, "environment_health.grace_state")?;
    Ok(over.into_iter().chain([mark(time, meanwhile)]).collect())
}

const OF_RESOURCE: (&str, Said) = (
    concat!(
        "SELECT v.from_offset, v.observed_at, v.health, ",
        word!("reason"),
        ", v.message, s.name, ",
        later_columns!(),
        " FROM version v JOIN rule_set s ON s.id = v.rule_set_id
        WHERE v.resource_id = :id AND v.from_offset <= :at AND v.moved = 1 ORDER BY v.from_offset DESC LIMIT :limit"
    ),
    resource_said,
);

/// The end of a resource is a mark without health. A state that lasted for too long is a second one.
fn resource_said(row: &Row<'_>, time: Timestamp, _: Timestamp) -> rusqlite::Result<Vec<Mark>> {
    let (reason, message, rule_set) = (row.get(3)?, row.get(4)?, row.get(5)?);
    let health = VIEW.get_at(row, 2, "version.health")?;
    let first = Mark { offset: row.get(0)?, time, health, reason, message, rule_set };
    let later = later(row, 6)?;
    let then = later.and_then(|LaterHealth { at, health, reason, message, offset }| {
        let (offset, rule_set) = (offset?.as_i64(), first.rule_set.clone());
        Some(Mark { offset, time: at, health, reason, message, rule_set })
    });
    Ok(then.into_iter().chain([first]).collect())
}

/// What of the marks is in sight: as things stood when it came into sight, then as they changed, until it left.
fn clipped(log: &LogReader, marks: &[Mark], sight: &[VisibleRange]) -> Result<Vec<Mark>> {
    let mut seen = Vec::new();
    for &(from, to) in sight {
        // What stands at an offset may hold only later, when a grace time is over.
        let first = marks.partition_point(|mark| mark.offset <= from);
        let last = marks.partition_point(|mark| mark.offset < to);
        let (before, after) =
            (marks.get(..first).unwrap_or_default(), marks.get(first..last).unwrap_or_default());
        if let Some(latest) = before.last() {
            let came = log.observed_at(Offset::from_i64(from))?.unwrap_or(latest.time);
            let held = before.iter().rposition(|mark| mark.time <= came).unwrap_or(0);
            let still = before.get(held..).unwrap_or_default().iter();
            seen.extend(still.map(|mark| Mark {
                offset: mark.offset.max(from),
                time: mark.time.max(came),
                ..mark.clone()
            }));
        }
        seen.extend(after.iter().cloned());
        let Some(end) = seen.last().filter(|_| to != i64::MAX) else { continue };
        if let Some(time) = log.observed_at(Offset::from_i64(to))? {
            let rule_set = end.rule_set.clone();
            let (reason, message) = (String::new(), String::new());
            seen.push(Mark { offset: to, time, health: None, reason, message, rule_set });
        }
    }
    Ok(seen)
}

fn course(log: &LogReader, marks: Vec<Mark>, sight: Vec<VisibleRange>, span: Span) -> Result<HealthSeries> {
    let complete = marks.len() < MOVES_MAX;
    let mut marks = clipped(log, &marks, &sight)?;
    marks.retain(|mark| mark.time <= span.until);
    let marks = lasting(marks);
    let since = match marks.first() {
        Some(first) if !complete => first.time.max(span.since),
        _ => span.since,
    };
    Ok(HealthSeries { marks, sight, span: Span { since, ..span } })
}

/// The marks that begin an interval: of several at one time the last holds, and what is alike goes on.
fn lasting(marks: Vec<Mark>) -> Vec<Mark> {
    let mut kept: Vec<Mark> = Vec::new();
    for mark in marks {
        if kept.last().is_some_and(|last| last.time >= mark.time) {
            kept.pop();
        }
        kept.push(mark);
    }
    kept.dedup_by(|next, mark| next.health == mark.health);
    kept
}

/// What the marks amount to within a span.
fn summary(marks: &[Mark], span: Span, limit: usize) -> HealthHistory {
    let mut history = HealthHistory {
        since: span.since,
        until: span.until,
        intervals: Vec::new(),
        truncated: false,
        times: Vec::new(),
        worsened: 0,
        flapping: false,
    };
    let mut flaps = 0;
    for (place, mark) in marks.iter().enumerate().rev() {
        let until = marks.get(place + 1).map(|next| next.time);
        let end = until.unwrap_or(span.until);
        if end < span.since || (end == span.since && until.is_some()) {
            break;
        }
        count(&mut history.times, mark.health, span, mark.time, end);
        // What was not known for a time went on as it was, as far as anybody can say.
        let earlier = marks.get(..place).unwrap_or_default().iter().rev();
        let before = earlier.map(|mark| mark.health).find(|health| *health != Some(Health::Unknown));
        let worse = before.is_some_and(|before| worsened(before, mark.health));
        if worse && mark.time >= span.since {
            history.worsened += 1;
            flaps += u64::from(mark.time >= span.until.minus(HOUR));
        }
        if history.intervals.len() < limit {
            history.intervals.push(interval(mark, until, end));
        } else {
            history.truncated = true;
        }
    }
    history.flapping = flaps >= FLAPS;
    history
}

/// Whether something went wrong: what is on its way has not, or every rollout would count, and what is not known may not have.
fn worsened(before: Option<Health>, after: Option<Health>) -> bool {
    before.is_some() && after > before && matches!(after, Some(Health::Missing | Health::Degraded))
}

fn interval(mark: &Mark, until: Option<Timestamp>, end: Timestamp) -> HealthInterval {
    HealthInterval {
        health: mark.health,
        from: mark.time,
        until,
        lasted_ms: millis(mark.time, end),
        offset: Offset::from_i64(mark.offset),
        reason: mark.reason.clone(),
        message: mark.message.clone(),
        rule_set: mark.rule_set.clone(),
    }
}

/// Adds the part of an interval that lies within the span to the time spent in its health.
fn count(times: &mut Vec<HealthTime>, health: Option<Health>, span: Span, from: Timestamp, end: Timestamp) {
    let lasted = millis(from.max(span.since), end);
    match times.iter_mut().find(|time| time.health == health) {
        Some(time) => {
            time.total_ms += lasted;
            time.intervals += 1;
        }
        None => times.push(HealthTime { health, total_ms: lasted, intervals: 1 }),
    }
}

fn millis(from: Timestamp, until: Timestamp) -> u64 {
    u64::try_from(until.since(from).as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_795_176_000_000_000);

    fn minute(minute: u64) -> Timestamp {
        START.plus(std::time::Duration::from_secs(60 * minute))
    }

    fn marks(healths: &[(u64, Option<Health>)]) -> Vec<Mark> {
        let mark = |&(at, health): &(u64, Option<Health>)| Mark {
            offset: at as i64 + 1,
            time: minute(at),
            health,
            reason: String::new(),
            message: String::new(),
            rule_set: "4".into(),
        };
        healths.iter().map(mark).collect()
    }

    const GOOD: Option<Health> = Some(Health::Healthy);
    const BUSY: Option<Health> = Some(Health::Progressing);
    const BAD: Option<Health> = Some(Health::Degraded);

    #[test]
    fn intervals_are_told_newest_first_and_counted_within_the_span() {
        let marks = marks(&[(0, GOOD), (10, BUSY), (12, BAD), (20, GOOD)]);
        let told = summary(&marks, Span { since: minute(5), until: minute(30) }, 3);
        let intervals: Vec<_> = told
            .intervals
            .iter()
            .map(|one| (one.health, one.from, one.until, one.lasted_ms / 60_000))
            .collect();
        assert_eq!(
            intervals,
            [
                (GOOD, minute(20), None, 10),
                (BAD, minute(12), Some(minute(20)), 8),
                (BUSY, minute(10), Some(minute(12)), 2),
            ]
        );
        assert!(told.truncated && !told.flapping);
        assert_eq!(told.worsened, 1, "to be on its way is no worsening");
        let time =
            |health, minutes: u64, intervals| HealthTime { health, total_ms: minutes * 60_000, intervals };
        assert_eq!(told.times, [time(GOOD, 15, 2), time(BAD, 8, 1), time(BUSY, 2, 1)]);
    }

    #[test]
    fn what_is_not_known_for_a_time_is_no_worsening() {
        const BLIND: Option<Health> = Some(Health::Unknown);
        for (healths, expected) in [
            (&[GOOD, BLIND, GOOD][..], 0),
            (&[GOOD, BLIND, BAD], 1),
            (&[GOOD, BAD, BLIND, BAD], 1),
            (&[GOOD, BAD, BLIND, GOOD], 1),
            (&[BLIND, BAD], 0),
            (&[None, BLIND, BAD], 0),
        ] {
            let marks: Vec<_> = (0..).zip(healths.iter().copied()).collect();
            let told = summary(&self::marks(&marks), Span { since: minute(0), until: minute(30) }, 10);
            assert_eq!(told.worsened, expected, "{healths:?}");
        }
    }

    #[test]
    fn worsening_three_times_within_the_last_hour_is_flapping() {
        let often = marks(&[(0, GOOD), (100, BAD), (101, GOOD), (110, BAD), (111, GOOD), (120, BAD)]);
        let told = |until| summary(&often, Span { since: minute(0), until: minute(until) }, 10);
        assert!(told(121).flapping && told(160).flapping);
        assert!(!told(161).flapping, "the first was more than an hour ago");
        assert_eq!(told(161).worsened, 3);
    }

    #[test]
    fn what_lasted_no_time_is_not_told() {
        let told = lasting(marks(&[(0, GOOD), (5, BAD), (5, GOOD), (7, BUSY), (7, BAD)]));
        let told: Vec<_> = told.iter().map(|mark| (mark.time, mark.health)).collect();
        assert_eq!(told, [(minute(0), GOOD), (minute(7), BAD)]);
    }

    #[test]
    fn what_ended_before_the_span_is_not_told() {
        let marks = marks(&[(0, BAD), (5, GOOD)]);
        let told = summary(&marks, Span { since: minute(5), until: minute(6) }, 10);
        assert_eq!(told.intervals.len(), 1);
        assert_eq!(summary(&[], Span { since: minute(5), until: minute(6) }, 10).intervals, []);
    }
}
