//! The projector's thread: keeps the view up with the log, and builds it anew when it cannot be used.

use std::path::{Path, PathBuf};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::{Ended, ServiceError};
use crate::projection::{self, Projector, ProjectorError, ViewStatus};
use crate::query::Queries;
use crate::ruleset::RuleSet;

/// Starts the projector.
pub(super) fn spawn(
    data: &Path,
    rules: RuleSet,
    status: &ViewStatus,
    queries: &Queries,
    stopping: &CancellationToken,
) -> Result<Ended<ProjectorError>, ServiceError> {
    let projection = Projection {
        data: data.to_owned(),
        rules,
        status: status.clone(),
        queries: queries.clone(),
        stopping: stopping.clone(),
    };
    Ended::spawn("projector", move || projection.run())
}

struct Projection {
    data: PathBuf,
    rules: RuleSet,
    status: ViewStatus,
    queries: Queries,
    stopping: CancellationToken,
}

impl Projection {
    fn run(&self) -> Result<(), ProjectorError> {
        let mut sound = projection::is_current(&self.data);
        while !self.stopping.is_cancelled() {
            if !sound {
                self.build()?;
            }
            match self.follow() {
                Ok(()) => sound = !self.status.take_damage(),
                Err(error) if error.is_mended_by_rebuild() => {
                    tracing::error!(%error, "the view cannot be used and is built anew from the log");
                    sound = false;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn build(&self) -> Result<(), ProjectorError> {
        self.status.set_usable(false);
        let started = Instant::now();
        let offset = projection::build(&self.data, self.rules.clone(), self.status.checkpoint())?;
        self.queries.reopen();
        if offset != crate::model::Offset::ZERO {
            tracing::info!(%offset, took_ms = started.elapsed().as_millis() as u64, "the view was built from the log");
        }
        Ok(())
    }

    /// Follows the log until asked to stop or until a reader meets damage.
    fn follow(&self) -> Result<(), ProjectorError> {
        let mut projector = Projector::open(&self.data, self.rules.clone())?;
        if projector.has_other_rules()? {
            tracing::warn!(
                rules = self.rules.name(),
                "earlier changes were judged by other rules; `strandline rebuild` judges them anew"
            );
        }
        self.status.checkpoint().set(projector.checkpoint());
        self.status.set_usable(true);
        let stop = || self.stopping.is_cancelled() || self.status.is_damaged();
        projector.run(self.status.head(), self.status.checkpoint(), stop)
    }
}
