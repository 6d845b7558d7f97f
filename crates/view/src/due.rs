//! What has lasted for too long, and is judged anew though nothing about it has changed.
//!
//! A verdict has a time until which the same state may last. The log alone decides when that is over: the first change
//! that was observed then or later, whatever it changes. So a view that is built anew judges anew at the same offsets. Where nothing
//! changes, whoever records sees from [`NextDue`] that time alone is to be recorded.
//!
//! Why: docs/decisions/0012-the-log-decides-when-a-time-is-over.md.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::{Connection, params};

use super::context::Apply;
use super::membership;
use strandline_model::{Health, ResourceId, Timestamp};
use strandline_sqlite::column::VIEW;

/// What is to be judged anew; the index `version_due` serves these words and no others.
const DUE: &str = "SELECT resource_id, from_offset, later_health FROM version
    WHERE later_at IS NOT NULL AND later_offset IS NULL AND to_offset = 140737488355327 AND later_at <= ?1
    ORDER BY later_at, resource_id";

/// When the next is.
const NEXT: &str = "SELECT min(later_at) FROM version
    WHERE later_at IS NOT NULL AND later_offset IS NULL AND to_offset = 140737488355327 AND later_at <= ?1";

/// Judges anew what has lasted for too long by now, but for the resource that the change itself is about: what holds of
/// that from here on is its next state.
pub(super) fn settle(at: &mut Apply<'_>, own: Option<ResourceId>) -> rusqlite::Result<()> {
    if at.due.is_later_than(at.observed_at, at.connection)? {
        return Ok(());
    }
    let due = {
        let mut statement = at.connection.prepare_cached(DUE)?;
        let rows = statement.query_map([at.observed_at], |row| {
            let health: Option<Health> = VIEW.get(row, "version.later_health")?;
            Ok((row.get("resource_id")?, row.get::<_, i64>("from_offset")?, health))
        })?;
        rows.collect::<rusqlite::Result<Vec<(ResourceId, _, _)>>>()?
    };
    for (id, from, health) in due.into_iter().filter(|(id, ..)| Some(*id) != own) {
        let sql = "UPDATE version SET later_offset = ?3, moved = moved OR health IS NOT later_health
            WHERE resource_id = ?1 AND from_offset = ?2";
        at.connection.prepare_cached(sql)?.execute(params![id, from, at.offset])?;
        membership::rejudge(at, id, health)?;
        at.touched.resources.insert(id);
    }
    Ok(())
}

/// Before when nothing is to be judged anew, as the view's writer remembers it: no time is earlier that the view has.
#[derive(Debug, Default)]
pub(super) struct EarliestDue(Option<i64>);

impl EarliestDue {
    /// Notes a time at which something is to be judged anew.
    pub(super) fn note(&mut self, due: Timestamp) {
        self.0 = self.0.map(|earliest| earliest.min(due.as_micros()));
    }

    /// Whether nothing is due by now.
    fn is_later_than(&mut self, now: Timestamp, view: &Connection) -> rusqlite::Result<bool> {
        if self.0.is_none_or(|earliest| earliest <= now.as_micros()) {
            // What was noted may be over, as another state came before.
            self.0 = Some(next(view)?);
        }
        Ok(self.0.is_some_and(|earliest| earliest > now.as_micros()))
    }
}

fn next(view: &Connection) -> rusqlite::Result<i64> {
    let next: Option<i64> = view.prepare_cached(NEXT)?.query_row([NEVER], |row| row.get(0))?;
    Ok(next.unwrap_or(NEVER))
}

/// When something in the view is to be judged anew next; clones share it.
#[derive(Clone, Debug)]
pub struct NextDue(Arc<AtomicI64>);

/// No time is later than this, at which nothing is due.
const NEVER: i64 = i64::MAX;

impl Default for NextDue {
    fn default() -> Self {
        NextDue(Arc::new(AtomicI64::new(NEVER)))
    }
}

impl NextDue {
    /// The time; none where nothing is to be judged anew.
    pub fn get(&self) -> Option<Timestamp> {
        Some(self.0.load(Ordering::Acquire)).filter(|time| *time != NEVER).map(Timestamp::from_micros)
    }

    /// Reads it from the view.
    pub(super) fn read(&self, view: &Connection) -> rusqlite::Result<()> {
        self.0.store(next(view)?, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::file;
    use strandline_sqlite::Role;

    #[test]
    fn what_is_due_is_found_in_its_index() {
        let dir = tempfile::tempdir().unwrap();
        let view = file::open_writer(&dir.path().join("view.db"), Role::ViewWriter).unwrap();
        for sql in [NEXT, DUE] {
            let mut plan = view.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = plan.query_map([1], |row| row.get(3)).unwrap();
            let steps: Vec<String> = steps.collect::<rusqlite::Result<_>>().unwrap();
            let [step] = &steps[..] else { panic!("{steps:?}") };
            assert!(step.contains("USING") && step.contains("INDEX version_due (later_at"), "{step}");
        }
    }
}
