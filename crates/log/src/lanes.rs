//! The two lanes into the writer: changes from clusters, and requests of callers, which wait behind them.
//!
//! Why: docs/decisions/0016-the-catalog-is-decided-beside-the-writer.md.

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use super::request::Queued;

/// How many requests wait for the writer; whoever finds the lane full waits, and nothing is dropped.
const RECORDING: usize = 256;

/// How many callers may wait; one more is refused.
pub(super) const CALLERS: usize = 64;

/// Most requests that share one commit; with more the first of them would wait for too long.
pub(super) const GROUP: usize = 128;

/// Most requests of callers among them, and the rows after which there are enough of them.
const CALLERS_IN_GROUP: usize = 8;
const ROWS_IN_GROUP: usize = 512;

/// The ends into which requests go.
#[derive(Clone, Debug)]
pub(super) struct Senders {
    pub(super) recording: mpsc::Sender<Queued>,
    pub(super) callers: mpsc::Sender<Queued>,
}

/// The same without keeping the writer running.
#[derive(Clone, Debug)]
pub(super) struct WeakSenders {
    recording: mpsc::WeakSender<Queued>,
    callers: mpsc::WeakSender<Queued>,
}

/// The ends from which the writer takes them.
#[derive(Debug)]
pub(super) struct Lanes {
    recording: mpsc::Receiver<Queued>,
    callers: mpsc::Receiver<Queued>,
}

impl Senders {
    pub(super) fn of(&self, queued: &Queued) -> &mpsc::Sender<Queued> {
        if queued.request.is_callers() { &self.callers } else { &self.recording }
    }

    pub(super) fn downgrade(&self) -> WeakSenders {
        WeakSenders { recording: self.recording.downgrade(), callers: self.callers.downgrade() }
    }
}

impl WeakSenders {
    pub(super) fn upgrade(&self) -> Option<Senders> {
        Some(Senders { recording: self.recording.upgrade()?, callers: self.callers.upgrade()? })
    }
}

impl Lanes {
    pub(super) fn new() -> (Senders, Self) {
        let ((to_recording, recording), (to_callers, callers)) =
            (mpsc::channel(RECORDING), mpsc::channel(CALLERS));
        (Senders { recording: to_recording, callers: to_callers }, Lanes { recording, callers })
    }

    /// Whether nobody is left who could ask.
    pub(super) fn is_closed(&self) -> bool {
        self.recording.is_closed()
    }

    /// Waits for a request, one of a cluster before one of a caller; none when nobody is left who could ask.
    pub(super) async fn wait(&mut self) -> Option<Queued> {
        tokio::select! {
            biased;
            Some(queued) = self.recording.recv() => Some(queued),
            Some(queued) = self.callers.recv() => Some(queued),
            else => None,
        }
    }

    /// A request that is there already.
    pub(super) fn take(&mut self) -> Result<Queued, TryRecvError> {
        self.recording.try_recv().or_else(|_| self.callers.try_recv())
    }

    /// Adds to the first request what else shares its commit: changes from clusters go first, however many they are, and some
    /// requests of callers go with every commit, however many changes clusters send.
    pub(super) fn fill(&mut self, first: Queued, group: &mut Vec<Queued>) {
        let mut callers = Vec::new();
        let of = if first.request.is_callers() { &mut callers } else { &mut *group };
        of.push(first);
        while group.len() < GROUP
            && let Ok(next) = self.recording.try_recv()
        {
            group.push(next);
        }
        let rows = |callers: &[Queued]| callers.iter().map(|queued| queued.request.rows()).sum::<usize>();
        while callers.len() < CALLERS_IN_GROUP
            && rows(&callers) < ROWS_IN_GROUP
            && let Ok(next) = self.callers.try_recv()
        {
            callers.push(next);
        }
        group.append(&mut callers);
        debug_assert!(group.len() <= GROUP + CALLERS_IN_GROUP, "a commit takes no more than its share");
    }
}
