//! Times among the parameters, all read by one parser and against one reading of the clock.

use super::{AT, FROM, Parameter, Query, SINCE, TO, TZ, UNTIL};
use strandline_model::{At, TimeContext, Timestamp, Zone};

/// Parameters that hold a time.
pub const TIMES: [Parameter; 5] = [AT, FROM, TO, SINCE, UNTIL];

/// The zone of times that name none: the one that is asked for, or else UTC.
pub(super) fn zone(query: &Query) -> Result<Zone, String> {
    query.one(TZ).map_or(Ok(Zone::UTC), Zone::named)
}

/// The time that a parameter holds, if it is given.
pub(super) fn read(query: &Query, parameter: Parameter) -> Option<Result<At, String>> {
    let text = query.one(parameter)?;
    // Of a query without a clock nothing is answered: what depends on the time of day is wrong there, not an error.
    let now = query.now.unwrap_or_default();
    // What is wrong with the zone is reported once, of the zone.
    let zone = zone(query).unwrap_or(Zone::UTC);
    Some(TimeContext { now, zone }.read(&with_plus(text)))
}

/// A `+` reads as a blank in a query: at the beginning, where nobody types one, and before a zone's offset, behind a time of
/// day, where a blank is followed by the name of a zone otherwise.
fn with_plus(text: &str) -> String {
    if let Some(rest) = text.strip_prefix(' ') {
        return format!("+{rest}");
    }
    match text.rsplit_once(' ') {
        Some((time, offset)) if time.contains(':') && offset.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{time}+{offset}")
        }
        _ => text.to_owned(),
    }
}

/// The query with every time of day as the instant that it was when the query was asked; durations go on counting back, and
/// what is wrong stays as it is.
pub(super) fn settled(query: &Query) -> Query {
    let mut settled = query.clone();
    if query.now.is_none() || zone(query).is_err() {
        return settled;
    }
    for (name, value) in &mut settled.pairs {
        let parameter = TIMES.into_iter().find(|parameter| parameter.name == name.as_str());
        if let Some(Ok(At::Time(time))) = parameter.and_then(|parameter| read(query, parameter)) {
            *value = instant(time, value);
        }
    }
    settled.pairs.retain(|(name, _)| name != TZ.name);
    settled
}

/// The text of an instant: as it was given, where that names it wherever it is read.
fn instant(time: Timestamp, given: &str) -> String {
    match given.parse::<Timestamp>() {
        Ok(_) => given.to_owned(),
        Err(_) => time.to_string(),
    }
}
