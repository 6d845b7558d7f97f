//! The incarnations that are alive according to the log: the table `live`.

use rusqlite::{Row, params};

use super::append::Epoch;
use super::error::LogError;
use super::group::OpenGroup;
use super::transaction::Write;
use strandline_model::{ResourceKey, ResourceVersion, Uid, WatchKey};

use strandline_sqlite::column::{LOG, PackedUid};

type Result<T> = std::result::Result<T, LogError>;

/// An incarnation that is alive according to the log.
pub(super) struct Live {
    pub(super) subject: i64,
    pub(super) uid: String,
    pub(super) resource_version: ResourceVersion,
    pub(super) digest: [u8; 16],
    pub(super) group: OpenGroup,
}

impl Live {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Live {
            subject: row.get("id")?,
            uid: row.get::<_, PackedUid<String>>("uid")?.0,
            resource_version: row.get("resource_version")?,
            digest: row.get("digest")?,
            group: OpenGroup {
                keyframe: LOG.get(row, "live.keyframe")?,
                deltas: row.get("deltas")?,
                deltas_at: row.get::<_, Option<Vec<u8>>>("deltas_at")?.unwrap_or_default(),
            },
        })
    }
}

impl Write<'_> {
    /// The incarnations under a key that are alive according to the log.
    pub(super) fn live(&self, kind: i64, key: &ResourceKey) -> Result<Vec<Live>> {
        let sql = "SELECT s.id, s.uid, l.resource_version, l.digest, l.keyframe, l.deltas, l.deltas_at
            FROM subject s JOIN live l ON l.subject_id = s.id
            WHERE s.kind_id = ?1 AND s.namespace = ?2 AND s.name = ?3 AND l.kind_id IS NOT NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![kind, key.namespace, key.name], Live::from_row)?;
        let live = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        debug_assert!(live.len() <= 1, "one incarnation at a time is alive under a name");
        Ok(live)
    }

    /// The incarnation with a uid, if it is alive.
    pub(super) fn incarnation(&self, kind: i64, key: &ResourceKey, uid: &Uid) -> Result<Option<Live>> {
        Ok(self.live(kind, key)?.into_iter().find(|live| live.uid == uid.as_str()))
    }

    /// What is alive of a kind, everywhere or in a namespace, and was not seen since an epoch began.
    pub(super) fn live_before(
        &self,
        kind: i64,
        namespace: &str,
        epoch: Epoch,
    ) -> Result<Vec<(Live, String, String)>> {
        let sql =
            "SELECT s.id, s.uid, l.resource_version, l.digest, l.keyframe, l.deltas, l.deltas_at, s.namespace, s.name
            FROM live l JOIN subject s ON s.id = l.subject_id
            WHERE l.kind_id = ?1 AND l.seen_epoch < ?2 AND (?3 = '' OR s.namespace = ?3) ORDER BY s.id";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![kind, epoch, namespace], |row| {
            Ok((Live::from_row(row)?, row.get("namespace")?, row.get("name")?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    pub(super) fn touch(&self, live: &Live, seen: &ResourceVersion, epoch: Epoch) -> Result<()> {
        let sql =
            "UPDATE live SET resource_version = ?2, seen_epoch = max(seen_epoch, ?3) WHERE subject_id = ?1";
        let touched = self.connection.prepare_cached(sql)?.execute(params![live.subject, seen, epoch])?;
        debug_assert_eq!(touched, 1, "what is seen again is alive");
        Ok(())
    }

    /// Marks a subject as ended by the newest change.
    pub(super) fn mark_ended(&self, subject: i64) -> Result<()> {
        let sql = "DELETE FROM live WHERE subject_id = ?1";
        let ended = self.connection.prepare_cached(sql)?.execute([subject])?;
        debug_assert_eq!(ended, 1, "what ends was alive");
        let sql = r#"INSERT OR REPLACE INTO ended (subject_id, "offset") VALUES (?1, ?2)"#;
        self.connection.prepare_cached(sql)?.execute(params![subject, self.state.head])?;
        Ok(())
    }
}

/// The key of an object that a watch saw.
pub(super) fn key_of(watch: &WatchKey, namespace: &str, name: &str) -> ResourceKey {
    ResourceKey {
        cluster: watch.cluster.clone(),
        kind: watch.kind.clone(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}
