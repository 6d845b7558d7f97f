//! The whole objects of a past moment, which lie in solid frames by then: what they take on the disk, and what reading a
//! thousand of them takes, against unpacking the same objects from memory, each packed by itself.
//!
//! The marks are the design's: bodies in frames at most 4 % of their JSON, a second read within three times of bare
//! unpacking, and a first one, of a file of which the system holds nothing in memory, within 60 ms.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use strandline_log::LogReader;
use strandline_model::{Change, Offset};

use common::settings;
use common::table::{Mark, Table, in_turn};
use common::{BATCH, Log, observations};

const OBJECTS: usize = 2000;
const VERSIONS: usize = 33;

/// Objects read at once.
const READ: usize = 1000;
const ROUNDS: usize = 11;

/// Objects of a log that has their first states alone.
const LISTED: usize = 24_000;

/// So many closed versions may wait, because fewer are not worth a run of the packer.
const WAITING_MAX: i64 = 1024;

/// How long the log may take to come to rest.
const REST_MAX: Duration = Duration::from_secs(60);

/// What is stored of the bodies in frames, and of the others.
struct Stored {
    framed: i64,
    changes: i64,
    cold: i64,
    file: u64,
    /// In the table of changes, in hundredths of it.
    holes: i64,
}

fn main() {
    if settings::is_listed() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let text = fill(directory.path());
    let mut table = Table::new("bodies");
    told_of_list(&mut table);
    told_of_room(&mut table, &stored(directory.path()), text);
    told_of_reading(&mut table, directory.path());
    table.finish();
}

/// Writes a log and waits until it has come to rest; the JSON of a body in bytes, on average.
fn fill(directory: &Path) -> f64 {
    let log = Log::open(directory);
    let seen = observations(OBJECTS * VERSIONS, VERSIONS);
    let (count, text) = (seen.len(), seen.iter().map(|seen| seen.observation.body.len()).sum::<usize>());
    log.append(seen, BATCH);
    let state = || (number(directory, "SELECT count(*) FROM closed_group"), number(directory, HOLES));
    let (began, mut before) = (Instant::now(), (i64::MAX, 0));
    while began.elapsed() < REST_MAX {
        let now = state();
        if now.0 < WAITING_MAX && now == before {
            break;
        }
        before = now;
        std::thread::sleep(Duration::from_secs(1));
    }
    log.close();
    text as f64 / count as f64
}

/// What is empty of the pages of the table of changes.
const HOLES: &str = "SELECT sum(unused) * 100 / sum(pgsize) FROM dbstat WHERE name = 'change'";

/// What first states alone take, of which nothing is closed.
fn told_of_list(table: &mut Table) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (log, seen) = (Log::open(directory.path()), observations(LISTED, 1));
    let text = seen.iter().map(|seen| seen.observation.body.len()).sum::<usize>();
    log.append(seen, BATCH);
    log.close();
    let json = Some(("its JSON", text as f64 / LISTED as f64));
    let all = stored(directory.path()).file as f64 / LISTED as f64;
    table.row("log of an object that was listed", "bytes", all, json, Mark::RatioAtMost(0.1));
}

fn open(directory: &Path) -> Connection {
    Connection::open(directory.join("log.db")).expect("the log opens")
}

fn number(directory: &Path, sql: &str) -> i64 {
    open(directory).query_row(sql, [], |row| row.get(0)).expect("a number")
}

fn stored(directory: &Path) -> Stored {
    Stored {
        framed: number(directory, "SELECT count(*) FROM change WHERE frame_id IS NOT NULL"),
        changes: number(directory, "SELECT count(*) FROM change"),
        cold: number(directory, "SELECT coalesce(sum(length(bytes)), 0) FROM frame"),
        file: std::fs::metadata(directory.join("log.db")).expect("the log is there").len(),
        holes: number(directory, HOLES),
    }
}

fn told_of_room(table: &mut Table, stored: &Stored, text: f64) {
    let json = Some(("its JSON", text));
    let cold = stored.cold as f64 / stored.framed as f64;
    table.row("a body in a frame", "bytes", cold, json, Mark::RatioAtMost(0.04));
    let all = stored.file as f64 / stored.changes as f64;
    table.row("log of a change, come to rest", "bytes", all, json, Mark::RatioAtMost(0.1));
    table.row("holes in the table of changes", "%", stored.holes as f64, None, Mark::AtMost(15.0));
    let share = stored.framed as f64 * 100.0 / stored.changes as f64;
    table.row("changes whose bodies are in frames", "%", share, None, Mark::None);
}

/// The state of some objects when a quarter of the log was there, all of which lies in frames.
fn places(directory: &Path) -> Vec<Offset> {
    let log = open(directory);
    let sql = r#"SELECT max("offset") FROM change WHERE "offset" <= (SELECT max("offset") / 4 FROM change)
        AND frame_id IS NOT NULL GROUP BY subject_id LIMIT ?1"#;
    let mut statement = log.prepare(sql).expect("a statement");
    let rows = statement.query_map([READ as i64], |row| row.get(0)).expect("a query");
    rows.map(|offset| Offset::from_i64(offset.expect("an offset"))).collect()
}

/// Reads them all with a reader that has unpacked nothing yet.
fn read(directory: &Path, places: &[Offset]) -> Vec<String> {
    let mut reader = LogReader::open(directory).expect("the log opens");
    let mut log = reader.begin().expect("a snapshot");
    let body = |place: &Offset| match log.at(*place).expect("a record").change {
        Change::Applied { body, .. } => body,
        other => panic!("no state: {other:?}"),
    };
    places.iter().map(body).collect()
}

fn told_of_reading(table: &mut Table, directory: &Path) {
    let places = places(directory);
    let pack = |body: &String| zstd::bulk::compress(body.as_bytes(), 3).expect("a body is packed");
    let bodies = read(directory, &places);
    let (packed, largest): (Vec<_>, _) =
        (bodies.iter().map(pack).collect(), bodies.iter().map(String::len).max().unwrap_or(0));
    let [again, bare] = in_turn(
        ROUNDS,
        [&mut || drop(read(directory, &places)), &mut || {
            for body in &packed {
                std::hint::black_box(zstd::bulk::decompress(body, largest).expect("a body is unpacked"));
            }
        }],
    );
    let peer = Some(("unpacking from memory", bare.median));
    table.row("1,000 objects at T, a second time", "ms", again.median, peer, Mark::RatioAtMost(3.0));
    if !forget(directory) {
        return println!("NOT RUN: the first read: the system cannot be made to forget a file here");
    }
    let [first] = in_turn(
        ROUNDS,
        [&mut || {
            forget(directory);
            drop(read(directory, &places));
        }],
    );
    let [forgetting] = in_turn(ROUNDS, [&mut || assert!(forget(directory))]);
    let first = first.median - forgetting.median;
    table.row("1,000 objects at T, a first time", "ms", first, None, Mark::AtMost(60.0));
}

/// Lets the system drop what it holds of the log in memory; false where it cannot be told to.
fn forget(directory: &Path) -> bool {
    let file = format!("if={}", directory.join("log.db").display());
    let told =
        Command::new("dd").args([file.as_str(), "iflag=nocache", "count=0"]).stderr(Stdio::null()).status();
    told.is_ok_and(|status| status.success())
}
