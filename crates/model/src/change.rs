//! What the log records: changes of resources, marks of coverage, and facts of the catalog.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::{CatalogFact, CatalogKind};
use crate::clock_mark::ClockMark;
use crate::erasure::Erasure;
use crate::ids::{Offset, ResourceId, ResourceVersion, Uid};
use crate::key::{ResourceKey, WatchKey};
use crate::source::Source;
use crate::time::Timestamp;
use strandline_syntax::keywords;

/// One change in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its position.
    pub offset: Offset,
    /// Our clock when it was appended; never earlier than that of the record before, save at a mark of the clock.
    pub observed_at: Timestamp,
    /// What happened.
    pub change: Change,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A resource was created or took a new state.
    Applied {
        /// The incarnation this is a state of.
        id: ResourceId,
        /// Its address.
        key: ResourceKey,
        /// Its identity.
        uid: Uid,
        /// The cluster's token for this state.
        resource_version: ResourceVersion,
        /// The object as JSON, redacted and without managedFields.
        body: String,
        /// Who made this state, where the object names one.
        changed_by: Option<ChangedBy>,
    },
    /// A resource is gone.
    Deleted {
        /// The incarnation that ended.
        id: ResourceId,
        /// Its address.
        key: ResourceKey,
        /// Its identity.
        uid: Uid,
        /// How we know.
        cause: DeletionCause,
    },
    /// A resource was created, changed or deleted, and retention has pruned the state.
    Forgotten {
        /// The incarnation.
        id: ResourceId,
        /// Its address.
        key: ResourceKey,
        /// Its identity.
        uid: Uid,
    },
    /// A kind of a cluster began or ceased to be watched.
    Coverage(CoverageMark),
    /// The catalog holds this from now on.
    Declared {
        /// The log's number of the declared thing; constant under this name.
        id: ResourceId,
        /// By whom.
        source: Source,
        /// What is declared.
        fact: CatalogFact,
    },
    /// The catalog no longer holds this.
    Withdrawn {
        /// The log's number of the thing.
        id: ResourceId,
        /// What it was about.
        kind: CatalogKind,
        /// The name under which it was declared.
        name: String,
    },
    /// The machine's clock jumped, or recorded time follows it anew; or nothing happened but that time has passed.
    Clock(ClockMark),
    /// Values were erased from earlier changes.
    Erased(Erasure),
}

impl Change {
    /// The object that a state holds; empty for everything else.
    pub fn body(&self) -> &str {
        match self {
            Change::Applied { body, .. } => body,
            _ => "",
        }
    }
}

/// Who made a version, taken from the newest entry of managedFields.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChangedBy {
    /// Field manager, such as `kubectl-client-side-apply` or `kube-controller-manager`.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// `status`, `scale` or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// When, by the cluster's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
}

impl ChangedBy {
    /// What GitOps tools that also write statuses call themselves: what they write to other objects, people asked for in
    /// a repository.
    const GITOPS: [&str; 9] = [
        "argocd",
        "config-sync",
        "configsync",
        "fleetagent",
        "flux",
        "gitlab-agent",
        "helm-controller",
        "kapp",
        "kustomize-controller",
    ];

    /// Whether it wrote a status, as controllers do.
    pub fn wrote_status(&self) -> bool {
        self.subresource == "status"
    }

    /// Whether it carries out what people ask for elsewhere: no controller, be it that it writes statuses of its own objects.
    pub fn is_gitops_tool(&self) -> bool {
        Self::is_name_of_gitops_tool(&self.manager)
    }

    /// The same of a field manager of which only the name is known.
    pub fn is_name_of_gitops_tool(manager: &str) -> bool {
        Self::GITOPS.iter().any(|name| manager.starts_with(name))
    }
}

/// How we know that a resource is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DeletionCause {
    /// The watch reported it.
    Watched,
    /// A relist no longer contained it: it vanished some time after `last_seen`.
    Relist {
        /// When the resource was last known to exist.
        last_seen: Timestamp,
    },
    /// Another object appeared under its key: it vanished some time after `last_seen`.
    Replaced {
        /// When the resource was last known to exist.
        last_seen: Timestamp,
    },
    /// The configuration no longer has it followed: whether it still exists is not known.
    Unfollowed {
        /// When the resource was last known to exist.
        last_seen: Timestamp,
    },
    /// The cluster no longer has its kind: it vanished some time after `last_seen`.
    KindRemoved {
        /// When the resource was last known to exist.
        last_seen: Timestamp,
    },
    /// A person marked it as deleted, which nothing else could show: it vanished some time after `last_seen`.
    Forgotten {
        /// When the resource was last known to exist.
        last_seen: Timestamp,
    },
}

/// How late a change may be recorded after it happened without a gap that shows it. Answers by time state it as their
/// delay.
pub const LATE_BOUND: Duration = Duration::from_secs(5);

/// Whether a kind of a cluster is being watched from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoverageMark {
    /// What this is about; a kind with an empty name means the discovery of its API group or, where the
    /// group is empty too, of the whole cluster.
    pub watch: WatchKey,
    /// Watched or not.
    pub state: CoverageState,
    /// Since when: for a gap the last moment of which we know, which may lie before the mark itself.
    pub since: Timestamp,
    /// Stable word for the reason, one of those in [`super::reason`]; empty while watched.
    pub reason: String,
    /// The reason in a sentence for people; empty while watched.
    pub message: String,
    /// Of a gap that was over when it was recorded: its end. Such a mark changes nothing of the state of the watch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Of a watch that continues: nothing was missed in the gap that ends here, so that it is none for questions by time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub nothing_missed: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl CoverageMark {
    /// A mark of a state with its reason.
    pub fn new(
        watch: WatchKey,
        state: CoverageState,
        since: Timestamp,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (reason, message) = (reason.into(), message.into());
        CoverageMark { watch, state, since, reason, message, until: None, nothing_missed: false }
    }

    /// From `since` on every change reaches the log.
    pub fn watched(watch: WatchKey, since: Timestamp) -> Self {
        CoverageMark::new(watch, CoverageState::Watched, since, "", "")
    }

    /// A gap that continues.
    pub fn gap(
        watch: WatchKey,
        since: Timestamp,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        CoverageMark::new(watch, CoverageState::Gap, since, reason, message)
    }

    /// The same gap, over at `until`: what was recorded before and after is not touched by it.
    pub fn closed(self, until: Timestamp) -> Self {
        CoverageMark { until: Some(until), ..self }
    }

    /// Nobody is meant to watch from `since` on.
    pub fn excluded(
        watch: WatchKey,
        since: Timestamp,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        CoverageMark::new(watch, CoverageState::Excluded, since, reason, message)
    }

    /// The part that makes it new: a mark that is equal in it to the one before is not recorded.
    pub fn said(&self) -> String {
        // The log keeps the digest of this text: with another word every mark of a log would be news once more.
        let word = match self.state {
            CoverageState::Watched => "Watched",
            CoverageState::Gap => "Gap",
            CoverageState::Excluded => "Excluded",
        };
        format!("{word} {}", self.reason)
    }
}

/// Watched, a gap, or left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoverageState {
    /// Every change reaches the log.
    Watched = 0,
    /// Nobody is watching; what happens meanwhile is only seen by its result.
    Gap = 1,
    /// Nobody is meant to watch this: by the configuration, by its nature, or as another watch sees it too.
    Excluded = 2,
}

keywords!(
    CoverageState, "coverage state", Ignored,
    Watched => "watched",
    Gap => "gap",
    Excluded => "excluded",
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    /// The log keeps digests of these texts: none may change, whatever a state is called in the program.
    #[test]
    fn what_a_mark_says_is_pinned() {
        let watch = WatchKey { cluster: "one".into(), kind: Kind::new("", "Pod"), namespace: String::new() };
        let said =
            |state| CoverageMark::new(watch.clone(), state, Timestamp::from_micros(0), "why", "").said();
        assert_eq!(CoverageState::ALL.map(said), ["Watched why", "Gap why", "Excluded why"]);
    }
}
