//! Finds the offset of a time.

use super::error::LogError;
use super::reader::LogReader;
use super::time_map::TimeMap;
use strandline_model::{Offset, Timestamp};

type Result<T> = std::result::Result<T, LogError>;

impl LogReader {
    /// The last offset observed at or before a time, none above `limit`; zero when there is none that can be asked for.
    /// What was recorded under a wrong clock is passed over.
    ///
    /// Observation times never go backwards, save across a mark of the clock, so this is a bisection over the offsets
    /// between such marks: some twenty point reads in a log of a million changes, and no index to write.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn offset_at(&mut self, time: Timestamp, limit: Offset) -> Result<Offset> {
        self.steady(|log| log.exact_offset_at(time, limit))
    }

    /// The last offset up to `limit` that was recorded at or before a time, among those whose recorded times are exact.
    pub(super) fn exact_offset_at(&self, time: Timestamp, limit: Offset) -> Result<Offset> {
        let compacted = self.compacted()?;
        for range in &TimeMap::load(&self.connection, compacted.offset)?.exact {
            if range.start > limit.get() {
                continue;
            }
            let first = Offset::new(range.start);
            // Before the first change of a whole log there is nothing, and it was so at any time.
            let begins = if first == Offset::ZERO { None } else { self.observed_at(first)? };
            if begins.is_none_or(|begins| begins <= time) {
                return self.bisect(time, first, Offset::new((range.end - 1).min(limit.get())));
            }
        }
        Ok(Offset::ZERO)
    }

    /// The last offset from `known` on, which is one, up to `last` recorded at or before a time.
    pub(super) fn bisect(&self, time: Timestamp, known: Offset, last: Offset) -> Result<Offset> {
        let (mut known, mut beyond) = (known.get(), last.get() + 1);
        while beyond.saturating_sub(known) > 1 {
            let middle = known + (beyond - known) / 2;
            match self.observed_at(Offset::new(middle))? {
                Some(observed_at) if observed_at <= time => known = middle,
                _ => beyond = middle,
            }
        }
        Ok(Offset::new(known))
    }
}
