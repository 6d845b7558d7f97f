//! Lets go of what retention no longer keeps, a step at a time within the writer's transaction.
//!
//! Nothing is encoded anew. A later delta of a subject can refer only to the keyframe of what holds at `swept` or to a
//! later one, so that one change and its keyframe are all that must stay, with their offsets, times and hashes.
//!
//! Why: docs/decisions/0008-retention-encodes-nothing-again.md.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{OptionalExtension, params};

use super::chain::Hash;
use super::compaction::{Base, Compacted, Compaction, Kept};
use super::error::LogError;
use super::row::{self, RawRow};
use super::transaction::Write;
use super::types::ChangeType;
use strandline_model::Offset;
use strandline_sqlite::column::{Count, LOG};

type Result<T> = std::result::Result<T, LogError>;

/// What a step has pruned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Up to here only what is kept is left.
    pub swept: Offset,
    /// Whether nothing is left to prune.
    pub done: bool,
    /// Changes that are gone.
    pub changes: u64,
    /// Bytes of their bodies, as they were stored.
    pub bytes: u64,
}

/// What a step is going to do; made before anything is written, so that damage stops it in time.
pub(super) struct SweepPlan {
    /// The progress of retention afterwards.
    compaction: Compaction,
    /// What is left of subjects from now on; none where nothing is.
    kept: HashMap<i64, Option<Kept>>,
    /// The rows that go.
    gone: BTreeSet<Offset>,
    bytes: u64,
    /// Subjects that have ended, and where; they may have come back since.
    ended: Vec<(i64, Offset)>,
    done: bool,
}

impl Write<'_> {
    /// Makes `to` the oldest offset that can be asked for, or the one before the newest there is, and never an
    /// earlier one than before.
    pub(super) fn compact(&mut self, to: Offset) -> Result<Compacted> {
        let mut compaction = Compaction::load(self.connection)?;
        // The newest change always stays, so that the head is found and the chain goes on from a change.
        let to = to.min(Offset::new(self.state.head.get().saturating_sub(1)));
        if to > compaction.compacted.offset {
            let sql = r#"SELECT observed_at FROM change WHERE "offset" = ?1"#;
            let found = self.connection.prepare_cached(sql)?.query_row([to], |row| row.get(0));
            let observed_at = found.optional()?.ok_or_else(|| row::missing(to))?;
            compaction.compacted = Compacted { offset: to, observed_at: Some(observed_at) };
            compaction.save(self.connection)?;
        }
        Ok(compaction.compacted)
    }

    /// Looks at up to `limit` changes that can be pruned and decides which to keep. Writes nothing: a damaged change is
    /// neither pruned nor kept, but an error.
    pub(super) fn plan_sweep(&self, limit: usize) -> Result<SweepPlan> {
        let mut compaction = Compaction::load(self.connection)?;
        let from = compaction.swept;
        let due = compaction.compacted.offset.get() - from.get();
        let limit = usize::try_from(due).unwrap_or(limit).min(limit);
        let rows = row::linked(self.connection, from, compaction.hash, limit)?;
        let range = SweptRange { from, rows: &rows, first: compaction.hash };
        let mut plan = SweepPlan {
            kept: HashMap::new(),
            gone: rows.iter().map(|row| row.offset).collect(),
            bytes: rows.iter().map(RawRow::body_bytes).sum(),
            ended: Vec::new(),
            done: false,
            compaction: compaction.clone(),
        };
        // What is found last of a subject is what holds.
        let lasts: HashMap<i64, &RawRow> = rows.iter().map(|row| (row.subject, row)).collect();
        for (subject, last) in lasts {
            let former = Kept::of(self.connection, subject)?;
            let kept = if is_end(last)? { None } else { Some(range.keep(last, former.as_ref())?) };
            if let Some(kept) = &kept {
                plan.stay(kept, &rows, from);
                compaction.count(1, &last.hash);
            }
            self.forget(former.as_ref(), kept.as_ref(), &mut compaction, &mut plan)?;
            plan.kept.insert(subject, kept);
        }
        if let Some(last) = rows.last() {
            (compaction.swept, compaction.hash) = (last.offset, last.hash);
        }
        self.plan_ended(&mut compaction, &mut plan, limit.max(1))?;
        plan.compaction = compaction;
        Ok(plan)
    }

    /// Prunes the former row of a subject, and its keyframe unless the row kept now is a delta against it.
    fn forget(
        &self,
        former: Option<&Kept>,
        kept: Option<&Kept>,
        compaction: &mut Compaction,
        plan: &mut SweepPlan,
    ) -> Result<()> {
        let Some(former) = former else { return Ok(()) };
        for offset in former.offsets() {
            let sql = r#"SELECT hash, coalesce(length(body), 0) AS body FROM change WHERE "offset" = ?1"#;
            let mut statement = self.connection.prepare_cached(sql)?;
            let found =
                statement.query_row([offset], |row| Ok((row.get("hash")?, LOG.get(row, "change.body")?)));
            let (hash, Count(bytes)): (Hash, Count) =
                found.optional()?.ok_or_else(|| row::missing(offset))?;
            if offset == former.offset {
                compaction.count(-1, &hash);
            }
            if !kept.is_some_and(|kept| kept.offsets().any(|stays| stays == offset)) {
                plan.gone.insert(offset);
                plan.bytes += bytes;
            }
        }
        Ok(())
    }

    /// Subjects that ended within what is swept by now: an Event, whose end is no change, is pruned with it.
    fn plan_ended(&self, compaction: &mut Compaction, plan: &mut SweepPlan, limit: usize) -> Result<()> {
        let sql = r#"SELECT subject_id, "offset" FROM ended WHERE "offset" <= ?1 ORDER BY "offset" LIMIT ?2"#;
        let mut statement = self.connection.prepare_cached(sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![compaction.swept, limit])?;
        while let Some(row) = rows.next()? {
            let (subject, end) = (row.get("subject_id")?, LOG.get::<Offset>(row, "ended.offset")?);
            let kept = match plan.kept.get(&subject) {
                Some(kept) => kept.clone(),
                None => Kept::of(self.connection, subject)?,
            };
            // What came back after its end stays.
            if kept.as_ref().is_some_and(|kept| kept.offset <= end) {
                self.forget(kept.as_ref(), None, compaction, plan)?;
                plan.kept.insert(subject, None);
            }
            plan.ended.push((subject, end));
        }
        plan.done = compaction.swept == compaction.compacted.offset
            && plan.ended.len() < usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(())
    }

    /// Does what was planned.
    pub(super) fn sweep(&mut self, plan: &SweepPlan) -> Result<Swept> {
        let last = plan.gone.last().copied().unwrap_or_default();
        assert!(last <= plan.compaction.swept, "retention goes past what it looked at");
        assert!(last == Offset::ZERO || last < self.state.head, "the newest change never goes");
        for offset in plan.kept.values().flatten().flat_map(Kept::offsets) {
            assert!(!plan.gone.contains(&offset), "the change at offset {offset} is kept, and would go");
        }
        for offset in &plan.gone {
            let mut statement =
                self.connection.prepare_cached(r#"DELETE FROM change WHERE "offset" = ?1"#)?;
            statement.execute([offset])?;
        }
        for (subject, kept) in &plan.kept {
            self.connection.prepare_cached("DELETE FROM kept WHERE subject_id = ?1")?.execute([subject])?;
            let Some(kept) = kept else { continue };
            let sql = r#"INSERT INTO kept (subject_id, "offset", previous, base, base_previous)
                VALUES (?1, ?2, ?3, ?4, ?5)"#;
            self.connection.prepare_cached(sql)?.execute(params![
                subject,
                kept.offset,
                kept.previous,
                kept.base.as_ref().map(|base| base.offset),
                kept.base.as_ref().map(|base| base.previous)
            ])?;
        }
        for (subject, end) in &plan.ended {
            self.connection.prepare_cached("DELETE FROM ended WHERE subject_id = ?1")?.execute([subject])?;
            self.release(*subject, *end)?;
            // The highest number stays, so that none is ever given twice.
            let sql = "DELETE FROM subject WHERE id = ?1 AND id < (SELECT max(id) FROM subject)
                AND id NOT IN (SELECT subject_id FROM live) AND id NOT IN (SELECT subject_id FROM kept)";
            self.connection.prepare_cached(sql)?.execute([subject])?;
        }
        plan.compaction.save(self.connection)?;
        let changes = plan.gone.len() as u64;
        Ok(Swept { swept: plan.compaction.swept, done: plan.done, changes, bytes: plan.bytes })
    }
}

impl SweepPlan {
    /// Keeps the rows of a step that are needed after it.
    fn stay(&mut self, kept: &Kept, rows: &[RawRow], from: Offset) {
        for offset in kept.offsets() {
            if self.gone.remove(&offset) {
                let place = usize::try_from(offset.get() - from.get() - 1).unwrap_or(usize::MAX);
                self.bytes -= rows.get(place).map_or(0, RawRow::body_bytes);
            }
        }
    }
}

/// The rows of a step, which follow on the offset `from` without a gap.
struct SweptRange<'a> {
    from: Offset,
    rows: &'a [RawRow],
    /// Of the change at `from`.
    first: Hash,
}

impl SweptRange<'_> {
    /// What is kept of a subject whose last change this is.
    fn keep(&self, last: &RawRow, former: Option<&Kept>) -> Result<Kept> {
        let base = match last.base {
            None => None,
            Some(offset) => {
                let known = self.previous_of(offset).or_else(|| former?.previous_of(offset));
                let previous = known.ok_or_else(|| row::missing(offset))?;
                Some(Base { offset, previous })
            }
        };
        let previous = self.previous_of(last.offset).ok_or_else(|| row::missing(last.offset))?;
        Ok(Kept { offset: last.offset, previous, base })
    }

    /// The hash before a change of this step.
    fn previous_of(&self, offset: Offset) -> Option<Hash> {
        match offset.get().checked_sub(self.from.get() + 1)? {
            0 => Some(self.first),
            place => self.rows.get(usize::try_from(place - 1).ok()?).map(|row| row.hash),
        }
    }
}

/// Whether nothing of a subject holds after this change.
fn is_end(row: &RawRow) -> Result<bool> {
    Ok(matches!(row.change_type()?, ChangeType::Deleted | ChangeType::Withdrawn))
}
