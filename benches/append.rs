//! Appending to the log against inserting the same bodies, uncompressed, into a plain SQLite table with one
//! index, the same batch size and the same `synchronous=FULL`.
//!
//! The log digests, finds the incarnation, packs, chains and indexes what the plain table merely stores, and
//! it writes a tenth of the bytes.

mod common;

use divan::Bencher;
use divan::counter::ItemsCount;
use rusqlite::{Connection, params};

use common::{BATCH, Log, Seen, observations};

const COUNT: usize = 12_000;

fn main() {
    divan::main();
}

/// The same observations for every bench, made anew for each sample since appending consumes them.
fn input() -> Vec<Seen> {
    observations(COUNT, 6)
}

#[divan::bench(sample_count = 7, sample_size = 1)]
fn strandline(bencher: Bencher<'_, '_>) {
    bencher
        .counter(ItemsCount::new(COUNT))
        .with_inputs(|| {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let log = Log::open(directory.path());
            (directory, log, input())
        })
        .bench_values(|(directory, log, seen)| {
            log.append(seen, BATCH);
            (directory, log)
        });
}

#[divan::bench(sample_count = 7, sample_size = 1)]
fn raw_sqlite(bencher: Bencher<'_, '_>) {
    bencher
        .counter(ItemsCount::new(COUNT))
        .with_inputs(|| {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let connection = plain(&directory.path().join("raw.db")).expect("a plain table");
            (directory, connection, input())
        })
        .bench_values(|(directory, mut connection, seen)| {
            insert(&mut connection, &seen).expect("the rows are inserted");
            (directory, connection)
        });
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
