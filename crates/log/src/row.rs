//! Rows of the log's table, and the links between them.

use std::sync::OnceLock;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, Statement, params};

use super::chain::{self, Hash, Link};
use super::error::LogError;
use super::types::ChangeType;
use strandline_model::{Kind, Offset, ResourceKey, Stored, Timestamp};
use strandline_sqlite::column::{LOG, PackedUid};

type Result<T> = std::result::Result<T, LogError>;

/// Rows in order.
const WITHIN: &str = r#"
    SELECT c."offset", c.observed_at, c.type, c.subject_id, c.resource_version, c.managed_at, c.base, c.dictionary_id,
        c.body, c.body_hash, c.hash, c.frame_id, c.frame_at, s.namespace, s.name, s.uid, k.cluster, k."group", k.kind,
        m.manager, m.operation, m.subresource
    FROM change c JOIN subject s ON s.id = c.subject_id JOIN kind k ON k.id = s.kind_id
        LEFT JOIN manager m ON m.id = c.manager_id
    WHERE c."offset" > ?1 AND c."offset" <= ?2 ORDER BY c."offset" LIMIT ?3"#;

/// The same of a log that is only looked at and may be of a schema without solid frames.
const WITHIN_UNFRAMED: &str = r#"
    SELECT c."offset", c.observed_at, c.type, c.subject_id, c.resource_version, c.managed_at, c.base, c.dictionary_id,
        c.body, c.body_hash, c.hash, NULL AS frame_id, NULL AS frame_at, s.namespace, s.name, s.uid, k.cluster, k."group", k.kind,
        m.manager, m.operation, m.subresource
    FROM change c JOIN subject s ON s.id = c.subject_id JOIN kind k ON k.id = s.kind_id
        LEFT JOIN manager m ON m.id = c.manager_id
    WHERE c."offset" > ?1 AND c."offset" <= ?2 ORDER BY c."offset" LIMIT ?3"#;

/// One row.
const AT: &str = r#"
    SELECT c."offset", c.observed_at, c.type, c.subject_id, c.resource_version, c.managed_at, c.base, c.dictionary_id,
        c.body, c.body_hash, c.hash, c.frame_id, c.frame_at, s.namespace, s.name, s.uid, k.cluster, k."group", k.kind,
        m.manager, m.operation, m.subresource
    FROM change c JOIN subject s ON s.id = c.subject_id JOIN kind k ON k.id = s.kind_id
        LEFT JOIN manager m ON m.id = c.manager_id
    WHERE c."offset" = ?1"#;

/// The same of a log without solid frames.
const AT_UNFRAMED: &str = r#"
    SELECT c."offset", c.observed_at, c.type, c.subject_id, c.resource_version, c.managed_at, c.base, c.dictionary_id,
        c.body, c.body_hash, c.hash, NULL AS frame_id, NULL AS frame_at, s.namespace, s.name, s.uid, k.cluster, k."group", k.kind,
        m.manager, m.operation, m.subresource
    FROM change c JOIN subject s ON s.id = c.subject_id JOIN kind k ON k.id = s.kind_id
        LEFT JOIN manager m ON m.id = c.manager_id
    WHERE c."offset" = ?1"#;

/// A row of the log before its body is unpacked.
pub(super) struct RawRow {
    pub(super) offset: Offset,
    pub(super) observed_at: Timestamp,
    pub(super) r#type: i64,
    pub(super) subject: i64,
    pub(super) resource_version: String,
    pub(super) managed_at: Option<Timestamp>,
    pub(super) base: Option<Offset>,
    pub(super) dictionary: Option<i64>,
    pub(super) body: Option<Vec<u8>>,
    /// The solid frame in which the body lies instead, and where.
    pub(super) frame: Option<(i64, i64)>,
    pub(super) body_hash: Hash,
    pub(super) hash: Hash,
    pub(super) key: ResourceKey,
    pub(super) uid: String,
    pub(super) manager: Option<[String; 3]>,
}

/// Where the statements have the columns of a row, all of them in the same places. Looked up once: by name a row of so
/// many columns would take longer to read than to find.
#[derive(Debug, PartialEq, Eq)]
struct RowColumns {
    offset: usize,
    observed_at: usize,
    r#type: usize,
    subject_id: usize,
    resource_version: usize,
    managed_at: usize,
    base: usize,
    dictionary_id: usize,
    body: usize,
    body_hash: usize,
    hash: usize,
    frame_id: usize,
    frame_at: usize,
    namespace: usize,
    name: usize,
    uid: usize,
    cluster: usize,
    group: usize,
    kind: usize,
    manager: usize,
    operation: usize,
    subresource: usize,
}

static COLUMNS: OnceLock<RowColumns> = OnceLock::new();

impl RowColumns {
    fn known(statement: &Statement<'_>) -> rusqlite::Result<&'static Self> {
        match COLUMNS.get() {
            Some(known) => Ok(known),
            None => {
                let found = RowColumns::of(statement)?;
                Ok(COLUMNS.get_or_init(|| found))
            }
        }
    }

    fn of(statement: &Statement<'_>) -> rusqlite::Result<Self> {
        let at = |name| statement.column_index(name);
        Ok(RowColumns {
            offset: at("offset")?,
            observed_at: at("observed_at")?,
            r#type: at("type")?,
            subject_id: at("subject_id")?,
            resource_version: at("resource_version")?,
            managed_at: at("managed_at")?,
            base: at("base")?,
            dictionary_id: at("dictionary_id")?,
            body: at("body")?,
            body_hash: at("body_hash")?,
            hash: at("hash")?,
            frame_id: at("frame_id")?,
            frame_at: at("frame_at")?,
            namespace: at("namespace")?,
            name: at("name")?,
            uid: at("uid")?,
            cluster: at("cluster")?,
            group: at("group")?,
            kind: at("kind")?,
            manager: at("manager")?,
            operation: at("operation")?,
            subresource: at("subresource")?,
        })
    }

    fn read(&self, row: &Row<'_>) -> rusqlite::Result<RawRow> {
        let manager = match row.get(self.manager)? {
            Some(manager) => Some([manager, row.get(self.operation)?, row.get(self.subresource)?]),
            None => None,
        };
        Ok(RawRow {
            offset: LOG.get_at(row, self.offset, "change.offset")?,
            observed_at: row.get(self.observed_at)?,
            r#type: row.get(self.r#type)?,
            subject: row.get(self.subject_id)?,
            resource_version: row.get::<_, Option<String>>(self.resource_version)?.unwrap_or_default(),
            managed_at: row.get(self.managed_at)?,
            base: LOG.get_at(row, self.base, "change.base")?,
            dictionary: row.get(self.dictionary_id)?,
            body: row.get(self.body)?,
            frame: row.get::<_, Option<i64>>(self.frame_id)?.zip(row.get(self.frame_at)?),
            body_hash: row.get(self.body_hash)?,
            hash: row.get(self.hash)?,
            key: ResourceKey {
                cluster: row.get(self.cluster)?,
                kind: Kind::new(row.get::<_, String>(self.group)?, row.get::<_, String>(self.kind)?),
                namespace: row.get(self.namespace)?,
                name: row.get(self.name)?,
            },
            uid: row.get::<_, PackedUid<String>>(self.uid)?.0,
            manager,
        })
    }
}

impl RawRow {
    /// The hash that follows from the content of the change and the one before.
    pub(super) fn expected_hash(&self, previous: &Hash) -> Hash {
        let key = &self.key;
        let no_manager = [const { String::new() }; 3];
        let manager = self.manager.as_ref().unwrap_or(&no_manager);
        let link = Link {
            offset: self.offset,
            observed_at: self.observed_at.as_micros(),
            r#type: self.r#type,
            subject: [&key.cluster, &key.kind.group, &key.kind.kind, &key.namespace, &key.name, &self.uid],
            resource_version: &self.resource_version,
            manager: [&manager[0], &manager[1], &manager[2]],
            managed_at: self.managed_at.map(Timestamp::as_micros),
            body_hash: self.body_hash,
        };
        link.hash(previous)
    }

    /// Whether its body is missing: retention prunes single kinds before the rest.
    pub(super) fn has_no_body_left(&self) -> bool {
        self.body.is_none() && self.frame.is_none() && self.body_hash != chain::body_hash("")
    }

    /// How long its body is as it is stored.
    pub(super) fn body_bytes(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.len() as u64)
    }

    /// Checks that it follows on the change with this hash.
    pub(super) fn check_link(&self, previous: &Hash) -> Result<()> {
        if self.expected_hash(previous) != self.hash {
            return Err(self.damaged("its hash does not match the previous change"));
        }
        Ok(())
    }

    /// What it is.
    pub(super) fn change_type(&self) -> Result<ChangeType> {
        ChangeType::of_number(self.r#type).ok_or_else(|| {
            let (number, what) = (self.r#type, ChangeType::WHAT);
            self.damaged(format!(
                "`change.type` is `{number}`, an unknown {what}; a newer version may have written it"
            ))
        })
    }

    pub(super) fn damaged(&self, what: impl Into<String>) -> LogError {
        LogError::Damaged { offset: self.offset, what: what.into() }
    }
}

fn prepare<'a>(connection: &'a Connection, framed: &str, unframed: &str) -> Result<CachedStatement<'a>> {
    match connection.prepare_cached(framed) {
        Err(rusqlite::Error::SqlInputError { msg, .. }) if msg.starts_with("no such column") => {
            Ok(connection.prepare_cached(unframed)?)
        }
        prepared => Ok(prepared?),
    }
}

/// Up to `limit` rows after `offset`, in order.
pub(super) fn after(connection: &Connection, offset: Offset, limit: usize) -> Result<Vec<RawRow>> {
    within(connection, offset, Offset::from_i64(i64::MAX), limit)
}

/// The same up to a last one: rows after it are not read, and may be unreadable.
pub(super) fn within(
    connection: &Connection,
    offset: Offset,
    to: Offset,
    limit: usize,
) -> Result<Vec<RawRow>> {
    let mut statement = prepare(connection, WITHIN, WITHIN_UNFRAMED)?;
    let columns = RowColumns::known(&statement)?;
    // The bound alone has SQLite go to the next row to compare it.
    let most = to.as_i64().saturating_sub(offset.as_i64());
    let limit = i64::try_from(limit).unwrap_or(i64::MAX).min(most);
    let rows = statement.query_map(params![offset, to, limit], |row| columns.read(row))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The row at `offset`, if there is one.
pub(super) fn at(connection: &Connection, offset: Offset) -> Result<Option<RawRow>> {
    let mut statement = prepare(connection, AT, AT_UNFRAMED)?;
    let columns = RowColumns::known(&statement)?;
    Ok(statement.query_row([offset], |row| columns.read(row)).optional()?)
}

/// Checks that rows follow each other without a gap, the first of them on the change at `offset` with that hash.
pub(super) fn check_chain(mut offset: Offset, mut hash: Hash, rows: &[RawRow]) -> Result<()> {
    for row in rows {
        if row.offset != offset.next() {
            return Err(missing(offset.next()));
        }
        row.check_link(&hash)?;
        (offset, hash) = (row.offset, row.hash);
    }
    Ok(())
}

/// The `count` rows after `offset`, all of which have to be there and to follow on the change with this hash.
pub(super) fn linked(
    connection: &Connection,
    offset: Offset,
    hash: Hash,
    count: usize,
) -> Result<Vec<RawRow>> {
    let rows = after(connection, offset, count)?;
    check_chain(offset, hash, &rows)?;
    if rows.len() < count {
        return Err(missing(Offset::new(offset.get() + rows.len() as u64 + 1)));
    }
    Ok(rows)
}

/// A change that should be there is not.
pub(super) fn missing(offset: Offset) -> LogError {
    LogError::Damaged { offset, what: "the change is missing".into() }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn every_statement_has_the_columns_of_a_row_in_the_same_places() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&mut connection, std::path::Path::new(":memory:")).unwrap();
        let columns = |sql| RowColumns::of(&connection.prepare(sql).unwrap()).unwrap();
        let places = columns(WITHIN);
        for sql in [WITHIN_UNFRAMED, AT, AT_UNFRAMED] {
            assert_eq!(columns(sql), places, "{sql}");
        }
    }
}
