//! Which span of time the rail of a page shows: `span=24h`, or `span=FROM/TO` with two instants.

use std::time::Duration;

use crate::http::params::{Parameter, ParameterReader};
use strandline_model::{Timestamp, parse_duration};

/// What the rail spans.
pub(in crate::web) const SPAN: Parameter = Parameter::one("span");

const HOUR: u64 = 3600;

/// The spans that a rail offers, with the parts in which each is shown.
pub(super) const OFFERED: [(&str, Duration, usize); 6] = [
    ("1h", Duration::from_secs(HOUR), 60),
    ("6h", Duration::from_secs(6 * HOUR), 36),
    ("24h", Duration::from_secs(24 * HOUR), 48),
    ("7d", Duration::from_secs(7 * 24 * HOUR), 56),
    ("30d", Duration::from_secs(30 * 24 * HOUR), 60),
    ("1y", Duration::from_secs(365 * 24 * HOUR), 73),
];

/// The parts of a span that was chosen by hand.
const PARTS: usize = 60;

/// The longest and the shortest span.
const LONGEST: Duration = Duration::from_secs(366 * 24 * HOUR);
const SHORTEST: Duration = Duration::from_secs(60);

/// A span as an address asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) enum Span {
    /// So long, around the time that the page shows.
    Long(Duration),
    /// Between two instants.
    Between(Timestamp, Timestamp),
}

impl Span {
    /// The span that is asked for; a day where none is.
    pub(in crate::web) fn read(read: &mut ParameterReader<'_>) -> Self {
        let Some(text) = read.text(SPAN) else { return Span::Long(Duration::from_secs(24 * HOUR)) };
        parse(&text).unwrap_or_else(|| {
            let detail = format!(
                "invalid span `{text}`; use a duration from 1m to 1y such as 6h, or two instants such as \
                 2026-11-20T12:00:00Z/2026-11-20T14:00:00Z"
            );
            read.refuse(SPAN, detail);
            Span::Long(Duration::from_secs(24 * HOUR))
        })
    }
}

fn parse(text: &str) -> Option<Span> {
    let fits = |length: Duration| (SHORTEST..=LONGEST).contains(&length);
    if let Some((from, to)) = text.split_once('/') {
        let (from, to): (Timestamp, Timestamp) = (from.parse().ok()?, to.parse().ok()?);
        return (from < to && fits(to.since(from))).then_some(Span::Between(from, to));
    }
    let offered = OFFERED.iter().find(|(word, ..)| *word == text).map(|(_, length, _)| *length);
    offered.or_else(|| parse_duration(text)).filter(|length| fits(*length)).map(Span::Long)
}

/// The time from one instant to another that a rail shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::web) struct Window {
    pub(in crate::web) since: Timestamp,
    pub(in crate::web) until: Timestamp,
    /// The parts in which it is shown.
    pub(in crate::web) parts: usize,
}

impl Window {
    /// The window of a page that shows this time: up to now where that reaches back to it, else around it.
    pub(in crate::web) fn new(span: Span, shown: Timestamp, now: Timestamp) -> Self {
        let (since, until) = match span {
            Span::Between(from, to) if from < now => (from, to.min(now)),
            Span::Between(from, to) => (now.minus(to.since(from)), now),
            Span::Long(length) if shown >= now.minus(length) => (now.minus(length), now),
            Span::Long(length) => {
                let until = shown.plus(length / 4).min(now);
                (until.minus(length), until)
            }
        };
        let offered = OFFERED.iter().find(|(_, length, _)| *length == until.since(since));
        Window { since, until, parts: offered.map_or(PARTS, |(.., parts)| *parts) }
    }

    /// Where an instant lies, in per cent of the width.
    pub(super) fn place(&self, time: Timestamp) -> f64 {
        let micros = |time: Timestamp| time.as_micros().clamp(self.since.as_micros(), self.until.as_micros());
        let length = (self.until.as_micros() - self.since.as_micros()).max(1);
        (micros(time) - self.since.as_micros()) as f64 * 100.0 / length as f64
    }

    /// Where round times lie, with their names; in UTC, which a script replaces by the reader's zone.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        const MINUTE: i64 = 60;
        const STEPS: [i64; 14] = [1, 5, 10, 30, 60, 180, 360, 720, 1440, 2880, 7200, 14_400, 43_200, 86_400];
        let (since, until) = (self.since.as_micros() / 1_000_000, self.until.as_micros() / 1_000_000);
        let fits = |step: &&i64| (until - since) / (**step * MINUTE) <= 8;
        let step = STEPS.iter().find(fits).copied().unwrap_or(86_400) * MINUTE;
        let first = since.div_euclid(step) * step + step;
        let times = (0..).map(|n| first + n * step).take_while(|time| *time < until);
        let tick = |seconds: i64| {
            let time = Timestamp::from_micros(seconds * 1_000_000);
            (self.place(time), name(time, step >= 1440 * MINUTE || seconds.rem_euclid(1440 * MINUTE) == 0))
        };
        times.map(tick).filter(|(place, _)| (2.0..98.0).contains(place)).collect()
    }
}

/// `14:00`, or `20 Nov`.
fn name(time: Timestamp, is_date: bool) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = time.to_string();
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    if !is_date {
        return part(11..16).to_owned();
    }
    let month = part(5..7).parse::<usize>().ok().and_then(|month| MONTHS.get(month.checked_sub(1)?));
    format!("{} {}", part(8..10).trim_start_matches('0'), month.unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::NOON;

    fn hours(hours: u64) -> Duration {
        Duration::from_secs(hours * HOUR)
    }

    #[test]
    fn spans_are_durations_or_two_instants() {
        assert_eq!(parse("7d"), Some(Span::Long(hours(168))));
        assert_eq!(parse("90m"), Some(Span::Long(Duration::from_secs(5400))));
        let two = "2026-11-20T11:00:00Z/2026-11-20T12:00:00Z";
        assert_eq!(parse(two), Some(Span::Between(NOON.minus(hours(1)), NOON)));
        let swapped = "2026-11-20T12:00:00Z/2026-11-20T11:00:00Z";
        for wrong in ["", "soon", "2y", "1s", swapped, "/", "1h/2h"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_window_ends_now_or_lies_around_what_is_shown() {
        let window = |span, shown| {
            let window = Window::new(span, shown, NOON);
            (NOON.since(window.since), NOON.since(window.until), window.parts)
        };
        assert_eq!(window(Span::Long(hours(24)), NOON), (hours(24), hours(0), 48));
        assert_eq!(window(Span::Long(hours(24)), NOON.minus(hours(23))), (hours(24), hours(0), 48));
        assert_eq!(window(Span::Long(hours(24)), NOON.minus(hours(48))), (hours(66), hours(42), 48));
        let between = Span::Between(NOON.minus(hours(3)), NOON.plus(hours(3)));
        assert_eq!(window(between, NOON), (hours(3), hours(0), PARTS), "nothing is known of what comes");
        let ahead = Span::Between(NOON.plus(hours(3)), NOON.plus(hours(4)));
        assert_eq!(window(ahead, NOON), (hours(1), hours(0), 60));
    }

    #[test]
    fn ticks_are_at_round_times() {
        let ticks = |length| Window::new(Span::Long(length), NOON, NOON).ticks();
        let names = |length| ticks(length).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names(hours(24)), ["15:00", "18:00", "21:00", "20 Nov", "03:00", "06:00", "09:00"]);
        assert_eq!(names(hours(168)), ["14 Nov", "15 Nov", "16 Nov", "17 Nov", "18 Nov", "19 Nov", "20 Nov"]);
        assert_eq!(ticks(hours(24))[3].0, 50.0);
        for (_, length, _) in OFFERED {
            assert!((3..10).contains(&ticks(length).len()), "{length:?}: {:?}", ticks(length));
        }
    }
}
