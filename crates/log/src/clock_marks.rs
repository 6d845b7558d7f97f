//! Marks of the clock: where recorded time goes back, and which changes carry wrong times.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use super::append::Appended;
use super::cursors;
use super::error::LogError;
use super::json::to_json;
use super::time_map::last_adoption;
use super::transaction::Write;
use super::types::ChangeType;
use strandline_clock::{ClockChange, Exact};
use strandline_model::{
    ClockEvent, ClockMark, CoverageMark, InexactTimes, Kind, LATE_BOUND, Offset, ResourceKey, Timestamp,
    WatchKey, reason,
};

use strandline_sqlite::column::LOG;

type Result<T> = std::result::Result<T, LogError>;

/// Where the clock is behind recorded time by less, recorded time pauses instead of going back.
pub(super) const BACKWARD_MAX: Duration = Duration::from_secs(2);

/// A recorded time this close to the one in the object itself is right, unless it is known to be wrong by less
/// than twice that.
const FRESH_MAX: Duration = LATE_BOUND;

/// How many changes before the first that is known to be wrong are looked at for one that is known to be right.
const LOOK_BACK: i64 = 100_000;

impl Write<'_> {
    /// Records what the clock did, and that recorded time goes back where the clock is far behind it. Where it is behind
    /// by little, recorded time pauses.
    pub(super) fn follow_clock(&mut self, changes: &[ClockChange]) -> Result<()> {
        let now = self.now;
        for change in changes {
            let adopted = change.event == ClockEvent::Adopted;
            self.now = if adopted { now } else { now.max(self.state.observed_at) };
            self.clock_changed(change)?;
        }
        let recorded = self.state.observed_at;
        if self.state.head > Offset::ZERO && recorded.since(now) > BACKWARD_MAX {
            self.now = now;
            let deviation_micros = now.as_micros().saturating_sub(recorded.as_micros());
            tracing::warn!(
                seconds = deviation_micros as f64 / 1e6,
                "this machine's clock is behind the newest recorded change; recorded time follows the clock back"
            );
            let exact = Exact::Unknown;
            self.clock_changed(&ClockChange { event: ClockEvent::Adopted, deviation_micros, exact })?;
        }
        self.now = now.max(self.state.observed_at);
        Ok(())
    }

    /// Records what the clock did. Where recorded time follows another clock from here on, the changes under wrong times
    /// are named, every cluster gets a gap for them, and nothing is taken to be known from later than now.
    pub(super) fn clock_changed(&mut self, change: &ClockChange) -> Result<()> {
        let ClockChange { event, deviation_micros, exact } = *change;
        let inexact = match event {
            ClockEvent::Adopted => Some(self.inexact(deviation_micros, exact)?),
            _ => None,
        };
        self.clock_mark(&ClockMark { event, deviation_micros, inexact })?;
        if let Some(InexactTimes { since, .. }) = inexact {
            let message = clock_message(deviation_micros);
            self.clock_gaps(since, self.now, &message)?;
            let sql = "UPDATE cursor SET seen_at = min(seen_at, ?1), begun_at = min(begun_at, ?1),
                first_begun_at = min(first_begun_at, ?1)";
            self.connection.prepare_cached(sql)?.execute([self.now])?;
        }
        Ok(())
    }

    /// Records that a time has come, where no recorded change shows it.
    pub(super) fn pass_time(&mut self, due: Timestamp) -> Result<Appended> {
        if self.state.observed_at >= due || self.now < due {
            return Ok(self.appended(0, 0));
        }
        self.clock_mark(&ClockMark { event: ClockEvent::Passed, deviation_micros: 0, inexact: None })?;
        Ok(self.appended(1, 0))
    }

    /// Writes a mark as it is, at the time at which the transaction is.
    pub(super) fn clock_mark(&mut self, mark: &ClockMark) -> Result<()> {
        let key = ResourceKey {
            cluster: String::new(),
            kind: Kind::new("", "Clock"),
            namespace: String::new(),
            name: String::new(),
        };
        let body = to_json(mark)?;
        let offset = self.write_fact(ChangeType::Clock, &key, &body, &body)?;
        if let Some(InexactTimes { from, to, since, .. }) = mark.inexact {
            let sql = r#"INSERT INTO clock_mark ("offset", inexact_from, inexact_to, since) VALUES (?1, ?2, ?3, ?4)"#;
            let params = params![offset, from, to, since];
            self.connection.prepare_cached(sql)?.execute(params)?;
        }
        Ok(())
    }

    /// A gap of every cluster that is watched, over already.
    pub(super) fn clock_gaps(&mut self, since: Timestamp, until: Timestamp, message: &str) -> Result<usize> {
        let mut clusters: Vec<String> =
            cursors::every_watch(self.connection)?.into_iter().map(|(watch, _)| watch.cluster).collect();
        clusters.dedup();
        for cluster in &clusters {
            let watch = WatchKey::discovery(cluster, "");
            self.mark(&CoverageMark::gap(watch, since, reason::CLOCK, message).closed(until))?;
        }
        Ok(clusters.len())
    }

    /// Which changes up to now carry wrong times, when recorded time is to be this transaction's from here on.
    fn inexact(&self, deviation_micros: i64, exact: Exact) -> Result<InexactTimes> {
        let head = self.state.head;
        let to = head.next();
        let ahead = |micros: i64| Timestamp::from_micros(micros.saturating_sub(1));
        // Whatever is proved, a time that is yet to come is wrong.
        let future = self.first_after(self.now)?;
        let from = match exact {
            Exact::Until(then) => self.first_after(then)?.min(future),
            Exact::Before(start) => {
                let from = self.first_after(ahead(start.as_micros()))?.min(future);
                // The clock may have been wrong before it was started again.
                self.first_doubtful(from, deviation_micros)?
            }
            Exact::Unknown => self.first_doubtful(future, deviation_micros)?,
        };
        // The last mark no longer counts for changes before it where its own time is wrong.
        let from = match last_adoption(self.connection)? {
            Some((mark, _)) if from <= mark => self.first_doubtful(from, deviation_micros)?,
            _ => from,
        };
        let last_exact = from.get().checked_sub(1).map(Offset::new).filter(|last| *last > Offset::ZERO);
        let before = last_exact.map(|last| self.observed_at(last)).transpose()?.flatten();
        let since = match (exact, before) {
            (Exact::Until(then), _) => then.min(self.now),
            (_, Some(before)) => before.min(self.now),
            // Nothing is exact: what is recorded happened while the wrong clock ran, which began before its own time shows.
            (_, None) => {
                let first = self.observed_at(from)?.unwrap_or(self.now).min(self.now);
                first.minus(Duration::from_micros(deviation_micros.unsigned_abs()))
            }
        };
        Ok(InexactTimes { from, to, since, until: self.now })
    }

    fn observed_at(&self, offset: Offset) -> Result<Option<Timestamp>> {
        let sql = r#"SELECT observed_at FROM change WHERE "offset" = ?1"#;
        Ok(self.connection.prepare_cached(sql)?.query_row([offset], |row| row.get(0)).optional()?)
    }

    /// The first change since recorded time last went back that was recorded after a time; the next one to be written
    /// where there is none.
    fn first_after(&self, time: Timestamp) -> Result<Offset> {
        let start = last_adoption(self.connection)?.map_or(Offset::ZERO, |(offset, _)| offset);
        let (mut after, mut first) = (start.get().saturating_sub(1), self.state.head.next().get());
        while first - after > 1 {
            let middle = after + (first - after) / 2;
            match self.observed_at(Offset::new(middle))? {
                Some(observed_at) if observed_at > time => first = middle,
                // Pruned changes are before all that are left.
                _ => after = middle,
            }
        }
        Ok(Offset::new(first))
    }

    /// The first change that may carry a wrong time, where those from `known` on do: the one after the last that was
    /// recorded about when the object changed by its own times.
    fn first_doubtful(&self, known: Offset, deviation_micros: i64) -> Result<Offset> {
        let fresh = i64::try_from(FRESH_MAX.as_micros()).unwrap_or(i64::MAX);
        let fresh = fresh.min(deviation_micros.saturating_abs() / 2);
        let sql = r#"SELECT "offset", observed_at - managed_at AS lateness FROM change
            WHERE "offset" < ?1 ORDER BY "offset" DESC LIMIT ?2"#;
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![known, LOOK_BACK])?;
        let mut from = known;
        while let Some(row) = rows.next()? {
            let lateness: Option<i64> = row.get("lateness")?;
            if lateness.is_some_and(|lateness| lateness.saturating_abs() <= fresh) {
                break;
            }
            from = LOG.get(row, "change.offset")?;
        }
        Ok(from)
    }
}

fn clock_message(deviation_micros: i64) -> String {
    let seconds = deviation_micros.unsigned_abs() / 1_000_000;
    let direction = if deviation_micros < 0 { "ahead" } else { "behind" };
    format!("this machine's clock was {seconds} s {direction}; times recorded in between are inexact")
}
