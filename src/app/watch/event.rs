//! What streams say of environments, and where in a stream something is.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::listing::{Digest, Listing};
use crate::http::problem::Problem;
use strandline_model::{EnvironmentId, Offset};
use strandline_protocol::WatchedEnvironment;

/// Where a stream is: what was sent by then, and nothing else.
///
/// As text it is the offset. Within a round, the changes between two offsets that were seen together, it is
/// `FROM-TO.ENVIRONMENT`: a stream that breaks off there goes on with the environment after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// All up to here was sent.
    pub from: Offset,
    /// Of the round from there to this offset, all up to this environment.
    pub within: Option<(Offset, EnvironmentId)>,
}

impl Position {
    /// At an offset.
    pub fn at(offset: Offset) -> Self {
        Position { from: offset, within: None }
    }

    /// The end of the round that it is in.
    pub fn reached(&self) -> Offset {
        self.within.as_ref().map_or(self.from, |(to, _)| *to)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.within {
            None => write!(f, "{}", self.from),
            Some((to, environment)) => write!(f, "{}-{to}.{environment}", self.from),
        }
    }
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let offset = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            text.parse::<i64>().ok().filter(|_| plain).map(Offset::from_i64)
        };
        let whole = || offset(text).map(Position::at);
        let part = || {
            let (from, rest) = text.split_once('-')?;
            let (to, environment) = rest.split_once('.')?;
            let (from, to) = (offset(from)?, offset(to)?);
            (from < to).then(|| Position { from, within: Some((to, EnvironmentId::new(environment))) })
        };
        whole()
            .or_else(part)
            .ok_or_else(|| format!("invalid event id `{text}`; send the last `id` of the stream"))
    }
}

/// What a stream says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// `enter`, `leave`, `health` or `change`.
    pub name: &'static str,
    /// Of which environment.
    pub environment: EnvironmentId,
    /// Where the stream is with it.
    pub position: Position,
    /// JSON.
    pub data: Arc<str>,
}

/// The changes of a list between two offsets, in the order of the ids of its environments.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) to: Offset,
    pub(super) events: Arc<[WatchEvent]>,
}

/// What changed from one state of a list to another.
pub(super) fn round(before: &Digest, after: &Listing, from: Offset, to: Offset) -> Result<Round, Problem> {
    let mut ids: Vec<&EnvironmentId> = before.keys().chain(after.keys()).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut events = Vec::new();
    for id in ids {
        let (was, is) = (before.get(id), after.get(id));
        let name = match (was, is) {
            (None, _) => "enter",
            (_, None) => "leave",
            (Some(was), Some((is, _))) if was.health != is.health => "health",
            (Some(was), Some((is, _))) if was != is => "change",
            _ => continue,
        };
        let was = was.filter(|_| name == "health").and_then(|was| was.health);
        let environment = is.map(|(_, environment)| environment.clone());
        let watched = WatchedEnvironment { offset: to, id: id.clone(), was, environment };
        let data = serde_json::to_string(&watched).map_err(Problem::internal)?.into();
        let position = Position { from, within: Some((to, id.clone())) };
        events.push(WatchEvent { name, environment: id.clone(), position, data });
    }
    if let Some(last) = events.last_mut() {
        last.position = Position::at(to);
    }
    Ok(Round { to, events: events.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_written() {
        let within =
            Position { from: Offset::new(7), within: Some((Offset::new(9), EnvironmentId::new("a.b-c.d"))) };
        for (position, text) in [(Position::at(Offset::new(12)), "12"), (within, "7-9.a.b-c.d")] {
            assert_eq!(position.to_string(), text);
            assert_eq!(text.parse(), Ok(position));
        }
        for text in ["", "x", "-1", "9-7.a", "7-7.a", "7-9", "7.9-a", "+7", "99999999999999999999"] {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }
}
