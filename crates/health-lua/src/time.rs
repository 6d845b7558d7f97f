//! `os.time` and `os.date` of a moment that is given, in UTC wherever this runs.

use std::fmt::Write;

use chrono::{DateTime, Datelike, Months, NaiveDate, TimeDelta, Utc};

/// What `os.time` takes; what is left out is as in Lua.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    pub(super) year: Option<i64>,
    pub(super) month: Option<i64>,
    pub(super) day: Option<i64>,
    pub(super) hour: Option<i64>,
    pub(super) min: Option<i64>,
    pub(super) sec: Option<i64>,
}

/// Seconds since 1970; months, days and hours beyond their range carry over. None where no calendar reaches.
pub(super) fn seconds(parts: Parts) -> Option<i64> {
    let first = NaiveDate::from_ymd_opt(i32::try_from(parts.year?).ok()?, 1, 1)?;
    let months = parts.month?.checked_sub(1)?;
    let distance = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    let month =
        if months < 0 { first.checked_sub_months(distance) } else { first.checked_add_months(distance) };
    let clock = [(parts.hour.unwrap_or(12), 3600), (parts.min.unwrap_or(0), 60), (parts.sec.unwrap_or(0), 1)];
    let mut seconds = parts.day?.checked_sub(1)?.checked_mul(86_400)?;
    for (count, unit) in clock {
        seconds = seconds.checked_add(count.checked_mul(unit)?)?;
    }
    let midnight = month?.and_hms_opt(0, 0, 0)?.and_utc();
    Some(midnight.checked_add_signed(TimeDelta::try_seconds(seconds)?)?.timestamp())
}

/// A moment in the form that a pattern asks for; what the pattern does not know stays as it is.
pub(super) fn shown(pattern: &str, seconds: i64) -> Option<String> {
    let moment = DateTime::<Utc>::from_timestamp(seconds, 0)?;
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        match rest.next() {
            Some('w') => write!(text, "{}", moment.weekday().num_days_from_sunday()).ok()?,
            Some('%') | None => text.push('%'),
            Some(directive) => match form(directive) {
                Some(form) => write!(text, "{}", moment.format(form)).ok()?,
                None => text.extend(['%', directive]),
            },
        }
    }
    Some(text)
}

/// The directives that Argo CD's scripts have, in the forms of C.
fn form(directive: char) -> Option<&'static str> {
    Some(match directive {
        'a' => "%a",
        'A' => "%A",
        'b' => "%b",
        'B' => "%B",
        'c' => "%a %b %e %H:%M:%S %Y",
        'd' => "%d",
        'F' => "%Y-%m-%d",
        'H' => "%H",
        'I' => "%I",
        'j' => "%j",
        'm' => "%m",
        'M' => "%M",
        'p' => "%p",
        'S' => "%S",
        'x' => "%m/%d/%y",
        'X' => "%H:%M:%S",
        'y' => "%y",
        'Y' => "%Y",
        'z' => "%z",
        'Z' => "UTC",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i64, month: i64, day: i64, hour: i64) -> Option<i64> {
        let parts = Parts { year: Some(year), month: Some(month), day: Some(day), ..Parts::default() };
        seconds(Parts { hour: Some(hour), ..parts })
    }

    #[test]
    fn what_exceeds_its_range_carries_over() {
        let new_year = at(2026, 1, 1, 0);
        assert_eq!(new_year, Some(1_767_225_600));
        assert_eq!(at(2025, 13, 1, 0), new_year);
        assert_eq!(at(2025, 12, 32, 0), new_year);
        assert_eq!(at(2026, 2, -30, 0), new_year);
        assert_eq!(at(2025, 12, 31, 24), new_year);
        assert_eq!(at(1970, 1, 1, 0), Some(0));
    }

    #[test]
    fn what_no_calendar_reaches_is_none() {
        for (year, month, day) in
            [(i64::MAX, 1, 1), (2026, i64::MIN, 1), (2026, 1, i64::MAX), (300_000, 1, 1)]
        {
            assert_eq!(at(year, month, day, 0), None, "{year}-{month}-{day}");
        }
        assert_eq!(seconds(Parts::default()), None);
        assert_eq!(shown("%Y", i64::MAX), None);
    }

    #[test]
    fn moments_are_shown_as_the_pattern_asks() {
        let noon = at(2026, 11, 21, 12).unwrap_or_default();
        for (pattern, text) in [
            ("%Y-%m-%dT%H:%M:%SZ", "2026-11-21T12:00:00Z"),
            ("%F %X %Z", "2026-11-21 12:00:00 UTC"),
            ("%a %A %w %j", "Sat Saturday 6 325"),
            ("100%% %q %", "100% %q %"),
        ] {
            assert_eq!(shown(pattern, noon).as_deref(), Some(text), "{pattern}");
        }
    }
}
