//! Instants and durations: how they are kept and written.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment in microseconds since 1970-01-01T00:00:00Z; as text it is RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// 0001-01-01T00:00:00Z.
const FIRST_MICROS: i64 = -62_135_596_800_000_000;
/// The last microsecond of the year 9999.
const LAST_MICROS: i64 = 253_402_300_799_999_999;

impl Timestamp {
    /// From microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Timestamp(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This moment less a duration; stops at the earliest one there is.
    pub fn minus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(micros))
    }

    /// This moment and a duration; stops at the latest one there is.
    pub fn plus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(micros))
    }

    /// The second that it lies in, as people write moments.
    pub const fn to_the_second(self) -> Self {
        Timestamp(self.0.saturating_sub(self.0.rem_euclid(1_000_000)))
    }

    /// Whether it lies in the years 0001 to 9999 in UTC, which is what RFC 3339 and most readers of it can write.
    pub fn is_writable(self) -> bool {
        (FIRST_MICROS..=LAST_MICROS).contains(&self.0)
    }

    /// How long ago `earlier` was; zero when it was not.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = DateTime::<Utc>::from_timestamp_micros(self.0).unwrap_or(if self.0 < 0 {
            DateTime::<Utc>::MIN_UTC
        } else {
            DateTime::<Utc>::MAX_UTC
        });
        f.write_str(&time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl FromStr for Timestamp {
    type Err = String;

    /// Reads RFC 3339, also to the minute: what programs write. What people type is read by [`TimeContext`](crate::TimeContext).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let with_seconds = || {
            let (minute, zone) = text.split_at_checked(16)?;
            DateTime::parse_from_rfc3339(&format!("{minute}:00{zone}")).ok()
        };
        DateTime::parse_from_rfc3339(text)
            .ok()
            .or_else(with_seconds)
            .map(|time| Timestamp(time.timestamp_micros()))
            .ok_or_else(|| format!("`{text}` is not an RFC 3339 time such as 2026-11-20T14:05:00Z"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Reads durations as kubectl and Prometheus write them: `90s`, `15m`, `1h30m`, `2d`, `1w`; none where the text is none.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|&n| n > 0)?;
        let value: u64 = rest[..digits].parse().ok()?;
        let (unit, scale) = [("ms", 0), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)]
            .into_iter()
            .find(|(unit, _)| rest[digits..].starts_with(unit))?;
        let millis = if scale == 0 { value } else { value.checked_mul(scale)?.checked_mul(1000)? };
        total = total.checked_add(millis)?;
        rest = &rest[digits + unit.len()..];
    }
    (!text.is_empty()).then(|| Duration::from_millis(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_survives_its_text() {
        for micros in [0, 1, 1_763_700_000_123_456, -1, 253_402_300_799_999_999] {
            let time = Timestamp(micros);
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        assert!(!Timestamp(i64::MAX).to_string().is_empty(), "the far end must not panic");
    }
}
