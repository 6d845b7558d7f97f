//! Runs of watches: the cursor of each, which may write, and which are over.

use rusqlite::{OptionalExtension, named_params, params};

use super::append::{Batch, Begin, Epoch, Phase, Session};
use super::columns;
use super::error::LogError;
use super::transaction::Write;
use strandline_model::{ResourceVersion, Timestamp, WatchKey};

type Result<T> = std::result::Result<T, LogError>;

/// A run of a watch as its cursor keeps it.
pub(super) struct Run {
    pub(super) kind: i64,
    pub(super) epoch: Epoch,
    /// The watch asks for other objects than before, and no list has answered yet.
    pub(super) reselected: bool,
    /// Objects may have another shape under the resourceVersion that is recorded, until a list has shown them all.
    pub(super) reshaped: bool,
}

impl Write<'_> {
    /// Begins a run. Epochs are numbered across all watches, which orders what two watches saw that
    /// look at the same objects.
    pub(super) fn begin(&mut self, begin: &Begin) -> Result<Session> {
        let Begin { watch, selector, served_version, definition, fresh, since } = begin;
        let kind = self.state.ids.kind(self.connection, &watch.cluster, &watch.kind)?;
        let epoch = self.next_epoch()?;
        let reshaped = self.is_reshaped(begin)? || since.is_some();
        let sql = "INSERT INTO cursor
                (kind_id, namespace, epoch, selector, served_version, definition, first_begun_at, begun_at)
             VALUES (:kind, :namespace, :epoch, :selector, :served, :definition, :now, :now)
             ON CONFLICT DO UPDATE SET epoch = :epoch, selector = :selector, begun_at = :now,
                 served_version = coalesce(:served, served_version), definition = coalesce(:definition, definition),
                 reselected = max(reselected, selector <> :selector), reshaped = max(reshaped, :reshaped),
                 seen_at = coalesce(:since, seen_at),
                 unverified_since = coalesce(min(unverified_since, :since), unverified_since, :since, seen_at),
                 resource_version =
                    CASE WHEN :fresh OR :reshaped OR selector <> :selector THEN NULL ELSE resource_version END
             RETURNING resource_version, seen_at, verified_at, unverified_since";
        let params = named_params! {
            ":kind": kind, ":namespace": watch.namespace, ":epoch": epoch, ":selector": selector, ":fresh": fresh,
            ":served": served_version, ":definition": definition, ":reshaped": reshaped,
            ":now": self.now, ":since": since,
        };
        let session = self.connection.prepare_cached(sql)?.query_row(params, |row| {
            Ok(Session {
                epoch,
                cursor: row.get("resource_version")?,
                newest: None,
                last_seen: row.get("seen_at")?,
                verified_at: row.get("verified_at")?,
                unverified_since: row.get("unverified_since")?,
            })
        })?;
        let newest = match session.cursor {
            // Whoever gave up a cursor had read up to it.
            Some(_) => None,
            None if *fresh => None,
            None => self.newest_version(kind, &watch.namespace)?,
        };
        Ok(Session { newest, ..session })
    }

    /// The newest token among the living objects of a kind, everywhere or in a namespace.
    fn newest_version(&self, kind: i64, namespace: &str) -> Result<Option<ResourceVersion>> {
        let sql = "SELECT max(CAST(l.resource_version AS INTEGER)) FROM live l JOIN subject s ON s.id = l.subject_id
            WHERE l.kind_id = ?1 AND (?2 = '' OR s.namespace = ?2)";
        let params = params![kind, namespace];
        let newest: Option<i64> = self.connection.prepare_cached(sql)?.query_row(params, |row| row.get(0))?;
        Ok(newest.filter(|newest| *newest > 0).map(|newest| ResourceVersion::new(newest.to_string())))
    }

    /// Whether the objects may look otherwise than when the watch last began: another version is served, or the kind is
    /// defined otherwise.
    fn is_reshaped(&self, begin: &Begin) -> Result<bool> {
        let sql = r#"SELECT c.served_version, c.definition FROM cursor c JOIN kind k ON k.id = c.kind_id
            WHERE k.cluster = ?1 AND k."group" = ?2 AND k.kind = ?3 AND c.namespace = ?4"#;
        let watch = &begin.watch;
        let key = params![watch.cluster, watch.kind.group, watch.kind.kind, watch.namespace];
        let known: Option<(Option<String>, Option<String>)> = self
            .connection
            .prepare_cached(sql)?
            .query_row(key, |row| Ok((row.get("served_version")?, row.get("definition")?)))
            .optional()?;
        let Some((served_version, definition)) = known else { return Ok(false) };
        // What was recorded before versions were known may be of any.
        let served = begin.served_version.is_some() && begin.served_version != served_version;
        let defined = begin.definition.is_some() && definition.is_some() && begin.definition != definition;
        Ok(served || defined)
    }

    /// Keeps the definition of a kind with the cursor of a watch of it; false where another one is kept already, which
    /// stays until the watch begins with the new one.
    pub(super) fn define(&self, watch: &WatchKey, definition: &str) -> Result<bool> {
        let begin = Begin { definition: Some(definition.to_owned()), ..Begin::new(watch, false) };
        if self.is_reshaped(&begin)? {
            return Ok(false);
        }
        let sql = r#"UPDATE cursor SET definition = ?1 WHERE namespace = ?2 AND kind_id IN
            (SELECT id FROM kind WHERE cluster = ?3 AND "group" = ?4 AND kind = ?5)"#;
        self.connection.prepare_cached(sql)?.execute(params![
            definition,
            watch.namespace,
            watch.cluster,
            watch.kind.group,
            watch.kind.kind
        ])?;
        Ok(true)
    }

    pub(super) fn next_epoch(&mut self) -> Result<Epoch> {
        let last = match self.state.epoch {
            Some(epoch) => epoch.0,
            None => self.newest_epoch()?,
        };
        debug_assert!(self.newest_epoch()? <= last, "a watch began in an epoch later than {last}");
        let next = Epoch(last + 1);
        assert!(next < Epoch::LAST, "no epoch is left");
        self.state.epoch = Some(next);
        Ok(next)
    }

    fn newest_epoch(&self) -> Result<i64> {
        let sql = "SELECT coalesce(max(epoch), 0) FROM cursor";
        Ok(self.connection.query_row(sql, [], |row| row.get(0))?)
    }

    pub(super) fn run(&self, watch: &WatchKey) -> Result<Option<Run>> {
        let sql = r#"SELECT c.kind_id, c.epoch, c.reselected, c.reshaped
            FROM cursor c JOIN kind k ON k.id = c.kind_id
            WHERE k.cluster = ?1 AND k."group" = ?2 AND k.kind = ?3 AND c.namespace = ?4"#;
        let key = params![watch.cluster, watch.kind.group, watch.kind.kind, watch.namespace];
        let mut statement = self.connection.prepare_cached(sql)?;
        let run = statement.query_row(key, |row| {
            let (kind, epoch) = (row.get("kind_id")?, row.get("epoch")?);
            Ok(Run { kind, epoch, reselected: row.get("reselected")?, reshaped: row.get("reshaped")? })
        });
        Ok(run.optional()?)
    }

    /// Moves the cursor to what a batch covers.
    ///
    /// A list shows everything as it was when it began, and a watch that caught up as it is now. A watch that is still
    /// catching up shows what happened without its time, so it moves nothing but the cursor, unless its objects do.
    pub(super) fn advance(&self, batch: &Batch, run: &Run) -> Result<()> {
        assert_eq!(batch.epoch, run.epoch, "a batch of an earlier run must not move the cursor");
        let confirmed = match batch.phase {
            Phase::Confirmed(confirmed) => Some(confirmed),
            _ => None,
        };
        let sql = "UPDATE cursor SET resource_version = coalesce(:cursor, resource_version),
                seen_at = CASE WHEN :listed THEN coalesce(begun_at, seen_at) WHEN :current THEN :now
                    WHEN :confirmed IS NOT NULL THEN max(coalesce(seen_at, :confirmed), min(:confirmed, :now)) ELSE seen_at END,
                verified_at = CASE WHEN :listed THEN coalesce(begun_at, verified_at) ELSE verified_at END,
                unverified_since = CASE WHEN :listed THEN NULL ELSE unverified_since END,
                reselected = reselected AND NOT :listed, reshaped = reshaped AND NOT :listed
            WHERE kind_id = :kind AND namespace = :namespace";
        let moved = self.connection.prepare_cached(sql)?.execute(named_params! {
            ":cursor": batch.cursor,
            ":now": self.now,
            ":listed": batch.phase == Phase::ListEnd,
            ":current": batch.phase == Phase::UpToDate,
            ":confirmed": confirmed,
            ":kind": run.kind,
            ":namespace": batch.watch.namespace,
        })?;
        assert_eq!(moved, 1, "a run has one cursor, which moves with what it covers");
        Ok(())
    }

    /// Up to when all that happened to a kind in a namespace is recorded, by whichever watch looks there.
    pub(super) fn last_seen(&self, kind: i64, namespace: &str) -> Result<Timestamp> {
        let sql = "SELECT coalesce(max(seen_at), min(first_begun_at)) FROM cursor
            WHERE kind_id = ?1 AND namespace IN ('', ?2)";
        let mut statement = self.connection.prepare_cached(sql)?;
        let seen: Option<Timestamp> = statement.query_row(params![kind, namespace], |row| row.get(0))?;
        Ok(seen.unwrap_or(self.now))
    }

    /// The watches of a cluster that ever began and were not dismissed, with the time up to which each is complete.
    pub(super) fn watches(&self, cluster: &str) -> Result<Vec<(WatchKey, Option<Timestamp>)>> {
        let sql = r#"SELECT k."group", k.kind, c.namespace, c.seen_at FROM cursor c JOIN kind k ON k.id = c.kind_id
            WHERE k.cluster = ?1 ORDER BY k."group", k.kind, c.namespace"#;
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([cluster], |row| {
            let (kind, namespace) = (columns::kind(row)?, row.get("namespace")?);
            Ok((WatchKey { cluster: cluster.to_owned(), kind, namespace }, row.get("seen_at")?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
