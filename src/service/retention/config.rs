//! What is kept for how long.

use std::time::Duration;

use strandline_model::KindPattern;

const HOUR: Duration = Duration::from_secs(3600);

/// What is kept for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionConfig {
    /// What is older goes; none keeps everything.
    pub age: Option<Duration>,
    /// Bytes that the data directory may hold; none for as many as there is room for.
    pub size: Option<u64>,
    /// What is younger stays, whatever room it takes.
    pub at_least: Duration,
    /// How often to look.
    pub every: Duration,
    /// What of these kinds is older is pruned before the rest; of several patterns the first that means a kind, which are those
    /// that name one.
    pub kinds: Vec<(KindPattern, Duration)>,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        RetentionConfig {
            age: Some(30 * 24 * HOUR),
            size: Some(10 << 30),
            at_least: HOUR,
            every: HOUR,
            kinds: Vec::new(),
        }
    }
}
