//! Values as they are typed, read here so that a slip of the finger costs no round trip; the server reads them again.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::cli::now;
use crate::cli::stderr::note;
use crate::format::visible;
use strandline_model::{At, EnvironmentId, TimeContext, Timestamp, Uid, Zone, parse_duration};

/// The zone of `TZ` or of this machine.
static ZONE: LazyLock<Zone> = LazyLock::new(|| {
    let (zone, mistake) = zone(std::env::var_os("TZ").as_deref(), TimeZone::try_system().ok());
    if let Some(mistake) = mistake {
        note!("warning: {}", visible(&mistake));
    }
    zone
});

/// Times are those of who types, in their zone, and all of one command by one reading of the clock.
pub(in crate::cli) fn times() -> TimeContext {
    TimeContext { now: now::of_command_line(), zone: ZONE.clone() }
}

/// The zone of who types, and what is wrong with `TZ` where it names none; a machine without a zone has UTC.
fn zone(given: Option<&OsStr>, found: Option<TimeZone>) -> (Zone, Option<String>) {
    let mistake = given.filter(|given| found.is_none() && !given.is_empty()).map(|given| {
        let given = given.to_string_lossy();
        format!("TZ is \"{given}\", which is no time zone: times are read as UTC; use a name such as Europe/Berlin")
    });
    (found.map_or(Zone::UTC, Zone::from), mistake)
}

/// Reads a time; one of day is an instant from here on.
pub(super) fn time(text: &str) -> Result<At, String> {
    times().read(text)
}

/// Reads a time at which something was.
pub(super) fn instant(text: &str) -> Result<Timestamp, String> {
    let times = times();
    match times.read(text)? {
        At::Now => Ok(times.now),
        At::Time(time) => Ok(time),
        At::Ago(duration) => Ok(times.now.minus(duration)),
        At::Offset(_) => Err(format!("an offset such as `{text}` is no time; use @{text} for Unix seconds")),
    }
}

/// The id of an environment, also as `-o name` prints it: an id has no slash.
pub(super) fn environment(text: &str) -> Result<EnvironmentId, String> {
    let text = text.strip_prefix("environment/").unwrap_or(text);
    if text.is_empty() { Err("the environment is empty".into()) } else { Ok(EnvironmentId::new(text)) }
}

pub(super) fn uid(text: &str) -> Result<Uid, String> {
    if text.is_empty() { Err("the UID is empty".into()) } else { Ok(Uid::new(text)) }
}

/// Reads a number within these bounds.
pub(super) fn number(
    bounds: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let (least, most) = (bounds.start(), bounds.end());
        let to = if *most == u64::MAX { String::new() } else { format!(" to {most}") };
        let read = text.parse().ok().filter(|number| bounds.contains(number));
        read.ok_or_else(|| format!("use a whole number from {least}{to}"))
    }
}

/// How long a past may be: shorter, it had no room for what happens in it.
const PAST: RangeInclusive<Duration> = Duration::from_secs(3 * 3600)..=Duration::from_secs(7 * 24 * 3600);

/// Reads how long a past is.
pub(super) fn past(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .filter(|past| PAST.contains(past))
        .ok_or_else(|| "use a duration from 3h to 7d, such as 6h".to_owned())
}

/// The number of a deployment, also as `-o name` prints it.
pub(super) fn deployment(text: &str) -> Result<u64, String> {
    number(0..=u64::MAX)(text.strip_prefix("deployment/").unwrap_or(text))
}

/// Reads where to listen.
pub(super) fn listener(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "use an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_that_there_is_not_is_told() {
        let east = || TimeZone::fixed(jiff::tz::offset(2));
        for (given, found, expected) in [
            (Some("Europe/Berln"), None, ("UTC", true)),
            (Some("Europe/Berlin"), Some(east()), ("+02", false)),
            (Some(""), None, ("UTC", false)),
            (None, None, ("UTC", false)),
        ] {
            let (zone, mistake) = zone(given.map(OsStr::new), found);
            let told = mistake.map(|mistake| mistake.contains(given.unwrap_or_default()));
            assert_eq!((zone.to_string().as_str(), told.unwrap_or(false)), expected, "{given:?}");
        }
    }
}
