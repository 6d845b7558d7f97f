//! Copies what is in a WAL into its database beside the writer, who would wait for the disk otherwise.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::identity::Identities;
use super::wal::{skip_checkpoint_on_close, wal};

/// What the writer copies itself: a helper alone would never be done, since more is written meanwhile.
const FEW: i64 = 512;

/// A WAL so many times as long as it is to become makes the writer wait.
const TIMES: i64 = 2;

/// How often a helper begins anew, as long as much was written meanwhile.
const PASSES: u32 = 8;

/// What is written to a WAL before it is brought to the disk, in pages: all of it at once would keep the disk from others, such as
/// the writer of the log, for as long as it takes.
const SYNCED_AT_ONCE: i64 = 1024;

/// Between two attempts while a reader needs what is in the WAL.
const APART: Duration = Duration::from_millis(250);

/// The checkpoints of one database, for whoever writes it.
///
/// SQLite begins a WAL anew once all of it is in the database and no reader needs it. A thread of its own copies most of it, and
/// the writer, between two transactions, the little that came meanwhile. Until a WAL is long enough for that, a thread brings what is
/// in it to the disk. SQLite's own checkpoints are to be off; see [`Role`](super::Role).
#[derive(Debug)]
pub struct Checkpoints {
    path: PathBuf,
    /// With so many pages a WAL is long enough.
    pages: i64,
    running: Option<JoinHandle<Result<(), HelperError>>>,
    /// How much of the WAL was brought to the disk, or is about to be, in pages.
    synced: i64,
    /// When the last helper began.
    helped: Option<Instant>,
    /// When the writer came to the end itself.
    ended: Option<Instant>,
}

/// What a helper met, of SQLite or of the system.
type HelperError = Box<dyn std::error::Error + Send + Sync>;

/// How far a WAL is copied, in pages.
#[derive(Clone, Copy, Debug)]
struct Progress {
    written: i64,
    copied: i64,
}

impl Progress {
    fn left(self) -> i64 {
        self.written - self.copied
    }
}

impl Checkpoints {
    /// Of the database at a path, whose WAL becomes about so many pages long.
    pub const fn of(path: PathBuf, pages: i64) -> Self {
        Checkpoints { path, pages, running: None, synced: 0, helped: None, ended: None }
    }

    /// Does what is due. To be called by the writer after each transaction. What fails is a warning, as nothing is lost by it: what
    /// is committed stays in the WAL.
    pub fn after_commit(&mut self, writer: &Connection) {
        if let Err(error) = self.do_what_is_due(writer) {
            self.warn(&error);
        }
    }

    fn do_what_is_due(&mut self, writer: &Connection) -> rusqlite::Result<()> {
        if self.running.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join();
        }
        let wal = progress(writer, "NOOP")?;
        if wal.written < self.pages {
            self.sync_if_due(wal.written);
            return Ok(());
        }
        let is_long = wal.written >= self.pages * TIMES;
        if is_long {
            self.join();
        }
        if self.running.is_some() {
            return Ok(());
        }
        let is_due = |last: Option<Instant>| last.is_none_or(|last| last.elapsed() >= APART);
        let is_little = wal.left() <= FEW;
        if is_long && !is_little || is_little && is_due(self.ended) {
            self.ended = Some(Instant::now());
            progress(writer, "PASSIVE")?;
        } else if !is_little && is_due(self.helped) {
            let path = self.path.clone();
            let files = Identities::of([path.clone()]);
            self.help(move || Ok(copy(&path, files)?));
            self.helped = Some(Instant::now());
        }
        Ok(())
    }

    fn sync_if_due(&mut self, written: i64) {
        // One that was begun anew is shorter.
        self.synced = self.synced.min(written);
        if written - self.synced >= SYNCED_AT_ONCE && self.running.is_none() {
            let wal = wal(&self.path);
            self.help(move || Ok(File::open(wal)?.sync_data()?));
            self.synced = written;
        }
    }

    fn help(&mut self, work: impl FnOnce() -> Result<(), HelperError> + Send + 'static) {
        self.running = std::thread::Builder::new().name("checkpoint".into()).spawn(work).ok();
    }

    fn join(&mut self) {
        match self.running.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => {}
            Some(Ok(Err(error))) => self.warn(&*error),
            Some(Err(_)) => tracing::error!(path = %self.path.display(), "a checkpoint panicked"),
        }
    }

    fn warn(&self, error: &dyn std::error::Error) {
        tracing::warn!(path = %self.path.display(), error = %error, "a checkpoint failed");
    }
}

impl Drop for Checkpoints {
    /// Waits for the helper: the writer's connection is to be the last that is closed.
    fn drop(&mut self) {
        self.join();
    }
}

/// Copies, over a connection of its own, until little is left.
fn copy(path: &Path, mut files: Identities) -> rusqlite::Result<()> {
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, access)?;
    skip_checkpoint_on_close(&connection)?;
    if files.displaced().is_some() {
        // What took its place is left alone.
        return Ok(());
    }
    let mut before = progress(&connection, "NOOP")?;
    for _ in 0..PASSES {
        progress(&connection, "PASSIVE")?;
        let now = progress(&connection, "NOOP")?;
        // A reader may need what was there before.
        if now.left() <= FEW / 2 || now.copied <= before.copied {
            break;
        }
        before = now;
    }
    Ok(())
}

/// Runs a checkpoint; returns how far the WAL is copied then.
fn progress(connection: &Connection, mode: &str) -> rusqlite::Result<Progress> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    statement.query_row([], |row| Ok(Progress { written: row.get(1)?, copied: row.get(2)? }))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::{Role, open};

    const PAGES: i64 = 1200;
    /// What a transaction writes, in pages.
    const STEP: i64 = 300;

    struct Written {
        // Before the connection, as whoever writes has it.
        checkpoints: Checkpoints,
        writer: Connection,
        rows: i64,
        longest: i64,
    }

    impl Written {
        fn at(path: &Path) -> Self {
            let writer = open(path, Role::ViewWriter, 7).unwrap();
            writer.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)").unwrap();
            Written { checkpoints: Checkpoints::of(path.to_owned(), PAGES), writer, rows: 0, longest: 0 }
        }

        /// Writes transactions, each followed by what is due.
        fn write(&mut self, transactions: i64) {
            for _ in 0..transactions {
                self.writer.execute_batch("BEGIN").unwrap();
                for _ in 0..STEP {
                    self.writer.execute("INSERT INTO t (a) VALUES (zeroblob(4000))", []).unwrap();
                }
                self.writer.execute_batch("COMMIT").unwrap();
                self.rows += STEP;
                self.longest = self.longest.max(progress(&self.writer, "NOOP").unwrap().written);
                self.checkpoints.after_commit(&self.writer);
            }
        }
    }

    fn count(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM t WHERE length(a) = 4000", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_wal_stays_short_however_fast_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let mut written = Written::at(&path);
        written.write(60);
        // With a transaction more than makes the writer wait, and the pages beside the rows.
        let most = PAGES * TIMES + 2 * STEP;
        assert!(written.longest > PAGES && written.longest < most, "{} of {most}", written.longest);
        let reader = open(&path, Role::Reader, 7).unwrap();
        assert_eq!(count(&reader), written.rows);
        drop(reader);
        let rows = written.rows;
        drop(written);
        assert!(!dir.path().join("x.db-wal").exists(), "the last connection left nothing behind");
        let again = open(&path, Role::Reader, 7).unwrap();
        let check: String = again.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!((check.as_str(), count(&again)), ("ok", rows));
    }

    #[test]
    fn a_wal_comes_to_the_disk_piece_by_piece_while_it_grows() {
        let dir = tempfile::tempdir().unwrap();
        let mut written = Written::at(&dir.path().join("x.db"));
        written.checkpoints.pages = 4 * SYNCED_AT_ONCE;
        let mut pieces = Vec::new();
        for _ in 0..12 {
            written.write(1);
            let helper = written.checkpoints.running.take();
            assert!(helper.is_none_or(|helper| helper.join().unwrap().is_ok()), "it was brought there");
            pieces.push(written.checkpoints.synced);
        }
        pieces.dedup();
        assert!(written.longest < written.checkpoints.pages, "nothing was copied yet");
        let far = pieces.windows(2).all(|two| two[1] - two[0] >= SYNCED_AT_ONCE);
        assert!(pieces.len() > 2 && far, "{pieces:?}");
        written.checkpoints.sync_if_due(3);
        assert_eq!(written.checkpoints.synced, 3, "one that was begun anew is as long as it is");
    }

    #[test]
    fn a_reader_keeps_what_it_sees_and_the_wal_begins_anew_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let mut written = Written::at(&path);
        written.write(1);
        let reader = open(&path, Role::Reader, 7).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        assert_eq!(count(&reader), STEP);
        written.write(20);
        assert_eq!(count(&reader), STEP, "it sees what it saw");
        assert!(written.longest > PAGES * TIMES, "the WAL holds what it needs");
        reader.execute_batch("COMMIT").unwrap();
        assert_eq!(count(&reader), written.rows);
        // The first copies all of it and the second begins anew.
        written.write(2);
        written.longest = 0;
        written.write(1);
        assert!(written.longest < PAGES, "{}", written.longest);
    }
}
