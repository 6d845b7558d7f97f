//! Rows of the log as they stand in its table, and the links between them.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, named_params};

use super::chain::{self, Hash, Link};
use super::error::LogError;
use super::types::ChangeType;
use strandline_model::{Kind, Offset, ResourceKey, Stored};

type Result<T> = std::result::Result<T, LogError>;

macro_rules! select_rows {
    ($frame:literal, $tail:literal) => {
        concat!(
            r#"SELECT c."offset", c.observed_at, c.type, c.subject_id, c.resource_version, c.managed_at, c.base,
                c.dictionary_id, c.body, c.body_hash, c.hash, s.namespace, s.name, s.uid,
                k.cluster, k."group", k.kind, m.manager, m.operation, m.subresource, "#,
            $frame,
            r#" FROM change c JOIN subject s ON s.id = c.subject_id JOIN kind k ON k.id = s.kind_id
            LEFT JOIN manager m ON m.id = c.manager_id "#,
            $tail
        )
    };
}

/// The columns that say where in a solid frame a body lies …
macro_rules! framed {
    ($tail:literal) => {
        select_rows!("c.frame_id, c.frame_at", $tail)
    };
}

/// … which a log that is only looked at may not have yet.
macro_rules! unframed {
    ($tail:literal) => {
        select_rows!("NULL, NULL", $tail)
    };
}

/// A row of the log before its body is unpacked.
pub(super) struct RawRow {
    pub(super) offset: Offset,
    pub(super) observed_at: i64,
    pub(super) r#type: i64,
    pub(super) subject: i64,
    pub(super) resource_version: String,
    pub(super) managed_at: Option<i64>,
    pub(super) base: Option<i64>,
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
            frame: row.get::<_, Option<i64>>(20)?.zip(row.get(21)?),
        })
    }

    /// The hash that follows from what the change says and the one before.
    pub(super) fn expected_hash(&self, previous: &Hash) -> Hash {
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

    /// Whether it has no body though it said something: retention lets go of single kinds before the rest.
    pub(super) fn is_hollow(&self) -> bool {
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

/// The same up to a last one: what stands behind it is not looked at, and need not be there to be read.
pub(super) fn within(
    connection: &Connection,
    offset: Offset,
    to: Offset,
    limit: usize,
) -> Result<Vec<RawRow>> {
    let framed =
        framed!(r#"WHERE c."offset" > :after AND c."offset" <= :to ORDER BY c."offset" LIMIT :limit"#);
    let unframed =
        unframed!(r#"WHERE c."offset" > :after AND c."offset" <= :to ORDER BY c."offset" LIMIT :limit"#);
    let mut statement = prepare(connection, framed, unframed)?;
    // The bound alone has SQLite go to the next row to compare it.
    let most = to.as_i64().saturating_sub(offset.as_i64());
    let limit = i64::try_from(limit).unwrap_or(i64::MAX).min(most);
    let rows = statement.query_map(
        named_params! { ":after": offset.as_i64(), ":to": to.as_i64(), ":limit": limit },
        RawRow::from_row,
    )?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The row at `offset`, if there is one.
pub(super) fn at(connection: &Connection, offset: Offset) -> Result<Option<RawRow>> {
    let (framed, unframed) = (framed!(r#"WHERE c."offset" = ?1"#), unframed!(r#"WHERE c."offset" = ?1"#));
    let mut statement = prepare(connection, framed, unframed)?;
    Ok(statement.query_row([offset.as_i64()], RawRow::from_row).optional()?)
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
