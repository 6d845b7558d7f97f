//! Ends of watches: one that is dismissed for good, and all those of a cluster in whose place another one answers.

use rusqlite::{OptionalExtension, params};

use super::append::{Appended, Epoch, Identified};
use super::error::LogError;
use super::transaction::Write;
use strandline_model::{CoverageMark, DeletionCause, Timestamp, WatchKey, reason};

type Result<T> = std::result::Result<T, LogError>;

impl Write<'_> {
    /// Learns which cluster answers under a name. One that took another's place shares neither its history nor its
    /// tokens, so that every watch has to list again.
    pub(super) fn identify(&mut self, cluster: &str, uid: &str) -> Result<Identified> {
        let known: Option<String> = self
            .connection
            .prepare_cached("SELECT uid FROM cluster_identity WHERE cluster = ?1")?
            .query_row([cluster], |row| row.get(0))
            .optional()?;
        if known.as_deref() == Some(uid) {
            return Ok(Identified::Known);
        }
        let sql = "INSERT OR REPLACE INTO cluster_identity (cluster, uid) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute([cluster, uid])?;
        let Some(before) = known else { return Ok(Identified::Known) };
        let epoch = self.next_epoch()?;
        let sql = "UPDATE cursor SET resource_version = NULL, epoch = ?2
            WHERE kind_id IN (SELECT id FROM kind WHERE cluster = ?1)";
        self.connection.prepare_cached(sql)?.execute(params![cluster, epoch])?;
        let sql = "UPDATE live SET resource_version = ''
            WHERE kind_id IN (SELECT id FROM kind WHERE cluster = ?1)";
        self.connection.prepare_cached(sql)?.execute([cluster])?;
        let since = self.cluster_seen(cluster)?.unwrap_or(self.now);
        let message = format!("another cluster answers at this address: its UID is {uid}, it was {before}");
        self.mark(&CoverageMark::gap(WatchKey::discovery(cluster, ""), since, reason::REPLACED, message))?;
        Ok(Identified::Replaced)
    }

    fn cluster_seen(&self, cluster: &str) -> Result<Option<Timestamp>> {
        let sql = "SELECT max(seen_at) FROM cursor WHERE kind_id IN (SELECT id FROM kind WHERE cluster = ?1)";
        Ok(self.connection.prepare_cached(sql)?.query_row([cluster], |row| row.get(0))?)
    }

    /// Ends a watch for good: its mark gives the reason, its cursor is deleted, and with `unfollow` nothing of what it saw
    /// is taken for alive any longer.
    pub(super) fn dismiss(&mut self, mark: &CoverageMark, unfollow: bool) -> Result<Appended> {
        let Some(run) = self.run(&mark.watch)? else { return self.mark(mark) };
        let ended = match unfollow {
            // Nothing was seen in the last of all epochs, so all of it ends.
            true => self.end_unseen(&mark.watch, run.kind, Epoch::LAST, end_of(&mark.reason))?,
            false => 0,
        };
        let sql = "DELETE FROM cursor WHERE kind_id = ?1 AND namespace = ?2";
        self.connection.prepare_cached(sql)?.execute(params![run.kind, mark.watch.namespace])?;
        let marked = self.mark(mark)?;
        Ok(Appended { written: marked.written + ended, ..marked })
    }
}

/// How objects end whose watch is dismissed for a reason.
fn end_of(why: &str) -> fn(Timestamp) -> DeletionCause {
    match why {
        reason::REMOVED => |last_seen| DeletionCause::KindRemoved { last_seen },
        reason::FORGOTTEN => |last_seen| DeletionCause::Forgotten { last_seen },
        _ => |last_seen| DeletionCause::Unfollowed { last_seen },
    }
}
