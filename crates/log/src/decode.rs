//! Reads the body of a row, unpacked and verified, and the record that it makes.

use std::sync::Arc;

use rusqlite::OptionalExtension;

use super::declared::Declared;
use super::entry::Entry;
use super::error::LogError;
use super::reader::LogReader;
use super::row::RawRow;
use super::types::{self, ChangeType};
use super::{chain, floors, solid};
use crate::delta::Dictionary;
use strandline_model::{
    CatalogKind, Change, DeletionCause, Offset, Record, ResourceId, ResourceVersion, Uid,
};
use strandline_syntax::diagnostics::of_json;

impl LogReader {
    /// The body of a row, verified.
    pub(super) fn text(&mut self, row: &RawRow) -> Result<String, LogError> {
        if let Some((frame, at)) = row.frame {
            return self.body_in(frame, at, row);
        }
        if row.has_no_body_left() {
            return Err(self.pruned_error(row)?);
        }
        let Some(frame) = &row.body else { return Ok(String::new()) };
        let text = match row.base {
            Some(base) => {
                let base = self.keyframe(base)?;
                self.codec.read_delta(frame, &base)
            }
            None => {
                let dictionary = row.dictionary.map(|id| self.dictionary(id)).transpose()?;
                self.codec.read_keyframe(frame, dictionary.as_deref())
            }
        };
        let text = text.map_err(|error| row.damaged(error.to_string()))?;
        if !self.is_as_recorded(row, &text)? {
            return Err(row.damaged("its body does not match the recorded digest"));
        }
        Ok(text)
    }

    /// Whether this is the body that a row is to have: the one that was recorded, or what an erasure left of it.
    fn is_as_recorded(&mut self, row: &RawRow, text: &str) -> Result<bool, LogError> {
        let digest = chain::body_hash(text);
        Ok(digest == row.body_hash
            || self.erasures.allow(&self.connection, row.offset, &row.body_hash, &digest)?)
    }

    /// The error for a change without its body: retention pruned its kind before the rest, or the body was lost.
    pub(super) fn pruned_error(&self, row: &RawRow) -> Result<LogError, LogError> {
        let floor = floors::floor_of(&self.connection, row.subject)?;
        Ok(match floor.filter(|floor| row.offset <= *floor) {
            Some(floor) => LogError::Compacted { offset: row.offset, compacted: floor },
            None => row.damaged("its body is missing"),
        })
    }

    /// Checks the body of a row, as far as it has to have one.
    pub(super) fn check_body(&mut self, row: &RawRow) -> Result<(), LogError> {
        match self.text(row) {
            Ok(_) => Ok(()),
            Err(LogError::Compacted { offset, .. }) if offset == row.offset => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A body that lies in a solid frame.
    fn body_in(&mut self, frame: i64, at: i64, row: &RawRow) -> Result<String, LogError> {
        let unpacked = match self.unpacked.get(frame) {
            Some(unpacked) => unpacked,
            None => {
                let unpacked = Arc::new(self.unpack(frame, row)?);
                self.unpacked.put(frame, Arc::clone(&unpacked));
                unpacked
            }
        };
        match solid::body_at(&unpacked, at) {
            Some(body) if self.is_as_recorded(row, body)? => Ok(body.to_owned()),
            _ => Err(row.damaged("its body in a solid frame does not match the recorded digest")),
        }
    }

    fn unpack(&mut self, frame: i64, row: &RawRow) -> Result<Vec<u8>, LogError> {
        let sql = "SELECT dictionary_id, bytes FROM frame WHERE id = ?1";
        let found = self
            .connection
            .prepare_cached(sql)?
            .query_row([frame], |row| Ok((row.get("dictionary_id")?, row.get("bytes")?)));
        let found: Option<(Option<i64>, Vec<u8>)> = found.optional()?;
        let (dictionary, bytes) = found.ok_or_else(|| row.damaged("its solid frame is missing"))?;
        let dictionary = dictionary.map(|id| self.dictionary(id)).transpose()?;
        self.codec.unpack(&bytes, dictionary.as_deref()).map_err(|error| row.damaged(error.to_string()))
    }

    pub(super) fn keyframe(&mut self, offset: Offset) -> Result<Arc<str>, LogError> {
        if let Some(text) = self.keyframes.get(offset) {
            return Ok(text);
        }
        let row = self.row(offset)?;
        if row.base.is_some() || row.has_no_body_left() {
            return Err(row.damaged("its keyframe is missing"));
        }
        let text: Arc<str> = self.text(&row)?.into();
        self.keyframes.put(offset, Arc::clone(&text));
        Ok(text)
    }

    pub(super) fn dictionary(&mut self, id: i64) -> Result<Arc<Dictionary>, LogError> {
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

    /// The record of a change whose body retention has pruned.
    pub(super) fn pruned_record(&self, row: RawRow) -> Result<Record, LogError> {
        match self.pruned_error(&row)? {
            LogError::Compacted { .. } => {
                let change =
                    Change::Forgotten { id: ResourceId(row.subject), key: row.key, uid: Uid::new(row.uid) };
                Ok(Record { offset: row.offset, observed_at: row.observed_at, change })
            }
            damage => Err(damage),
        }
    }

    /// A record that is read with those after it: deltas against it usually follow soon, if it is a keyframe.
    pub(super) fn record_in_order(&mut self, row: RawRow) -> Result<Record, LogError> {
        let (offset, is_keyframe) = (row.offset, row.base.is_none());
        let record = self.record(row)?;
        if let Change::Applied { body, .. } = &record.change
            && is_keyframe
        {
            self.keyframes.put(offset, body.as_str().into());
        }
        Ok(record)
    }

    pub(super) fn record(&mut self, row: RawRow) -> Result<Record, LogError> {
        let text = self.text(&row)?;
        let unreadable =
            |error: serde_json::Error| row.damaged(format!("its body is invalid: {}", of_json(&error)));
        let id = ResourceId(row.subject);
        let change = match row.change_type()? {
            ChangeType::Applied => Change::Applied {
                id,
                key: row.key,
                uid: Uid::new(row.uid),
                resource_version: ResourceVersion::new(row.resource_version),
                changed_by: types::changed_by(row.manager, row.managed_at),
                body: text,
            },
            ChangeType::Deleted => {
                let cause: DeletionCause = serde_json::from_str(&text).map_err(unreadable)?;
                Change::Deleted { id, key: row.key, uid: Uid::new(row.uid), cause }
            }
            ChangeType::Coverage => Change::Coverage(serde_json::from_str(&text).map_err(unreadable)?),
            ChangeType::Clock => Change::Clock(serde_json::from_str(&text).map_err(unreadable)?),
            ChangeType::Erased => Change::Erased(serde_json::from_str(&text).map_err(unreadable)?),
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
        Ok(Record { offset: row.offset, observed_at: row.observed_at, change })
    }

    pub(super) fn entry(&mut self, row: RawRow) -> Result<Entry, LogError> {
        let body = self.text(&row)?;
        let r#type = row.change_type()?;
        let recorded = (chain::body_hash(&body) != row.body_hash).then_some(row.body_hash);
        Ok(Entry {
            recorded,
            offset: row.offset,
            observed_at: row.observed_at,
            r#type,
            id: ResourceId(row.subject),
            changed_by: types::changed_by(row.manager, row.managed_at),
            key: row.key,
            uid: row.uid,
            resource_version: row.resource_version,
            body,
        })
    }
}
