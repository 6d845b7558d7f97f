//! Appending to the log against inserting the same bodies, uncompressed, into a plain SQLite table with one
//! index, the same batch size and the same `synchronous=FULL`.
//!
//! The log digests, finds the incarnation, packs, chains and indexes what the plain table merely stores, and
//! it writes a tenth of the bytes.

mod common;

use std::time::Instant;

use rusqlite::{Connection, params};

use common::table::{Mark, Spread, Table};
use common::{BATCH, Log, Seen, observations};

const COUNT: usize = 12_000;
const ROUNDS: usize = 7;

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(ours());
        times[1].push(raw());
    }
    let [ours, raw] = times.map(Spread::of).map(|spread| COUNT as f64 / spread.median);
    let mut table = Table::new("append");
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
    let begun = Instant::now();
    log.append(seen, BATCH);
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    log.close();
    took
}

fn raw() -> f64 {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut connection = plain(&directory.path().join("raw.db")).expect("a plain table");
    let seen = input();
    let begun = Instant::now();
    insert(&mut connection, &seen).expect("the rows are inserted");
    begun.elapsed().as_secs_f64() * 1000.0
}

fn plain(path: &std::path::Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = full;
         CREATE TABLE change (id INTEGER PRIMARY KEY, uid TEXT NOT NULL, version TEXT NOT NULL, body TEXT NOT NULL);
         CREATE INDEX change_by_uid ON change (uid);",
    )?;
    Ok(connection)
}

fn insert(connection: &mut Connection, seen: &[Seen]) -> rusqlite::Result<()> {
    for chunk in seen.chunks(BATCH) {
        let transaction = connection.transaction()?;
        {
            let mut statement =
                transaction.prepare_cached("INSERT INTO change (uid, version, body) VALUES (?1, ?2, ?3)")?;
            for item in chunk {
                let seen = &item.observation;
                statement.execute(params![seen.uid.as_str(), seen.resource_version.as_str(), seen.body])?;
            }
        }
        transaction.commit()?;
    }
    Ok(())
}
