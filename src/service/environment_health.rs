//! Counts the health of environments for monitoring, beside the scrapes: what they read is there already, however busy the
//! readers of the view are.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::metric_writer::{MetricWriter, signed};
use strandline_model::{At, Health, HealthCounts, Offset};
use strandline_query::{CountHealth, HealthNumbers, Queries, Scope};

/// The least time between two counts: scrapes come less often.
const PAUSE: Duration = Duration::from_secs(2);

/// A count takes at most a part of the time.
const SHARE: u32 = 50;

/// The most time between two: states within their grace time become what they are without a change.
const EVERY: Duration = Duration::from_secs(30);

/// Groups of tier and region that are counted. Callers of the API choose names of regions, so there is a limit.
const GROUPS_MAX: usize = 200;

/// The longest text of a label that callers choose.
const LABEL_MAX: usize = 256;

/// Whose share of the readers it takes.
const ASKER: &str = "(metrics)";

/// The health of environments when it was last counted; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct EnvironmentHealth {
    shared: Arc<Mutex<Option<Arc<HealthNumbers>>>>,
}

impl EnvironmentHealth {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<HealthNumbers>>> {
        // Nothing that can panic runs under this lock.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts whenever the view has moved, until it is asked to end.
    pub(super) async fn follow(self, queries: Queries, environments_max: usize, stop: CancellationToken) {
        let queries = queries.of(&ASKER.into());
        let question = CountHealth { environments_max, groups_max: GROUPS_MAX };
        let following = async {
            let mut seen = Offset::ZERO;
            loop {
                // What is not counted for this long is counted though nothing was recorded.
                let moved = tokio::time::timeout(EVERY, queries.moved_past(seen)).await;
                let started = Instant::now();
                match queries.ask(&Scope::everything(), At::Now, question).await {
                    Ok(numbers) => {
                        seen = moved.unwrap_or(seen);
                        *self.lock() = Some(Arc::new(numbers));
                    }
                    // While the view is built there is nothing to count; old numbers would pass for new ones.
                    Err(error) => {
                        tracing::debug!(%error, "the health of environments cannot be counted");
                        *self.lock() = None;
                    }
                }
                tokio::time::sleep(PAUSE.max(started.elapsed().saturating_mul(SHARE))).await;
            }
        };
        stop.run_until_cancelled(following).await;
    }

    /// Writes the numbers.
    pub(super) fn encode(&self, out: &mut MetricWriter<'_, '_>) -> fmt::Result {
        let Some(numbers) = self.lock().clone() else { return Ok(()) };
        let none: &[(&str, &str)] = &[];
        let groups = numbers.groups.iter().flat_map(|group| {
            by_health(group.counts).into_iter().map(|(health, count)| {
                let labels =
                    [("tier", group.tier.as_str()), ("region", short(&group.region)), ("health", health)];
                (labels, signed(count))
            })
        });
        let help = "Environments in use, by tier, region and health; None where nothing in them has a health";
        out.gauges("environments", help, groups)?;
        let help = "Groups of tier and region that strandline_environments leaves out, those that need attention least";
        out.gauges("environment_groups_omitted", help, [(none, signed(numbers.groups_left_out))])?;
        let states =
            numbers.states.iter().map(|(state, count)| ([("state", state.as_str())], signed(*count)));
        out.gauges(
            "environments_declared",
            "Environments, by state: available, stopping or stopped",
            states,
        )?;
        let named = numbers.environments.iter().map(|one| {
            let labels = [
                ("environment", short(&one.id)),
                ("project", short(&one.project)),
                ("tier", one.tier.as_str()),
                ("region", short(&one.region)),
                ("health", word(one.health)),
            ];
            (labels, 1)
        });
        let help = "Health of each environment in use, as a label; always 1. Production comes first where \
                    `metrics.environments_max` leaves some out";
        out.gauges("environment_health", help, named)?;
        let help = "Environments that strandline_environment_health leaves out";
        out.gauges("environment_health_omitted", help, [(none, signed(numbers.environments_left_out))])
    }

    #[cfg(test)]
    pub(super) fn of(numbers: HealthNumbers) -> Self {
        EnvironmentHealth { shared: Arc::new(Mutex::new(Some(Arc::new(numbers)))) }
    }
}

fn word(health: Option<Health>) -> &'static str {
    health.map_or("None", Health::as_str)
}

/// All of them, also those that are zero: a series that ends would keep alerts from clearing.
fn by_health(mut counts: HealthCounts) -> Vec<(&'static str, u64)> {
    let all = Health::ALL.into_iter().map(Some).chain([None]);
    all.map(|health| (word(health), *counts.slot(health))).collect()
}

/// A label of a length that monitoring takes.
fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(LABEL_MAX)]
}
