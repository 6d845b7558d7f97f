//! Time zones: what a time without one is read in.

use std::fmt;

use jiff::tz::{Disambiguation, Offset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp as Instant, civil};

use crate::time::Timestamp;
use strandline_syntax::diagnostics::closest;

/// A time zone. Named zones are those of the tz database that the program brings along, so that every machine reads the
/// same time from the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Coordinated Universal Time.
    pub const UTC: Zone = Zone(TimeZone::UTC);

    /// By its name in the tz database (`Europe/Berlin`, ignoring case), `UTC`, `Z`, or an offset (`+02:00`).
    ///
    /// # Errors
    /// When there is no such zone, with what may have been meant.
    pub fn named(name: &str) -> Result<Self, String> {
        if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("z") {
            return Ok(Zone::UTC);
        }
        if let Some(zone) = fixed(name) {
            return Ok(zone);
        }
        let database = TimeZoneDatabase::bundled();
        database.get(name).map(Zone).map_err(|_| {
            let names: Vec<_> = database.available().collect();
            let names: Vec<_> = names.iter().map(|name| name.as_str()).collect();
            let near = closest(name, &names).map(|near| format!("did you mean `{near}`? "));
            let near = near.unwrap_or_default();
            format!("unknown time zone `{name}`; {near}use a name such as Europe/Berlin, UTC, or an offset such as +02:00")
        })
    }

    /// The date at an instant.
    pub(crate) fn date(&self, instant: Timestamp) -> Option<civil::Date> {
        Some(self.0.to_datetime(Instant::from_microsecond(instant.as_micros()).ok()?).date())
    }

    /// The instant of a time that clocks of the zone show. One that they skip, as when summer time begins, is as much
    /// later as they skip; of one that they show twice the first is meant. None outside the years that can be written.
    pub(crate) fn instant(&self, shown: civil::DateTime) -> Option<Timestamp> {
        let zoned = self.0.to_ambiguous_zoned(shown).disambiguate(Disambiguation::Compatible).ok()?;
        Some(Timestamp::from_micros(zoned.timestamp().as_microsecond()))
    }

    /// What clocks of the zone show at an instant, and the same with their offset.
    #[cfg(test)]
    pub(crate) fn printed(&self, instant: Timestamp) -> (String, String) {
        let instant = Instant::from_microsecond(instant.as_micros()).expect("an instant");
        let (offset, shown) = (self.0.to_offset(instant), self.0.to_datetime(instant));
        (shown.to_string(), instant.display_with_offset(offset).to_string())
    }
}

impl From<TimeZone> for Zone {
    fn from(zone: TimeZone) -> Self {
        Zone(zone)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.iana_name(), self.0.to_fixed_offset()) {
            (Some(name), _) => f.write_str(name),
            (None, Ok(offset)) => write!(f, "{offset}"),
            // Of rules without a name, as `TZ=CET-1CEST` gives them.
            (None, Err(_)) => f.write_str("local"),
        }
    }
}

/// `+02:00`, `-0330` or `+05`.
fn fixed(text: &str) -> Option<Zone> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let digits = rest.replacen(':', "", 1);
    let well_formed = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    if !well_formed || (digits.len() != rest.len() && rest.as_bytes().get(2) != Some(&b':')) {
        return None;
    }
    let hours: i32 = digits[..2].parse().ok()?;
    let minutes: i32 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0 };
    let seconds = sign * (hours * 3600 + minutes * 60);
    let offset = Offset::from_seconds(seconds).ok().filter(|_| hours < 24 && minutes < 60)?;
    Some(Zone(TimeZone::fixed(offset)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_names_or_offsets() {
        for (name, expected) in [
            ("UTC", "UTC"),
            ("utc", "UTC"),
            ("Z", "UTC"),
            ("Europe/Berlin", "Europe/Berlin"),
            ("america/new_york", "America/New_York"),
            ("+02:00", "+02"),
            ("-0330", "-03:30"),
            ("+05", "+05"),
        ] {
            assert_eq!(Zone::named(name).map(|zone| zone.to_string()), Ok(expected.to_owned()), "{name}");
        }
        for name in
            ["", "+", "+2", "+24:00", "+02:60", "+2:000", "+0:200", "+é0", "../etc/passwd", "Mars/Olympus"]
        {
            let error = Zone::named(name).expect_err(name);
            assert!(error.starts_with(&format!("unknown time zone `{name}`; ")), "{error}");
        }
        let error = Zone::named("Europe/Berln").expect_err("no such zone");
        assert!(error.contains("did you mean `Europe/Berlin`?"), "{error}");
    }
}
