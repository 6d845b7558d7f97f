//! Sizes and times: how much a watch takes in, and how long it waits.

use std::time::Duration;

use super::server_time::ServerTime;

/// Bounds of what a watch takes in and of how long it waits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Objects asked for in one page of a list.
    pub page_objects: usize,
    /// The largest page taken in; a larger one is asked for again with fewer objects.
    pub page_bytes: usize,
    /// The most objects that a list may have; a longer one is broken off.
    pub list_objects: usize,
    /// The longest line of a watch, that is, the largest object.
    pub line_bytes: usize,
    /// Lines appended together at most.
    pub batch_lines: usize,
    /// Bytes of lines appended together, more or less.
    pub batch_bytes: usize,
    /// How long a line waits for others to be recorded with it.
    pub linger: Duration,
    /// How long the server may leave a request unanswered.
    pub response: Duration,
    /// How long a connection may stay silent.
    pub idle: Duration,
    /// How long a streaming list may stay silent before its end; after that the kind is listed in pages.
    pub streaming_silence: Duration,
    /// How long a kind that is no longer discovered is watched on, for the deletions of its objects to arrive.
    pub retirement_delay: Duration,
    /// How long a kind must be absent from complete discoveries before it counts as removed.
    pub removal: Duration,
    /// How long changes of CustomResourceDefinitions and APIServices are gathered before discovery is repeated.
    pub gather: Duration,
    /// How long being without a connection is no gap.
    pub patience: Duration,
    /// How long the server is asked to keep a watch open, at least; up to a quarter is added at random.
    pub watch: Duration,
    /// The first and shortest wait after a failure.
    pub backoff_least: Duration,
    /// The longest wait after a failure.
    pub backoff_most: Duration,
    /// The least time between two openings of the same watch.
    pub pace: Duration,
    /// Where the servers' own time is taken down, with every answer.
    pub server_time: ServerTime,
    /// How many watches in a row may close at once and silently before the kind is listed afresh.
    pub empty_watches: u32,
    /// How often what is recorded of a kind is compared with all that the cluster has; spread over the second half.
    pub consistency: Duration,
    /// How soon that is done once something may have been missed; spread over the second half.
    pub consistency_soon: Duration,
    /// The least time between two such comparisons of a kind for that reason.
    pub consistency_apart: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            page_objects: 500,
            page_bytes: 32 << 20,
            list_objects: 5_000_000,
            line_bytes: 16 << 20,
            batch_lines: 500,
            batch_bytes: 4 << 20,
            linger: Duration::from_millis(5),
            response: Duration::from_secs(65),
            idle: Duration::from_secs(120),
            streaming_silence: Duration::from_secs(10),
            retirement_delay: Duration::from_secs(10),
            removal: Duration::from_secs(20),
            gather: Duration::from_millis(300),
            patience: Duration::from_secs(5),
            watch: Duration::from_secs(240),
            backoff_least: Duration::from_millis(500),
            backoff_most: Duration::from_secs(30),
            pace: Duration::from_secs(1),
            server_time: ServerTime::default(),
            empty_watches: 5,
            consistency: Duration::from_secs(24 * 60 * 60),
            consistency_soon: Duration::from_secs(60),
            consistency_apart: Duration::from_secs(10 * 60),
        }
    }
}
