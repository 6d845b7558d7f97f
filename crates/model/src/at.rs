//! Which time a reader asks for, and the one reader of all texts that say so: of the API, the command line and pages.

use std::fmt;
use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};
use serde::Serialize;

use crate::ids::Offset;
use crate::time::{Timestamp, parse_duration};
use crate::zone::Zone;

/// The time a reader asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum At {
    /// As it is.
    #[default]
    Now,
    /// As it was after this change.
    Offset(Offset),
    /// As it was at this time.
    Time(Timestamp),
    /// As it was this long ago.
    Ago(Duration),
}

/// The text that means the same wherever it is read, except for a duration, which goes on counting back from now.
impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Now => f.write_str("now"),
            At::Offset(offset) => write!(f, "{offset}"),
            At::Time(time) => write!(f, "{time}"),
            At::Ago(duration) => {
                let mut rest = duration.as_millis();
                for (unit, scale) in
                    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]
                {
                    if rest >= scale {
                        write!(f, "{}{unit}", rest / scale)?;
                        rest %= scale;
                    }
                }
                if duration.as_millis() == 0 { f.write_str("0s") } else { Ok(()) }
            }
        }
    }
}

/// What texts of times refer to. The clock is read once for all that one request or command says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeContext {
    /// Now.
    pub now: Timestamp,
    /// The zone of times that name none.
    pub zone: Zone,
}

/// What is understood, as errors name it.
const UNDERSTOOD: &str = "use a time (14:05, yesterday 14:05, 2026-11-20 14:05, 2026-11-20T14:05:00Z), \
    a duration ago (5m, 2h, 1d12h), Unix seconds (@1795183500), an offset (1234) or now";

/// Unix seconds beyond the year 5000: nobody means those, but many clocks count milliseconds.
const MILLISECONDS: i64 = 95_617_584_000;

impl TimeContext {
    /// Times without a zone are in UTC.
    pub fn utc(now: Timestamp) -> Self {
        TimeContext { now, zone: Zone::UTC }
    }

    /// Reads a time: `now`, an offset (`1234`), a duration ago (`2h`, `-2h`, `2h ago`), Unix seconds (`@1795183500`),
    /// RFC 3339, or a date, a time of day or both, with a zone or in that of this context. A time of day alone is the
    /// last one of now or before; a date alone, `today` and `yesterday` are their first instant. Which instant a time
    /// is that clocks skip or show twice, [`Zone`] says.
    ///
    /// # Errors
    /// When the text is none of these, with what would be understood; and when no RFC 3339 could write the time.
    pub fn read(&self, text: &str) -> Result<At, String> {
        let within = |at: At| match at {
            At::Time(time) if !time.is_writable() => Err(far()),
            At::Ago(duration) if !self.now.minus(duration).is_writable() => Err(far()),
            _ => Ok(at),
        };
        self.meaning(text).and_then(within).map_err(|why| format!("invalid time `{text}`: {why}"))
    }

    /// What a text means, or why it means nothing.
    fn meaning(&self, text: &str) -> Result<At, String> {
        let words = text.trim();
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if words.eq_ignore_ascii_case("now") {
            return Ok(At::Now);
        }
        if plain(words) {
            let number = words.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok());
            let offset = number.map(|number| At::Offset(Offset::new(number)));
            return offset.ok_or_else(|| "the offset is too large".to_owned());
        }
        if let Some(unix) = words.strip_prefix('@') {
            return unix_seconds(unix).map(At::Time);
        }
        if let Some(ago) = ago(words) {
            return Ok(At::Ago(ago));
        }
        if let Ok(time) = words.parse() {
            return Ok(At::Time(time));
        }
        match self.civil(text) {
            Some(found) => found.map(At::Time),
            None => Err(match meant(&words.to_ascii_lowercase()) {
                Some(near) => format!("did you mean `{near}`? {UNDERSTOOD}"),
                None => UNDERSTOOD.to_owned(),
            }),
        }
    }

    /// Reads a date, a time of day or both; none where the text is nothing like it.
    fn civil(&self, text: &str) -> Option<Result<Timestamp, String>> {
        let Parts { day, clock, zone } = Parts::of(text)?;
        let zone = match zone.map(Zone::named) {
            None => self.zone.clone(),
            Some(Ok(zone)) => zone,
            Some(Err(unknown)) => return Some(Err(unknown)),
        };
        let shown = clock.map(time_of_day).transpose();
        Some(shown.and_then(|shown| self.resolve(day, shown, &zone)))
    }

    fn resolve(&self, day: Option<&str>, shown: Option<Time>, zone: &Zone) -> Result<Timestamp, String> {
        let today = zone.date(self.now).ok_or_else(far)?;
        let (date, latest) = match day {
            None => (today, true),
            Some(day) if day.eq_ignore_ascii_case("today") => (today, false),
            Some(day) if day.eq_ignore_ascii_case("yesterday") => {
                (today.yesterday().map_err(|_| far())?, false)
            }
            Some(day) => (day.parse::<Date>().map_err(|_| format!("there is no date {day}"))?, false),
        };
        let on = |date: Date| zone.instant(DateTime::from_parts(date, shown.unwrap_or(Time::midnight())));
        let found = on(date).ok_or_else(far)?;
        if latest && found > self.now {
            return today.yesterday().ok().and_then(on).ok_or_else(far);
        }
        Ok(found)
    }
}

fn far() -> String {
    "it is outside the years 0001 to 9999".to_owned()
}

/// What a text of a date, a time of day and a zone is made of; at least one of the first two is there.
struct Parts<'t> {
    day: Option<&'t str>,
    clock: Option<&'t str>,
    zone: Option<&'t str>,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let mut words = text.split_whitespace().peekable();
        let (mut day, mut clock) = (None, None);
        if words.peek().is_some_and(|word| is_day(word)) {
            day = words.next();
        } else if let Some((date, rest)) = words.peek().and_then(|word| word.split_once(['T', 't']))
            && is_date(date)
        {
            words.next();
            (day, clock) = (Some(date), Some(rest));
        }
        if clock.is_none() && words.peek().is_some_and(|word| is_clock(word)) {
            clock = words.next();
        }
        let (clock, attached) = match clock.map(|clock| clock.split_at(end_of_clock(clock))) {
            Some((clock, zone)) => (Some(clock), Some(zone).filter(|zone| !zone.is_empty())),
            None => (None, None),
        };
        let zone = attached.or_else(|| words.next());
        let whole = words.next().is_none() && (day.is_some() || clock.is_some());
        whole.then_some(Parts { day, clock, zone })
    }
}

fn is_day(word: &str) -> bool {
    word.eq_ignore_ascii_case("today") || word.eq_ignore_ascii_case("yesterday") || is_date(word)
}

/// Whether it looks like `2026-11-20`.
fn is_date(word: &str) -> bool {
    let form = |(at, b): (usize, u8)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() };
    word.len() == 10 && word.bytes().enumerate().all(form)
}

/// Whether it begins like `14:05` or `9:05`.
fn is_clock(word: &str) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    (1..=2).contains(&digits) && word.as_bytes().get(digits) == Some(&b':')
}

fn end_of_clock(word: &str) -> usize {
    word.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.')).unwrap_or(word.len())
}

fn time_of_day(text: &str) -> Result<Time, String> {
    let padded = if text.as_bytes().get(1) == Some(&b':') { format!("0{text}") } else { text.to_owned() };
    padded.parse().map_err(|_| format!("there is no time of day {text}"))
}

/// Seconds since 1970, with decimals if need be.
fn unix_seconds(text: &str) -> Result<Timestamp, String> {
    let unreadable = || "use whole or decimal seconds since 1970, such as @1795183500".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return Err(unreadable());
    }
    let seconds: i64 = whole.parse().map_err(|_| unreadable())?;
    if seconds > MILLISECONDS {
        return Err(format!("that is too late for seconds; did you mean `@{}`?", seconds / 1000));
    }
    let micros = format!("{part:0<6}");
    let micros: i64 = micros[..6].parse().map_err(|_| unreadable())?;
    Ok(Timestamp::from_micros(seconds * 1_000_000 + micros))
}

/// A duration ago.
fn ago(words: &str) -> Option<Duration> {
    let after = words.split_at_checked(words.len().saturating_sub(3));
    let after =
        after.filter(|(rest, ago)| ago.eq_ignore_ascii_case("ago") && rest.ends_with(char::is_whitespace));
    parse_duration(match (after, words.strip_prefix('-')) {
        (Some((duration, _)), _) => duration.trim_end(),
        (None, Some(duration)) => duration,
        (None, None) => words,
    })
}

/// The duration that was written out, such as `2h ago` for `2 hours ago`.
fn meant(words: &str) -> Option<String> {
    let mut short = String::new();
    for word in words.trim_end_matches("ago").split_whitespace() {
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = word.split_at(digits);
        short.push_str(number);
        short.push_str(match unit {
            "" => "",
            "ms" | "msec" | "millis" | "milliseconds" => "ms",
            "s" | "sec" | "secs" | "second" | "seconds" => "s",
            "m" | "min" | "mins" | "minute" | "minutes" => "m",
            "h" | "hr" | "hrs" | "hour" | "hours" => "h",
            "d" | "day" | "days" => "d",
            "w" | "wk" | "week" | "weeks" => "w",
            _ => return None,
        });
    }
    parse_duration(&short).map(|_| format!("{short} ago"))
}

#[cfg(test)]
mod tests;
