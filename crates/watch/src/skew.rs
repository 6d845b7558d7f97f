//! How far the cluster's clock is off ours, as the dates of its answers show.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, header};

use strandline_model::Timestamp;

/// Answers remembered; the middle of them is taken, so that single slow ones change nothing.
const SAMPLES: usize = 9;
/// The date of an answer that took longer is too inexact.
const SLOWEST: Duration = Duration::from_secs(2);
/// Dates are whole seconds, so that less than this is no difference.
const TOLERANCE: i64 = 1_000_000;

/// The difference between a cluster's clock and ours.
#[derive(Debug, Default)]
pub(super) struct ClockSkew(Mutex<VecDeque<i64>>);

impl ClockSkew {
    /// Takes the date of an answer to a request sent and answered at these times of our clock.
    pub(super) fn observe(&self, headers: &HeaderMap, sent: Timestamp, answered: Timestamp) {
        if answered.since(sent) > SLOWEST {
            return;
        }
        let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let Some(date) = date.and_then(|date| chrono::DateTime::parse_from_rfc2822(date).ok()) else {
            return;
        };
        let middle = i64::midpoint(sent.as_micros(), answered.as_micros());
        // A date is cut to its second: half a second more is what it was on average.
        let skew = date.timestamp_micros().saturating_add(500_000).saturating_sub(middle);
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() == SAMPLES {
            samples.pop_front();
        }
        samples.push_back(skew);
    }

    /// A time of the cluster's clock by ours.
    pub(super) fn to_ours(&self, theirs: Timestamp) -> Timestamp {
        Timestamp::from_micros(theirs.as_micros().saturating_sub(self.micros()))
    }

    fn micros(&self) -> i64 {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<i64> = samples.iter().copied().collect();
        drop(samples);
        sorted.sort_unstable();
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
        if median.abs() <= TOLERANCE { 0 } else { median }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn skew_of(dates: &[&'static str]) -> i64 {
        let (skew, noon) = (ClockSkew::default(), Timestamp::from_micros(1_767_268_800_000_000));
        for &date in dates {
            let mut headers = HeaderMap::new();
            headers.insert(header::DATE, HeaderValue::from_static(date));
            skew.observe(&headers, noon, noon.plus(Duration::from_millis(10)));
        }
        noon.as_micros() - skew.to_ours(noon).as_micros()
    }

    #[test]
    fn the_middle_of_recent_dates_is_the_difference_and_less_than_their_resolution_is_none() {
        const NOON: &str = "Thu, 01 Jan 2026 12:00:00 GMT";
        const LATER: &str = "Thu, 01 Jan 2026 12:10:00 GMT";
        assert_eq!(skew_of(&[]), 0);
        assert_eq!(skew_of(&[NOON, "Thu, 01 Jan 2026 11:59:59 GMT"]), 0);
        assert_eq!(
            skew_of(&[LATER, LATER, NOON]),
            600_495_000,
            "a single answer from elsewhere changes nothing"
        );
        assert_eq!(skew_of(&["Thu, 01 Jan 2026 11:50:00 GMT"]), -599_505_000);
        assert_eq!(skew_of(&["yesterday"]), 0);
    }
}
