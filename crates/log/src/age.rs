//! How old changes are, by no clock but the log's own.
//!
//! Age is the recorded time that has passed, in which a silence of more than a day counts as a day. So a clock that jumps
//! ten years ahead ages what was recorded before by a day, and lets nothing go for it; one that jumps back makes nothing
//! older, because recorded time never goes backwards, save across a mark of the clock, at which no time passes.

use std::time::Duration;

use super::error::LogError;
use super::reader::LogReader;
use super::time_map::TimeMap;
use strandline_model::{Offset, Timestamp};

/// The longest silence that counts as it is.
const SILENCE: Duration = Duration::from_secs(24 * 3600);

impl LogReader {
    /// The oldest offset that has to be kept so that everything younger than `age` can be asked for: the last change
    /// that is at least so old, or the oldest there is.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn offset_of_age(&mut self, age: Duration) -> Result<Offset, LogError> {
        let log = self.begin()?;
        let (oldest, head) = (log.compacted()?.offset, log.head()?);
        let times = TimeMap::load(&log.connection, oldest)?;
        let (mut at, mut left) = (head, age);
        // Each round goes back by a day at least, or across a mark of the clock.
        while at > oldest {
            let (time, start) =
                (log.time_of(at)?, times.start_of(at).map_or(oldest, |start| start.max(oldest)));
            let since = time.minus(left.min(SILENCE));
            if start > oldest && log.time_of(start)? > since {
                left -= time.since(log.time_of(start)?);
                at = Offset::new(start.get() - 1);
                continue;
            }
            let before = log.bisect(since, start, at)?;
            if left <= SILENCE {
                return Ok(before);
            }
            // Between the change that was found and the one after it lies a silence, of whatever length.
            let quiet_since = log.time_of(before)?;
            let next = log.time_of(before.next())?;
            let passed = time.since(next) + next.since(quiet_since).min(SILENCE);
            if passed >= left {
                return Ok(before);
            }
            (at, left) = (before, left - passed);
        }
        Ok(oldest)
    }

    /// When a change was observed; before the first one nothing was.
    fn time_of(&self, offset: Offset) -> Result<Timestamp, LogError> {
        Ok(self.observed_at(offset)?.unwrap_or(Timestamp::from_micros(i64::MIN)))
    }
}
