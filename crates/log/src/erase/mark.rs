//! The mark of an erasure.

use data_encoding::HEXLOWER;

use crate::draft::Draft;
use crate::error::LogError;
use crate::transaction::Write;
use crate::types::ChangeType;
use crate::{chain, ids};
use strandline_model::{Kind, Offset, ResourceKey};

type Result<T> = std::result::Result<T, LogError>;

impl Write<'_> {
    /// Writes a mark. Each is a subject of its own, so that retention keeps it for as long as there is a log.
    pub(crate) fn erasure(&mut self, body: &str) -> Result<Offset> {
        let (cluster, namespace, name) = (String::new(), String::new(), String::new());
        let key = ResourceKey { cluster, kind: Kind::new("", "Erasure"), namespace, name };
        let kind = self.state.ids.kind(self.connection, &key.cluster, &key.kind)?;
        let uid = HEXLOWER.encode(&chain::body_hash(body));
        let subject = ids::subject(self.connection, kind, &key.namespace, &key.name, &uid)?;
        let packed = self.state.bodies.fact(body)?;
        let bare = Draft::bare(ChangeType::Erased, subject, &key);
        let offset = self.write(Draft { uid: &uid, body, packed: Some(packed), ..bare })?;
        let sql = "INSERT OR IGNORE INTO live (subject_id, resource_version, digest, deltas, seen_epoch)
            VALUES (?1, '', zeroblob(16), 0, 0)";
        self.connection.prepare_cached(sql)?.execute([subject])?;
        Ok(offset)
    }
}
