//! The objects that are alive according to the log, page by page, for comparing it with what the cluster has.

use rusqlite::{Row, params};

use super::append::{AppendError, Epoch};
use super::error::LogError;
use super::transaction::Write;
use strandline_model::{ResourceVersion, Timestamp, Uid, WatchKey};
use strandline_sqlite::column::PackedUid;

type Result<T> = std::result::Result<T, LogError>;

/// An object that is alive according to the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveObject {
    /// Namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The object's identity.
    pub uid: Uid,
    /// The cluster's token for the newest state that was seen.
    pub resource_version: ResourceVersion,
}

/// Whether what is alive of a watch agrees with what the cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// It did at this time.
    Verified(Timestamp),
    /// Since this time the cluster may have another store than the one that was recorded, unless that was in doubt before.
    InDoubt(Timestamp),
}

/// Where a page of living objects ended. Objects that are seen meanwhile move behind it, never before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LivePosition {
    epoch: i64,
    subject: i64,
}

/// Some of the objects that are alive.
#[derive(Clone, Debug, Default)]
pub struct LivePage {
    /// The objects.
    pub objects: Vec<LiveObject>,
    /// Where to go on; none at the end.
    pub next: Option<LivePosition>,
}

/// The objects that the same run saw last, after one of them.
const REST_OF_EPOCH: &str = "
    SELECT l.seen_epoch, l.subject_id, s.namespace, s.name, s.uid, l.resource_version
    FROM live l JOIN subject s ON s.id = l.subject_id
    WHERE l.kind_id = ?1 AND l.seen_epoch = ?2 AND l.subject_id > ?3 AND (?4 = '' OR s.namespace = ?4)
    ORDER BY l.seen_epoch, l.subject_id LIMIT ?5";

/// The objects that later runs saw. No subject is named here, but both statements take the same parameters.
const LATER_EPOCHS: &str = "
    SELECT l.seen_epoch, l.subject_id, s.namespace, s.name, s.uid, l.resource_version
    FROM live l JOIN subject s ON s.id = l.subject_id
    WHERE l.kind_id = ?1 AND l.seen_epoch > ?2 AND ?3 IS NOT NULL AND (?4 = '' OR s.namespace = ?4)
    ORDER BY l.seen_epoch, l.subject_id LIMIT ?5";

const VERIFIED: &str = "
    UPDATE cursor SET verified_at = max(coalesce(verified_at, ?3), ?3), unverified_since = NULL
    WHERE kind_id = ?1 AND namespace = ?2";

const IN_DOUBT: &str = "
    UPDATE cursor SET unverified_since = coalesce(unverified_since, ?3)
    WHERE kind_id = ?1 AND namespace = ?2";

fn read(row: &Row<'_>) -> rusqlite::Result<(LivePosition, LiveObject)> {
    let position = LivePosition { epoch: row.get("seen_epoch")?, subject: row.get("subject_id")? };
    let object = LiveObject {
        namespace: row.get("namespace")?,
        name: row.get("name")?,
        uid: Uid::new(row.get::<_, PackedUid<String>>("uid")?.0),
        resource_version: row.get("resource_version")?,
    };
    Ok((position, object))
}

impl Write<'_> {
    /// What is alive of a watch after a position.
    pub(super) fn live_page(&self, watch: &WatchKey, after: LivePosition, limit: usize) -> Result<LivePage> {
        let Some(run) = self.run(watch)? else { return Ok(LivePage::default()) };
        let mut rows = Vec::new();
        // The index leads to the objects of one epoch in the order of their numbers, and from there to the next epochs.
        for sql in [REST_OF_EPOCH, LATER_EPOCHS] {
            let mut statement = self.connection.prepare_cached(sql)?;
            let room = i64::try_from(limit - rows.len()).unwrap_or(i64::MAX);
            let params = params![run.kind, after.epoch, after.subject, watch.namespace, room];
            for row in statement.query_map(params, read)? {
                rows.push(row?);
            }
            if rows.len() >= limit {
                break;
            }
        }
        let next = rows.last().map(|(position, _)| *position).filter(|_| rows.len() >= limit);
        Ok(LivePage { objects: rows.into_iter().map(|(_, object)| object).collect(), next })
    }

    /// Remembers whether what is alive of a watch agrees with what the cluster has.
    pub(super) fn agreement(
        &self,
        watch: &WatchKey,
        epoch: Epoch,
        agreement: Agreement,
    ) -> Result<std::result::Result<(), AppendError>> {
        let Some(run) = self.run(watch)?.filter(|run| run.epoch == epoch) else {
            return Ok(Err(AppendError::Superseded(watch.clone())));
        };
        let (sql, at) = match agreement {
            Agreement::Verified(at) => (VERIFIED, at),
            Agreement::InDoubt(since) => (IN_DOUBT, since),
        };
        let params = params![run.kind, watch.namespace, at];
        self.connection.prepare_cached(sql)?.execute(params)?;
        Ok(Ok(()))
    }
}
