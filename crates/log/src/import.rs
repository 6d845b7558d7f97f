//! Changes that were recorded elsewhere, or that happened before anybody recorded: written by the log's own rules, at
//! their own time, all of them or none.
//!
//! An import is one transaction, beside which SQLite needs room on the disk and no memory: one that is broken off leaves
//! nothing, and there is no half of one. It goes through the functions of the log's writer, at the
//! times that are given, so that the chain of an export that is imported whole comes out as it was.

use std::path::Path;

use rusqlite::{Connection, params};

use super::append::{Appended, Batch, Begin, Epoch, Session};
use super::chain::HeadFile;
use super::declared::Declared;
use super::draft::Draft;
use super::entry::Entry;
use super::error::LogError;
use super::json::to_json;
use super::moved_offsets::MovedOffsets;
use super::runs::Run;
use super::transaction::{Write, WriterState};
use super::types::ChangeType;
use super::{ids, open};
use strandline_model::{
    CoverageMark, DeletionCause, Offset, ResourceKey, ResourceVersion, Timestamp, Uid, WatchKey,
};
use strandline_object::digest::{Noise, digest};
use strandline_redact::Observation;
use strandline_syntax::diagnostics::of_json;

type Result<T> = std::result::Result<T, LogError>;

/// Writes into the log of a data directory whose lock the caller holds. Nothing is there until [`LogImport::commit`],
/// and what is dropped before leaves the log as it was.
pub struct LogImport {
    connection: Connection,
    head_file: HeadFile,
    state: WriterState,
    offsets: MovedOffsets,
}

impl std::fmt::Debug for LogImport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogImport")
    }
}

impl LogImport {
    /// Opens, migrates and verifies the log, which is made where it is missing.
    ///
    /// # Errors
    /// As [`super::LogWriter::open`].
    pub fn open(directory: &Path) -> Result<Self> {
        let connection = open::open_writer(directory)?;
        let state = open::writer_state(&connection, directory)?;
        // One transaction for everything: SQLite moves to the disk what does not fit into its cache.
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let (head_file, offsets) = (HeadFile::new(directory), MovedOffsets::default());
        Ok(LogImport { connection, head_file, state, offsets })
    }

    /// The newest offset.
    pub fn head(&self) -> Offset {
        self.state.head
    }

    /// When the newest change was observed; none in an empty log.
    pub fn newest(&self) -> Option<Timestamp> {
        (self.state.head != Offset::ZERO).then_some(self.state.observed_at)
    }

    /// Recorded time never goes backwards, whatever comes in, save where a mark of the clock that was recorded says so.
    fn at(&mut self, time: Timestamp) -> Write<'_> {
        let now = time.max(self.state.observed_at);
        Write { connection: &self.connection, state: &mut self.state, now }
    }

    /// Writes what another log recorded, under the next offset; none for the end of something that was never recorded,
    /// as in a part of a log.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn entry(&mut self, entry: &Entry) -> Result<Option<Offset>> {
        let offset = match entry.r#type {
            ChangeType::Clock => {
                let mark = serde_json::from_str(&entry.body).map_err(|error| unreadable(&error))?;
                let body = to_json(&self.offsets.moved(&mark, entry.offset, self.state.head.next()))?;
                // Here, and nowhere else, recorded time may go back.
                let (connection, now) = (&self.connection, entry.observed_at);
                Write { connection, state: &mut self.state, now }.entry(&Entry { body, ..entry.clone() })?
            }
            _ => self.at(entry.observed_at).entry(entry)?,
        };
        if let Some(offset) = offset {
            self.offsets.note(entry.offset, offset);
        }
        Ok(offset)
    }

    /// Begins a run of a watch at a time.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn begin(&mut self, time: Timestamp, watch: &WatchKey) -> Result<Session> {
        self.at(time).begin(&Begin::new(watch, true))
    }

    /// Writes what a watch saw at a time, as far as it is a change.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn append(&mut self, time: Timestamp, batch: &Batch) -> Result<Appended> {
        let appended = self.at(time).batch(batch)?;
        // Runs are begun here and nowhere else, so that none comes after the one that is written.
        appended.map_err(|error| LogError::Import(error.to_string()))
    }

    /// Ends whatever is alive under a name; returns how many changes that took.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn gone(&mut self, time: Timestamp, key: &ResourceKey) -> Result<usize> {
        self.at(time).record_gone(key)
    }

    /// Writes a mark of coverage, unless it repeats the last one.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn mark(&mut self, mark: &CoverageMark) -> Result<Appended> {
        self.at(mark.since).mark(mark)
    }

    /// Records the time up to which a watch is complete. It has to list again before it goes on.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn seen(&mut self, watch: &WatchKey, last_seen: Timestamp) -> Result<()> {
        let kind = self.state.ids.kind(&self.connection, &watch.cluster, &watch.kind)?;
        let sql = "INSERT INTO cursor (kind_id, namespace, epoch, first_begun_at, begun_at, seen_at)
             VALUES (?1, ?2, 0, ?3, ?3, ?3)
             ON CONFLICT DO UPDATE SET resource_version = NULL, seen_at = max(coalesce(seen_at, ?3), ?3)";
        self.connection.prepare_cached(sql)?.execute(params![kind, watch.namespace, last_seen])?;
        Ok(())
    }

    /// Makes all of it durable; returns the newest offset.
    ///
    /// # Errors
    /// When there is no room; the log is then as it was.
    pub fn commit(mut self) -> Result<Offset> {
        let now = self.state.observed_at;
        Write { connection: &self.connection, state: &mut self.state, now }.assert_end()?;
        self.connection.execute_batch("COMMIT")?;
        self.head_file.write(self.state.head, &self.state.hash).unwrap_or_else(|error| {
            tracing::warn!(%error, "writing the head file beside the log failed");
        });
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(self.state.head)
    }
}

impl Write<'_> {
    fn entry(&mut self, entry: &Entry) -> Result<Option<Offset>> {
        let kind = self.state.ids.kind(self.connection, &entry.key.cluster, &entry.key.kind)?;
        match entry.r#type {
            ChangeType::Applied => self.recorded_state(kind, entry)?,
            ChangeType::Deleted if !self.recorded_end(kind, entry)? => return Ok(None),
            ChangeType::Deleted => {}
            ChangeType::Coverage => {
                let mark: CoverageMark =
                    serde_json::from_str(&entry.body).map_err(|error| unreadable(&error))?;
                match mark.until {
                    Some(_) => _ = self.mark(&mark)?,
                    None => {
                        _ = self.write_fact(ChangeType::Coverage, &entry.key, &entry.body, &mark.said())?
                    }
                }
            }
            ChangeType::Clock => {
                let mark = serde_json::from_str(&entry.body).map_err(|error| unreadable(&error))?;
                self.clock_mark(&mark)?;
            }
            ChangeType::Erased => {
                // What is left of the bodies is what is recorded here.
                self.erasure(&entry.body)?;
            }
            ChangeType::Declared => {
                let declared: Declared =
                    serde_json::from_str(&entry.body).map_err(|error| unreadable(&error))?;
                let offset = self.write_fact(ChangeType::Declared, &entry.key, &entry.body, &entry.body)?;
                self.record_declaration(&entry.key, declared.source, offset, &declared.fact)?;
            }
            ChangeType::Withdrawn => {
                let subject = ids::subject(self.connection, kind, &entry.key.namespace, &entry.key.name, "")?;
                if !self.is_live(subject)? {
                    return Ok(None);
                }
                self.write(Draft::bare(ChangeType::Withdrawn, subject, &entry.key))?;
                self.mark_ended(subject)?;
            }
        }
        Ok(Some(self.state.head))
    }

    fn is_live(&self, subject: i64) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM live WHERE subject_id = ?1)";
        Ok(self.connection.prepare_cached(sql)?.query_row([subject], |row| row.get(0))?)
    }

    fn recorded_state(&mut self, kind: i64, entry: &Entry) -> Result<()> {
        let uid = Uid::new(entry.uid.as_str());
        let before = self.incarnation(kind, &entry.key, &uid)?;
        let seen = Observation {
            namespace: entry.key.namespace.clone(),
            name: entry.key.name.clone(),
            uid,
            resource_version: ResourceVersion::new(entry.resource_version.as_str()),
            digest: digest(&entry.body, &Noise::default()),
            body: entry.body.clone(),
            changed_by: entry.changed_by.clone(),
        };
        let run = Run { kind, epoch: Epoch(0), reselected: false, reshaped: false };
        self.state_of(&run, &entry.key, &seen, before.as_ref())
    }

    /// Tells whether there was something to end.
    fn recorded_end(&mut self, kind: i64, entry: &Entry) -> Result<bool> {
        let key = &entry.key;
        let subject = ids::subject(self.connection, kind, &key.namespace, &key.name, &entry.uid)?;
        if !self.is_live(subject)? {
            return Ok(false);
        }
        let packed = self.state.bodies.fact(&entry.body)?;
        let bare = Draft::bare(ChangeType::Deleted, subject, key);
        self.write(Draft { uid: &entry.uid, body: &entry.body, packed: Some(packed), ..bare })?;
        self.mark_ended(subject)?;
        Ok(true)
    }

    fn record_gone(&mut self, key: &ResourceKey) -> Result<usize> {
        let kind = self.state.ids.kind(self.connection, &key.cluster, &key.kind)?;
        let mut written = 0;
        for live in self.live(kind, key)? {
            written += self.deleted(&live, key, DeletionCause::Watched)?;
        }
        Ok(written)
    }
}

fn unreadable(error: &serde_json::Error) -> LogError {
    LogError::Import(format!("a body is invalid: {}", of_json(error)))
}
