//! What solid frames save, and what reading from them costs: measured, not judged.
//!
//! `cargo test --release --test it frames -- --ignored --nocapture` prints both for realistic objects.

use std::path::Path;
use std::time::{Duration, Instant};

use strandline::log::LogReader;
use strandline::model::{Change, Offset};

use crate::server::Result;

#[path = "../../benches/common/mod.rs"]
mod common;

const OBJECTS: usize = 2000;

fn number(directory: &Path, sql: &str) -> Result<i64> {
    let log = rusqlite::Connection::open(directory.join("log.db"))?;
    Ok(log.query_row(sql, [], |row| row.get(0))?)
}

/// A log of so many versions of each object; tells the text of a body in bytes, on average.
fn log_of(directory: &Path, versions: usize) -> i64 {
    let log = common::Log::open(directory);
    let seen = common::observations(OBJECTS * versions, versions);
    let text: usize = seen.iter().map(|seen| seen.observation.body.len()).sum();
    let count = seen.len();
    log.append(seen, common::BATCH);
    // Fewer than this wait for more, or nothing does.
    while number(directory, "SELECT count(*) FROM closed_group").unwrap_or_default() >= 1024 {
        std::thread::sleep(Duration::from_millis(20));
    }
    log.close();
    (text / count) as i64
}

/// Reads the state of a thousand objects at the middle of a log; milliseconds, first and second time.
fn read_at_the_middle(directory: &Path) -> Result<(f64, f64)> {
    let middle = number(directory, "SELECT max(\"offset\") / 2 FROM change")?;
    let log = rusqlite::Connection::open(directory.join("log.db"))?;
    let sql = "SELECT max(\"offset\") FROM change WHERE \"offset\" <= ?1 GROUP BY subject_id LIMIT 1000";
    let offsets: Vec<i64> =
        log.prepare(sql)?.query_map([middle], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut reader = LogReader::open(directory)?;
    let mut read = || -> Result<f64> {
        let begun = Instant::now();
        for offset in &offsets {
            let record = reader.at(Offset::from_i64(*offset))?;
            assert!(matches!(record.change, Change::Applied { .. }));
        }
        Ok(begun.elapsed().as_secs_f64() * 1000.0)
    };
    Ok((read()?, read()?))
}

#[test]
#[ignore = "measures"]
fn what_solid_frames_save_and_cost() -> Result<()> {
    for versions in [15, 33, 65] {
        let dir = tempfile::tempdir()?;
        let text = log_of(dir.path(), versions);
        let (first, second) = read_at_the_middle(dir.path())?;
        let framed = number(dir.path(), "SELECT count(*) FROM change WHERE frame_id IS NOT NULL")?;
        let cold = number(dir.path(), "SELECT coalesce(sum(length(bytes)), 0) FROM frame")?;
        let hot = number(dir.path(), "SELECT coalesce(sum(length(body)), 0) FROM change")?;
        let changes = number(dir.path(), "SELECT count(*) FROM change")?;
        rusqlite::Connection::open(dir.path().join("log.db"))?.execute_batch("VACUUM")?;
        let file = std::fs::metadata(dir.path().join("log.db"))?.len() as i64;
        println!(
            "{versions} versions of {OBJECTS} objects of {text} bytes: {changes} changes, {framed} of them in frames; \
             bodies {} bytes hot, {} cold; the file {} a change, {:.1} % of the text; 1000 at the middle {first:.1} ms, again {second:.1} ms",
            hot.checked_div(changes - framed).unwrap_or(0),
            cold.checked_div(framed).unwrap_or(0),
            file / changes,
            file as f64 * 100.0 / (changes * text) as f64,
        );
    }
    Ok(())
}
