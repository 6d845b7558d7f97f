//! Prunes bodies of single kinds before the rest, a step at a time within the writer's transaction.
//!
//! Up to a kind's floor only the states that hold there keep their bodies. Of the others the row stays: that there was a
//! change, of what, when and by whom, still hangs in the chain, which covers the digest of each body and not the body.
//!
//! Why: docs/decisions/0008-retention-encodes-nothing-again.md.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{OptionalExtension, Row, params};

use super::columns;
use super::compaction::{Compaction, Kept};
use super::error::LogError;
use super::floors::{self, Floor};
use super::row::{self, RawRow};
use super::transaction::Write;
use super::types::ChangeType;
use strandline_model::{Kind, KindPattern, Offset};
use strandline_sqlite::column::{Count, LOG};

type Result<T> = std::result::Result<T, LogError>;

/// What a step has pruned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thinned {
    /// Whether nothing is left to prune.
    pub done: bool,
    /// Changes that have no body any more.
    pub changes: u64,
    /// Bytes of their bodies, as they were stored one by one.
    pub bytes: u64,
}

/// How far a kind has come.
#[derive(Clone, Copy, Debug)]
struct Progress {
    floor: Offset,
    thinned: Offset,
}

/// What holds of a subject, by the offsets of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeptBody {
    offset: Offset,
    base: Option<Offset>,
}

impl KeptBody {
    fn offsets(self) -> impl Iterator<Item = Offset> {
        std::iter::once(self.offset).chain(self.base)
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(KeptBody { offset: LOG.get(row, "held.offset")?, base: LOG.get(row, "held.base")? })
    }
}

/// The kinds of which something is to go, by cluster and kind.
type Due = HashMap<String, HashMap<Kind, Progress>>;

/// What a step is going to do; made before anything is written, so that damage stops it in time.
pub(super) struct ThinningPlan {
    /// Up to here the log was looked at.
    reached: Offset,
    /// What is left of subjects from now on; none where nothing is.
    held: BTreeMap<i64, Option<KeptBody>>,
    /// The changes whose bodies go.
    gone: BTreeSet<Offset>,
}

impl Write<'_> {
    /// Makes each offset the oldest at which the kinds of its pattern are known, the first that means a kind; none moves
    /// back, and the newest change always stays above them.
    pub(super) fn raise_floors(&mut self, wanted: &[(KindPattern, Offset)]) -> Result<Vec<Floor>> {
        let newest = Offset::new(self.state.head.get().saturating_sub(1));
        for (id, kind) in self.kinds_of_clusters()? {
            let Some((_, floor)) = wanted.iter().find(|(pattern, _)| pattern.matches(&kind)) else {
                continue;
            };
            let floor = *floor.min(&newest);
            if floor == Offset::ZERO {
                continue;
            }
            let sql = r#"INSERT INTO thinning (kind_id, floor, floor_at, thinned)
                SELECT ?1, "offset", observed_at, 0 FROM change WHERE "offset" = ?2
                ON CONFLICT (kind_id) DO UPDATE SET floor = excluded.floor, floor_at = excluded.floor_at
                    WHERE excluded.floor > floor"#;
            self.connection.prepare_cached(sql)?.execute(params![id, floor])?;
        }
        floors::floors(self.connection)
    }

    /// Sets the floor of a kind in a new log, whose content so far is all that is known up to the floor in the old one.
    pub(super) fn copy_floor(&mut self, floor: &Floor) -> Result<()> {
        let kind = self.state.ids.kind(self.connection, &floor.cluster, &floor.kind)?;
        let (head, at) = (self.state.head, floor.observed_at);
        let sql = "INSERT INTO thinning (kind_id, floor, floor_at, thinned) VALUES (?1, ?2, ?3, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![kind, head, at])?;
        let sql = r#"INSERT OR REPLACE INTO held (subject_id, "offset", base)
            SELECT c.subject_id, max(c."offset"), c.base FROM change c JOIN live l ON l.subject_id = c.subject_id
            WHERE l.kind_id = ?1 AND c.type = 1 GROUP BY c.subject_id"#;
        self.connection.prepare_cached(sql)?.execute([kind])?;
        Ok(())
    }

    fn kinds_of_clusters(&self) -> Result<Vec<(i64, Kind)>> {
        let sql = r#"SELECT id, "group", kind FROM kind WHERE cluster <> '' AND kind <> ''"#;
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get("id")?, columns::kind(row)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Looks at up to `limit` changes below the floors and decides whose bodies go; none where nothing is to be done.
    /// Writes nothing: a change that does not follow in the chain is not pruned, but an error.
    pub(super) fn plan_thinning(&self, limit: usize) -> Result<Option<ThinningPlan>> {
        let due = self.due()?;
        let all = || due.values().flat_map(HashMap::values);
        let (Some(least), Some(last)) =
            (all().map(|kind| kind.thinned).min(), all().map(|kind| kind.floor).max())
        else {
            return Ok(None);
        };
        let compaction = Compaction::load(self.connection)?;
        // The sweep has pruned everything before.
        let from = least.max(compaction.swept);
        let left = usize::try_from(last.get().saturating_sub(from.get())).unwrap_or(limit).min(limit);
        let hash = compaction.hash_at(self.connection, from)?;
        let rows = row::linked(self.connection, from, hash, left)?;
        let reached = Offset::new(from.get() + left as u64);
        let mut plan = ThinningPlan { reached, held: BTreeMap::new(), gone: BTreeSet::new() };
        for row in &rows {
            let kind = due.get(&row.key.cluster).and_then(|kinds| kinds.get(&row.key.kind));
            if kind.is_some_and(|kind| kind.thinned < row.offset && row.offset <= kind.floor) {
                self.plan_row(row, &mut plan)?;
            }
        }
        Ok(Some(plan))
    }

    /// A row replaces the former state of its subject.
    fn plan_row(&self, row: &RawRow, plan: &mut ThinningPlan) -> Result<()> {
        let held = match row.change_type()? {
            ChangeType::Applied => Some(KeptBody { offset: row.offset, base: row.base }),
            ChangeType::Deleted => None,
            // Marks of coverage are under the same kind.
            _ => return Ok(()),
        };
        match plan.held.get(&row.subject) {
            Some(former) => plan.gone.extend((*former).into_iter().flat_map(KeptBody::offsets)),
            None => {
                let former = self.held(row.subject)?.into_iter().flat_map(KeptBody::offsets);
                plan.gone.extend(former);
                // The sweep may have passed here and kept the state at that offset.
                let kept = Kept::of(self.connection, row.subject)?;
                plan.gone.extend(kept.iter().flat_map(Kept::offsets));
            }
        }
        match held {
            Some(held) => held.offsets().for_each(|offset| {
                plan.gone.remove(&offset);
            }),
            None => {
                plan.gone.insert(row.offset);
            }
        }
        plan.held.insert(row.subject, held);
        Ok(())
    }

    /// Does what was planned.
    pub(super) fn thin(&mut self, plan: &ThinningPlan) -> Result<Thinned> {
        let last = plan.gone.last().copied().unwrap_or_default();
        assert!(last <= plan.reached, "retention goes past what it looked at");
        for offset in plan.held.values().flatten().flat_map(|held| held.offsets()) {
            assert!(!plan.gone.contains(&offset), "the body at offset {offset} is kept, and would go");
        }
        let mut thinned = Thinned::default();
        for offset in &plan.gone {
            self.empty(*offset, &mut thinned)?;
        }
        for (subject, held) in &plan.held {
            match held {
                Some(held) => {
                    let sql =
                        r#"INSERT OR REPLACE INTO held (subject_id, "offset", base) VALUES (?1, ?2, ?3)"#;
                    self.connection.prepare_cached(sql)?.execute(params![subject, held.offset, held.base])?;
                }
                None => self.release(*subject, plan.reached)?,
            }
        }
        let sql = "UPDATE thinning SET thinned = min(floor, max(thinned, ?1))";
        self.connection.prepare_cached(sql)?.execute([plan.reached])?;
        let ended = self.thin_ended(&mut thinned)?;
        thinned.done = !ended && self.due()?.is_empty();
        Ok(thinned)
    }

    /// Prunes Events that have ended, since their end is no change; returns whether there may be more of them.
    fn thin_ended(&mut self, thinned: &mut Thinned) -> Result<bool> {
        const MOST: i64 = 500;
        let sql = r#"SELECT h.subject_id, h."offset", h.base, e."offset" AS ended FROM held h JOIN ended e ON e.subject_id = h.subject_id
            JOIN subject s ON s.id = h.subject_id JOIN thinning t ON t.kind_id = s.kind_id
            WHERE e."offset" >= h."offset" AND e."offset" <= t.thinned LIMIT ?1"#;
        let ended: Vec<(i64, Offset, KeptBody)> = {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([MOST], |row| {
                Ok((row.get("subject_id")?, row.get("ended")?, KeptBody::from_row(row)?))
            })?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        for (subject, end, held) in &ended {
            // The sweep may have passed the kept state and kept a later one, under the same keyframe.
            let kept = Kept::of(self.connection, *subject)?.filter(|kept| kept.offset <= *end);
            for offset in held.offsets().chain(kept.iter().flat_map(Kept::offsets)) {
                self.empty(offset, thinned)?;
            }
            self.release(*subject, held.offset)?;
        }
        Ok(ended.len() as i64 == MOST)
    }

    /// Lets go of a body; of one that is gone already nothing is left to do.
    fn empty(&self, offset: Offset, thinned: &mut Thinned) -> Result<()> {
        let sql = r#"SELECT coalesce(length(body), 0) AS body FROM change
            WHERE "offset" = ?1 AND (body IS NOT NULL OR frame_id IS NOT NULL)"#;
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement.query_row([offset], |row| LOG.get(row, "change.body")).optional()?;
        let Some(Count(bytes)) = found else { return Ok(()) };
        assert!(offset < self.state.head, "the newest change keeps its body");
        // What it was stored against stays, so that the rest of retention sees which keyframes later changes need.
        let sql = r#"UPDATE change SET body = NULL, dictionary_id = NULL, frame_id = NULL, frame_at = NULL
            WHERE "offset" = ?1"#;
        self.connection.prepare_cached(sql)?.execute([offset])?;
        thinned.changes += 1;
        thinned.bytes += bytes;
        Ok(())
    }

    /// Keeps no body any longer of a subject that ended here.
    pub(super) fn release(&self, subject: i64, end: Offset) -> Result<()> {
        let sql = r#"DELETE FROM held WHERE subject_id = ?1 AND "offset" <= ?2"#;
        self.connection.prepare_cached(sql)?.execute(params![subject, end])?;
        Ok(())
    }

    fn held(&self, subject: i64) -> Result<Option<KeptBody>> {
        let sql = r#"SELECT "offset", base FROM held WHERE subject_id = ?1"#;
        Ok(self.connection.prepare_cached(sql)?.query_row([subject], KeptBody::from_row).optional()?)
    }

    fn due(&self) -> Result<Due> {
        let sql = r#"SELECT k.cluster, k."group", k.kind, t.floor, t.thinned FROM thinning t
            JOIN kind k ON k.id = t.kind_id WHERE t.thinned < t.floor"#;
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut due = Due::new();
        while let Some(row) = rows.next()? {
            let kind = columns::kind(row)?;
            let (floor, thinned) = (LOG.get(row, "thinning.floor")?, LOG.get(row, "thinning.thinned")?);
            due.entry(row.get("cluster")?).or_default().insert(kind, Progress { floor, thinned });
        }
        Ok(due)
    }
}
