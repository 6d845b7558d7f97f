//! What callers may declare, and how often: no project fills the log for all others.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use super::error::{CatalogCode, CatalogError};
use strandline_clock::{Mark, mark};
use strandline_log::{Catalog, CatalogChange, LogError};
use strandline_model::{CatalogFact, CatalogKind};

/// The most bytes of a declaration as it is recorded, an agent's file aside, which has a bound of its own.
const DECLARATION_MAX: usize = 256 * 1024;

/// What a declaration takes in log and view beside its text.
const DECLARATION_OVERHEAD: u64 = 512;

/// How many callers, or projects, are remembered; one that is not has not written for long.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(10_000).expect("it must not be zero");

const MINUTE: f64 = 60.0;
const DAY: f64 = 24.0 * 60.0 * MINUTE;

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
    /// Bytes that the declarations of a project add to the log within a day.
    pub bytes_per_day: u64,
}

impl Default for QuotaConfig {
    fn default() -> Self {
        QuotaConfig {
            environments: 5000,
            agents: 500,
            deployments: 10_000,
            writes_per_minute: 1200,
            bytes_per_day: 64 << 20,
        }
    }
}

impl QuotaConfig {
    /// No bounds at all.
    pub const NONE: QuotaConfig = QuotaConfig {
        environments: u64::MAX,
        agents: u64::MAX,
        deployments: u64::MAX,
        writes_per_minute: u64::MAX,
        bytes_per_day: u64::MAX,
    };
}

/// What declarations add to the log, in bytes of each project.
#[derive(Debug, Default)]
pub(super) struct Added(BTreeMap<String, u64>);

impl Added {
    /// With what others add.
    pub(super) fn and(&mut self, others: Added) {
        for (project, bytes) in others.0 {
            *self.0.entry(project).or_default() += bytes;
        }
    }
}

/// The quotas, and what projects used of them; clones share that.
#[derive(Clone, Debug)]
pub(super) struct Quotas {
    pub(super) config: QuotaConfig,
    pub(super) written: Rates,
}

impl Quotas {
    /// Counts what was added to the log.
    pub(super) fn spend(&self, added: &Added) {
        for (project, bytes) in &added.0 {
            self.written.spend(project, *bytes, self.config.bytes_per_day, DAY);
        }
    }

    /// That a project may add to the log.
    fn may_add(&self, project: &str) -> Result<(), CatalogError> {
        let most = self.config.bytes_per_day;
        if self.written.has_left(project, most, DAY) {
            return Ok(());
        }
        let message =
            format!("the project `{project}` has reached its quota of {most} bytes of declarations per day");
        let hint = "declare less often what changes, or raise `quotas.bytes_per_day` in the configuration";
        Err(CatalogError::new(CatalogCode::TooOften, message).hint(hint))
    }
}

/// That what is to be declared is within the quotas, and what it adds to the log. A few that are decided at the same time may
/// pass one together.
pub(super) fn check(
    catalog: &mut Catalog<'_, '_>,
    quotas: &Quotas,
    changes: &[CatalogChange],
) -> Result<Result<Added, CatalogError>, LogError> {
    let mut added = Added::default();
    for change in changes {
        let CatalogChange::Declare(fact) = change else { continue };
        let bytes = serde_json::to_vec(fact).map_or(0, |text| text.len());
        if let Err(refusal) = size(fact, bytes) {
            return Ok(Err(refusal));
        }
        let known = catalog.get(fact.kind(), &fact.name())?;
        // What repeats what holds is not written.
        if let Some(project) = project_of(fact)
            && known.as_ref().is_none_or(|known| known.fact != *fact)
        {
            if let Err(refusal) = quotas.may_add(project) {
                return Ok(Err(refusal));
            }
            *added.0.entry(project.to_owned()).or_default() += bytes as u64 + DECLARATION_OVERHEAD;
        }
        let config = &quotas.config;
        let (most, what, of) = match fact.kind() {
            CatalogKind::Environment => (config.environments, "environments", "the project"),
            CatalogKind::Agent => (config.agents, "agents", "the project"),
            CatalogKind::Deployment => (config.deployments, "deployments", "the environment"),
            CatalogKind::Cluster | CatalogKind::Project => continue,
        };
        let (kind, place) = (fact.kind(), fact.place());
        if most == u64::MAX || known.is_some() {
            continue;
        }
        if catalog.count_under(kind, place)? >= most {
            let message = format!("{of} `{place}` has reached its quota of {most} {what}");
            let error = CatalogError::new(CatalogCode::QuotaExceeded, message);
            let hint = "delete unused ones, or raise `quotas` in the configuration";
            return Ok(Err(error.hint(hint)));
        }
    }
    Ok(Ok(added))
}

/// The project that declares it.
fn project_of(fact: &CatalogFact) -> Option<&str> {
    match fact {
        CatalogFact::Cluster(_) => None,
        CatalogFact::Project(project) => Some(&project.path),
        CatalogFact::Agent(agent) => Some(agent.id.project()),
        CatalogFact::Environment(environment) => Some(&environment.project),
        CatalogFact::Deployment(deployment) => Some(&deployment.project),
    }
}

/// That a declaration of so many bytes is not larger than any that makes sense.
fn size(fact: &CatalogFact, bytes: usize) -> Result<(), CatalogError> {
    if fact.kind() == CatalogKind::Agent {
        return Ok(());
    }
    if bytes <= DECLARATION_MAX {
        return Ok(());
    }
    let message = format!("the declaration has {bytes} bytes; the limit is {DECLARATION_MAX}");
    Err(CatalogError::new(CatalogCode::QuotaExceeded, message))
}

/// How much each caller, or project, does within a time; clones share it. What nobody used for that time is there at once, and
/// then it fills again evenly.
#[derive(Clone, Debug)]
pub struct Rates(Arc<Mutex<LruCache<String, Bucket>>>);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    filled: Mark,
}

impl Default for Rates {
    fn default() -> Self {
        Rates(Arc::new(Mutex::new(LruCache::new(REMEMBERED))))
    }
}

impl Rates {
    /// Takes one of those that a caller has within a minute, unless there is none.
    pub fn take(&self, caller: &str, per_minute: u64) -> bool {
        self.within(caller, per_minute, MINUTE, |left| {
            let is_left = *left >= 1.0;
            *left -= f64::from(u8::from(is_left));
            is_left
        })
    }

    /// Whether there is anything left of what it may within so many seconds.
    fn has_left(&self, who: &str, most: u64, seconds: f64) -> bool {
        self.within(who, most, seconds, |left| *left > 0.0)
    }

    /// Takes what was used already, even where less is left: what was used too much has to fill again first.
    fn spend(&self, who: &str, used: u64, most: u64, seconds: f64) {
        self.within(who, most, seconds, |left| {
            *left -= used as f64;
            true
        });
    }

    fn within(&self, who: &str, most: u64, seconds: f64, with: impl FnOnce(&mut f64) -> bool) -> bool {
        if most == u64::MAX {
            return true;
        }
        let (now, most) = (mark(), most as f64);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = all.get_or_insert_mut(who.to_owned(), || Bucket { left: most, filled: now });
        let passed = now.saturating_duration_since(bucket.filled).as_secs_f64();
        *bucket = Bucket { left: (bucket.left + passed * most / seconds).min(most), filled: now };
        with(&mut bucket.left)
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

    #[tokio::test(start_paused = true)]
    async fn what_was_used_too_much_fills_again_first() {
        let (rates, half) = (Rates::default(), Duration::from_secs_f64(DAY / 2.0));
        let has_left = || rates.has_left("shop", 100, DAY);
        assert!(has_left());
        rates.spend("shop", 150, 100, DAY);
        assert_eq!((has_left(), rates.has_left("other", 100, DAY)), (false, true));
        tokio::time::advance(half).await;
        assert!(!has_left(), "a half of it paid for what was too much");
        tokio::time::advance(half / 10).await;
        assert!(has_left());
        rates.spend("shop", 1, u64::MAX, DAY);
        assert!(rates.has_left("shop", u64::MAX, DAY), "without a quota nothing is counted");
    }

    #[test]
    fn callers_are_remembered_within_bounds() {
        let rates = Rates::default();
        for n in 0..20_000 {
            assert!(rates.take(&n.to_string(), 1));
        }
        assert_eq!(rates.0.lock().map_or(0, |callers| callers.len()), 10_000);
    }
}
