//! What benches share: realistic objects and fleets of them from a seed, a log to put them into, and the table of what
//! was found.

#![allow(dead_code, reason = "each bench uses a part of it")]
#![allow(unused_imports, reason = "each bench uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot set itself up has nothing to measure")]

pub(crate) mod busy_cluster;
pub(crate) mod caller;
pub(crate) mod environments;
pub(crate) mod fleet;
pub(crate) mod objects;
pub(crate) mod plain;
pub(crate) mod process;
pub(crate) mod settings;
pub(crate) mod system;
pub(crate) mod table;

pub(crate) use objects::{Seen, observations};

use std::collections::VecDeque;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

// With the allocator of the program, also where nothing else of it is used.
use strandline as _;
use strandline_clock::{Clock, SystemClock};
use strandline_log::{Appender, Batch, Begin, Epoch, LogError, LogWriter, Observed, Phase};
use strandline_model::{CoverageMark, Kind, Offset, ResourceVersion, WatchKey, reason};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{NextDue, Projector, ProjectorOptions, Pruning, Sizes};
use tokio::task::JoinHandle;

/// Objects in one append, as a busy watch hands them over.
pub(crate) const BATCH: usize = 1000;

/// Appends that are under way at once, as of so many watches.
const UNDER_WAY: usize = 4;

/// A small generator of numbers (splitmix64), the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// A runtime as the service has it: one worker more than there are cores.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let workers = std::thread::available_parallelism().map_or(2, |cores| cores.get() + 1);
    tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// The watch that follows a kind.
pub(crate) fn watch(kind: &str) -> WatchKey {
    WatchKey { cluster: "bench".into(), kind: Kind::new("", kind), namespace: String::new() }
}

const KINDS: [&str; 7] = ["Deployment", "ReplicaSet", "EndpointSlice", "Service", "Pod", "Node", "Event"];

/// How a view is made: `STRANDLINE_BENCH_CACHE` says how many MiB of it its writer keeps in memory.
pub(crate) fn view_options() -> ProjectorOptions {
    let usual = Sizes::default();
    let view_cache = settings::number("CACHE", usual.view_cache >> 20) << 20;
    ProjectorOptions { rules: RuleSet::default(), sizes: Sizes { view_cache, ..usual } }
}

/// How long a wait for the view lasts at most before another look.
const TICK: Duration = Duration::from_millis(10);

/// Lets `write` write to a log, while a projector follows it as in the service; `write` gets a way to wait until all that is in the
/// log, up to an offset, can be asked for.
pub(crate) fn followed<R>(directory: &Path, write: impl FnOnce(&dyn Fn(Offset)) -> R) -> R {
    let (head, checkpoint, ended) = (Watermark::default(), Watermark::default(), AtomicBool::new(false));
    let follow = || {
        let mut projector = Projector::open(directory, view_options()).expect("the view opens");
        let ended = || ended.load(Ordering::Relaxed);
        let due = (&Pruning::default(), &NextDue::default());
        projector.run(&head, &checkpoint, due, ended).expect("the view is written");
    };
    let wait = |reached| {
        head.set(reached);
        while checkpoint.get() < reached {
            checkpoint.wait_past(checkpoint.get(), TICK);
        }
    };
    thread::scope(|scope| {
        scope.spawn(follow);
        let written = write(&wait);
        ended.store(true, Ordering::Relaxed);
        written
    })
}

/// A log with its writer's thread.
pub(crate) struct Log {
    pub(crate) appender: Appender,
    thread: thread::JoinHandle<Result<(), LogError>>,
    epochs: Vec<(&'static str, Epoch)>,
    runtime: tokio::runtime::Runtime,
}

impl Log {
    /// Opens the log of a directory.
    pub(crate) fn open(directory: &Path) -> Self {
        let (writer, appender) = LogWriter::open(directory, Arc::new(SystemClock)).unwrap();
        let thread = thread::spawn(move || writer.run());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        // As of a cluster that is watched: answers name no gap of all of it.
        let looked_at = CoverageMark::watched(WatchKey::discovery("bench", ""), SystemClock.now());
        runtime.block_on(appender.mark(looked_at)).unwrap();
        let begin = |kind| runtime.block_on(appender.begin(Begin::new(&watch(kind), true))).unwrap().epoch;
        let epochs = KINDS.iter().map(|kind| (*kind, begin(kind))).collect();
        Log { appender, thread, epochs, runtime }
    }

    /// Appends observations in batches of `size`, each batch one watch's, some of them under way at once.
    pub(crate) fn append(&self, seen: Vec<Seen>, size: usize) {
        self.observe(seen.into_iter().map(|seen| (seen.kind, Observed::Applied(seen.observation))), size);
    }

    /// The same for whatever watches see, which is taken as it is needed.
    pub(crate) fn observe(&self, seen: impl IntoIterator<Item = (&'static str, Observed)>, size: usize) {
        self.send(seen, size, Phase::Watch);
    }

    /// Appends the pages of the first lists of all kinds, which are gaps until all are at their end.
    pub(crate) fn list(&self, seen: impl IntoIterator<Item = (&'static str, Observed)>, size: usize) {
        let mark = |mark: CoverageMark| self.runtime.block_on(self.appender.mark(mark)).unwrap();
        let now = || SystemClock.now();
        for kind in KINDS {
            mark(CoverageMark::gap(watch(kind), now(), reason::LISTING, ""));
        }
        self.send(seen, size, Phase::ListPage);
        for (place, kind) in KINDS.into_iter().enumerate() {
            let end = Batch { phase: Phase::ListEnd, ..self.batch(place, Vec::new()) };
            self.runtime.block_on(self.appender.append(end)).unwrap();
            mark(CoverageMark::watched(watch(kind), now()));
        }
    }

    /// Says that all kinds are watched, as after their first lists.
    pub(crate) fn watched(&self) {
        for kind in KINDS {
            let mark = CoverageMark::watched(watch(kind), SystemClock.now());
            self.runtime.block_on(self.appender.mark(mark)).unwrap();
        }
    }

    fn send(&self, seen: impl IntoIterator<Item = (&'static str, Observed)>, size: usize, phase: Phase) {
        let mut seen = seen.into_iter();
        let mut pending: [Vec<Observed>; KINDS.len()] = Default::default();
        let batches = std::iter::from_fn(|| {
            for (kind, observed) in seen.by_ref() {
                let place = KINDS.iter().position(|known| *known == kind).unwrap();
                pending[place].push(observed);
                if pending[place].len() == size {
                    return Some(self.batch(place, std::mem::take(&mut pending[place])));
                }
            }
            let rest = pending.iter().position(|rest| !rest.is_empty())?;
            Some(self.batch(rest, std::mem::take(&mut pending[rest])))
        });
        // Each is on its way as soon as it is full, while the next is made: a future that nobody polls has not begun.
        let mut under_way = VecDeque::with_capacity(UNDER_WAY);
        for batch in batches {
            if under_way.len() == UNDER_WAY {
                under_way.pop_front().into_iter().for_each(|append| self.finish(append));
            }
            let (appender, batch) = (self.appender.clone(), Batch { phase, ..batch });
            under_way.push_back(self.runtime.spawn(async move { appender.append(batch).await }));
        }
        under_way.into_iter().for_each(|append| self.finish(append));
    }

    fn finish<T, E: Debug>(&self, append: JoinHandle<Result<T, E>>) {
        self.runtime.block_on(append).unwrap().unwrap();
    }

    /// Waits for what is done with the log by its appender.
    pub(crate) fn wait<T>(&self, of: impl AsyncFnOnce(&Appender) -> T) -> T {
        self.runtime.block_on(of(&self.appender))
    }

    fn batch(&self, place: usize, observed: Vec<Observed>) -> Batch {
        let (kind, epoch) = self.epochs[place];
        let cursor = Some(ResourceVersion::new("1"));
        Batch { watch: watch(kind), epoch, phase: Phase::Watch, observed, cursor }
    }

    /// Closes the log.
    pub(crate) fn close(self) {
        drop(self.appender);
        self.thread.join().unwrap().unwrap();
    }
}
