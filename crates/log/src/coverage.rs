//! Marks of coverage: which kinds are watched, and the gaps.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use super::append::Appended;
use super::draft::Draft;
use super::error::LogError;
use super::json::to_json;
use super::live::key_of;
use super::time_map::last_adoption;
use super::transaction::Write;
use super::types::ChangeType;
use super::{chain, cursors, ids};
use strandline_model::{CoverageMark, ResourceKey, Timestamp, WatchKey, reason};

type Result<T> = std::result::Result<T, LogError>;

/// The uid under which gaps of a watch that were over when they were recorded are kept.
const ENDED_GAPS: &str = "ended-gaps";

impl Write<'_> {
    /// Records a mark unless it repeats the state and reason of the last one. A gap that is already over does not
    /// change the state of the watch, so it is always written and the last mark stays valid.
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

    /// Begins the coverage of a cluster that is declared, if nobody has looked yet which kinds it has: until somebody does,
    /// nothing of it is known.
    pub(super) fn begin_unwatched(&mut self, cluster: &str) -> Result<()> {
        let watch = WatchKey::discovery(cluster, "");
        if self.last_mark_digest(&watch)?.is_none() {
            let message = "nobody has watched the cluster yet";
            self.mark(&CoverageMark::gap(watch, self.now, reason::NOT_WATCHED, message))?;
        }
        Ok(())
    }

    /// Ends the coverage of clusters that were watched and are declared no more: whoever watched them is gone without a word
    /// where the process was away when the declaration went.
    pub(super) fn end_undeclared(&mut self, declared: &BTreeSet<&str>) -> Result<()> {
        let watches = cursors::every_watch(self.connection)?;
        for watches in watches.chunk_by(|(one, _), (next, _)| one.cluster == next.cluster) {
            let Some((WatchKey { cluster, .. }, _)) = watches.first() else { continue };
            let discovery = WatchKey::discovery(cluster, "");
            // The hundreds of watches of a cluster that ended long ago are not looked at again.
            if declared.contains(cluster.as_str()) || !self.is_watched(&discovery)? {
                continue;
            }
            let mut since: Option<Timestamp> = None;
            for (watch, seen) in watches {
                if self.is_watched(watch)? {
                    let seen = seen.unwrap_or(self.now);
                    since = Some(since.map_or(seen, |first| first.min(seen)));
                }
            }
            // Of a cluster of which nothing is watched nothing ends.
            if let Some(since) = since {
                let message = "the cluster is declared no more";
                self.mark(&CoverageMark::gap(discovery, since, reason::RESTARTED, message))?;
            }
        }
        Ok(())
    }

    fn is_watched(&self, watch: &WatchKey) -> Result<bool> {
        let watched = CoverageMark::watched(watch.clone(), self.now).said();
        Ok(self.last_mark_digest(watch)? == Some(chain::body_hash(&watched)))
    }

    /// The digest of the newest mark of a watch.
    pub(super) fn last_mark_digest(&self, watch: &WatchKey) -> Result<Option<[u8; 16]>> {
        let sql = r#"SELECT l.digest FROM live l JOIN subject s ON s.id = l.subject_id JOIN kind k ON k.id = s.kind_id
            WHERE k.cluster = ?1 AND k."group" = ?2 AND k.kind = ?3 AND s.namespace = ?4 AND s.name = '' AND s.uid = ''"#;
        let key = params![watch.cluster, watch.kind.group, watch.kind.kind, watch.namespace];
        Ok(self.connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?)
    }

    /// Writes a gap that is over. It is a subject of its own, so that retention does not take it for the state of the watch.
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

    /// The beginning of a gap; where it is in the future it came from a wrong clock, and what happened before recorded
    /// time went back has a gap of its own.
    pub(super) fn gap_since(&self, since: Timestamp) -> Result<Timestamp> {
        if since <= self.now {
            return Ok(since);
        }
        Ok(last_adoption(self.connection)?.map_or(since, |(_, adopted)| adopted.min(since)))
    }
}
