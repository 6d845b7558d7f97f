//! What the view's writer remembers of environments.

use std::collections::hash_map::{Entry, HashMap};
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row, params};

use super::super::columns::{MemberHealth, OPEN};
use super::{HealthRow, rows};
use strandline_model::{Health, Offset, Timestamp};
use strandline_sqlite::column::{Count, VIEW};

/// The most environments that are remembered from one transaction to the next.
const ENVIRONMENTS_MAX: usize = 16_384;

/// The members of an environment by kind and health.
pub(super) type Tallies = BTreeMap<(i64, Option<Health>), Tally>;

/// How many members are alike.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) total: i64,
    /// Those whose health is the environment's.
    pub(super) counted: i64,
    /// Whether the view has other numbers.
    pub(super) moved: bool,
}

/// A place at which an environment looks: a cluster and a namespace, which is empty for all of them.
pub(super) type Place = (i64, String);

/// The row of health that holds.
#[derive(Debug)]
pub(super) struct OpenRow {
    pub(super) row: HealthRow,
    pub(super) from: Offset,
    /// Whether the view has it.
    pub(super) is_written: bool,
}

/// Where an environment began to show what it shows, as long as the view does not have that.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnwrittenMove {
    pub(super) from: Offset,
    pub(super) observed_at: Timestamp,
}

/// What is remembered of environments: as the view has it, but for what is not written yet.
#[derive(Debug, Default)]
pub(in super::super) struct EnvironmentStates {
    known: HashMap<i64, EnvironmentState>,
    unwritten: BTreeSet<i64>,
    /// Rows that have ended, which are written several at a time.
    pub(super) ended: Vec<rows::Columns>,
}

/// One environment.
#[derive(Debug)]
pub(super) struct EnvironmentState {
    pub(super) tallies: Tallies,
    pub(super) open: Option<OpenRow>,
    pub(super) unwritten_move: Option<UnwrittenMove>,
    /// The last row by which its health was not known since it is known now, as long as it is the same environment; none before
    /// that is asked for.
    before: Option<Option<HealthRow>>,
    /// Where it looks, and none where there is no such environment; none before that is asked for.
    places: Option<Option<Vec<Place>>>,
}

impl EnvironmentStates {
    /// One environment as it is now, whether it exists or not.
    pub(super) fn get(
        &mut self,
        connection: &Connection,
        environment: i64,
    ) -> rusqlite::Result<&mut EnvironmentState> {
        Ok(match self.known.entry(environment) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(EnvironmentState {
                tallies: tallies(connection, environment)?,
                open: rows::current(connection, environment)?,
                unwritten_move: None,
                before: None,
                places: None,
            }),
        })
    }

    /// The same to be changed, and written later on.
    pub(super) fn get_mut(
        &mut self,
        connection: &Connection,
        environment: i64,
    ) -> rusqlite::Result<&mut EnvironmentState> {
        self.unwritten.insert(environment);
        self.get(connection, environment)
    }

    /// Asks anew where an environment looks, as the catalog may have changed that.
    pub(in super::super) fn forget_places(&mut self, environment: i64) {
        if let Some(state) = self.known.get_mut(&environment) {
            state.places = None;
        }
    }

    /// Those of which something is to be written.
    pub(super) fn unwritten(&mut self) -> impl Iterator<Item = (i64, &mut EnvironmentState)> {
        let known = &mut self.known;
        // In the order of the tables that they are written to.
        let mut states: Vec<_> = known
            .iter_mut()
            .filter(|(id, _)| self.unwritten.contains(id))
            .map(|(id, state)| (*id, state))
            .collect();
        states.sort_unstable_by_key(|(id, _)| *id);
        states.into_iter()
    }

    /// Notes that the view has all of it.
    pub(super) fn written(&mut self) {
        self.unwritten.clear();
        if self.known.len() > ENVIRONMENTS_MAX {
            self.known.clear();
        }
    }
}

impl EnvironmentState {
    /// Its health as it is shown.
    pub(super) fn current(&self) -> Option<&HealthRow> {
        self.open.as_ref().map(|open| &open.row)
    }

    /// Notes the row that is to come after the one that holds.
    pub(super) fn succeed(&mut self, next: Option<&HealthRow>) {
        match (self.current(), next) {
            (_, None) => self.before = Some(None),
            (Some(last), Some(next)) if last.known_since != next.known_since => {
                self.before = Some(Some(*last))
            }
            _ => {}
        }
    }

    /// The last row by which its health was not known since it is known now.
    pub(super) fn before(
        &mut self,
        connection: &Connection,
        environment: i64,
    ) -> rusqlite::Result<Option<HealthRow>> {
        if let (None, Some(current)) = (self.before, self.current()) {
            self.before = Some(rows::before(connection, environment, current.known_since)?);
        }
        Ok(self.before.flatten())
    }

    /// Where it looks; none where there is no such environment.
    pub(super) fn places(
        &mut self,
        connection: &Connection,
        environment: i64,
    ) -> rusqlite::Result<Option<&[Place]>> {
        let known = match self.places.take() {
            Some(known) => known,
            None => places(connection, environment)?,
        };
        Ok(self.places.insert(known).as_deref())
    }

    /// Counts members more, or less.
    pub(super) fn count(&mut self, of: (i64, Option<Health>), (total, counted): (i64, i64)) {
        let tally = self.tallies.entry(of).or_default();
        tally.total += total;
        tally.counted += counted;
        tally.moved = true;
    }
}

fn places(connection: &Connection, environment: i64) -> rusqlite::Result<Option<Vec<Place>>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM environment WHERE id = ?1 AND to_offset = ?2)";
    let exists: bool =
        connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| row.get(0))?;
    if !exists {
        return Ok(None);
    }
    let sql = "SELECT cluster_id, namespace FROM target WHERE environment_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows =
        statement.query_map([environment], |row| Ok((row.get("cluster_id")?, row.get("namespace")?)))?;
    rows.collect::<rusqlite::Result<_>>().map(Some)
}

fn tallies(connection: &Connection, environment: i64) -> rusqlite::Result<Tallies> {
    let sql = "SELECT kind_id, health, total, counted FROM member_count WHERE environment_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([environment], |row| {
        let MemberHealth(health) = VIEW.get(row, "member_count.health")?;
        let (total, counted) = (count(row, "member_count.total")?, count(row, "member_count.counted")?);
        let tally = Tally { total, counted, moved: false };
        Ok(((row.get("kind_id")?, health), tally))
    })?;
    rows.collect()
}

fn count(row: &Row<'_>, column: &'static str) -> rusqlite::Result<i64> {
    let Count(count) = VIEW.get(row, column)?;
    i64::try_from(count).map_err(|_| VIEW.impossible(column, "count", count))
}
