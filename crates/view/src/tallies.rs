//! What is counted with every change, and written once with the transaction: resources by kind and namespace with
//! the last change of one, also by the environments to which they belong, and what happened to environments, one by one and
//! by the hour.
//!
//! Counts of resources are exact at the checkpoint alone; for a past time versions are counted. A test
//! compares both with the same fold.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Value;
use rusqlite::{Connection, params};

use super::homes::Home;
use super::several::Several;
use strandline_model::{Happening, Hour, Offset, Stored, Timestamp};

/// What was counted since the last transaction.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    resources: BTreeMap<i64, BTreeMap<String, Resources>>,
    at_home: BTreeMap<i64, BTreeMap<Home, BTreeMap<String, Resources>>>,
    /// What happened, in the order of its table, with how late in its hour.
    happenings: BTreeMap<(Hour, i64, Offset, i64, i64), i64>,
    by_hour: BTreeMap<(i64, Hour), [i64; Happening::ALL.len()]>,
}

/// What happened: in which environment, at which offset, what, and to whom.
type Happened = (i64, Offset, Happening, i64);

/// The most of that are kept from one record to the next: they are few for nearly all, and thousands where an environment is declared.
const HAPPENINGS_MAX: usize = 4_096;

static HAPPENING: Several<6> =
    Several::new(r#"INSERT OR FAIL INTO happening (hour, environment_id, "offset", what, subject, past)"#);

/// Resources of one kind and namespace.
#[derive(Clone, Copy, Debug, Default)]
struct Resources {
    /// By how many there are more.
    by: i64,
    /// Where one of them changed last.
    last: Offset,
}

impl Tallies {
    /// Counts a resource that came (1), changed (0) or went (-1).
    pub(super) fn add_resource(&mut self, kind: i64, namespace: &str, by: i64, at: Offset) {
        let of_kind = self.resources.entry(kind).or_default();
        match of_kind.get_mut(namespace) {
            Some(resources) => *resources = Resources { by: resources.by + by, last: at },
            None => drop(of_kind.insert(namespace.to_owned(), Resources { by, last: at })),
        }
    }

    /// The same of a resource of a kind that belongs to these environments, with where it changed; none where it only leaves
    /// them.
    pub(super) fn add_at_home(
        &mut self,
        (kind, home): (i64, &Home),
        namespace: &str,
        by: i64,
        changed: Option<Offset>,
    ) {
        let of_kind = self.at_home.entry(kind).or_default();
        let here = match of_kind.get_mut(home) {
            Some(here) => here,
            None => of_kind.entry(home.clone()).or_default(),
        };
        let changed = changed.unwrap_or_default();
        match here.get_mut(namespace) {
            Some(Resources { by: sum, last }) => (*sum, *last) = (*sum + by, changed.max(*last)),
            None => drop(here.insert(namespace.to_owned(), Resources { by, last: changed })),
        }
    }

    /// Notes what happened to an environment, once for each offset.
    pub(super) fn add_happening(
        &mut self,
        (environment, offset, what, subject): Happened,
        observed_at: Timestamp,
    ) {
        let hour = Hour::of(observed_at);
        let past = observed_at.as_micros() - hour.first().as_micros();
        if self.happenings.insert((hour, environment, offset, what.number(), subject), past).is_some() {
            return;
        }
        let counts = self.by_hour.entry((environment, hour)).or_default();
        if let Some(count) =
            Happening::ALL.iter().position(|one| *one == what).and_then(|n| counts.get_mut(n))
        {
            *count += 1;
        }
    }

    /// The namespaces in which there are resources of a kind, or were.
    pub(super) fn namespaces(
        &self,
        connection: &Connection,
        kind: i64,
    ) -> rusqlite::Result<BTreeSet<String>> {
        let sql = "SELECT DISTINCT namespace FROM resource_count WHERE kind_id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let written = statement.query_map([kind], |row| row.get("namespace"))?;
        let mut namespaces: BTreeSet<String> = written.collect::<rusqlite::Result<_>>()?;
        namespaces.extend(self.resources.get(&kind).into_iter().flat_map(BTreeMap::keys).cloned());
        Ok(namespaces)
    }

    /// Writes what happened, if that is much, between two records: what happens twice within one happened once.
    pub(super) fn end_record(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.happenings.len() < HAPPENINGS_MAX { Ok(()) } else { self.write_happenings(connection) }
    }

    fn write_happenings(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let happenings = std::mem::take(&mut self.happenings).into_iter();
        let rows = happenings.map(|((hour, environment, offset, what, subject), past)| {
            [hour.0, environment, offset.as_i64(), what, subject, past].map(Some)
        });
        HAPPENING.write(connection, &rows.collect::<Vec<_>>())
    }

    /// Adds all of it to the view.
    pub(super) fn write(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.write_happenings(connection)?;
        let sql =
            "INSERT INTO resource_count (kind_id, namespace, total, last_offset) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET total = total + excluded.total, last_offset = excluded.last_offset";
        let mut statement = connection.prepare_cached(sql)?;
        for (kind, namespaces) in std::mem::take(&mut self.resources) {
            for (namespace, Resources { by, last }) in namespaces {
                statement.execute(params![kind, namespace, by, last])?;
            }
        }
        let sql = "INSERT INTO home_count (kind_id, home, namespace, total, last_offset) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT DO UPDATE SET total = total + excluded.total, last_offset = max(last_offset, excluded.last_offset)";
        let mut statement = connection.prepare_cached(sql)?;
        let at_home = std::mem::take(&mut self.at_home).into_iter();
        for (kind, home, namespaces) in at_home
            .flat_map(|(kind, homes)| homes.into_iter().map(move |(home, counts)| (kind, home, counts)))
        {
            let of_one = home.first().filter(|_| home.len() == 1);
            let home = of_one
                .map_or_else(|| Value::from(serde_json::json!(home).to_string()), |one| Value::from(*one));
            for (namespace, Resources { by, last }) in namespaces {
                statement.execute(params![kind, home, namespace, by, last])?;
            }
        }
        let sql = "INSERT INTO happening_count (environment_id, hour, changed, created, joined, deleted, parted, said,
                warned, deployed, progressed)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            ON CONFLICT DO UPDATE SET changed = changed + excluded.changed, created = created + excluded.created,
                joined = joined + excluded.joined, deleted = deleted + excluded.deleted,
                parted = parted + excluded.parted, said = said + excluded.said, warned = warned + excluded.warned,
                deployed = deployed + excluded.deployed, progressed = progressed + excluded.progressed";
        let mut statement = connection.prepare_cached(sql)?;
        for ((environment, hour), counts) in std::mem::take(&mut self.by_hour) {
            let [changed, created, joined, deleted, parted, said, warned, deployed, progressed] = counts;
            statement.execute(params![
                environment,
                hour,
                changed,
                created,
                joined,
                deleted,
                parted,
                said,
                warned,
                deployed,
                progressed,
            ])?;
        }
        Ok(())
    }
}
