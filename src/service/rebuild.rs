//! Building the view anew while the old one answers: on a thread of its own, until it has caught up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::Rebuilding;
use strandline_clock::Clock;
use strandline_model::{Offset, Timestamp};
use strandline_protocol::{RebuildReport, RebuildState};
use strandline_sqlite::{FullDiskBackoff, Watermark};
use strandline_view::ruleset::RuleSet;
use strandline_view::{Build, ProjectorError, ProjectorOptions, Sizes, ViewStatus};

/// How often to look whether a build has caught up.
const LOOK: Duration = Duration::from_millis(20);

/// The builds of a service; clones share them.
#[derive(Clone)]
pub(super) struct Rebuild {
    shared: Arc<Shared>,
}

struct Shared {
    data: PathBuf,
    rules: Mutex<Rules>,
    sizes: Sizes,
    status: ViewStatus,
    clock: Arc<dyn Clock>,
    stopping: CancellationToken,
    checkpoint: Watermark,
    last: Mutex<Last>,
}

/// The rules in effect, and how often they were replaced.
#[derive(Clone)]
pub(super) struct Rules {
    pub(super) version: u64,
    pub(super) rules: RuleSet,
}

/// The last build.
#[derive(Default)]
struct Last {
    state: RebuildState,
    resumed_at: Offset,
    begun_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    error: String,
    thread: Option<JoinHandle<()>>,
    /// The rules of a build that holds all of the log but its newest changes, and waits for the projector to go on with it.
    caught_up: Option<RuleSet>,
}

impl std::fmt::Debug for Rebuild {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rebuild")
    }
}

impl Rebuild {
    pub(super) fn new(
        data: PathBuf,
        options: impl Into<ProjectorOptions>,
        status: ViewStatus,
        clock: Arc<dyn Clock>,
        stopping: CancellationToken,
    ) -> Self {
        let (checkpoint, last) = (Watermark::default(), Mutex::default());
        let ProjectorOptions { rules, sizes } = options.into();
        let rules = Mutex::new(Rules { version: 0, rules });
        let shared = Shared { data, rules, sizes, status, clock, stopping, checkpoint, last };
        Rebuild { shared: Arc::new(shared) }
    }

    /// How a view is made by these rules.
    pub(super) fn options(&self, rules: RuleSet) -> ProjectorOptions {
        self.shared.options(rules)
    }

    /// The same by the rules in effect.
    pub(super) fn options_in_effect(&self) -> ProjectorOptions {
        self.options(self.rules().rules)
    }

    /// Whether a build waits to take the old view's place.
    pub(super) fn is_caught_up(&self) -> bool {
        self.shared.lock().caught_up.is_some()
    }

    /// The rules of such a build, which is then taken note of: whoever asks goes on with it.
    pub(super) fn take_caught_up(&self) -> Option<RuleSet> {
        std::mem::take(&mut self.shared.lock().caught_up)
    }

    /// Waits for a build that is going on; returns whether it has caught up, and takes note of it.
    pub(super) fn wait(&self) -> bool {
        while self.shared.lock().thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            std::thread::sleep(LOOK);
            self.shared.status.checkpoint().set(self.shared.checkpoint.get());
        }
        self.take_caught_up().is_some()
    }

    /// The rules in effect.
    pub(super) fn rules(&self) -> Rules {
        self.shared.rules().clone()
    }

    /// Whether the rules in effect are still those of this version.
    pub(super) fn has_rules(&self, version: u64) -> bool {
        self.shared.rules().version == version
    }

    /// Puts other rules into effect: a build by the present ones begins anew. Whether they differ.
    pub(super) fn replace_rules(&self, rules: RuleSet) -> bool {
        {
            let mut current = self.shared.rules();
            if current.rules == rules {
                return false;
            }
            *current = Rules { version: current.version + 1, rules };
        }
        let mut last = self.shared.lock();
        if last.caught_up.take().is_some() {
            last.state = RebuildState::default();
        }
        true
    }

    /// A build begins, or goes on from here, on the thread of the caller.
    pub(super) fn begun(&self, resumed_at: Offset) {
        let mut last = self.shared.lock();
        self.shared.begun(&mut last);
        last.resumed_at = resumed_at;
    }

    /// Lets a build take all of the log on the thread of the caller, and reports how far it is; false when asked to stop.
    ///
    /// # Errors
    /// When the log cannot be read or the view cannot be written, save for a full disk, which it waits out.
    pub(super) fn catch_up(
        &self,
        build: &mut Build,
        on_checkpoint: impl Fn(Offset),
    ) -> Result<bool, ProjectorError> {
        self.shared.catch_up(build, || false, on_checkpoint)
    }

    /// The new view took the old one's place, or did not.
    pub(super) fn ended(&self, result: Result<(), &ProjectorError>) {
        self.shared.ended(result);
    }

    /// Waits for the thread that builds, which was asked to end.
    pub(super) fn join(&self) {
        let thread = self.shared.lock().thread.take();
        // A panic there has ended the build and nothing else.
        let _ = thread.map(JoinHandle::join);
    }
}

impl Shared {
    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Last> {
        // Each change of it is whole, so a panic elsewhere cannot have broken it.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begun(&self, last: &mut Last) {
        let thread = last.thread.take();
        *last = Last {
            state: RebuildState::Building,
            begun_at: Some(self.clock.now()),
            thread,
            ..Last::default()
        };
        self.checkpoint.set(Offset::ZERO);
    }

    fn ended(&self, result: Result<(), &ProjectorError>) {
        match result {
            Ok(()) => {
                let mut last = self.lock();
                (last.state, last.ended_at) = (RebuildState::Done, Some(self.clock.now()));
            }
            Err(error) => self.gave_up(error.to_string()),
        }
    }

    fn gave_up(&self, error: String) {
        tracing::error!(error, "rebuilding the view failed; the previous view stays in use");
        let mut last = self.lock();
        (last.state, last.ended_at, last.error) = (RebuildState::Failed, Some(self.clock.now()), error);
    }

    /// Builds until the view has caught up, and leaves it to the projector.
    fn build(&self) {
        loop {
            let Rules { version, rules } = self.rules().clone();
            let is_outdated = || self.rules().version != version;
            // The file is closed here, and the projector goes on with it as with one that was broken off.
            let built = self.open(&rules).and_then(|mut build| {
                self.lock().resumed_at = build.resumed_at();
                self.catch_up(&mut build, is_outdated, |_| {})
            });
            let mut last = self.lock();
            match built {
                _ if self.stopping.is_cancelled() => return,
                _ if is_outdated() => self.begun(&mut last),
                Ok(caught_up) => {
                    last.caught_up = caught_up.then_some(rules);
                    return;
                }
                Err(error) => {
                    drop(last);
                    return self.ended(Err(&error));
                }
            }
        }
    }

    fn options(&self, rules: RuleSet) -> ProjectorOptions {
        ProjectorOptions { rules, sizes: self.sizes }
    }

    /// Opens the file of the new view, as soon as there is room for it.
    fn open(&self, rules: &RuleSet) -> Result<Build, ProjectorError> {
        let mut room = FullDiskBackoff::new("the new view");
        loop {
            match Build::open(&self.data, self.options(rules.clone())) {
                Err(error) if error.is_disk_full() && !self.stopping.is_cancelled() => {
                    strandline_sqlite::sleep_unless(room.next_wait(&error), || self.stopping.is_cancelled());
                }
                opened => return opened,
            }
        }
    }

    fn catch_up(
        &self,
        build: &mut Build,
        is_outdated: impl Fn() -> bool,
        on_checkpoint: impl Fn(Offset),
    ) -> Result<bool, ProjectorError> {
        let mut room = FullDiskBackoff::new("the new view");
        while !self.stopping.is_cancelled() && !is_outdated() {
            self.checkpoint.set(build.checkpoint());
            on_checkpoint(build.checkpoint());
            match build.step() {
                Ok(true) => room.end(),
                Ok(false) => return Ok(true),
                Err(error) if error.is_disk_full() => {
                    strandline_sqlite::sleep_unless(room.next_wait(&error), || self.stopping.is_cancelled());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

impl Rebuilding for Rebuild {
    fn begin(&self) {
        let mut last = self.shared.lock();
        if last.state == RebuildState::Building || self.shared.stopping.is_cancelled() {
            return;
        }
        self.shared.begun(&mut last);
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("view-builder".to_owned()).spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| shared.build())).is_err() {
                shared.gave_up("the program panicked while it built the view".to_owned());
            }
        });
        match thread {
            Ok(thread) => last.thread = Some(thread),
            Err(error) => {
                last.state = RebuildState::Failed;
                last.error = format!("cannot start a thread: {error}");
            }
        }
    }

    fn report(&self) -> RebuildReport {
        let last = self.shared.lock();
        RebuildReport {
            state: last.state,
            head: self.shared.status.head().get(),
            checkpoint: self.shared.checkpoint.get(),
            resumed_at: last.resumed_at,
            serving: self.shared.status.is_usable(),
            rules: self.shared.rules().rules.name(),
            begun_at: last.begun_at,
            ended_at: last.ended_at,
            error: last.error.clone(),
        }
    }
}
