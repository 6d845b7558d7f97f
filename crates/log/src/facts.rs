//! Facts: changes that stand for themselves and are written only where they differ from the last of their subject.

use rusqlite::{OptionalExtension, params};

use super::draft::Draft;
use super::error::LogError;
use super::transaction::Write;
use super::types::ChangeType;
use super::{chain, ids};
use strandline_model::{Offset, ResourceKey};

type Result<T> = std::result::Result<T, LogError>;

impl Write<'_> {
    /// Writes a fact unless it equals the last one of its subject; returns its offset.
    pub(super) fn fact(
        &mut self,
        r#type: ChangeType,
        key: &ResourceKey,
        body: &str,
        said: &str,
    ) -> Result<Option<Offset>> {
        let kind = self.state.ids.kind(self.connection, &key.cluster, &key.kind)?;
        let subject = ids::subject(self.connection, kind, &key.namespace, &key.name, "")?;
        let digest = chain::body_hash(said);
        let known: Option<[u8; 16]> = self
            .connection
            .prepare_cached("SELECT digest FROM live WHERE subject_id = ?1")?
            .query_row([subject], |row| row.get(0))
            .optional()?;
        if known == Some(digest) {
            return Ok(None);
        }
        self.write_fact(r#type, key, body, said).map(Some)
    }

    /// Writes a fact even if it equals the last one of its subject.
    pub(super) fn write_fact(
        &mut self,
        r#type: ChangeType,
        key: &ResourceKey,
        body: &str,
        said: &str,
    ) -> Result<Offset> {
        let kind = self.state.ids.kind(self.connection, &key.cluster, &key.kind)?;
        let subject = ids::subject(self.connection, kind, &key.namespace, &key.name, "")?;
        let packed = self.state.bodies.fact(body)?;
        let offset = self.write(Draft { body, packed: Some(packed), ..Draft::bare(r#type, subject, key) })?;
        let sql = "INSERT OR REPLACE INTO live (subject_id, resource_version, digest, deltas, seen_epoch)
            VALUES (?1, '', ?2, 0, 0)";
        self.connection.prepare_cached(sql)?.execute(params![subject, chain::body_hash(said)])?;
        Ok(offset)
    }
}
