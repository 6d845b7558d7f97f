//! What callers may declare, and how often: no project fills the log for all others.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use super::error::{CatalogCode, CatalogError};
use strandline_clock::{Mark, mark};
use strandline_log::{Catalog, CatalogChange, LogError};
use strandline_model::{CatalogFact, CatalogKind};

/// The most bytes of a declaration as it is recorded, an agent's file aside, which has a bound of its own.
const DECLARATION_MAX: usize = 256 * 1024;

/// How many callers are remembered; one who is not has not written for long.
const CALLERS: NonZeroUsize = NonZeroUsize::new(10_000).expect("it must not be zero");

const MINUTE: f64 = 60.0;

/// What callers may declare, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaConfig {
    /// Environments of a project.
    pub environments: u64,
    /// Agents of a project.
    pub agents: u64,
    /// Deployments to an environment that are kept.
    pub deployments: u64,
    /// Requests that write, of one token within a minute.
    pub writes_per_minute: u64,
}

impl Default for QuotaConfig {
    fn default() -> Self {
        QuotaConfig { environments: 5000, agents: 500, deployments: 10_000, writes_per_minute: 1200 }
    }
}

impl QuotaConfig {
    /// No bounds at all.
    pub const NONE: QuotaConfig = QuotaConfig {
        environments: u64::MAX,
        agents: u64::MAX,
        deployments: u64::MAX,
        writes_per_minute: u64::MAX,
    };
}

/// That what is to be declared is within the quotas. A few that are decided at the same time may pass one together.
pub(super) fn check(
    catalog: &mut Catalog<'_, '_>,
    quotas: &QuotaConfig,
    changes: &[CatalogChange],
) -> Result<Result<(), CatalogError>, LogError> {
    for change in changes {
        let CatalogChange::Declare(fact) = change else { continue };
        if let Err(refusal) = size(fact) {
            return Ok(Err(refusal));
        }
        let (most, what, of) = match fact.kind() {
            CatalogKind::Environment => (quotas.environments, "environments", "the project"),
            CatalogKind::Agent => (quotas.agents, "agents", "the project"),
            CatalogKind::Deployment => (quotas.deployments, "deployments", "the environment"),
            CatalogKind::Cluster | CatalogKind::Project => continue,
        };
        let (kind, place) = (fact.kind(), fact.place());
        if most == u64::MAX || catalog.get(kind, &fact.name())?.is_some() {
            continue;
        }
        if catalog.count_under(kind, place)? >= most {
            let message = format!("{of} `{place}` has reached its quota of {most} {what}");
            let error = CatalogError::new(CatalogCode::QuotaExceeded, message);
            let hint = "delete unused ones, or raise `quotas` in the configuration";
            return Ok(Err(error.hint(hint)));
        }
    }
    Ok(Ok(()))
}

/// That a declaration is not larger than any that makes sense.
fn size(fact: &CatalogFact) -> Result<(), CatalogError> {
    if fact.kind() == CatalogKind::Agent {
        return Ok(());
    }
    let bytes = serde_json::to_vec(fact).map_or(0, |text| text.len());
    if bytes <= DECLARATION_MAX {
        return Ok(());
    }
    let message = format!("the declaration has {bytes} bytes; the limit is {DECLARATION_MAX}");
    Err(CatalogError::new(CatalogCode::QuotaExceeded, message))
}

/// How often each caller does something; clones share it. What nobody used for a minute is there at once, and then it
/// fills again evenly.
#[derive(Clone, Debug)]
pub struct Rates {
    callers: Arc<Mutex<LruCache<String, Bucket>>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    filled: Mark,
}

impl Default for Rates {
    fn default() -> Self {
        Rates { callers: Arc::new(Mutex::new(LruCache::new(CALLERS))) }
    }
}

impl Rates {
    /// Takes one of those that a caller has, unless there is none.
    pub fn take(&self, caller: &str, per_minute: u64) -> bool {
        if per_minute == u64::MAX {
            return true;
        }
        let (now, most) = (mark(), per_minute as f64);
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let full = || Bucket { left: most, filled: now };
        let bucket = callers.get_or_insert_mut(caller.to_owned(), full);
        let passed = now.saturating_duration_since(bucket.filled).as_secs_f64();
        *bucket = Bucket { left: (bucket.left + passed * most / MINUTE).min(most), filled: now };
        let is_left = bucket.left >= 1.0;
        bucket.left -= f64::from(u8::from(is_left));
        is_left
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_writes_too_often_waits_for_the_next_turn_and_others_do_not() {
        let rates = Rates::default();
        for _ in 0..60 {
            assert!(rates.take("one", 60));
        }
        assert_eq!((rates.take("one", 60), rates.take("two", 60)), (false, true));
        tokio::time::advance(Duration::from_millis(1001)).await;
        assert_eq!((rates.take("one", 60), rates.take("one", 60)), (true, false));
        tokio::time::advance(Duration::from_secs(3600)).await;
        let taken = (0..100).filter(|_| rates.take("one", 60)).count();
        assert_eq!(taken, 60, "an hour of rest does not add up");
    }

    #[test]
    fn callers_are_remembered_within_bounds() {
        let rates = Rates::default();
        for n in 0..20_000 {
            assert!(rates.take(&n.to_string(), 1));
        }
        assert_eq!(rates.callers.lock().map_or(0, |callers| callers.len()), 10_000);
    }
}
