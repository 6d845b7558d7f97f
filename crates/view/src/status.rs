//! The status of the view, shared between the projector and its readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::due::NextDue;
use super::prune::Pruning;
use super::recent::RecentChanges;
use strandline_log::{WriterHealth, WriterProblem};
use strandline_model::Offset;
use strandline_sqlite::Watermark;

/// The status of the view; clones share it.
#[derive(Clone, Debug, Default)]
pub struct ViewStatus {
    head: Watermark,
    checkpoint: Watermark,
    pruning: Pruning,
    due: NextDue,
    recent: RecentChanges,
    flags: Arc<Flags>,
    writer: WriterHealth,
}

#[derive(Debug, Default)]
struct Flags {
    usable: AtomicBool,
    damaged: AtomicBool,
}

impl ViewStatus {
    /// A view that cannot be read yet, of a log whose newest offset is published as `head`.
    pub fn new(head: Watermark) -> Self {
        ViewStatus { head, ..ViewStatus::default() }
    }

    /// The same of a log whose writer fares like this.
    pub fn with_writer(self, writer: WriterHealth) -> Self {
        ViewStatus { writer, ..self }
    }

    /// What keeps the log from being written, where something does; or did, as long as the view does not hold its gap.
    pub fn writer_problem(&self) -> Option<WriterProblem> {
        self.writer.problem_at(self.checkpoint.get())
    }

    /// Whether the log's files were removed or replaced, as a look at them shows.
    pub fn is_log_displaced(&self) -> bool {
        self.writer.check_files().is_some()
    }

    /// Whether the log takes changes.
    pub fn is_recording(&self) -> bool {
        self.writer.problem().is_none()
    }

    /// The newest offset of the log.
    pub fn head(&self) -> &Watermark {
        &self.head
    }

    /// The last offset projected.
    pub fn checkpoint(&self) -> &Watermark {
        &self.checkpoint
    }

    /// What of the view is to be pruned, and how far that is.
    pub fn pruning(&self) -> &Pruning {
        &self.pruning
    }

    /// When something in the view is to be judged anew next.
    pub fn due(&self) -> &NextDue {
        &self.due
    }

    /// Which environments changed lately.
    pub fn recent(&self) -> &RecentChanges {
        &self.recent
    }

    /// Changes in the log that the view does not hold yet.
    pub fn lag(&self) -> u64 {
        self.head.get().get().saturating_sub(self.checkpoint.get().get())
    }

    /// How far the view is, with the newest offset first.
    pub fn progress(&self) -> (Offset, Offset) {
        (self.head.get(), self.checkpoint.get())
    }

    /// Whether the view can be read; it cannot while it is being built.
    pub fn is_usable(&self) -> bool {
        self.flags.usable.load(Ordering::Acquire)
    }

    /// Says whether the view can be read.
    pub fn set_usable(&self, usable: bool) {
        self.flags.usable.store(usable, Ordering::Release);
    }

    /// Reports that a reader met damage.
    pub fn report_damage(&self) {
        self.flags.damaged.store(true, Ordering::Release);
    }

    /// Whether damage was reported and not taken note of yet.
    pub fn is_damaged(&self) -> bool {
        self.flags.damaged.load(Ordering::Acquire)
    }

    /// Whether damage was reported since the last call.
    pub fn take_damage(&self) -> bool {
        self.flags.damaged.swap(false, Ordering::AcqRel)
    }
}
