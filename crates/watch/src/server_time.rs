//! The time by a cluster's servers, as the Date header of every answer shows it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, header};

use strandline_clock::{Mark, mark};
use strandline_model::Timestamp;

/// Headers carry whole seconds, so that the time meant lies half a second later in the middle.
const ROUNDED: Duration = Duration::from_millis(500);

/// The newest time of a cluster's servers; clones share it.
#[derive(Clone, Debug, Default)]
pub struct ServerTime(Arc<Mutex<Option<(Timestamp, Mark)>>>);

impl ServerTime {
    /// Takes down the time that an answer carries.
    pub(super) fn note(&self, headers: &HeaderMap) {
        let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| chrono::DateTime::parse_from_rfc2822(date).ok());
        if let Some(date) = date {
            let time = Timestamp::from_micros(date.timestamp_micros()).plus(ROUNDED);
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((time, mark()));
        }
    }

    /// What time it is for the servers by now, if one answered since this was called last.
    pub fn take(&self) -> Option<Timestamp> {
        let newest = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        newest.map(|(time, at)| time.plus(at.elapsed()))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn the_newest_date_is_told_once() {
        let (time, mut headers) = (ServerTime::default(), HeaderMap::new());
        for date in ["nonsense", "Fri, 20 Nov 2026 12:00:00 GMT"] {
            assert_eq!(time.take(), None);
            headers.insert(header::DATE, date.parse().unwrap());
            time.note(&headers);
        }
        let noon: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let taken = time.take().unwrap();
        assert!(taken >= noon.plus(ROUNDED), "{taken}");
        assert_eq!(time.take(), None);
    }
}
