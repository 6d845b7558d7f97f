//! Bodies that replace the recorded ones, because values were erased from them.
//!
//! The link of a change covers the digest of the body that was recorded, for ever. Another body is accepted only where a
//! mark further on in the chain names both digests; the table `erased` only has the offset of that mark.
//!
//! Why: docs/decisions/0007-every-change-is-chained.md.

use std::num::NonZeroUsize;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use lru::LruCache;
use rusqlite::{Connection, OptionalExtension, params};

use super::chain::{self, Hash};
use super::compaction::prepare_if_there;
use super::error::LogError;
use super::types::ChangeType;
use crate::delta::Codec;
use strandline_model::{Erasure, Offset};

type Result<T> = std::result::Result<T, LogError>;

/// Marks kept unpacked; each names a thousand bodies at most.
const MARKS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(15);

/// The marks that were looked at last.
pub(super) struct Erasures {
    marks: LruCache<Offset, Arc<Erasure>>,
}

impl Default for Erasures {
    fn default() -> Self {
        Erasures { marks: LruCache::new(MARKS) }
    }
}

impl Erasures {
    /// Whether a mark names this digest as the body of the change at `offset` instead of the recorded one.
    pub(super) fn allow(
        &mut self,
        connection: &Connection,
        offset: Offset,
        recorded: &Hash,
        left: &Hash,
    ) -> Result<bool> {
        let sql = r#"SELECT mark FROM erased WHERE "offset" = ?1"#;
        let Some(mut statement) = prepare_if_there(connection, sql)? else { return Ok(false) };
        let mark: Option<Offset> = statement.query_row([offset], |row| row.get(0)).optional()?;
        let Some(mark) = mark.filter(|mark| *mark > offset) else { return Ok(false) };
        let Some(erasure) = self.mark(connection, mark)? else { return Ok(false) };
        Ok(erasure
            .bodies
            .get(&HEXLOWER.encode(recorded))
            .is_some_and(|named| *named == HEXLOWER.encode(left)))
    }

    /// The mark at an offset; none where there is none, or one that is damaged.
    fn mark(&mut self, connection: &Connection, offset: Offset) -> Result<Option<Arc<Erasure>>> {
        if let Some(known) = self.marks.get(&offset) {
            return Ok(Some(Arc::clone(known)));
        }
        let sql =
            r#"SELECT body, body_hash FROM change WHERE "offset" = ?1 AND type = ?2 AND body IS NOT NULL"#;
        let mut statement = connection.prepare_cached(sql)?;
        let row = statement
            .query_row(params![offset, ChangeType::Erased], |row| {
                Ok((row.get("body")?, row.get("body_hash")?))
            })
            .optional()?;
        let Some((frame, recorded)): Option<(Vec<u8>, Hash)> = row else { return Ok(None) };
        // An unreadable mark excuses no body: both are then reported as damaged.
        let text = Codec::default().read_keyframe(&frame, None).ok();
        let text = text.filter(|text| chain::body_hash(text) == recorded);
        let erasure = text.and_then(|text| serde_json::from_str(&text).ok()).map(Arc::new);
        if let Some(erasure) = &erasure {
            self.marks.put(offset, Arc::clone(erasure));
        }
        Ok(erasure)
    }
}
