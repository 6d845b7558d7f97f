//! A change on its way into the log: its row, and its link in the chain.

use rusqlite::params;

use super::bodies::Packed;
use super::chain::{self, Hash, Link};
use super::error::LogError;
use super::transaction::Write;
use super::types::ChangeType;
use strandline_model::{ChangedBy, Offset, ResourceKey, Stored, Timestamp};

/// A change about to be written.
pub(super) struct Draft<'a> {
    pub(super) r#type: ChangeType,
    pub(super) subject: i64,
    pub(super) key: &'a ResourceKey,
    pub(super) uid: &'a str,
    pub(super) resource_version: &'a str,
    pub(super) changed_by: Option<&'a ChangedBy>,
    pub(super) body: &'a str,
    pub(super) packed: Option<Packed>,
}

impl<'a> Draft<'a> {
    /// A change without a body.
    pub(super) fn bare(r#type: ChangeType, subject: i64, key: &'a ResourceKey) -> Self {
        Draft {
            r#type,
            subject,
            key,
            uid: "",
            resource_version: "",
            changed_by: None,
            body: "",
            packed: None,
        }
    }

    fn link(
        &self,
        offset: Offset,
        now: Timestamp,
        managed_at: Option<Timestamp>,
        body_hash: Hash,
    ) -> Link<'_> {
        let key = self.key;
        let manager =
            self.changed_by.map_or(["", "", ""], |by| [&by.manager, &by.operation, &by.subresource]);
        Link {
            offset,
            observed_at: now.as_micros(),
            r#type: self.r#type.number(),
            subject: [&key.cluster, &key.kind.group, &key.kind.kind, &key.namespace, &key.name, self.uid],
            resource_version: self.resource_version,
            manager,
            managed_at: managed_at.map(Timestamp::as_micros),
            body_hash,
        }
    }
}

impl Write<'_> {
    /// Adds a change at the end of the chain.
    pub(super) fn write(&mut self, draft: Draft<'_>) -> Result<Offset, LogError> {
        let offset = self.state.head.next();
        let manager = draft.changed_by.map(|by| self.state.ids.manager(self.connection, by)).transpose()?;
        let managed_at = draft.changed_by.and_then(|by| by.time);
        let body_hash = chain::body_hash(draft.body);
        // Offsets are found by bisection over these times.
        assert!(
            self.now >= self.state.observed_at || draft.r#type == ChangeType::Clock,
            "recorded time goes back at offset {offset}, which is no mark of the clock"
        );
        let hash = draft.link(offset, self.now, managed_at, body_hash).hash(&self.state.hash);
        let (frame, base, dictionary) = match draft.packed {
            Some(packed) => (Some(packed.frame), packed.base, packed.dictionary),
            None => (None, None, None),
        };
        assert!(
            base.is_none_or(|base| base < offset),
            "the delta at offset {offset} refers to a later keyframe"
        );
        let sql = r#"INSERT INTO change ("offset", observed_at, type, subject_id, resource_version, manager_id,
            managed_at, base, dictionary_id, body, body_hash, hash)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"#;
        self.connection.prepare_cached(sql)?.execute(params![
            offset,
            self.now,
            draft.r#type,
            draft.subject,
            (!draft.resource_version.is_empty()).then_some(draft.resource_version),
            manager,
            managed_at,
            base,
            dictionary,
            frame,
            body_hash,
            hash
        ])?;
        self.state.head = offset;
        self.state.hash = hash;
        self.state.observed_at = self.now;
        Ok(offset)
    }
}
