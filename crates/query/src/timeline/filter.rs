//! What a timeline shows, and in which order.

use serde::Serialize;

use strandline_model::{At, Lane};
use strandline_protocol::Timeline;
use strandline_syntax::keywords;

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

keywords!(
    Order, "order", Exact,
    Newest => "newest",
    Oldest => "oldest",
);
