//! The moment an answer holds for.
//!
//! Why: docs/decisions/0003-offsets-bound-the-views-rows.md.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::freshness::Live;
use crate::gaps::Times;
use crate::pinned::{AskedTime, Pinned};
use crate::scope::ResolvedScope;
use crate::{floors, gaps};
use strandline_log::LogReader;
use strandline_model::{At, LATE_BOUND, Offset, Timestamp};
use strandline_protocol::{Coverage, Gap, Snapshot};

/// Clocks differ; a moment this little ahead of ours is taken for now.
const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// How far a view reaches, as one statement tells it: every answer asks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    /// The last offset that it holds.
    checkpoint: Offset,
    /// The highest floor of a kind; zero where retention lets go of none before the rest, as in most records.
    floor: Offset,
}

impl Extent {
    pub(super) fn read(view: &Connection) -> rusqlite::Result<Self> {
        let sql = r#"SELECT "offset", (SELECT max(floor) FROM kind_floor) FROM checkpoint"#;
        let read = |row: &Row<'_>| {
            let floor = row.get::<_, Option<i64>>(1)?.unwrap_or(0);
            Ok(Extent { checkpoint: Offset::from_i64(row.get(0)?), floor: Offset::from_i64(floor) })
        };
        Ok(view.prepare_cached(sql)?.query_row([], read).optional()?.unwrap_or_default())
    }
}

/// A moment, found in the log.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) offset: Offset,
    time: Option<Timestamp>,
    asked: Option<Timestamp>,
    /// Changes in the log that belong to the moment and that the view does not hold yet.
    lag: u64,
    /// Of the view that it was found in.
    extent: Extent,
    /// Our clock.
    pub(super) now: Timestamp,
    /// Whether nothing else than now was asked for; of a later page only its token can tell.
    pub(super) asked_for_now: bool,
    /// The time asked for, now being one too; none where an offset was.
    by_time: Option<AskedTime>,
    live: Live,
}

impl Moment {
    /// Finds the moment asked for; `pinned` is that of the first page where this is a later one.
    pub(super) fn find(
        (view, extent): (&Connection, Extent),
        log: &mut LogReader,
        now: Timestamp,
        at: At,
        pinned: Option<Pinned>,
    ) -> Result<Self> {
        let checkpoint = extent.checkpoint;
        // Of a log that lost its end the view holds more.
        let head = log.head()?.max(checkpoint);
        let by_time = asked_time(now, at, pinned)?;
        let asked = by_time.filter(|asked| !asked.is_now).map(|asked| asked.time);
        let pinned = pinned.map(|pinned| pinned.offset);
        if let Some(asked) = asked {
            not_after(asked, now)?;
        }
        let offset = match (pinned, at, asked) {
            (Some(pinned), At::Offset(offset), _) if offset != pinned => {
                return Err(QueryError::BadToken("it belongs to another time"));
            }
            // A time that more changes have reached since may mean a later offset by now, never an earlier one.
            (Some(pinned), At::Time(time), _) if log.observed_at(pinned)?.is_some_and(|of| of > time) => {
                return Err(QueryError::BadToken("it belongs to another time"));
            }
            (Some(pinned), ..) => pinned,
            (None, At::Offset(offset), _) => offset,
            (None, _, Some(asked)) => offset_at(view, log, asked, checkpoint)?,
            (None, _, None) => checkpoint,
        };
        let compacted = log.compacted()?;
        if offset < compacted.offset {
            return Err(QueryError::Compacted { earliest: compacted.offset, time: compacted.observed_at });
        }
        if offset > head {
            return Err(QueryError::FutureOffset { asked: offset, newest: head });
        }
        if offset > checkpoint {
            return Err(QueryError::Building { checkpoint, head });
        }
        let (time, asked_for_now) = (observed_at(view, log, offset)?, pinned.is_none() && at == At::Now);
        // The view holds all of an offset that it has reached; of a time it may lack the last changes.
        let named = pinned.is_some() || matches!(at, At::Offset(_)) || offset < checkpoint;
        let lag = if named { 0 } else { head.get() - checkpoint.get() };
        let live = Live::default();
        Ok(Moment { offset, time, asked, lag, extent, now, asked_for_now, by_time, live })
    }

    /// The same moment with what the running program knows besides.
    pub(super) fn with_live(self, live: Live) -> Self {
        Moment { live, ..self }
    }

    /// What the running program knows besides.
    pub(super) fn live(&self) -> Live {
        self.live.clone()
    }

    /// The same moment, asked for by this time, or by its offset.
    pub(super) fn asked_by(self, by_time: Option<AskedTime>) -> Self {
        Moment { by_time, ..self }
    }

    /// The same moment, as if its offset had been asked for.
    pub(super) fn by_offset(self) -> Self {
        Moment { by_time: None, ..self }
    }

    /// The time asked for, now being one too; none where an offset was.
    pub(super) fn by_time(&self) -> Option<AskedTime> {
        self.by_time
    }

    /// The same moment in a later state of the view.
    pub(super) fn found_again(&self, view: (&Connection, Extent), log: &mut LogReader) -> Result<Self> {
        let found = Moment::find(view, log, self.now, At::Offset(self.offset), None)?;
        Ok(Moment {
            asked: self.asked,
            asked_for_now: self.asked_for_now,
            lag: self.lag,
            by_time: self.by_time,
            live: self.live.clone(),
            ..found
        })
    }

    /// The time it stands for: what was asked for, which for now is our clock as the first page was asked for, or else when its
    /// change was observed.
    pub(super) fn clock(&self) -> Timestamp {
        match (self.asked, self.by_time, self.time) {
            (Some(asked), ..) => asked,
            (None, Some(now), _) => now.time,
            (None, None, Some(time)) if !self.asked_for_now => time,
            (None, None, _) => self.now,
        }
    }

    /// A time, unless it is in the future.
    pub(super) fn not_after_now(&self, time: Timestamp) -> Result<Timestamp> {
        not_after(time, self.now)
    }

    /// When its change was observed; none while the log is empty.
    pub(super) fn time(&self) -> Option<Timestamp> {
        self.time
    }

    /// What an error calls it; nothing where now was asked for.
    pub(super) fn if_past(&self) -> Option<String> {
        // The same for a time and for the offset that it names.
        let time = self.time.map(|time| format!(", {time}")).unwrap_or_default();
        (!self.asked_for_now).then(|| format!("offset {}{time}", self.offset))
    }

    /// The last offset of the view that it was found in.
    pub(super) fn checkpoint(&self) -> Offset {
        self.extent.checkpoint
    }

    /// How far the view reaches that it was found in.
    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    /// Whether nothing has been projected after it, so that what the view keeps of now only holds for it.
    pub(super) fn is_newest(&self) -> bool {
        self.offset == self.extent.checkpoint
    }

    /// What an answer says of its moment.
    pub(super) fn snapshot(
        &self,
        view: &Connection,
        scope: &ResolvedScope,
        concerns: &Concerns<'_>,
    ) -> Result<Snapshot> {
        self.snapshot_since(view, scope, concerns, None)
    }

    /// The same of an answer that speaks of all times since then; asked by offset, it names the gaps at
    /// its moment.
    pub(super) fn snapshot_over(
        &self,
        view: &Connection,
        scope: &ResolvedScope,
        concerns: &Concerns<'_>,
        since: Timestamp,
    ) -> Result<Snapshot> {
        self.snapshot_since(view, scope, concerns, Some(since))
    }

    /// The same of an answer that compares with another moment or place, the gaps of which it names too where that was
    /// asked for by time.
    pub(super) fn snapshot_with(
        &self,
        view: &Connection,
        scope: &ResolvedScope,
        concerns: &Concerns<'_>,
        (other, of_other): (&Moment, &Concerns<'_>),
    ) -> Result<Snapshot> {
        let mut snapshot = self.snapshot(view, scope, concerns)?;
        if other.by_time.is_some() {
            gaps::add_gaps(&mut snapshot, other.snapshot(view, scope, of_other)?.coverage.gaps);
        }
        Ok(snapshot)
    }

    fn snapshot_since(
        &self,
        view: &Connection,
        scope: &ResolvedScope,
        concerns: &Concerns<'_>,
        since: Option<Timestamp>,
    ) -> Result<Snapshot> {
        let clusters = match self.by_time {
            Some(_) if self.live.needs_clusters() => gaps::clusters(view, scope, self.offset, concerns)?,
            _ => Vec::new(),
        };
        let mut gaps = self.gaps_since(view, scope, concerns, since)?;
        gaps.extend(self.unrecorded(&clusters));
        if self.extent.floor > self.offset {
            gaps.extend(floors::gaps(view, scope, self.offset, concerns)?);
        }
        gaps.truncate(gaps::LIMIT);
        Ok(Snapshot {
            offset: self.offset,
            time: self.time,
            at: self.asked,
            lag_changes: self.lag,
            coverage: Coverage { complete: gaps.is_empty(), gaps },
            not_recording: self.asked_for_now && self.live.problem.is_some(),
            confirmed_until: self.confirmed_until(&clusters),
            delay_ms: self.by_time.map(|_| u64::try_from(LATE_BOUND.as_millis()).unwrap_or(u64::MAX)),
        })
    }

    /// The gaps of one cluster at the moment, the oldest first.
    pub(super) fn gaps_of_cluster(
        &self,
        view: &Connection,
        scope: &ResolvedScope,
        cluster: &str,
    ) -> Result<Vec<Gap>> {
        let mut gaps = self.gaps_since(view, scope, &Concerns::Cluster(cluster), None)?;
        gaps.extend(self.unrecorded(&[cluster.to_owned()]));
        gaps.truncate(gaps::LIMIT);
        Ok(gaps)
    }

    fn gaps_since(
        &self,
        view: &Connection,
        scope: &ResolvedScope,
        concerns: &Concerns<'_>,
        since: Option<Timestamp>,
    ) -> Result<Vec<Gap>> {
        match self.by_time {
            Some(_) => gaps::at_times(view, scope, self.offset, self.times(since), concerns),
            None => gaps::at_offset(view, scope, self.offset, concerns),
        }
    }

    /// The times that an answer speaks of, up to its own.
    pub(super) fn times(&self, since: Option<Timestamp>) -> Times {
        let until = self.by_time.map_or_else(|| self.clock(), |asked| asked.time);
        let to = match self.by_time {
            Some(asked) if asked.is_now => Timestamp::from_micros(i64::MAX),
            _ => until,
        };
        Times { from: since.map_or(until, |since| since.min(until)), to }
    }

    /// What is not recorded at this time, where the moment lies in it.
    fn unrecorded(&self, clusters: &[String]) -> Vec<Gap> {
        let concerned =
            |since: Timestamp| self.by_time.is_some_and(|asked| asked.is_now || asked.time >= since);
        let problem = self.live.problem.as_ref().filter(|problem| concerned(problem.since));
        problem.into_iter().flat_map(|problem| gaps::unrecorded(problem, clusters)).collect()
    }

    /// Up to when everything is recorded, save for what lies in a gap, in whole seconds so that answers stay the same for
    /// so long.
    fn confirmed_until(&self, clusters: &[String]) -> Option<Timestamp> {
        let confirmed = self.live.confirmed_until(clusters)?.min(self.by_time?.time);
        // What the view does not hold yet is not in the answer.
        let projected = self.time.filter(|_| self.lag > 0);
        let micros = projected.map_or(confirmed, |time| time.min(confirmed)).as_micros();
        Some(Timestamp::from_micros(micros - micros.rem_euclid(1_000_000)))
    }
}

/// The time that is asked for; of a later page that of the first.
fn asked_time(now: Timestamp, at: At, pinned: Option<Pinned>) -> Result<Option<AskedTime>> {
    let first = pinned.and_then(|pinned| pinned.by_time);
    let past = |time| AskedTime { time, is_now: false };
    Ok(match (at, pinned) {
        (At::Offset(_), _) => None,
        (At::Time(time), _) if first.is_some_and(|first| first != past(time)) => {
            return Err(QueryError::BadToken("it belongs to another time"));
        }
        (At::Time(time), _) => Some(past(time)),
        (At::Now | At::Ago(_), Some(_)) => first,
        (At::Now, None) => Some(AskedTime { time: now, is_now: true }),
        (At::Ago(duration), None) => Some(past(now.minus(duration))),
    })
}

/// A time that is not after a reading of our clock.
fn not_after(asked: Timestamp, now: Timestamp) -> Result<Timestamp> {
    if asked > now.plus(CLOCK_SKEW) { Err(QueryError::FutureTime { asked, now }) } else { Ok(asked) }
}

/// The last offset observed at or before a time.
fn offset_at(view: &Connection, log: &mut LogReader, time: Timestamp, checkpoint: Offset) -> Result<Offset> {
    let head = log.head()?;
    let found = log.offset_at(time, checkpoint.min(head))?;
    if checkpoint <= head || found < head {
        return Ok(found);
    }
    // The log lost its end: when those changes were observed only the view knows.
    let sql = "SELECT min(v.from_offset) FROM resource r JOIN version v ON v.resource_id = r.id AND v.from_offset > ?1
        WHERE v.observed_at > ?2";
    let later: Option<i64> =
        view.prepare_cached(sql)?.query_row(params![head.as_i64(), time.as_micros()], |row| row.get(0))?;
    Ok(later.map_or(checkpoint, |later| Offset::from_i64(later - 1).min(checkpoint)))
}

/// When the change at an offset was observed, as far as log or view know.
pub(super) fn observed_at(view: &Connection, log: &LogReader, offset: Offset) -> Result<Option<Timestamp>> {
    let head = log.head()?;
    if offset <= head {
        return Ok(log.observed_at(offset)?);
    }
    let sql = "SELECT max(v.observed_at) FROM resource r JOIN version v ON v.resource_id = r.id
        AND v.from_offset > ?1 AND v.from_offset <= ?2";
    let found: Option<i64> =
        view.prepare_cached(sql)?.query_row([head.as_i64(), offset.as_i64()], |row| row.get(0))?;
    Ok(found.map(Timestamp::from_micros).or(log.observed_at(head)?))
}
