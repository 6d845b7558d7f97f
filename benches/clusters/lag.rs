//! How long changes take from a cluster until they can be asked for.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use strandline_log::LogReader;
use strandline_model::{Change, Offset};
use strandline_view::ViewStatus;

use crate::Result;

/// What an object has before the microseconds at which its cluster had it.
pub(crate) const STAMP: &str = "as of ";

/// One of so many changes is looked at.
const EVERY: u64 = 49;
/// How often it is looked how far the view is, which is how fine a lag is known.
const TICK: Duration = Duration::from_millis(1);

/// Looks at the changes that come into the view.
pub(crate) struct Lags {
    log: LogReader,
    status: ViewStatus,
    seen: Offset,
}

impl Lags {
    /// From now on.
    pub(crate) fn new(directory: &Path, status: ViewStatus) -> Result<Self> {
        let seen = status.checkpoint().get();
        Ok(Lags { log: LogReader::open(directory)?, status, seen })
    }

    /// The lags, in milliseconds, of a part of the changes that come until an end, each alike likely, in order.
    pub(crate) fn until(&mut self, is_over: impl Fn() -> bool) -> Result<Vec<f64>> {
        let mut lags = Vec::new();
        while !is_over() {
            self.status.checkpoint().wait_past(self.seen, TICK);
            let (reached, now) = (self.status.checkpoint().get(), SystemTime::now());
            let micros = now.duration_since(UNIX_EPOCH)?.as_micros() as f64;
            let first = (self.seen.get() / EVERY + 1) * EVERY;
            for offset in (first..=reached.get()).step_by(EVERY as usize) {
                if let Some(stamp) = self.stamp(Offset::new(offset))? {
                    lags.push((micros - stamp) / 1000.0);
                }
            }
            self.seen = reached;
        }
        lags.sort_by(f64::total_cmp);
        Ok(lags)
    }

    /// When the cluster had what is at an offset, in microseconds; none where that says nothing of it.
    fn stamp(&mut self, offset: Offset) -> Result<Option<f64>> {
        let record = self.log.begin()?.at(offset)?;
        let Change::Applied { body, .. } = &record.change else { return Ok(None) };
        let Some((_, stamped)) = body.split_once(STAMP) else { return Ok(None) };
        let digits = stamped.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        Ok(digits.parse().ok().filter(|stamp| *stamp > 0.0))
    }
}
