//! What a timeline shows, and in which order.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use strandline_model::{At, Lane};
use strandline_protocol::Timeline;

/// What a timeline shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimelineFilter {
    /// Where it begins, a duration being one before its end; a day before where nothing is said.
    pub since: Option<At>,
    /// Parts of the span, 1 to [`Timeline::BUCKETS`].
    pub buckets: usize,
    /// Only entries of these lanes; empty for all.
    pub lanes: Vec<Lane>,
    /// In which order entries are.
    pub order: Order,
    /// Of a resource, whether also what was below it along *owns* is told of.
    pub below: bool,
}

impl Default for TimelineFilter {
    fn default() -> Self {
        let (lanes, order) = (Vec::new(), Order::default());
        TimelineFilter { since: None, buckets: Timeline::BUCKETS_DEFAULT, lanes, order, below: false }
    }
}

/// In which order entries are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Order {
    /// The newest first.
    #[default]
    Newest,
    /// The oldest first.
    Oldest,
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 2] = [Order::Newest, Order::Oldest];

    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Order::Newest => "newest",
            Order::Oldest => "oldest",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let known = Order::ALL.into_iter().find(|order| order.as_str() == text);
        known.ok_or_else(|| format!("invalid order `{text}`; use one of newest, oldest"))
    }
}
