//! Reads the log: records in order, single bodies, and the offset of a moment.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::catalog::Declared;
use super::chain::{self, Hash, Link};
use super::error::LogError;
use super::file;
use super::keyframes::Keyframes;
use super::types::{self, ChangeType};
use crate::delta::{Codec, Dictionary};
use crate::model::{
    CatalogKind, Change, DeletionCause, Kind, Offset, Record, ResourceId, ResourceKey, ResourceVersion,
    Timestamp, Uid,
};

/// Keyframes kept unpacked by one reader, in bytes.
const KEYFRAME_BYTES: usize = 16 * 1024 * 1024;

macro_rules! select_rows {
    ($tail:literal) => {
        concat!(
            r#"SELECT c."offset", c.observed_at, c.type, c.subject_id, c.resource_version, c.managed_at, c.base,
                c.dictionary_id, c.body, c.body_hash, c.hash, s.namespace, s.name, s.uid,
                k.cluster, k."group", k.kind, m.manager, m.operation, m.subresource
            FROM change c JOIN subject s ON s.id = c.subject_id JOIN kind k ON k.id = s.kind_id
            LEFT JOIN manager m ON m.id = c.manager_id "#,
            $tail
        )
    };
}

/// Reads the log over a connection of its own.
pub struct LogReader {
    connection: Connection,
    codec: Codec,
    dictionaries: HashMap<i64, Arc<Dictionary>>,
    keyframes: Keyframes,
}

/// Where one watch of a cluster stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// What it follows.
    pub kind: Kind,
    /// The only namespace it follows; empty for all of them.
    pub namespace: String,
    /// From where it would resume; none until a list is complete.
    pub resource_version: Option<ResourceVersion>,
    /// When the cluster was last heard of, by our clock.
    pub last_seen: Option<Timestamp>,
}

/// A row of the log before its body is unpacked.
struct RawRow {
    offset: Offset,
    observed_at: i64,
    r#type: i64,
    subject: i64,
    resource_version: String,
    managed_at: Option<i64>,
    base: Option<i64>,
    dictionary: Option<i64>,
    body: Option<Vec<u8>>,
    body_hash: Hash,
    hash: Hash,
    key: ResourceKey,
    uid: String,
    manager: Option<[String; 3]>,
}

impl RawRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let manager: Option<String> = row.get(17)?;
        let manager = match manager {
            Some(manager) => Some([manager, row.get(18)?, row.get(19)?]),
            None => None,
        };
        Ok(RawRow {
            offset: Offset::from_i64(row.get(0)?),
            observed_at: row.get(1)?,
            r#type: row.get(2)?,
            subject: row.get(3)?,
            resource_version: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
            managed_at: row.get(5)?,
            base: row.get(6)?,
            dictionary: row.get(7)?,
            body: row.get(8)?,
            body_hash: row.get(9)?,
            hash: row.get(10)?,
            key: ResourceKey {
                namespace: row.get(11)?,
                name: row.get(12)?,
                cluster: row.get(14)?,
                kind: Kind::new(row.get::<_, String>(15)?, row.get::<_, String>(16)?),
            },
            uid: row.get(13)?,
            manager,
        })
    }

    fn expected_hash(&self, previous: &Hash) -> Hash {
        let key = &self.key;
        let no_manager = [const { String::new() }; 3];
        let manager = self.manager.as_ref().unwrap_or(&no_manager);
        let link = Link {
            offset: self.offset,
            observed_at: self.observed_at,
            r#type: self.r#type,
            subject: [&key.cluster, &key.kind.group, &key.kind.kind, &key.namespace, &key.name, &self.uid],
            resource_version: &self.resource_version,
            manager: [&manager[0], &manager[1], &manager[2]],
            managed_at: self.managed_at,
            body_hash: self.body_hash,
        };
        link.hash(previous)
    }

    fn damaged(&self, what: impl Into<String>) -> LogError {
        LogError::Damaged { offset: self.offset, what: what.into() }
    }
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogReader")
    }
}

impl LogReader {
    /// Opens the log of a data directory.
    ///
    /// # Errors
    /// When the file cannot be opened or is not a log.
    pub fn open(directory: &Path) -> Result<Self, LogError> {
        Ok(LogReader::over(file::open_reader(directory)?))
    }

    /// Reads over a connection that is open already.
    pub(super) fn over(connection: Connection) -> Self {
        LogReader {
            connection,
            codec: Codec::default(),
            dictionaries: HashMap::new(),
            keyframes: Keyframes::new(KEYFRAME_BYTES),
        }
    }

    /// The newest offset.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn head(&self) -> Result<Offset, LogError> {
        let mut statement = self.connection.prepare_cached(r#"SELECT max("offset") FROM change"#)?;
        let head: Option<i64> = statement.query_row([], |row| row.get(0))?;
        Ok(Offset::from_i64(head.unwrap_or(0)))
    }

    /// When the change at `offset` was observed.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn observed_at(&self, offset: Offset) -> Result<Option<Timestamp>, LogError> {
        let mut statement =
            self.connection.prepare_cached(r#"SELECT observed_at FROM change WHERE "offset" = ?1"#)?;
        let micros: Option<i64> = statement.query_row([offset.as_i64()], |row| row.get(0)).optional()?;
        Ok(micros.map(Timestamp::from_micros))
    }

    /// The last offset observed at or before a time, none above `limit`; zero when there is none.
    ///
    /// Observation times never go backwards, so this is a bisection over the offsets: some twenty point reads
    /// in a log of a million changes, and no index to write.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn offset_at(&self, time: Timestamp, limit: Offset) -> Result<Offset, LogError> {
        let (mut known, mut beyond) = (0, limit.get() + 1);
        while beyond - known > 1 {
            let middle = known + (beyond - known) / 2;
            match self.observed_at(Offset::new(middle))? {
                Some(observed_at) if observed_at <= time => known = middle,
                _ => beyond = middle,
            }
        }
        Ok(Offset::new(known))
    }

    /// Up to `limit` records after `offset`, in order and without a gap, each verified.
    ///
    /// # Errors
    /// When the log cannot be read, or a change is missing or damaged.
    pub fn after(&mut self, offset: Offset, limit: usize) -> Result<Vec<Record>, LogError> {
        let rows = self.rows_after(offset, limit)?;
        self.check_chain(offset, &rows)?;
        rows.into_iter().map(|row| self.record(row)).collect()
    }

    /// The record at `offset`.
    ///
    /// # Errors
    /// When there is no such change or it cannot be read.
    pub fn at(&mut self, offset: Offset) -> Result<Record, LogError> {
        let row = self.row(offset)?;
        self.record(row)
    }

    /// Checks the chain of the changes after `from` up to and including `to`.
    pub(super) fn verify(&mut self, from: Offset, to: Offset) -> Result<(), LogError> {
        let mut at = from;
        while at < to {
            let rows = self.rows_after(at, 500)?;
            self.check_chain(at, &rows)?;
            let Some(last) = rows.last() else {
                return Err(LogError::Damaged { offset: at.next(), what: "the change is missing".into() });
            };
            at = last.offset;
            for row in &rows {
                self.text(row)?;
            }
        }
        Ok(())
    }

    /// The hash of the change at `offset`, which covers all changes up to it; zeros before the first.
    ///
    /// # Errors
    /// When there is no such change or the log cannot be read.
    pub fn hash_at(&self, offset: Offset) -> Result<[u8; 16], LogError> {
        if offset == Offset::ZERO {
            return Ok(Hash::default());
        }
        let mut statement =
            self.connection.prepare_cached(r#"SELECT hash FROM change WHERE "offset" = ?1"#)?;
        let hash = statement.query_row([offset.as_i64()], |row| row.get(0)).optional()?;
        hash.ok_or_else(|| LogError::Damaged { offset, what: "the change is missing".into() })
    }

    fn rows_after(&self, offset: Offset, limit: usize) -> Result<Vec<RawRow>, LogError> {
        let sql = select_rows!(r#"WHERE c."offset" > :after ORDER BY c."offset" LIMIT :limit"#);
        let mut statement = self.connection.prepare_cached(sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement
            .query_map(named_params! { ":after": offset.as_i64(), ":limit": limit }, RawRow::from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn row(&self, offset: Offset) -> Result<RawRow, LogError> {
        let mut statement = self.connection.prepare_cached(select_rows!(r#"WHERE c."offset" = ?1"#))?;
        let row = statement.query_row([offset.as_i64()], RawRow::from_row).optional()?;
        row.ok_or_else(|| LogError::Damaged { offset, what: "the change is missing".into() })
    }

    fn check_chain(&self, after: Offset, rows: &[RawRow]) -> Result<(), LogError> {
        let Some(_) = rows.first() else { return Ok(()) };
        let (mut offset, mut hash) = (after, self.hash_at(after)?);
        for row in rows {
            if row.offset != offset.next() {
                return Err(LogError::Damaged {
                    offset: offset.next(),
                    what: "the change is missing".into(),
                });
            }
            if row.expected_hash(&hash) != row.hash {
                return Err(row.damaged("its hash does not follow from the change before"));
            }
            (offset, hash) = (row.offset, row.hash);
        }
        Ok(())
    }

    fn text(&mut self, row: &RawRow) -> Result<String, LogError> {
        let Some(frame) = &row.body else { return Ok(String::new()) };
        let text = match row.base {
            Some(base) => {
                let base = self.keyframe(Offset::from_i64(base))?;
                self.codec.read_delta(frame, &base)
            }
            None => {
                let dictionary = row.dictionary.map(|id| self.dictionary(id)).transpose()?;
                self.codec.read_keyframe(frame, dictionary.as_deref())
            }
        };
        let text = text.map_err(|error| row.damaged(error.to_string()))?;
        if chain::body_hash(&text) != row.body_hash {
            return Err(row.damaged("its body is not the one that was recorded"));
        }
        Ok(text)
    }

    fn keyframe(&mut self, offset: Offset) -> Result<Arc<str>, LogError> {
        if let Some(text) = self.keyframes.get(offset) {
            return Ok(text);
        }
        let row = self.row(offset)?;
        if row.base.is_some() {
            return Err(row.damaged("a delta stands where a keyframe should"));
        }
        let text: Arc<str> = self.text(&row)?.into();
        self.keyframes.put(offset, Arc::clone(&text));
        Ok(text)
    }

    fn dictionary(&mut self, id: i64) -> Result<Arc<Dictionary>, LogError> {
        if let Some(dictionary) = self.dictionaries.get(&id) {
            return Ok(Arc::clone(dictionary));
        }
        let bytes = self
            .connection
            .query_row("SELECT bytes FROM dictionary WHERE id = ?1", [id], |row| row.get(0))?;
        let dictionary = Arc::new(Dictionary::from_bytes(bytes));
        self.dictionaries.insert(id, Arc::clone(&dictionary));
        Ok(dictionary)
    }

    fn record(&mut self, row: RawRow) -> Result<Record, LogError> {
        let text = self.text(&row)?;
        let unreadable =
            |error: serde_json::Error| row.damaged(format!("its body cannot be understood: {error}"));
        let id = ResourceId(row.subject);
        let change =
            match ChangeType::from_i64(row.r#type).ok_or_else(|| row.damaged("its type is unknown"))? {
                ChangeType::Applied => {
                    if row.base.is_none() {
                        // Deltas against this keyframe usually follow soon.
                        self.keyframes.put(row.offset, text.as_str().into());
                    }
                    Change::Applied {
                        id,
                        key: row.key.clone(),
                        uid: Uid::new(row.uid.as_str()),
                        resource_version: ResourceVersion::new(row.resource_version.as_str()),
                        changed_by: types::changed_by(row.manager.clone(), row.managed_at),
                        body: text,
                    }
                }
                ChangeType::Deleted => {
                    let cause: DeletionCause = serde_json::from_str(&text).map_err(unreadable)?;
                    Change::Deleted { id, key: row.key.clone(), uid: Uid::new(row.uid.as_str()), cause }
                }
                ChangeType::Coverage => Change::Coverage(serde_json::from_str(&text).map_err(unreadable)?),
                ChangeType::Declared => {
                    let Declared { source, fact } = serde_json::from_str(&text).map_err(unreadable)?;
                    Change::Declared { id, source, fact }
                }
                ChangeType::Withdrawn => {
                    let kind = CatalogKind::of(&row.key.kind)
                        .ok_or_else(|| row.damaged("its kind is not one of the catalog"))?;
                    Change::Withdrawn { id, kind, name: row.key.name.clone() }
                }
            };
        Ok(Record { offset: row.offset, observed_at: Timestamp::from_micros(row.observed_at), change })
    }

    /// Where every watch of a cluster stands.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn cursors(&self, cluster: &str) -> Result<Vec<Cursor>, LogError> {
        let mut statement = self.connection.prepare_cached(
            r#"SELECT k."group", k.kind, c.namespace, c.resource_version, c.seen_at
               FROM cursor c JOIN kind k ON k.id = c.kind_id WHERE k.cluster = ?1"#,
        )?;
        let rows = statement.query_map([cluster], |row| {
            Ok(Cursor {
                kind: Kind::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?),
                namespace: row.get(2)?,
                resource_version: row.get::<_, Option<String>>(3)?.map(ResourceVersion::new),
                last_seen: row.get::<_, Option<i64>>(4)?.map(Timestamp::from_micros),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
