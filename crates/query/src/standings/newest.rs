//! How all environments stand at the newest offset that was asked for.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, named_params};

use super::shared::Shared;
use super::standing::{Shows, Standing, declared, holding, shows};
use crate::error::Result;
use strandline_model::Offset;
use strandline_view::{Changed, RecentChanges};

/// Where more than one in so many changed, all are read at once; and so many are read one by one wherever.
const ONE_BY_ONE: (usize, usize) = (8, 32);

/// How all of them stand at an offset.
pub(super) struct Newest {
    pub(super) offset: Offset,
    /// By their numbers, one beside the other in memory: a fold takes longer for what it has to fetch from elsewhere.
    pub(super) all: Arc<Vec<Standing>>,
    shared: Shared,
}

const ALL: &str = concat!(
    "SELECT ",
    declared!(),
    ", ",
    shows!(),
    " FROM stretch_health h CROSS JOIN environment e ON e.id = h.environment_id AND e.to_offset > :at AND e.from_offset =
        (SELECT max(from_offset) FROM environment WHERE id = h.environment_id AND from_offset <= :at)
    WHERE ",
    holding!(),
    " ORDER BY h.environment_id"
);

const HEALTH: &str =
    concat!("SELECT ", shows!(), " FROM stretch_health h WHERE h.environment_id = :number AND ", holding!());

const ONE: &str = concat!(
    "SELECT ",
    declared!(),
    ", ",
    shows!(),
    " FROM environment e CROSS JOIN stretch_health h
    WHERE e.id = :number AND e.to_offset > :at AND e.from_offset =
        (SELECT max(from_offset) FROM environment WHERE id = :number AND from_offset <= :at)
        AND h.environment_id = :number AND ",
    holding!()
);

impl Newest {
    pub(super) fn read(view: &Connection, offset: Offset) -> Result<Self> {
        let mut statement = view.prepare_cached(ALL)?;
        let mut shared = Shared::default();
        let rows = statement.query_map(named_params! { ":at": offset.as_i64() }, |row| {
            Standing::read(row, Shows::read(row, Standing::DECLARED)?, &mut shared)
        })?;
        let all = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        debug_assert!(all.is_sorted_by_key(|one| one.number), "it is searched by number");
        Ok(Newest { offset, all: Arc::new(all), shared })
    }

    /// Reads what changed up to an offset, the last one of the view.
    pub(super) fn bring_to(
        &mut self,
        view: &Connection,
        offset: Offset,
        recent: &RecentChanges,
    ) -> Result<()> {
        let few = (self.all.len() / ONE_BY_ONE.0).max(ONE_BY_ONE.1);
        let changed = recent.between(self.offset, offset).filter(|changed| changed.len() <= few);
        let Some(changed) = changed else {
            *self = Newest::read(view, offset)?;
            return Ok(());
        };
        let (mut one, mut health) = (view.prepare_cached(ONE)?, view.prepare_cached(HEALTH)?);
        let (all, shared) = (&self.all, &mut self.shared);
        let mut read = |number: i64, changed: Changed| {
            let at = named_params! { ":at": offset.as_i64(), ":number": number };
            let known = all.binary_search_by_key(&number, |one| one.number).ok().map(|place| &all[place]);
            match (changed, known) {
                (Changed::Health, Some(known)) => {
                    health.query_row(at, |row| Ok(known.showing(Shows::read(row, 0)?))).optional()
                }
                _ => {
                    let read = |row: &rusqlite::Row<'_>| {
                        Standing::read(row, Shows::read(row, Standing::DECLARED)?, shared)
                    };
                    one.query_row(at, read).optional()
                }
            }
        };
        // All are read before any of them takes its place.
        let changed = changed.into_iter().map(|(number, changed)| Ok((number, read(number, changed)?)));
        let changed = changed.collect::<rusqlite::Result<Vec<_>>>()?;
        if !changed.is_empty() {
            let all = Arc::make_mut(&mut self.all);
            for (number, standing) in changed {
                match (all.binary_search_by_key(&number, |one| one.number), standing) {
                    (Ok(place), Some(standing)) => all[place] = standing,
                    (Ok(place), None) => drop(all.remove(place)),
                    (Err(place), Some(standing)) => all.insert(place, standing),
                    (Err(_), None) => {}
                }
            }
        }
        self.shared.forget(self.all.len());
        self.offset = offset;
        Ok(())
    }
}
