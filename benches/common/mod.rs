//! What benches share: realistic objects and fleets of them from a seed, a log to put them into, and the table of what
//! was found.

#![allow(dead_code, reason = "each bench uses a part of it")]
#![allow(unused_imports, reason = "each bench uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot set itself up has nothing to measure")]

pub(crate) mod fleet;
pub(crate) mod objects;
pub(crate) mod table;

pub(crate) use objects::{Seen, observations};

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use strandline_clock::SystemClock;
use strandline_log::{Appender, Batch, Begin, Epoch, LogError, LogWriter, Observed, Phase};
use strandline_model::{Kind, ResourceVersion, WatchKey};

/// Objects in one append, as a busy watch hands them over.
pub(crate) const BATCH: usize = 1000;

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

/// The watch that follows a kind.
pub(crate) fn watch(kind: &str) -> WatchKey {
    WatchKey { cluster: "bench".into(), kind: Kind::new("", kind), namespace: String::new() }
}

const KINDS: [&str; 7] = ["Deployment", "ReplicaSet", "EndpointSlice", "Service", "Pod", "Node", "Event"];

/// A log with its writer's thread.
pub(crate) struct Log {
    pub(crate) appender: Appender,
    thread: JoinHandle<Result<(), LogError>>,
    epochs: Vec<(&'static str, Epoch)>,
    runtime: tokio::runtime::Runtime,
}

impl Log {
    /// Opens the log of a directory.
    pub(crate) fn open(directory: &Path) -> Self {
        let (writer, appender) = LogWriter::open(directory, Arc::new(SystemClock)).unwrap();
        let thread = std::thread::spawn(move || writer.run());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let begin = |kind| runtime.block_on(appender.begin(Begin::new(&watch(kind), true))).unwrap().epoch;
        let epochs = KINDS.iter().map(|kind| (*kind, begin(kind))).collect();
        Log { appender, thread, epochs, runtime }
    }

    /// Appends observations in batches of `size`, each batch one watch's, with up to four under way.
    pub(crate) fn append(&self, seen: Vec<Seen>, size: usize) {
        self.observe(seen.into_iter().map(|seen| (seen.kind, Observed::Applied(seen.observation))), size);
    }

    /// The same for whatever watches see.
    pub(crate) fn observe(&self, seen: impl IntoIterator<Item = (&'static str, Observed)>, size: usize) {
        let mut pending: Vec<Vec<Observed>> = KINDS.iter().map(|_| Vec::new()).collect();
        let mut batches = Vec::new();
        for (kind, observed) in seen {
            let place = KINDS.iter().position(|known| *known == kind).unwrap();
            pending[place].push(observed);
            if pending[place].len() == size {
                batches.push(self.batch(place, std::mem::take(&mut pending[place])));
            }
        }
        for (place, rest) in pending.into_iter().enumerate().filter(|(_, rest)| !rest.is_empty()) {
            batches.push(self.batch(place, rest));
        }
        self.runtime.block_on(async {
            for group in batches.chunks(4) {
                let appends = group.iter().map(|batch| self.appender.append(batch.clone()));
                for done in futures_util::future::join_all(appends).await {
                    done.unwrap();
                }
            }
        });
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
