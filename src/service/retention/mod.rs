//! Prunes what is older than it has to be kept, or takes more room than it may: at start, and then regularly.
//!
//! One run moves the oldest offset that can be asked for, and those of kinds that are kept for less long, waits until the
//! view has pruned what lies before them, and then lets the log do so, in steps between which changes are recorded. It pauses while a view is being built: that
//! reads the log from its beginning.

mod config;
mod numbers;
mod sizes;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

pub use self::config::RetentionConfig;
pub(super) use self::numbers::Numbers;
pub(super) use self::sizes::Sizes;

use super::rebuild::Rebuild;
use crate::app::Rebuilding;
use crate::catalog::retire_deployments;
use strandline_clock::Clock;
use strandline_log::{AppendError, Appender, Compacted, Floor, LogError, LogReader};
use strandline_model::Offset;
use strandline_protocol::RebuildState;
use strandline_view::{PruneRequest, ViewStatus};

/// Changes that are looked at in one step, for which those who record wait: some hundredths of a second.
const STEP: usize = 1000;

/// Pages that are given back to the disk in one step.
const PAGES: u32 = 500;

/// Environments whose deployments are looked at in one step.
const ENVIRONMENTS: usize = 10;

/// Between two steps whoever waits for the writer comes first.
const PAUSE: Duration = Duration::from_millis(5);

/// How often to look whether the view has pruned its part.
const LOOK: Duration = Duration::from_millis(20);

/// What may be pruned for the sake of room goes in this many parts, until there is enough.
const PARTS: u64 = 8;

/// Where what was pruned has made room.
const LOW_WATER_PERCENT: u64 = 90;

/// Prunes what need not be kept.
#[derive(Clone, Debug)]
pub(super) struct Retention {
    pub(super) data: PathBuf,
    pub(super) config: RetentionConfig,
    pub(super) appender: Appender,
    pub(super) status: ViewStatus,
    pub(super) rebuild: Rebuild,
    pub(super) numbers: Numbers,
    pub(super) clock: RetentionClock,
}

/// The time of a run; what goes is decided by the log's own times.
#[derive(Clone)]
pub(super) struct RetentionClock(pub(super) Arc<dyn Clock>);

impl std::fmt::Debug for RetentionClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RetentionClock")
    }
}

/// Why nothing, or not all, was pruned.
#[derive(Debug, thiserror::Error)]
enum RetentionError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the data directory cannot be read: {0}")]
    Directory(#[from] std::io::Error),
    #[error("the program panicked")]
    Panicked,
}

type Result<T> = std::result::Result<T, RetentionError>;

impl Retention {
    /// Runs until it is asked to end, which it may be at any moment.
    pub(super) async fn follow(self, stopping: CancellationToken) {
        let runs = async {
            loop {
                self.run().await;
                tokio::time::sleep(self.config.every).await;
            }
        };
        stopping.run_until_cancelled(runs).await;
    }

    async fn run(&self) {
        let started = Instant::now();
        self.numbers.begun(self.config.every);
        let result = self.let_go().await;
        self.measure().await;
        self.numbers.ended();
        match result {
            Ok(()) => self.numbers.ran(self.clock.0.now(), started.elapsed()),
            Err(error) => {
                tracing::error!(%error, "pruning failed; retrying at the next run");
                self.numbers.failed();
            }
        }
    }

    async fn let_go(&self) -> Result<()> {
        let old = match self.config.age {
            Some(age) => self.offset_of_age(age).await?,
            None => Offset::ZERO,
        };
        let kinds = &self.raise_floors().await?;
        self.up_to(old, kinds).await?;
        self.retire(old).await?;
        let Some(limit) = self.config.size else { return Ok(()) };
        if self.measure().await <= limit {
            self.numbers.over_limit(false);
            return Ok(());
        }
        let latest = self.offset_of_age(self.config.at_least).await?;
        let mut at = self.up_to(Offset::ZERO, kinds).await?.offset;
        let part = (latest.get().saturating_sub(at.get()) / PARTS).max(1);
        while self.measure().await > limit / 100 * LOW_WATER_PERCENT {
            let next = Offset::new(at.get() + part).min(latest);
            let compacted = self.up_to(next, kinds).await?.offset;
            if compacted <= at {
                let over = self.measure().await > limit;
                if self.numbers.over_limit(over) {
                    let youngest = self.config.at_least.as_secs();
                    tracing::warn!(
                        limit,
                        youngest,
                        "the data directory exceeds its size limit, and all of its records are within the minimum retention period"
                    );
                }
                return Ok(());
            }
            at = compacted;
        }
        self.numbers.over_limit(false);
        Ok(())
    }

    /// Moves the oldest offsets at which kinds are known that are pruned before the rest.
    async fn raise_floors(&self) -> Result<Vec<Floor>> {
        self.until_sound().await;
        let mut wanted = Vec::new();
        for (pattern, age) in &self.config.kinds {
            let floor = self.offset_of_age(*age).await?;
            wanted.push((pattern.clone(), floor.min(self.status.checkpoint().get())));
        }
        Ok(self.appender.raise_floors(wanted).await?)
    }

    /// Withdraws deployments that ended and of which nothing was said since; the rest of retention comes to them later.
    async fn retire(&self, before: Offset) -> Result<()> {
        let mut at = Some(String::new());
        while let Some(after) = at {
            let retired = retire_deployments(&self.appender, before, &after, ENVIRONMENTS).await?;
            self.numbers.retired(retired.withdrawn);
            at = retired.next;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Prunes all before an offset that the view holds already, of what an earlier run has left, and of what kinds do
    /// not keep for as long.
    async fn up_to(&self, floor: Offset, kinds: &[Floor]) -> Result<Compacted> {
        self.until_sound().await;
        let floor = floor.min(self.status.checkpoint().get());
        let compacted = self.appender.compact(floor).await?;
        self.numbers.compacted(compacted);
        self.status.pruning().request(PruneRequest { before: compacted.offset, kinds: kinds.to_vec() });
        loop {
            self.until_pruned().await;
            let swept = self.appender.sweep(STEP).await?;
            self.numbers.swept(swept);
            if swept.done {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        loop {
            self.until_pruned().await;
            let thinned = self.appender.thin(STEP).await?;
            self.numbers.thinned(thinned);
            if thinned.done {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        while self.appender.shrink(PAGES).await?.free_pages > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(compacted)
    }

    /// Waits until no view is being built.
    async fn until_sound(&self) {
        while self.rebuild.report().state == RebuildState::Building || !self.status.is_usable() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The same, and until the view that answers has pruned what is wanted.
    async fn until_pruned(&self) {
        self.until_sound().await;
        while !self.status.pruning().is_done() {
            tokio::time::sleep(LOOK).await;
            self.until_sound().await;
        }
    }

    async fn offset_of_age(&self, age: Duration) -> Result<Offset> {
        let data = self.data.clone();
        let find = move || LogReader::open(&data)?.offset_of_age(age);
        let found = tokio::task::spawn_blocking(find).await.map_err(|_| RetentionError::Panicked)?;
        Ok(found?)
    }

    /// How many bytes the data directory holds.
    async fn measure(&self) -> u64 {
        let data = self.data.clone();
        match tokio::task::spawn_blocking(move || Sizes::of(&data)).await {
            Ok(Ok(sizes)) => {
                self.numbers.measured(&sizes);
                sizes.total
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "measuring the data directory failed");
                0
            }
            Err(_) => 0,
        }
    }
}
