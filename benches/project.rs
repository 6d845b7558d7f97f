//! Projecting changes into the view against inserting the same bodies into a plain SQLite table.
//!
//! The projector reads and verifies the log, unpacks every body, judges it, links it, and keeps intervals,
//! memberships and counts.

mod common;

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;
use strandline_view::Projector;
use strandline_view::ruleset::RuleSet;

use common::settings;
use common::table::{Mark, Spread, Table};
use common::{BATCH, Log, observations};

const COUNT: usize = 12_000;
const ROUNDS: usize = 7;

fn main() {
    if settings::is_listed() {
        return;
    }
    let mut table = Table::new("project");
    let bodies: Vec<String> = observations(COUNT, 6).into_iter().map(|seen| seen.observation.body).collect();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let [ingest, project] = ours();
        let directory = tempfile::tempdir().expect("a temporary directory");
        let raw = milliseconds(|| insert(directory.path(), &bodies).expect("the rows are inserted"));
        for (times, took) in times.iter_mut().zip([ingest, project, raw]) {
            times.push(took);
        }
    }
    let [ingest, project, raw] = times.map(Spread::of).map(|spread| COUNT as f64 / spread.median);
    let what = "projecting into the view";
    table.row(what, "k changes/s", project, Some(("appending to the log", ingest)), Mark::RatioAtLeast(1.5));
    table.row(what, "k changes/s", project, Some(("raw SQLite", raw)), Mark::None);
    table.finish();
}

fn milliseconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1000.0
}

/// What appending takes, and then projecting.
fn ours() -> [f64; 2] {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (log, seen) = (Log::open(directory.path()), observations(COUNT, 6));
    let ingest = milliseconds(|| log.append(seen, BATCH));
    log.close();
    let mut projector = Projector::open(directory.path(), RuleSet::default()).expect("the view opens");
    let project = milliseconds(|| while projector.step().expect("the view is written").is_some() {});
    [ingest, project]
}

fn insert(directory: &Path, bodies: &[String]) -> rusqlite::Result<()> {
    let mut connection = Connection::open(directory.join("raw.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = normal;
         CREATE TABLE change (id INTEGER PRIMARY KEY, body TEXT NOT NULL);",
    )?;
    for chunk in bodies.chunks(BATCH) {
        let transaction = connection.transaction()?;
        {
            let mut statement = transaction.prepare_cached("INSERT INTO change (body) VALUES (?1)")?;
            for body in chunk {
                statement.execute([body])?;
            }
        }
        transaction.commit()?;
    }
    Ok(())
}
