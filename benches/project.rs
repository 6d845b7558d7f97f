//! Projecting changes into the view against inserting the same bodies into a plain SQLite table.
//!
//! The projector reads and verifies the log, unpacks every body, judges it, links it, and keeps intervals,
//! memberships and counts.

mod common;

use std::path::Path;

use divan::Bencher;
use divan::counter::ItemsCount;
use rusqlite::Connection;
use strandline::projection::Projector;
use strandline::ruleset::RuleSet;

use common::{BATCH, Log, observations};

const COUNT: usize = 12_000;

fn main() {
    divan::main();
}

/// A directory with a log that is yet to be projected.
fn recorded() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let log = Log::open(directory.path());
    log.append(observations(COUNT, 6), BATCH);
    log.close();
    directory
}

#[divan::bench(sample_count = 7, sample_size = 1)]
fn strandline(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(COUNT)).with_inputs(recorded).bench_values(|directory| {
        let mut projector = Projector::open(directory.path(), RuleSet::default()).expect("the view opens");
        while projector.step().expect("the view is written").is_some() {}
        directory
    });
}

#[divan::bench(sample_count = 7, sample_size = 1)]
fn raw_sqlite(bencher: Bencher<'_, '_>) {
    let bodies: Vec<String> = observations(COUNT, 6).into_iter().map(|seen| seen.observation.body).collect();
    bencher
        .counter(ItemsCount::new(COUNT))
        .with_inputs(|| tempfile::tempdir().expect("a temporary directory"))
        .bench_values(|directory| {
            insert(directory.path(), &bodies).expect("the rows are inserted");
            directory
        });
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
