//! What will happen when: the simulation jumps from one planned action to the next.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::workloads::catalog::Fate;
use strandline_model::{Tier, Timestamp};

/// Number of a site; never used twice.
pub(super) type SiteId = u32;

/// Something that happens at a planned moment.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Something within one site.
    Site(SiteId, SiteAction),
    /// A project publishes a new version; index in the list of projects.
    Release(usize),
    /// A project's staging gets a version of its own.
    StagingDeploy(usize),
    /// A merge request of a project gets a review app.
    OpenReview(usize),
    /// A branch of a project gets a review app until then.
    OpenReviewApp(usize, &'static str, Timestamp),
    /// A project's sites of a tier and region get a version of this fate, and go back after so long.
    Incident(usize, Tier, &'static str, Fate, Duration),
    /// Some Pod's program ends by itself.
    Crash,
    /// Some stateful workload gets new configuration.
    TurnOver,
    /// Some site's credentials are replaced.
    Rotate,
    /// A node of a cluster reports.
    Heartbeat(usize, usize),
    /// Some node of a cluster is emptied for an upgrade.
    Drain(usize),
    /// A node of a cluster ceases to answer.
    NodeDown(usize, usize),
    /// A node of a cluster answers again.
    NodeUp(usize, usize),
    /// A node of a cluster takes Pods again.
    Uncordon(usize, usize),
}

/// Something that happens within one site.
#[derive(Clone, Debug)]
pub(super) enum SiteAction {
    /// The controller of a deployment looks at it.
    Reconcile(usize),
    /// The controller of a stateful workload looks at it.
    ReconcileStateful(usize),
    /// A Pod enters its next stage, if its plan is still this one.
    Advance(String, u32),
    /// A Pod is deleted because its node is drained.
    Evict(String),
    /// The deadline of a rollout to this revision.
    Deadline(usize, u32),
    /// All deployments get a version.
    Deploy(Plan),
    /// All deployments go back to this version.
    Rollback(Plan),
    /// An autoscaler measures.
    Scale(usize),
    /// The namespace is deleted.
    Close,
    /// The controller of namespaces deletes what is in it.
    Sweep,
    /// Nothing is left in the namespace.
    Gone,
    /// A remark is forgotten, if it was not repeated since.
    Forget(String),
}

/// A deployment to be made.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) version: String,
    pub(super) fate: Fate,
    /// Whether the configuration changes too.
    pub(super) configures: bool,
    /// Whether it happens though the site is reserved for the story.
    pub(super) insists: bool,
}

/// The planned actions, in order of time and, at the same moment, of planning.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    planned: BTreeMap<(Timestamp, u64), Action>,
    count: u64,
}

impl Schedule {
    /// Plans an action.
    pub(super) fn at(&mut self, time: Timestamp, action: Action) {
        self.count += 1;
        self.planned.insert((time, self.count), action);
    }

    /// The next action, when it is due.
    pub(super) fn due(&mut self, now: Timestamp) -> Option<(Timestamp, Action)> {
        let first = self.planned.first_entry()?;
        let (time, _) = *first.key();
        (time <= now).then(|| (time, first.remove()))
    }
}

/// So many seconds.
pub(super) const fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// So many minutes.
pub(super) const fn minutes(number: u64) -> Duration {
    Duration::from_secs(number * 60)
}

/// So many hours.
pub(super) const fn hours(number: u64) -> Duration {
    Duration::from_secs(number * 3600)
}
