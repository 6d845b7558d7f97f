//! What is handed to the log, and what it answers.

use thiserror::Error;

use strandline_model::{Offset, ResourceVersion, Timestamp, Uid, WatchKey};
use strandline_redact::Observation;

/// One thing a watch saw.
#[derive(Clone, Debug)]
pub enum Observed {
    /// An object in a state.
    Applied(Observation),
    /// An object that is there in a state that cannot be read; it keeps the state it had.
    Unreadable {
        /// Namespace; empty for what is cluster-scoped.
        namespace: String,
        /// Name.
        name: String,
        /// The object's identity.
        uid: Uid,
    },
    /// An object that is gone.
    Deleted {
        /// Namespace; empty for what is cluster-scoped.
        namespace: String,
        /// Name.
        name: String,
        /// The object's identity.
        uid: Uid,
        /// The cluster's token for the deletion.
        resource_version: ResourceVersion,
    },
}

impl Observed {
    /// The cluster's token for what was seen, where it could be read.
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        match self {
            Observed::Applied(object) => Some(&object.resource_version),
            Observed::Deleted { resource_version, .. } => Some(resource_version),
            Observed::Unreadable { .. } => None,
        }
    }
}

/// Numbers runs, those of all watches together, so that a connection of an earlier run can never write into a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub i64);

impl Epoch {
    /// Later than every run.
    pub(super) const LAST: Epoch = Epoch(i64::MAX);
}

/// The state of a watch when it begins a run.
#[derive(Clone, Debug)]
pub struct Session {
    /// The run's number, to be given with every batch.
    pub epoch: Epoch,
    /// Where to resume watching; none means that a list is needed first.
    pub cursor: Option<ResourceVersion>,
    /// Where there is no cursor, the newest token among the living objects that are recorded.
    pub newest: Option<ResourceVersion>,
    /// Up to when earlier runs recorded all that happened; none where no run got that far.
    pub last_seen: Option<Timestamp>,
    /// When what is recorded was last compared with all that the cluster has.
    pub verified_at: Option<Timestamp>,
    /// Since when the cluster may have another store than the one that was recorded.
    pub unverified_since: Option<Timestamp>,
}

/// What a watch asks a cluster for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    /// The watch.
    pub watch: WatchKey,
    /// Which objects of it, as the selectors that are sent; a cursor holds only for the same selection.
    pub selector: String,
    /// The version in which the cluster serves the kind, as its objects write it; a cursor holds only for the same
    /// version. None where that does not matter.
    pub served_version: Option<String>,
    /// The definition of a custom kind, where it is known; a cursor holds only for the same definition.
    pub definition: Option<String>,
    /// Whether to forget the cursor, so that a list is due.
    pub fresh: bool,
    /// All that happened up to then is recorded, but not what came after it, whatever earlier runs recorded: objects may be in
    /// other states under the resourceVersions that were recorded.
    pub since: Option<Timestamp>,
}

impl Begin {
    /// A run that asks for every object.
    pub fn new(watch: &WatchKey, fresh: bool) -> Self {
        Begin {
            watch: watch.clone(),
            selector: String::new(),
            served_version: None,
            definition: None,
            fresh,
            since: None,
        }
    }
}

/// Which cluster answered under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identified {
    /// The one that is known, or the first to answer.
    Known,
    /// Another one than before: its cursors are forgotten, and runs that have begun may not write any more.
    Replaced,
}

/// What a batch is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A page of a list; what was not listed so far may still come.
    ListPage,
    /// The end of a list: what this run has not seen is gone.
    ListEnd,
    /// The end of a list in which some objects could not even be identified: nothing follows from absence.
    PartialListEnd,
    /// Changes reported by a watch, in the cluster's order; more of the past may be about to come.
    Watch,
    /// The same up to a state that the cluster calls its newest: all that happened is recorded.
    UpToDate,
    /// The same, and the objects' own times prove that all that happened before this time is recorded.
    Confirmed(Timestamp),
}

/// Observations of one watch that become durable together, with the cursor that covers them.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The watch.
    pub watch: WatchKey,
    /// The run, as [`Session`] numbered it.
    pub epoch: Epoch,
    /// What the batch is part of.
    pub phase: Phase,
    /// What was seen, in order.
    pub observed: Vec<Observed>,
    /// Where to resume once this batch is durable, required at the end of a list; with a page of a list the
    /// state that the list shows, where it is known by then.
    pub cursor: Option<ResourceVersion>,
}

/// The outcome of a batch, returned only after its commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// The newest offset of the log.
    pub head: Offset,
    /// Changes written.
    pub written: usize,
    /// Observations that changed nothing.
    pub unchanged: usize,
    /// Those of the unchanged that came under a new token and differ in noise only.
    pub noise: usize,
    /// Observations older than what is already recorded.
    pub stale: usize,
}

/// Why something was not appended.
#[derive(Debug, Error)]
pub enum AppendError {
    /// A newer run of the same watch has begun.
    #[error("a newer watch of {0} has started; this one may no longer write")]
    Superseded(WatchKey),
    /// The log is closing or its writer has ended.
    #[error("the log is closed")]
    Closed,
    /// More callers wait than may, or the log is not open yet.
    #[error("the write queue of the log is full")]
    Busy,
    /// Deciding on it took longer than it may.
    #[error("the decision timed out; send smaller requests")]
    TooLong,
    /// What was decided on kept changing while it was decided.
    #[error("concurrent changes conflicted repeatedly")]
    Contended,
    /// Its content could not be read again, so that it is not recorded.
    #[error("{0}")]
    Unreadable(String),
    /// The log is damaged, so that nothing is added to it.
    #[error("recording stopped: {0}")]
    ReadOnly(String),
    /// The log cannot be written at all.
    #[error("the log failed: {0}")]
    Failed(String),
}
