//! What retention has pruned from the log, and what it kept.
//!
//! Up to the offset `swept` only one change of each subject is left, the one that holds there, with the keyframe
//! against which it is stored; above it stand all of them. `compacted`, the oldest offset that can be asked for, moves
//! first: nobody asks any more for what is about to go.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::chain::Hash;
use super::error::LogError;
use super::row::{self, RawRow};
use strandline_model::{Offset, Timestamp};

use strandline_sqlite::column::LOG;

type Result<T> = std::result::Result<T, LogError>;

/// The oldest moment that can be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Its offset; zero while nothing was pruned.
    pub offset: Offset,
    /// When the change there was observed; none while nothing was pruned.
    pub observed_at: Option<Timestamp>,
}

/// How far retention has come.
#[derive(Clone, Debug)]
pub(super) struct Compaction {
    pub(super) compacted: Compacted,
    /// Up to here only what is kept is left.
    pub(super) swept: Offset,
    /// Of the change at `swept`.
    pub(super) hash: Hash,
    /// How many changes are kept …
    pub(super) kept: i64,
    /// … and their hashes, XORed.
    pub(super) digest: Hash,
}

/// What is left of a subject up to `swept`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) offset: Offset,
    /// The hash of the change before it.
    pub(super) previous: Hash,
    /// The keyframe, where it is a delta.
    pub(super) base: Option<Base>,
}

/// A keyframe that is left for the sake of what is stored against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) offset: Offset,
    /// The hash of the change before it.
    pub(super) previous: Hash,
}

impl Kept {
    /// Reads the columns offset, previous, base and base_previous.
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let base = match LOG.get(row, "kept.base")? {
            Some(offset) => Some(Base { offset, previous: row.get("base_previous")? }),
            None => None,
        };
        Ok(Kept { offset: LOG.get(row, "kept.offset")?, previous: row.get("previous")?, base })
    }

    /// What is left of a subject.
    pub(super) fn of(connection: &Connection, subject: i64) -> Result<Option<Self>> {
        let sql = r#"SELECT "offset", previous, base, base_previous FROM kept WHERE subject_id = ?1"#;
        Ok(connection.prepare_cached(sql)?.query_row([subject], Kept::from_row).optional()?)
    }

    /// The rows of the log that are left for its sake.
    pub(super) fn offsets(&self) -> impl Iterator<Item = Offset> {
        std::iter::once(self.offset).chain(self.base.as_ref().map(|base| base.offset))
    }

    /// The hash of the change before the keyframe at `offset`, if it is among what is left.
    pub(super) fn previous_of(&self, offset: Offset) -> Option<Hash> {
        let base = self.base.as_ref().filter(|base| base.offset == offset);
        if self.offset == offset { Some(self.previous) } else { base.map(|base| base.previous) }
    }
}

impl Compaction {
    pub(super) fn load(connection: &Connection) -> Result<Self> {
        let sql = "SELECT compacted, compacted_at, swept, hash, kept, digest FROM compaction";
        let read = |row: &Row<'_>| {
            let (offset, observed_at) = (LOG.get(row, "compaction.compacted")?, row.get("compacted_at")?);
            Ok(Compaction {
                compacted: Compacted { offset, observed_at },
                swept: LOG.get(row, "compaction.swept")?,
                hash: row.get("hash")?,
                kept: row.get("kept")?,
                digest: row.get("digest")?,
            })
        };
        match prepare_if_there(connection, sql)? {
            Some(mut statement) => Ok(statement.query_row([], read)?),
            None => Ok(Compaction::nothing()),
        }
    }

    fn nothing() -> Self {
        Compaction {
            compacted: Compacted::default(),
            swept: Offset::ZERO,
            hash: Hash::default(),
            kept: 0,
            digest: Hash::default(),
        }
    }

    pub(super) fn save(&self, connection: &Connection) -> Result<()> {
        assert!(self.swept <= self.compacted.offset, "what can be asked for would be gone");
        assert!(self.kept >= 0, "fewer changes than none are kept");
        let sql = "UPDATE compaction SET compacted = ?1, compacted_at = ?2, swept = ?3, hash = ?4, kept = ?5, digest = ?6";
        connection.prepare_cached(sql)?.execute(params![
            self.compacted.offset,
            self.compacted.observed_at,
            self.swept,
            self.hash,
            self.kept,
            self.digest
        ])?;
        Ok(())
    }

    /// Counts a change among those that are kept, or (`by` -1) no longer.
    pub(super) fn count(&mut self, by: i64, hash: &Hash) {
        self.kept += by;
        mix(&mut self.digest, hash);
    }

    /// What it means that there is no change at `offset`.
    pub(super) fn absent(&self, offset: Offset) -> LogError {
        match offset <= self.swept {
            true => LogError::Compacted { offset, compacted: self.compacted.offset },
            false => row::missing(offset),
        }
    }

    /// The hash of the change at `offset`, which covers all changes up to it; zeros before the first.
    pub(super) fn hash_at(&self, connection: &Connection, offset: Offset) -> Result<Hash> {
        if offset == Offset::ZERO {
            return Ok(Hash::default());
        }
        if offset == self.swept {
            return Ok(self.hash);
        }
        let mut statement = connection.prepare_cached(r#"SELECT hash FROM change WHERE "offset" = ?1"#)?;
        let hash = statement.query_row([offset], |row| row.get(0)).optional()?;
        hash.ok_or_else(|| self.absent(offset))
    }

    /// Up to `limit` of the kept changes after `offset`, in order, with their links verified.
    pub(super) fn kept_after(
        &self,
        connection: &Connection,
        offset: Offset,
        limit: usize,
    ) -> Result<Vec<RawRow>> {
        if offset >= self.swept {
            return Ok(Vec::new());
        }
        if offset == Offset::ZERO {
            // Whoever reads from the beginning relies on all of it.
            self.check_kept(connection)?;
        }
        let sql = r#"SELECT "offset", previous, base, base_previous FROM kept WHERE "offset" > ?1
            ORDER BY "offset" LIMIT ?2"#;
        let mut statement = connection.prepare_cached(sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let all = statement.query_map(params![offset, limit], Kept::from_row)?;
        let mut rows = Vec::new();
        for kept in all {
            let kept = kept?;
            if let Some(base) = &kept.base {
                verified(connection, base.offset, &base.previous)?;
            }
            rows.push(verified(connection, kept.offset, &kept.previous)?);
        }
        Ok(rows)
    }

    /// Every change that is kept, and every keyframe for its sake, with the hash of the change before it, in order.
    pub(super) fn links(&self, connection: &Connection) -> Result<Vec<(Offset, Hash)>> {
        let sql = r#"SELECT "offset", previous FROM kept
            UNION SELECT base, base_previous FROM kept WHERE base IS NOT NULL ORDER BY 1"#;
        let mut statement = connection.prepare(sql)?;
        let links =
            statement.query_map([], |row| Ok((LOG.get(row, "kept.offset")?, row.get("previous")?)))?;
        Ok(links.collect::<rusqlite::Result<_>>()?)
    }

    /// Checks that no kept change has vanished and that none is another than was left.
    pub(super) fn check_kept(&self, connection: &Connection) -> Result<()> {
        if self.swept == Offset::ZERO {
            return Ok(());
        }
        let sql = r#"SELECT c.hash, k."offset" FROM kept k LEFT JOIN change c ON c."offset" = k."offset"
            ORDER BY k."offset""#;
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let (mut found, mut digest) = (0, Hash::default());
        while let Some(row) = rows.next()? {
            let (hash, offset): (Option<Hash>, _) = (row.get("hash")?, LOG.get(row, "kept.offset")?);
            let hash = hash.ok_or_else(|| row::missing(offset))?;
            mix(&mut digest, &hash);
            found += 1;
        }
        if (found, digest) != (self.kept, self.digest) {
            let what = format!(
                "of the changes kept by retention, {} are expected and {found} found, or they differ",
                self.kept
            );
            return Err(LogError::Damaged { offset: self.swept, what });
        }
        Ok(())
    }
}

/// The row at `offset`, which has to be there and to follow on the change with this hash.
fn verified(connection: &Connection, offset: Offset, previous: &Hash) -> Result<RawRow> {
    let row = row::at(connection, offset)?.ok_or_else(|| row::missing(offset))?;
    row.check_link(previous)?;
    Ok(row)
}

/// Prepares a statement on what retention notes; none where a log that is only looked at is of an earlier schema, under
/// which nothing could be pruned.
pub(super) fn prepare_if_there<'a>(
    connection: &'a Connection,
    sql: &str,
) -> Result<Option<CachedStatement<'a>>> {
    match connection.prepare_cached(sql) {
        Ok(statement) => Ok(Some(statement)),
        Err(error) if is_missing_table(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_missing_table(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(_, Some(what)) if what.starts_with("no such table"))
        || matches!(error, rusqlite::Error::SqlInputError { msg, .. } if msg.starts_with("no such table"))
}

fn mix(digest: &mut Hash, hash: &Hash) {
    digest.iter_mut().zip(hash).for_each(|(byte, other)| *byte ^= other);
}
