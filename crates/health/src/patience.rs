//! For how long what may still come right is given time.
//!
//! A rule sees one state and no clock, so it says for what the object waits and since when. What becomes of that when it
//! has lasted for too long is in the verdict, and whoever knows the time applies it.

use std::time::Duration;

use super::finding::{Finding, Wait, verdict};
use strandline_model::{Health, Later, Timestamp, Verdict};

/// For how long what may still come right is given time, by the user's setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How long no node may take a Pod before it is Degraded; without, it never is for that.
    pub unschedulable: Option<Duration>,
    /// How long an object on which nobody has reported is Progressing, from when it was made; then it has no health.
    pub unreported: Duration,
}

impl Default for Patience {
    /// An autoscaler brings a node within a few minutes, and a Deployment's own deadline is ten. Controllers report on what is
    /// new within seconds.
    fn default() -> Self {
        Patience { unschedulable: Some(Duration::from_secs(300)), unreported: Duration::from_secs(60) }
    }
}

impl Patience {
    /// The verdict on what a rule has found.
    pub(super) fn verdict(self, rule: &str, mut finding: Finding) -> Verdict {
        let wait = finding.wait.take();
        let now = verdict(rule, finding);
        match wait {
            Some(Wait::Node { since, message }) => {
                let later = |after| {
                    let reason = now.reason.clone();
                    Later { since, after, health: Some(Health::Degraded), reason, message }
                };
                Verdict { later: self.unschedulable.map(later), ..now }
            }
            Some(Wait::Report { since }) => {
                let (after, reason, message) = (self.unreported, String::new(), String::new());
                let later = Later { since, after, health: None, reason, message };
                let now = Verdict { later: Some(later), ..now };
                // Whatever is seen has been there for no time at least.
                if after.is_zero() { now.seen_at(Timestamp::default()) } else { now }
            }
            None => now,
        }
    }
}
