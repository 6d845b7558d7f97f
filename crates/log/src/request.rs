//! What the writer is asked for, and what it answers.

use tokio::sync::oneshot;

use super::append::{AppendError, Appended, Batch, Begin, Epoch, Identified, Session};
use super::compaction::Compacted;
use super::declared::{CatalogChange, Decided};
use super::error::LogError;
use super::floors::Floor;
use super::forget::{Forget, ForgetRefusal, Forgotten};
use super::json::read_back;
use super::pending::HandedOver;
use super::sweep::Swept;
use super::thinning::Thinned;
use super::verify::{Agreement, LivePage, LivePosition};
use strandline_model::{CatalogFact, CoverageMark, KindPattern, Offset, Source, Timestamp, WatchKey};

/// What the writer is asked for.
pub(super) enum Request {
    Begin(Begin),
    Append(Batch),
    Mark(CoverageMark),
    Dismiss { mark: CoverageMark, unfollow: bool },
    Identify { cluster: String, uid: String },
    Watches(String),
    Live { watch: WatchKey, after: LivePosition, limit: usize },
    Agreement { watch: WatchKey, epoch: Epoch, agreement: Agreement },
    Define { watch: WatchKey, definition: String },
    Forget(Box<Forget>),
    Declare(Source, Vec<CatalogFact>),
    Decided(Decided),
    Compact(Offset),
    Sweep(usize),
    RaiseFloors(Vec<(KindPattern, Offset)>),
    Thin(usize),
    Shrink(u32),
    FollowClock,
    PassTime(Timestamp),
}

impl Request {
    /// The cluster whose changes are in the request, which are recorded late where it waits; none where it has none.
    ///
    /// A batch without changes is one too: as long as it waits, its watch reads no further.
    pub(super) fn cluster(&self) -> Option<&str> {
        match self {
            Request::Append(Batch { watch, .. }) => Some(&watch.cluster),
            Request::Mark(mark) | Request::Dismiss { mark, .. } => Some(&mark.watch.cluster),
            Request::Begin(_)
            | Request::Define { .. }
            | Request::Forget(_)
            | Request::Identify { .. }
            | Request::Watches(_)
            | Request::Live { .. }
            | Request::Agreement { .. }
            | Request::Declare(..)
            | Request::Decided(_)
            | Request::Compact(_)
            | Request::Sweep(_)
            | Request::RaiseFloors(_)
            | Request::Thin(_)
            | Request::Shrink(_)
            | Request::FollowClock
            | Request::PassTime(_) => None,
        }
    }
}

impl Request {
    /// Whether it waits behind changes from clusters.
    pub(super) fn is_callers(&self) -> bool {
        matches!(self, Request::Decided(_) | Request::Forget(_))
    }

    /// Checks that its content can be read again once it is in the log. What fails while a group is written fails all of the
    /// group, so this is asked before.
    pub(super) fn check(&self) -> Result<(), LogError> {
        match self {
            Request::Mark(mark) | Request::Dismiss { mark, .. } => read_back(mark),
            Request::Declare(_, facts) => facts.iter().try_for_each(read_back),
            Request::Decided(decided) => decided.changes.iter().try_for_each(|change| match change {
                CatalogChange::Declare(fact) => read_back(fact),
                CatalogChange::Withdraw(..) => Ok(()),
            }),
            Request::Begin(_)
            | Request::Append(_)
            | Request::Define { .. }
            | Request::Forget(_)
            | Request::Identify { .. }
            | Request::Watches(_)
            | Request::Live { .. }
            | Request::Agreement { .. }
            | Request::Compact(_)
            | Request::Sweep(_)
            | Request::RaiseFloors(_)
            | Request::Thin(_)
            | Request::Shrink(_)
            | Request::FollowClock
            | Request::PassTime(_) => Ok(()),
        }
    }

    /// About how many rows it writes and looks at.
    pub(super) fn rows(&self) -> usize {
        match self {
            Request::Decided(decided) => decided.changes.len() + decided.basis.0.len(),
            _ => 1,
        }
    }
}

/// How much of the log's file is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shrunk {
    /// Pages that hold nothing and could be given back.
    pub free_pages: u64,
}

/// What the writer answers, after the commit.
#[derive(Debug)]
pub(super) enum Reply {
    Session(Session),
    Appended(Appended),
    /// What was decided rests on what holds no longer, and is not written.
    Outdated,
    Identified(Identified),
    Watches(Vec<(WatchKey, Option<Timestamp>)>),
    Live(LivePage),
    Noted,
    Defined(bool),
    Forgotten(Result<Forgotten, ForgetRefusal>),
    Compacted(Compacted),
    Swept(Swept),
    Floors(Vec<Floor>),
    Thinned(Thinned),
    Shrunk(Shrunk),
}

/// A request and where its answer goes.
pub(super) struct Queued {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Result<Reply, AppendError>>,
    /// Since when it waits; none where nothing is recorded late if it does.
    pub(super) handed_over: Option<HandedOver>,
}
