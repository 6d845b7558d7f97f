//! What may stand in place of a body that was recorded, because something was erased from it.
//!
//! The link of a change covers the digest of the body that was recorded, for ever. Another body is accepted only where a
//! mark further on in the chain names both digests; the table `erased` does no more than tell where that mark stands.
//!
//! Why: docs/decisions/0007-every-change-is-chained.md.

use std::num::NonZeroUsize;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use lru::LruCache;
use rusqlite::{Connection, OptionalExtension};

use super::chain::{self, Hash};
use super::compaction::prepare_if_there;
use super::error::LogError;
use super::types::ChangeType;
use crate::delta::Codec;
use strandline_model::{Erasure, Offset, Stored};

type Result<T> = std::result::Result<T, LogError>;

/// Marks kept unpacked; each names a thousand bodies at most.
const MARKS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(15);

/// The marks that were looked at last.
pub(super) struct Erasures {
    marks: LruCache<i64, Arc<Erasure>>,
}

impl Default for Erasures {
    fn default() -> Self {
        Erasures { marks: LruCache::new(MARKS) }
    }
}

impl Erasures {
    /// Whether a mark says that the change at `offset` has a body of this digest instead of the recorded one.
    pub(super) fn allow(
        &mut self,
        connection: &Connection,
        offset: Offset,
        recorded: &Hash,
        left: &Hash,
    ) -> Result<bool> {
        let sql = r#"SELECT mark FROM erased WHERE "offset" = ?1"#;
        let Some(mut statement) = prepare_if_there(connection, sql)? else { return Ok(false) };
        let mark: Option<i64> = statement.query_row([offset.as_i64()], |row| row.get(0)).optional()?;
        let Some(mark) = mark.filter(|mark| *mark > offset.as_i64()) else { return Ok(false) };
        let Some(erasure) = self.mark(connection, mark)? else { return Ok(false) };
        Ok(erasure
            .bodies
            .get(&HEXLOWER.encode(recorded))
            .is_some_and(|named| *named == HEXLOWER.encode(left)))
    }

    /// The mark at an offset; none where none stands there as it was recorded.
    fn mark(&mut self, connection: &Connection, offset: i64) -> Result<Option<Arc<Erasure>>> {
        if let Some(known) = self.marks.get(&offset) {
            return Ok(Some(Arc::clone(known)));
        }
        let sql =
            r#"SELECT body, body_hash FROM change WHERE "offset" = ?1 AND type = ?2 AND body IS NOT NULL"#;
        let mut statement = connection.prepare_cached(sql)?;
        let row = statement
            .query_row([offset, ChangeType::Erased.number()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((frame, recorded)): Option<(Vec<u8>, Hash)> = row else { return Ok(None) };
        // What cannot be read lets no body off: that is then told as damaged, as is the mark itself.
        let text = Codec::default().read_keyframe(&frame, None).ok();
        let text = text.filter(|text| chain::body_hash(text) == recorded);
        let erasure = text.and_then(|text| serde_json::from_str(&text).ok()).map(Arc::new);
        if let Some(erasure) = &erasure {
            self.marks.put(offset, Arc::clone(erasure));
        }
        Ok(erasure)
    }
}
