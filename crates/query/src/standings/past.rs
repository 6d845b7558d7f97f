//! How all environments stood at a few moments that were asked for.
//!
//! Pages about a moment ask several questions about it, and whoever looks at an incident goes back and forth between few
//! moments. What is declared of environments changes seldom, so that it is taken from how they stand now where it was so
//! already, and of the view nothing is read but the health of that moment, in few pages.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, named_params};

use super::shared::Shared;
use super::standing::{Shows, Standing, declared, holding, shows};
use crate::error::Result;
use strandline_model::Offset;

/// So many moments are remembered at most, with so many environments of all of them together, or the last one alone.
const MOMENTS: usize = 4;
const ENVIRONMENTS: usize = 40_000;

/// How all environments stood at a few offsets; what was asked for last is behind.
#[derive(Default)]
pub(super) struct Past(VecDeque<(Offset, Arc<Vec<Standing>>)>);

const HEALTH: &str = concat!(
    "SELECT h.environment_id, ",
    shows!(),
    " FROM stretch_health h WHERE ",
    holding!(),
    " ORDER BY h.environment_id"
);

const DECLARED: &str = concat!(
    "SELECT ",
    declared!(),
    " FROM environment e WHERE e.id = :number AND e.to_offset > :at AND e.from_offset =
        (SELECT max(from_offset) FROM environment WHERE id = :number AND from_offset <= :at)"
);

impl Past {
    /// What is remembered of an offset.
    pub(super) fn get(&mut self, offset: Offset) -> Option<Arc<Vec<Standing>>> {
        let place = self.0.iter().position(|(of, _)| *of == offset)?;
        let found = self.0.remove(place)?;
        let all = Arc::clone(&found.1);
        self.0.push_back(found);
        Some(all)
    }

    /// Remembers an offset, and forgets what was asked for longest ago where it is too much.
    pub(super) fn put(&mut self, offset: Offset, all: &Arc<Vec<Standing>>) {
        self.0.retain(|(of, _)| *of != offset);
        self.0.push_back((offset, Arc::clone(all)));
        let environments = |past: &Past| past.0.iter().map(|(_, all)| all.len()).sum::<usize>();
        while self.0.len() > MOMENTS || (self.0.len() > 1 && environments(self) > ENVIRONMENTS) {
            self.0.pop_front();
        }
    }
}

/// How all environments stood at an offset, given how they stand at a later one.
pub(super) fn read(view: &Connection, at: Offset, later: &[Standing]) -> Result<Vec<Standing>> {
    let (mut health, mut declared) = (view.prepare_cached(HEALTH)?, view.prepare_cached(DECLARED)?);
    let (mut shared, mut later) = (Shared::default(), later.iter().peekable());
    let mut all = Vec::with_capacity(later.len());
    let mut rows = health.query(named_params! { ":at": at.as_i64() })?;
    while let Some(row) = rows.next()? {
        let (number, shows): (i64, _) = (row.get(0)?, Shows::read(row, 1)?);
        while later.next_if(|one| one.number < number).is_some() {}
        match later.next_if(|one| one.number == number && one.declared <= at) {
            Some(same) => all.push(same.showing(shows)),
            None => {
                let params = named_params! { ":number": number, ":at": at.as_i64() };
                let read = |row: &rusqlite::Row<'_>| Standing::read(row, shows, &mut shared);
                all.extend(declared.query_row(params, read).optional()?);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(past: &Past) -> Vec<u64> {
        past.0.iter().map(|(offset, _)| offset.get()).collect()
    }

    #[test]
    fn what_was_asked_for_longest_ago_is_forgotten() {
        let mut past = Past::default();
        for offset in 1..=6 {
            past.put(Offset::new(offset), &Arc::default());
        }
        assert_eq!(offsets(&past), [3, 4, 5, 6]);
        assert!(past.get(Offset::new(2)).is_none());
        assert!(past.get(Offset::new(3)).is_some());
        past.put(Offset::new(7), &Arc::default());
        past.put(Offset::new(7), &Arc::default());
        assert_eq!(offsets(&past), [5, 6, 3, 7]);
    }
}
