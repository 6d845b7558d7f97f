//! Reads a whole log and reports what is damaged: which table, which offsets, which time, which resources.
//!
//! Nothing is repaired here, and nothing is written: the report is for whoever restores a backup or salvages what is
//! left has to know.

mod database;
mod findings;
mod references;

use std::path::Path;

use super::chain::{Hash, HeadFile, HeadOnFile};
use super::compaction::Compaction;
use super::error::LogError;
use super::reader::LogReader;
use super::row::{self, RawRow};
use super::types::ChangeType;
use super::{file, open, schema};
use strandline_model::{Erasure, Offset, Stored, Timestamp};
use strandline_syntax::diagnostics::of_json;

use findings::Findings;
pub use findings::{Finding, Harm};

/// Changes read at a time.
const BATCH: usize = 500;

/// What a whole log was found to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// The newest offset.
    pub head: Offset,
    /// Changes that were read.
    pub changes: u64,
    /// Everything that is not as it was written, what lies deepest first.
    pub findings: Vec<Finding>,
    /// When values were erased from what was recorded, and the marks of it.
    pub erasures: Vec<(Timestamp, Erasure)>,
}

/// Reads the whole log of a data directory, and changes nothing; `progress` gets how many changes of how many were
/// read. None where there is no log.
///
/// # Errors
/// When the file cannot be opened at all, or its schema is another one than this program's.
pub fn examine(
    directory: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Option<Examination>, LogError> {
    let path = file::path(directory);
    let acknowledged = HeadFile::new(directory).read_state();
    if !path.exists() {
        return open::nothing_acknowledged(&HeadFile::new(directory)).map(|()| None);
    }
    let open = || {
        let connection = file::open_inspector(directory)?;
        if schema::check_schema(&connection, &path)?.is_none() {
            open::nothing_acknowledged(&HeadFile::new(directory))?;
        }
        schema::check_present(&connection, &path)?;
        Ok(connection)
    };
    let connection = open().map_err(|error| open::of_file(&path, error))?;
    let mut findings = Findings::default();
    match open::whole(&path) {
        Ok(()) => database::check_pages(&connection, &mut findings),
        // Whatever else SQLite finds follows from that.
        Err(error) => findings.table("log.db", error),
    }
    database::check_schema(&connection, &mut findings);
    let mut walk = Walk::new(LogReader::over(connection), findings);
    walk.all(acknowledged, progress);
    walk.head(acknowledged);
    references::check(walk.reader.connection(), &mut walk.findings);
    let Walk { last, changes, findings, erasures, .. } = walk;
    Ok(Some(Examination { head: last, changes, findings: findings.into_list(), erasures }))
}

/// What the link of the next change has to follow from.
#[derive(Clone, Copy)]
struct PreviousLink {
    /// As it is stored.
    stored: Hash,
    /// As it follows from the content of the change; where the two differ, one of them is damaged.
    follows: Hash,
}

/// Goes through the changes from the first to the last, past whatever cannot be read.
struct Walk {
    reader: LogReader,
    findings: Findings,
    last: Offset,
    changes: u64,
    /// None after a change that could not be read.
    before: Option<PreviousLink>,
    erasures: Vec<(Timestamp, Erasure)>,
}

impl Walk {
    fn new(reader: LogReader, findings: Findings) -> Self {
        let start = PreviousLink { stored: Hash::default(), follows: Hash::default() };
        Walk { reader, findings, last: Offset::ZERO, changes: 0, before: Some(start), erasures: Vec::new() }
    }

    fn all(&mut self, acknowledged: HeadOnFile, progress: &mut dyn FnMut(u64, u64)) {
        let head = match (self.reader.head(), acknowledged) {
            (Ok(head), _) => head,
            // The newest changes are in pages that are gone; those before may be there.
            (Err(_), HeadOnFile::Known(recorded, _)) => recorded,
            (Err(error), _) => return self.findings.table("change", error.told()),
        };
        match Compaction::load(self.reader.connection()) {
            Ok(compaction) => self.kept(&compaction),
            Err(error) => return self.findings.table("compaction", error),
        }
        if head < self.last {
            // The newest change is never pruned.
            self.findings.lost_end(head.next(), self.last.next());
        }
        // One by one for a while after a page that cannot be read: it may hold many changes.
        let mut singly = 0_usize;
        while self.last < head {
            let read = match singly {
                0 => row::after(self.reader.connection(), self.last, BATCH),
                _ => row::at(self.reader.connection(), self.last.next()).map(|row| row.into_iter().collect()),
            };
            match read {
                Ok(rows) if rows.is_empty() => {
                    let end = if singly == 0 { head } else { self.last.next() };
                    self.missing(end);
                    singly = singly.saturating_sub(1);
                }
                Ok(rows) => {
                    rows.iter().for_each(|row| self.row(row));
                    singly = singly.saturating_sub(1);
                }
                Err(_) if singly == 0 => singly = BATCH,
                Err(error) => {
                    self.last = self.last.next();
                    self.before = None;
                    self.findings.change(self.last, Harm::Unreadable, error.told());
                    singly -= 1;
                }
            }
            progress(self.last.get(), head.get());
        }
    }

    /// What retention left: each with the hash of the change before it, since that one itself is gone.
    fn kept(&mut self, compaction: &Compaction) {
        let connection = self.reader.connection();
        if let Err(error) = compaction.check_kept(connection) {
            self.findings.table("kept", error);
        }
        let links = match compaction.links(connection) {
            Ok(links) => links,
            Err(error) => {
                self.findings.table("kept", error);
                Vec::new()
            }
        };
        for (offset, previous) in links {
            match row::at(self.reader.connection(), offset) {
                Ok(Some(row)) => {
                    self.before = Some(PreviousLink { stored: previous, follows: previous });
                    self.sound(&row);
                }
                Ok(None) => self.findings.change(offset, Harm::Missing, "the change is missing".into()),
                Err(error) => self.findings.change(offset, Harm::Unreadable, error.told()),
            }
        }
        self.last = compaction.swept;
        self.before = Some(PreviousLink { stored: compaction.hash, follows: compaction.hash });
    }

    /// Every change after the last one up to this is not there.
    fn missing(&mut self, until: Offset) {
        while self.last < until {
            self.last = self.last.next();
            self.before = None;
            self.findings.change(self.last, Harm::Missing, "the change is missing".into());
        }
    }

    fn row(&mut self, row: &RawRow) {
        if row.offset <= self.last {
            return self.findings.table("change", format!("offset {} is out of order", row.offset));
        }
        if let Some(previous) = row.offset.get().checked_sub(1) {
            self.missing(Offset::new(previous));
        }
        self.last = row.offset;
        self.sound(row);
    }

    fn sound(&mut self, row: &RawRow) {
        self.changes += 1;
        let sound = self.link(row) & self.body(row);
        let observed_at = row.observed_at;
        if sound {
            if row.r#type == ChangeType::Erased.number() {
                match self.erasure(row) {
                    Ok(erasure) => self.erasures.push((observed_at, erasure)),
                    Err(what) => self.findings.of_row(row, Harm::Unreadable, &what),
                }
            }
            self.findings.sound(observed_at);
        }
    }

    /// The erasure in a sound mark.
    fn erasure(&mut self, row: &RawRow) -> Result<Erasure, String> {
        let text = self.reader.text(row).map_err(|error| error.to_string())?;
        serde_json::from_str(&text)
            .map_err(|error| format!("its erasure record is invalid: {}", of_json(&error)))
    }

    /// Whether the change follows from the one before. Where the hash before it is damaged, and not what it is over, the
    /// change follows from what that hash should be.
    fn link(&mut self, row: &RawRow) -> bool {
        let Some(before) = self.before else {
            // What came before cannot be read: whether this one follows from it is unknown.
            self.before = Some(PreviousLink { stored: row.hash, follows: row.hash });
            return true;
        };
        let follows = row.expected_hash(&before.stored);
        let mended = row.expected_hash(&before.follows);
        let sound = row.hash == follows || row.hash == mended;
        self.before = Some(PreviousLink {
            stored: row.hash,
            follows: if row.hash == follows { follows } else { mended },
        });
        if !sound {
            self.findings.of_row(row, Harm::Link, "its hash does not match the previous change");
        }
        sound
    }

    fn body(&mut self, row: &RawRow) -> bool {
        let Err(error) = self.reader.check_body(row) else { return true };
        let what = match error {
            LogError::Damaged { offset, what } if offset != row.offset => {
                format!("the keyframe it is stored against, at offset {offset}, cannot be read: {what}")
            }
            LogError::Damaged { what, .. } => what,
            error => error.told(),
        };
        self.findings.of_row(row, Harm::Body, &what);
        false
    }

    /// The log has to reach to where it was acknowledged, and to hold there what was acknowledged.
    fn head(&mut self, acknowledged: HeadOnFile) {
        match acknowledged {
            HeadOnFile::Missing if self.last == Offset::ZERO => {}
            HeadOnFile::Missing => {
                self.findings.head_file("it is missing, so lost records at the end would go unnoticed")
            }
            HeadOnFile::Unreadable => {
                self.findings.head_file("it cannot be read, so lost records at the end would go unnoticed")
            }
            HeadOnFile::Known(recorded, _) if recorded > self.last => {
                let from = self.last.next();
                self.findings.lost_end(from, recorded);
            }
            HeadOnFile::Known(recorded, hash) => match self.reader.hash_at(recorded) {
                Ok(found) if found == hash => {}
                Ok(_) => self
                    .findings
                    .head_file(&format!("the change at offset {recorded} differs from the acknowledged one")),
                // Missing changes are reported already.
                Err(_) => {}
            },
        }
    }
}
