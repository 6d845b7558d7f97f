//! Appending to the log against inserting the same bodies, uncompressed, into a plain SQLite table with one
//! index, the same batch size and the same `synchronous=FULL`.
//!
//! The log digests, finds the incarnation, packs, chains and indexes what the plain table merely stores, and
//! it writes a tenth of the bytes.

mod common;

use common::plain::Plain;
use common::settings;
use common::table::{Mark, Spread, Table, milliseconds};
use common::{BATCH, Log, Seen, observations};

const COUNT: usize = 12_000;
const ROUNDS: usize = 7;

fn main() {
    if settings::is_listed() {
        return;
    }
    let mut table = Table::new("append");
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(ours());
        times[1].push(raw());
    }
    let [ours, raw] = times.map(Spread::of).map(|spread| COUNT as f64 / spread.median);
    table.row(
        "appending to the log",
        "k changes/s",
        ours,
        Some(("raw SQLite", raw)),
        Mark::RatioAtLeast(0.6),
    );
    table.finish();
}

/// The same observations every time, made anew since appending consumes them.
fn input() -> Vec<Seen> {
    observations(COUNT, 6)
}

fn ours() -> f64 {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (log, seen) = (Log::open(directory.path()), input());
    let took = milliseconds(|| log.append(seen, BATCH));
    log.close();
    took
}

fn raw() -> f64 {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut table, seen) = (Plain::open(&directory.path().join("raw.db")), input());
    milliseconds(|| table.insert(&seen))
}
