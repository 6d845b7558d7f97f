//! What the watches of one cluster share, so that none takes more than its part.

use std::sync::Arc;

use tokio::sync::{Notify, Semaphore};

use super::doubt::RollbackSender;
use crate::definitions::Definitions;
use crate::settings::ClusterSettings;
use crate::skew::ClockSkew;

/// What the watches of one cluster share.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Lists at the same time.
    pub(crate) lists: Arc<Semaphore>,
    /// Batches that are read and recorded at the same time: a cluster that sends without end takes its own share of the
    /// processors and of the writer's queue, and no other's.
    pub(crate) turns: Arc<Semaphore>,
    /// Notified when a change of a CustomResourceDefinition or an APIService was recorded.
    pub(crate) kinds_changed: Arc<Notify>,
    /// How far the cluster's clock is off ours.
    pub(crate) skew: Arc<ClockSkew>,
    /// Consistency lists at the same time.
    pub(crate) consistency: Arc<Semaphore>,
    /// How custom kinds are defined.
    pub(crate) definitions: Definitions,
    /// Notified when a kind shows that the cluster's store may have been rolled back.
    pub(crate) rollbacks: RollbackSender,
}

impl Shared {
    pub(crate) fn new(settings: &ClusterSettings) -> Self {
        Shared {
            lists: Arc::new(Semaphore::new(settings.concurrent_lists.max(1))),
            turns: Arc::new(Semaphore::new(settings.concurrent_batches.max(1))),
            kinds_changed: Arc::default(),
            skew: Arc::default(),
            consistency: Arc::new(Semaphore::new(1)),
            definitions: Definitions::new(settings.limits.gather * 8),
            rollbacks: RollbackSender::default(),
        }
    }
}
