//! What streams say of the items of a list, and where in a stream something is.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::list::{Digest, Item, Key, Listing};
use crate::http::problem::Problem;
use strandline_model::{Health, Offset};
use strandline_protocol::{WatchedEnvironment, WatchedResource};

/// Where a stream is: what was sent by then, and nothing else.
///
/// As text it is the offset. Within a round, the changes between two offsets that were seen together, it is
/// `FROM-TO.KEY`: a stream that breaks off there goes on with the item after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// All up to here was sent.
    pub from: Offset,
    /// Of the round from there to this offset, all up to the item with this key.
    pub within: Option<(Offset, String)>,
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
            Some((to, key)) => write!(f, "{}-{to}.{key}", self.from),
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
            let (to, key) = rest.split_once('.')?;
            let (from, to) = (offset(from)?, offset(to)?);
            (from < to).then(|| Position { from, within: Some((to, key.to_owned())) })
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
    /// Of which item.
    pub key: Key,
    /// Where the stream is with it.
    pub position: Position,
    /// JSON.
    pub data: Arc<str>,
}

/// The changes of a list between two offsets, in the order of the keys of its items.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) to: Offset,
    pub(super) events: Arc<[WatchEvent]>,
}

/// What changed from one state of a list to another.
pub(super) fn round(before: &Digest, after: &Listing, from: Offset, to: Offset) -> Result<Round, Problem> {
    let mut keys: Vec<&Key> = before.keys().chain(after.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut events = Vec::new();
    for key in keys {
        let (was, is) = (before.get(key), after.get(key));
        let name = match (was, is) {
            (None, _) => "enter",
            (_, None) => "leave",
            (Some(was), Some((is, _))) if was.health != is.health => "health",
            (Some(was), Some((is, _))) if was != is => "change",
            _ => continue,
        };
        let was = was.filter(|_| name == "health").and_then(|was| was.health);
        let data = data(to, key, was, is.map(|(_, item)| item)).map_err(Problem::internal)?.into();
        let position = Position { from, within: Some((to, key.to_string())) };
        events.push(WatchEvent { name, key: key.clone(), position, data });
    }
    if let Some(last) = events.last_mut() {
        last.position = Position::at(to);
    }
    Ok(Round { to, events: events.into() })
}

/// What is said of an item; none is there where it left the list.
fn data(offset: Offset, key: &Key, was: Option<Health>, item: Option<&Item>) -> serde_json::Result<String> {
    match key {
        Key::Environment(id) => {
            let environment = item.and_then(Item::environment).cloned();
            serde_json::to_string(&WatchedEnvironment { offset, id: id.clone(), was, environment })
        }
        Key::Resource(id, cluster) => {
            let (id, cluster) = (id.clone(), cluster.clone());
            let resource = item.and_then(Item::resource).cloned();
            serde_json::to_string(&WatchedResource { offset, id, cluster, was, resource })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_written() {
        let within = Position { from: Offset::new(7), within: Some((Offset::new(9), "a.b-c.d".to_owned())) };
        for (position, text) in [(Position::at(Offset::new(12)), "12"), (within, "7-9.a.b-c.d")] {
            assert_eq!(position.to_string(), text);
            assert_eq!(text.parse(), Ok(position));
        }
        for text in ["", "x", "-1", "9-7.a", "7-7.a", "7-9", "7.9-a", "+7", "99999999999999999999"] {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }
}
