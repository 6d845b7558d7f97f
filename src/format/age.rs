//! How long ago something was, as kubectl says it.

use std::time::Duration;

use strandline_model::Timestamp;
use strandline_protocol::Snapshot;

/// The moment from which an answer's ages count: the one it holds for, or `now` where it holds for now.
pub fn moment(snapshot: &Snapshot, asked_for_now: bool, now: Timestamp) -> Timestamp {
    if asked_for_now { now } else { snapshot.at.or(snapshot.time).unwrap_or(now) }
}

/// How long ago `then` was.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    lasted(now.since(then))
}

/// How long something lasted: two units at most, and no more precision than reading needs.
pub fn lasted(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |first: u64, unit: char, rest: u64, small: char| match rest {
        0 => format!("{first}{unit}"),
        rest => format!("{first}{unit}{rest}{small}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_in_kubectl() {
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (7200, "120m"),
            (10_860, "3h1m"),
            (40_000, "11h"),
            (442_800, "5d3h"),
            (432_000, "5d"),
            (8_640_000, "100d"),
            (63_158_400, "2y1d"),
            (315_360_000, "10y"),
        ];
        for (seconds, expected) in cases {
            let now = Timestamp::from_micros(seconds * 1_000_000);
            assert_eq!(age(Timestamp::from_micros(0), now), expected);
        }
        assert_eq!(age(Timestamp::from_micros(5), Timestamp::from_micros(0)), "0s", "from the future");
    }
}
