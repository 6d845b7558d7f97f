//! Ends what only a person can know to be gone.

use rusqlite::params;
use thiserror::Error;

use super::append::Epoch;
use super::error::LogError;
use super::transaction::Write;
use super::{chain, columns};
use strandline_model::{
    CoverageMark, DeletionCause, Kind, KindName, Offset, ResourceKey, Timestamp, Uid, WatchKey, reason,
};

type Result<T> = std::result::Result<T, LogError>;

/// What a person marks as deleted.
#[derive(Clone, Debug)]
pub struct Forget {
    /// The cluster it was in.
    pub cluster: String,
    /// Its kind.
    pub kind: KindName,
    /// Only in this namespace.
    pub namespace: Option<String>,
    /// Only what has this name.
    pub name: Option<String>,
    /// Only what has this uid.
    pub uid: Option<Uid>,
    /// Whether only to return what would end.
    pub dry_run: bool,
    /// Whether to end also what is watched now.
    pub force: bool,
    /// Who marks it.
    pub by: String,
}

/// What a person's word ended, or would end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// The kind that was meant.
    pub kind: Kind,
    /// What ended, with when it was last seen.
    pub ended: Vec<(ResourceKey, Uid, Timestamp)>,
    /// Gaps of the kind that ended.
    pub gaps: usize,
    /// The newest offset of the log.
    pub head: Offset,
}

/// Why nothing ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ForgetRefusal {
    /// The log has no such kind of the cluster.
    #[error("the cluster `{cluster}` has no kind `{kind}` in the log")]
    UnknownKind {
        /// The cluster.
        cluster: String,
        /// What was meant to be its kind.
        kind: String,
    },
    /// Several kinds are called so.
    #[error("several kinds match: {}", .0.join(", "))]
    AmbiguousKind(Vec<String>),
    /// It is watched, so its end will be recorded when it comes.
    #[error("{0} is being watched, so deletions are recorded anyway; use force to override")]
    Watched(String),
    /// Nothing of it is there.
    #[error("nothing matches: no resource and no gap")]
    Nothing,
}

impl Write<'_> {
    /// Ends what a person marks as deleted. What exists after all comes back as the same life with its next event or list.
    pub(super) fn end_forgotten(
        &mut self,
        forget: &Forget,
    ) -> Result<std::result::Result<Forgotten, ForgetRefusal>> {
        let (number, kind) = match self.find_kind(forget)? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let watches = self.watches_of(number, forget, &kind)?;
        let reached = !self.is_in_gap(&WatchKey::discovery(&forget.cluster, ""))?;
        for watch in &watches {
            if reached
                && !forget.force
                && self.is_last_mark(watch, &CoverageMark::watched(watch.clone(), self.now).said())?
            {
                return Ok(Err(ForgetRefusal::Watched(watch.to_string())));
            }
        }
        let (namespace, before) = (forget.namespace.as_deref().unwrap_or_default(), self.state.head);
        let mut ended = Vec::new();
        for (live, namespace, name) in self.live_before(number, namespace, Epoch::LAST)? {
            let uid = Uid::new(live.uid.as_str());
            let other = forget.name.as_ref().is_some_and(|only| *only != name);
            if other || forget.uid.as_ref().is_some_and(|only| *only != uid) {
                continue;
            }
            let last_seen = self.last_seen(number, &namespace)?;
            let key = ResourceKey { cluster: forget.cluster.clone(), kind: kind.clone(), namespace, name };
            if !forget.dry_run {
                self.deleted(&live, &key, DeletionCause::Forgotten { last_seen })?;
            }
            ended.push((key, uid, last_seen));
        }
        let mut gaps = 0;
        if forget.name.is_none() && forget.uid.is_none() {
            for watch in watches.iter().filter(|watch| watch.namespace == namespace || namespace.is_empty()) {
                gaps += self.forget_gap(number, watch, forget)?;
            }
        }
        assert!(!forget.dry_run || self.state.head == before, "a dry run writes nothing");
        if ended.is_empty() && gaps == 0 {
            return Ok(Err(ForgetRefusal::Nothing));
        }
        Ok(Ok(Forgotten { kind, ended, gaps, head: self.state.head }))
    }

    /// Ends the gap of a watch; returns how many there were.
    fn forget_gap(&mut self, kind: i64, watch: &WatchKey, forget: &Forget) -> Result<usize> {
        let gap = self.is_in_gap(watch)?;
        if forget.dry_run {
            return Ok(usize::from(gap));
        }
        let not_served = CoverageMark::gap(watch.clone(), self.now, reason::NOT_SERVED, "").said();
        // A kind that the cluster does not serve has no running watch that could need its cursor.
        let sql = match self.is_last_mark(watch, &not_served)? {
            true => "DELETE FROM cursor WHERE kind_id = ?1 AND namespace = ?2",
            false => "UPDATE cursor SET resource_version = NULL WHERE kind_id = ?1 AND namespace = ?2",
        };
        self.connection.prepare_cached(sql)?.execute(params![kind, watch.namespace])?;
        if gap {
            let message = format!("marked as deleted by {}", forget.by);
            self.mark(&CoverageMark::excluded(watch.clone(), self.now, reason::FORGOTTEN, message))?;
        }
        Ok(usize::from(gap))
    }

    fn find_kind(&self, forget: &Forget) -> Result<std::result::Result<(i64, Kind), ForgetRefusal>> {
        let sql = r#"SELECT id, "group", kind FROM kind WHERE cluster = ?1 AND kind <> '' ORDER BY 2, 3"#;
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([&forget.cluster], |row| Ok((row.get("id")?, columns::kind(row)?)))?;
        let mut kinds: Vec<(i64, Kind)> = rows.collect::<rusqlite::Result<_>>()?;
        kinds.retain(|(_, kind)| forget.kind.means(kind));
        if kinds.len() > 1 {
            let names = kinds.iter().map(|(_, kind)| kind.to_string()).collect();
            return Ok(Err(ForgetRefusal::AmbiguousKind(names)));
        }
        let unknown =
            || ForgetRefusal::UnknownKind { cluster: forget.cluster.clone(), kind: forget.kind.to_string() };
        Ok(kinds.pop().ok_or_else(unknown))
    }

    /// The watches of what is marked as deleted.
    fn watches_of(&self, number: i64, forget: &Forget, kind: &Kind) -> Result<Vec<WatchKey>> {
        let sql = "SELECT namespace FROM cursor WHERE kind_id = ?1
            UNION SELECT s.namespace FROM subject s JOIN live l ON l.subject_id = s.id
                WHERE s.kind_id = ?1 AND s.name = '' AND s.uid = ''";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([number], |row| row.get::<_, String>(0))?;
        let mut watches = Vec::new();
        for namespace in rows {
            let namespace = namespace?;
            let looks = |only: &String| namespace.is_empty() || *only == namespace;
            if forget.namespace.as_ref().is_none_or(looks) {
                watches.push(WatchKey { cluster: forget.cluster.clone(), kind: kind.clone(), namespace });
            }
        }
        Ok(watches)
    }

    /// Whether this is the newest mark of a watch.
    fn is_last_mark(&self, watch: &WatchKey, said: &str) -> Result<bool> {
        Ok(self.last_mark_digest(watch)? == Some(chain::body_hash(said)))
    }

    fn is_in_gap(&self, watch: &WatchKey) -> Result<bool> {
        let Some(said) = self.last_mark_digest(watch)? else { return Ok(false) };
        let state = |mark: CoverageMark| chain::body_hash(&mark.said()) == said;
        let excluded = |why| state(CoverageMark::excluded(watch.clone(), self.now, why, ""));
        let watched = state(CoverageMark::watched(watch.clone(), self.now));
        Ok(!watched && !EXCLUDED.into_iter().any(excluded))
    }
}

/// The reasons for which something is left out.
const EXCLUDED: [&str; 5] =
    [reason::EXCLUDED, reason::NOT_WATCHABLE, reason::REMOVED, reason::FORGOTTEN, reason::COVERED];
