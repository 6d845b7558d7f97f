//! What a fleet is made from.

use std::time::Duration;

use super::schedule::hours;
use strandline_model::Timestamp;

/// What a fleet is made from.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// When the history begins; ten days before that the organization was founded.
    pub start: Timestamp,
    /// How long the history is: the story has its incident an eighth of this before the end, and continues after it.
    pub history: Duration,
    /// Whether there is an incident right after the beginning, too, for who follows from there.
    pub opens_with_incident: bool,
}

impl FleetOptions {
    /// A day of history.
    pub fn new(seed: u64, start: Timestamp) -> Self {
        FleetOptions { seed, start, history: hours(24), opens_with_incident: false }
    }
}
