//! Turns what watches saw into changes, within the writer's transaction.
//!
//! Why: docs/decisions/0006-the-log-decides-what-changed.md.

use std::path::Path;

use rusqlite::{Connection, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::append::{AppendError, Appended, Batch, Epoch, Observed, Phase};
use super::bodies::Bodies;
use super::chain::{Hash, HeadFile};
use super::draft::Draft;
use super::error::LogError;
use super::group::OpenGroup;
use super::ids::{self, Ids};
use super::open;
use super::packer;
use super::reader::LogReader;
use super::runs::Run;
use super::types::ChangeType;
use strandline_model::{
    CoverageMark, DeletionCause, Offset, ResourceKey, ResourceVersion, Timestamp, Uid, WatchKey,
};
use strandline_redact::Observation;
use strandline_syntax::diagnostics::of_json;

type Result<T> = std::result::Result<T, LogError>;

/// The uid under which gaps of a watch that were over when they were recorded are kept.
const ENDED_GAPS: &str = "ended-gaps";

/// What the writer knows between transactions.
pub(super) struct WriterState {
    pub(super) head: Offset,
    pub(super) hash: Hash,
    pub(super) observed_at: Timestamp,
    pub(super) ids: Ids,
    pub(super) bodies: Bodies,
    /// The newest epoch of any watch, once it was looked up.
    pub(super) epoch: Option<Epoch>,
    /// Groups that are closed and wait to be packed.
    pub(super) closed: usize,
}

/// One transaction of the writer.
pub(super) struct Write<'a> {
    pub(super) connection: &'a Connection,
    pub(super) state: &'a mut WriterState,
    /// Our clock, not before the last change save across a mark of the clock.
    pub(super) now: Timestamp,
}

impl WriterState {
    /// What a log holds whose end is the one that was acknowledged.
    pub(super) fn load(connection: &Connection, directory: &Path) -> Result<Self> {
        let mut reader = LogReader::open(directory)?;
        let (head, hash) = open::verify(directory, &mut reader, &HeadFile::new(directory))?;
        let observed_at = reader.observed_at(head)?.unwrap_or(Timestamp::from_micros(i64::MIN));
        let bodies = Bodies::load(connection)?;
        Ok(WriterState {
            head,
            hash,
            observed_at,
            ids: Ids::default(),
            bodies,
            epoch: None,
            closed: packer::closed(connection)?,
        })
    }
}

/// An incarnation that is alive as far as the log knows.
pub(super) struct Live {
    subject: i64,
    pub(super) uid: String,
    resource_version: ResourceVersion,
    digest: [u8; 16],
    group: OpenGroup,
}

impl Live {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Live {
            subject: row.get(0)?,
            uid: row.get(1)?,
            resource_version: ResourceVersion::new(row.get::<_, String>(2)?),
            digest: row.get(3)?,
            group: OpenGroup {
                keyframe: row.get::<_, Option<i64>>(4)?.map(Offset::from_i64),
                deltas: row.get(5)?,
                deltas_at: row.get::<_, Option<Vec<u8>>>(6)?.unwrap_or_default(),
            },
        })
    }
}

impl Write<'_> {
    pub(super) fn batch(&mut self, batch: &Batch) -> Result<std::result::Result<Appended, AppendError>> {
        let Some(run) = self.run(&batch.watch)?.filter(|run| run.epoch == batch.epoch) else {
            return Ok(Err(AppendError::Superseded(batch.watch.clone())));
        };
        let mut appended = Appended::default();
        for observed in &batch.observed {
            match observed {
                Observed::Applied(observation) => self.applied(batch, &run, observation, &mut appended)?,
                Observed::Unreadable { namespace, name, uid } => {
                    let key = key_of(&batch.watch, namespace, name);
                    if let Some(live) = self.incarnation(run.kind, &key, uid)? {
                        self.touch(&live, &live.resource_version, run.epoch)?;
                    }
                    appended.unchanged += 1;
                }
                Observed::Deleted { namespace, name, uid, .. } => {
                    let key = key_of(&batch.watch, namespace, name);
                    if let Some(live) = self.incarnation(run.kind, &key, uid)? {
                        appended.written += self.deleted(&live, &key, DeletionCause::Watched)?;
                    }
                }
            }
        }
        if batch.phase == Phase::ListEnd {
            let cause = match run.reselected {
                true => |last_seen| DeletionCause::Unfollowed { last_seen },
                false => |last_seen| DeletionCause::Relist { last_seen },
            };
            appended.written += self.end_unseen(&batch.watch, run.kind, run.epoch, cause)?;
        }
        if batch.phase != Phase::ListPage {
            self.advance(batch, &run)?;
        }
        appended.head = self.state.head;
        Ok(Ok(appended))
    }

    /// Writes an observation if it is a change: same token or same digest is none, and neither is a state
    /// older than the one recorded, which a watch may repeat.
    fn applied(
        &mut self,
        batch: &Batch,
        run: &Run,
        seen: &Observation,
        appended: &mut Appended,
    ) -> Result<()> {
        let key = key_of(&batch.watch, &seen.namespace, &seen.name);
        let mut same = None;
        for live in self.live(run.kind, &key)? {
            if is_stale(batch, seen, &live) {
                // It is there all the same, so the end of this list must not miss it.
                self.touch(&live, &live.resource_version, run.epoch)?;
                appended.stale += 1;
                return Ok(());
            }
            if live.uid == seen.uid.as_str() {
                same = Some(live);
            } else {
                let last_seen = self.last_seen(run.kind, &key.namespace)?;
                appended.written += self.deleted(&live, &key, DeletionCause::Replaced { last_seen })?;
            }
        }
        match same {
            Some(live)
                if live.digest == seen.digest.0
                    || (live.resource_version == seen.resource_version && !run.reshaped) =>
            {
                self.touch(&live, &seen.resource_version, run.epoch)?;
                appended.unchanged += 1;
                appended.noise += usize::from(live.resource_version != seen.resource_version);
            }
            same => {
                self.state_of(run, &key, seen, same.as_ref())?;
                appended.written += 1;
            }
        }
        Ok(())
    }

    pub(super) fn state_of(
        &mut self,
        run: &Run,
        key: &ResourceKey,
        seen: &Observation,
        before: Option<&Live>,
    ) -> Result<()> {
        let subject = match before {
            Some(live) => live.subject,
            None => ids::subject(self.connection, run.kind, &key.namespace, &key.name, seen.uid.as_str())?,
        };
        let open = before.map(|live| live.group.clone()).unwrap_or_default();
        let (packed, group) = self.pack_state(&seen.body, open)?;
        self.write(Draft {
            r#type: ChangeType::Applied,
            subject,
            key,
            uid: seen.uid.as_str(),
            resource_version: seen.resource_version.as_str(),
            changed_by: seen.changed_by.as_ref(),
            body: &seen.body,
            packed: Some(packed),
        })?;
        let sql = "INSERT OR REPLACE INTO live
            (subject_id, kind_id, resource_version, digest, keyframe, deltas, deltas_at, seen_epoch)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        self.connection.prepare_cached(sql)?.execute(params![
            subject,
            run.kind,
            seen.resource_version.as_str(),
            seen.digest.0,
            group.keyframe.map(Offset::as_i64),
            group.deltas,
            group.deltas_at,
            run.epoch.0
        ])?;
        Ok(())
    }

    fn touch(&self, live: &Live, seen: &ResourceVersion, epoch: Epoch) -> Result<()> {
        let sql =
            "UPDATE live SET resource_version = ?2, seen_epoch = max(seen_epoch, ?3) WHERE subject_id = ?1";
        self.connection.prepare_cached(sql)?.execute(params![live.subject, seen.as_str(), epoch.0])?;
        Ok(())
    }

    /// The incarnations under a key that are alive as far as the log knows.
    pub(super) fn live(&self, kind: i64, key: &ResourceKey) -> Result<Vec<Live>> {
        let sql = "SELECT s.id, s.uid, l.resource_version, l.digest, l.keyframe, l.deltas, l.deltas_at
            FROM subject s JOIN live l ON l.subject_id = s.id
            WHERE s.kind_id = ?1 AND s.namespace = ?2 AND s.name = ?3 AND l.kind_id IS NOT NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![kind, key.namespace, key.name], Live::from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The incarnation with a uid, if it is alive.
    pub(super) fn incarnation(&self, kind: i64, key: &ResourceKey, uid: &Uid) -> Result<Option<Live>> {
        Ok(self.live(kind, key)?.into_iter().find(|live| live.uid == uid.as_str()))
    }

    /// Ends an incarnation and tells how many changes that took: none for an Event, whose end says nothing since
    /// clusters drop each of them after an hour.
    pub(super) fn deleted(&mut self, live: &Live, key: &ResourceKey, cause: DeletionCause) -> Result<usize> {
        self.close(&live.group)?;
        if key.kind.is_event() {
            self.bury(live.subject)?;
            return Ok(0);
        }
        let body = to_json(&cause)?;
        let packed = self.state.bodies.fact(&body)?;
        self.write(Draft {
            r#type: ChangeType::Deleted,
            subject: live.subject,
            key,
            uid: &live.uid,
            resource_version: "",
            changed_by: None,
            body: &body,
            packed: Some(packed),
        })?;
        self.bury(live.subject)?;
        Ok(1)
    }

    /// What is said of a subject ends with the newest change.
    pub(super) fn bury(&self, subject: i64) -> Result<()> {
        self.connection.prepare_cached("DELETE FROM live WHERE subject_id = ?1")?.execute([subject])?;
        let sql = r#"INSERT OR REPLACE INTO ended (subject_id, "offset") VALUES (?1, ?2)"#;
        self.connection.prepare_cached(sql)?.execute([subject, self.state.head.as_i64()])?;
        Ok(())
    }

    /// Ends what is alive of a kind, everywhere or in a namespace, and was not seen since an epoch began: it vanished
    /// some time after it was last seen, which becomes the cause of its end.
    pub(super) fn end_unseen(
        &mut self,
        watch: &WatchKey,
        kind: i64,
        since: Epoch,
        cause: fn(Timestamp) -> DeletionCause,
    ) -> Result<usize> {
        let mut written = 0;
        for (live, namespace, name) in self.live_before(kind, &watch.namespace, since)? {
            let last_seen = self.last_seen(kind, &namespace)?;
            written += self.deleted(&live, &key_of(watch, &namespace, &name), cause(last_seen))?;
        }
        Ok(written)
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
        let rows = statement.query_map(params![kind, epoch.0, namespace], |row| {
            let (namespace, name): (String, String) = (row.get(7)?, row.get(8)?);
            Ok((Live::from_row(row)?, namespace, name))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Records a mark unless it repeats the state and reason of the last one. A gap that is over already says nothing
    /// of how the watch stands, so it is always written and the last mark goes on.
    pub(super) fn mark(&mut self, mark: &CoverageMark) -> Result<Appended> {
        let key = key_of(&mark.watch, &mark.watch.namespace, "");
        if mark.until.is_some() {
            self.write_ended_gap(&key, &to_json(mark)?)?;
            return Ok(self.appended(1, 0));
        }
        let since = self.gap_since(mark.since)?;
        let mark = &CoverageMark { since, ..mark.clone() };
        let written = self.fact(ChangeType::Coverage, &key, &to_json(mark)?, &mark.said())?.is_some();
        Ok(self.appended(usize::from(written), usize::from(!written)))
    }

    /// Writes a gap that is over. It is a subject of its own, so that retention does not take it for how the watch stands.
    fn write_ended_gap(&mut self, key: &ResourceKey, body: &str) -> Result<()> {
        let kind = self.state.ids.kind(self.connection, &key.cluster, &key.kind)?;
        let subject = ids::subject(self.connection, kind, &key.namespace, &key.name, ENDED_GAPS)?;
        let packed = self.state.bodies.fact(body)?;
        let bare = Draft::bare(ChangeType::Coverage, subject, key);
        self.write(Draft { uid: ENDED_GAPS, body, packed: Some(packed), ..bare })?;
        let sql = "INSERT OR IGNORE INTO live (subject_id, resource_version, digest, deltas, seen_epoch)
            VALUES (?1, '', zeroblob(16), 0, 0)";
        self.connection.prepare_cached(sql)?.execute([subject])?;
        Ok(())
    }

    pub(super) fn appended(&self, written: usize, unchanged: usize) -> Appended {
        Appended { head: self.state.head, written, unchanged, ..Appended::default() }
    }
}

/// Whether a state is older than the one recorded, as a watch may repeat it or a list may still show it.
///
/// A list that is itself newer than what is recorded, and yet shows an older state, tells of a cluster that was set
/// back: there the older state is the true one.
fn is_stale(batch: &Batch, seen: &Observation, live: &Live) -> bool {
    let before = |one: &ResourceVersion, other| one.compare(other).is_some_and(std::cmp::Ordering::is_lt);
    let older = before(&seen.resource_version, &live.resource_version);
    match batch.phase {
        Phase::Watch | Phase::UpToDate | Phase::Confirmed(_) => older,
        _ => older && batch.cursor.as_ref().is_some_and(|list| before(list, &live.resource_version)),
    }
}

fn key_of(watch: &WatchKey, namespace: &str, name: &str) -> ResourceKey {
    ResourceKey {
        cluster: watch.cluster.clone(),
        kind: watch.kind.clone(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

/// The body of a change as JSON. What has none is refused: an empty body would say something else for ever.
pub(super) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| LogError::NoJson(of_json(&error)))
}

/// That the body of a change can be read again.
pub(super) fn read_back<T: Serialize + DeserializeOwned>(value: &T) -> Result<()> {
    let text = to_json(value)?;
    let read = serde_json::from_str::<T>(&text).map(|_| ());
    read.map_err(|error| LogError::NoJson(format!("cannot parse stored {text}: {}", of_json(&error))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_has_no_json_gets_no_body() {
        let by_pair = BTreeMap::from([((1, 2), "x")]);
        let refused = to_json(&by_pair).map_err(|error| error.to_string());
        assert!(refused.is_err_and(|why| why.starts_with("it cannot be recorded: ")));
    }
}
