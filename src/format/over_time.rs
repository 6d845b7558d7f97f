//! Health over time in figures and as a bar.

use std::time::Duration;

use super::{lasted, word};
use strandline_model::{Health, attention};
use strandline_protocol::HealthHistory;

/// Of a shorter time it is not worth telling that nothing is known.
const SECOND: u64 = 1000;

/// The part of a span that was spent in one health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The health; none where there was none, and where nothing is known.
    pub health: Option<Health>,
    /// The word for it.
    pub word: &'static str,
    /// How much of the span, such as `99.3%`; never 100% nor 0% of what is a little less or more.
    pub part: String,
    /// How long in all, such as `5h3m`.
    pub lasted: String,
}

/// Time in each health, what needs attention first, and last the time of which nothing is known.
pub fn shares(history: &HealthHistory) -> Vec<Share> {
    let span = millis(history.until.since(history.since));
    let share = |health, word, time: u64| Share {
        health,
        word,
        part: per_cent(time, span),
        lasted: lasted(Duration::from_millis(time)),
    };
    let mut times: Vec<_> = history.times.iter().filter(|time| time.total_ms > 0).collect();
    times.sort_by_key(|time| attention(time.health));
    let known: u64 = times.iter().fold(0, |sum, time| sum.saturating_add(time.total_ms));
    let word = |health: Option<Health>| if health.is_some() { word(health) } else { "No health" };
    let mut shares: Vec<Share> =
        times.iter().map(|time| share(time.health, word(time.health), time.total_ms)).collect();
    let unknown = span.saturating_sub(known);
    if unknown >= SECOND {
        shares.push(share(None, "Not recorded", unknown));
    }
    shares
}

/// How often health worsened, in words.
pub fn worsened(history: &HealthHistory) -> String {
    match history.worsened {
        0 => "no incidents".into(),
        1 => "1 incident".into(),
        times => format!("{times} incidents"),
    }
}

/// A part of a bar that is [`Segment::UNITS`] long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The place of its interval in the history.
    pub interval: usize,
    /// Where it begins.
    pub start: u64,
    /// How long it is.
    pub length: u64,
}

impl Segment {
    /// The length of a bar.
    pub const UNITS: u64 = 10_000;

    /// A shorter segment could not be seen.
    const LEAST: u64 = 25;
}

/// The bar of a history, in the order in which its segments lie on each other: what needs attention on top.
pub fn segments(history: &HealthHistory) -> Vec<Segment> {
    let span = millis(history.until.since(history.since)).max(1);
    let units = |time: Duration| {
        let scaled = u128::from(millis(time)) * u128::from(Segment::UNITS) / u128::from(span);
        u64::try_from(scaled).unwrap_or(Segment::UNITS).min(Segment::UNITS)
    };
    let segment = |interval: usize| {
        let one = history.intervals.get(interval)?;
        let start = units(one.from.since(history.since));
        let end = units(one.until.unwrap_or(history.until).since(history.since));
        let length = end.saturating_sub(start).max(Segment::LEAST);
        Some(Segment { interval, start: start.min(Segment::UNITS - length.min(Segment::UNITS)), length })
    };
    let mut segments: Vec<Segment> = (0..history.intervals.len()).filter_map(segment).collect();
    let health = |segment: &Segment| history.intervals.get(segment.interval).and_then(|one| one.health);
    segments.sort_by_key(|segment| std::cmp::Reverse(attention(health(segment))));
    segments
}

/// A part of a whole, to a tenth of a per cent.
pub fn per_cent(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 1000 / u128::from(whole.max(1));
    match (tenths, part) {
        (0, 0) => "0%".into(),
        (0, _) => "<0.1%".into(),
        (tenths, _) if tenths % 10 == 0 => format!("{}%", tenths / 10),
        (tenths, _) => format!("{}.{}%", tenths / 10, tenths % 10),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::health_history;

    const GOOD: Option<Health> = Some(Health::Healthy);
    const BAD: Option<Health> = Some(Health::Degraded);

    #[test]
    fn shares_say_what_needs_attention_first_and_what_is_not_recorded() {
        let told: Vec<_> =
            shares(&health_history(&[(GOOD, 700), (BAD, 1), (None, 19), (Some(Health::Unknown), 0)]))
                .into_iter()
                .map(|share| format!("{} {} {}", share.word, share.part, share.lasted))
                .collect();
        assert_eq!(
            told,
            ["Degraded <0.1% 60s", "Healthy 48.6% 11h", "No health 1.3% 19m", "Not recorded 50% 12h"]
        );
    }

    #[test]
    fn nearly_all_is_not_all() {
        for (part, whole, expected) in
            [(0, 9, "0%"), (1, 10_000, "<0.1%"), (9_999, 10_000, "99.9%"), (5, 5, "100%"), (1, 0, "100%")]
        {
            assert_eq!(per_cent(part, whole), expected, "{part} of {whole}");
        }
        assert!(!per_cent(u64::MAX, 1).is_empty());
    }

    #[test]
    fn a_short_failure_is_seen_on_top_of_the_bar() {
        let bar = segments(&health_history(&[(GOOD, 720), (BAD, 0), (GOOD, 100_000)]));
        let told: Vec<_> = bar.iter().map(|one| (one.interval, one.start, one.length)).collect();
        assert_eq!(told, [(0, 5000, 5000), (2, 0, 5000), (1, 5000, Segment::LEAST)]);
        let late = segments(&health_history(&[(BAD, 0)]));
        assert_eq!(late[0].start + late[0].length, Segment::UNITS, "it stays on the bar");
    }

    #[test]
    fn an_empty_span_has_no_length() {
        let mut history = health_history(&[(GOOD, 5)]);
        history.since = history.until;
        assert_eq!(segments(&history).len(), 1);
        assert_eq!(shares(&history).len(), 1);
    }
}
