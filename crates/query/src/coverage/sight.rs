//! What a scope may see of the kinds of some watches: how many there are, and when one of them changed last.
//!
//! The view counts what belongs to environments, now. Of a past moment, and for a scope that sees little, what its environments
//! ever had is looked at one by one.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::slice;

use rusqlite::{Connection, named_params};

use super::Held;
use crate::error::Result;
use crate::history::told;
use crate::kept::Kept;
use crate::moment::Moment;
use crate::scope::{Audiences, ResolvedScope, in_sight};
use crate::standings::Standing;
use strandline_model::Offset;
use strandline_sqlite::column::{Count, VIEW, unreadable};

/// What a watch follows: a kind, and a namespace of it or, where that is empty, all of them.
pub(super) type Place = (i64, String);

/// What a scope may see of what some watches follow.
pub(super) fn held(
    (view, kept): (&Connection, &Kept),
    moment: &Moment,
    scope: &ResolvedScope,
    watches: BTreeSet<Place>,
) -> Result<BTreeMap<Place, Held>> {
    if !moment.is_newest() || scope.is_narrow() {
        let all = one_by_one(view, moment, scope, &watches)?;
        let of = |watch: &Place| {
            Held::sum(all.iter().filter(|(place, _)| follows(watch, place)).map(|(_, held)| held))
        };
        let found = watches.iter().map(of).collect::<Vec<_>>();
        return Ok(watches.into_iter().zip(found).collect());
    }
    let all = kept.standings.at(view, moment.offset, moment.checkpoint())?;
    let mut sight = Sight { view, all: &all, audiences: scope.audiences(view)?, seen: HashMap::new() };
    let mut found = BTreeMap::new();
    for (watch, Counted { total, changes }) in counted(view, &sight, watches)? {
        let mut last = None;
        // Of many homes the first few that changed last decide.
        let mut changes = BinaryHeap::from(changes);
        while let Some((changed, home)) = changes.pop().filter(|(changed, _)| last < Some(*changed)) {
            match sight.of(&home)? {
                Seen::Never => {}
                Seen::Always => last = Some(changed),
                Seen::InPart => {
                    for environment in home.environments() {
                        last = last.max(told_of(view, moment, scope, *environment, &watch)?);
                    }
                }
            }
        }
        found.insert(watch, Held { total, last });
    }
    Ok(found)
}

/// Whether a watch follows a kind in this namespace.
fn follows((kind, namespace): &Place, place: &Place) -> bool {
    *kind == place.0 && (namespace.is_empty() || *namespace == place.1)
}

/// The environments to which something belongs, by their numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Home {
    One(i64),
    Several(Vec<i64>),
}

impl Home {
    fn environments(&self) -> &[i64] {
        match self {
            Home::One(environment) => slice::from_ref(environment),
            Home::Several(environments) => environments,
        }
    }
}

/// What is counted of what a watch follows.
#[derive(Default)]
struct Counted {
    /// Resources that the scope sees.
    total: u64,
    /// Where what is at home somewhere changed last, whoever sees it.
    changes: Vec<(Offset, Home)>,
}

/// All that is counted of what some watches follow.
fn counted(
    view: &Connection,
    sight: &Sight<'_>,
    watches: BTreeSet<Place>,
) -> Result<BTreeMap<Place, Counted>> {
    let sql = "SELECT total, last_offset, kind_id, namespace, home, typeof(home) = 'integer' FROM home_count
        WHERE kind_id IN (SELECT value FROM json_each(:kinds))";
    let kinds = listed(&watches);
    let mut by_kind: BTreeMap<i64, Vec<(String, Counted)>> = BTreeMap::new();
    for (kind, namespace) in watches {
        by_kind.entry(kind).or_default().push((namespace, Counted::default()));
    }
    let mut statement = view.prepare_cached(sql)?;
    let mut rows = statement.query(named_params! { ":kinds": kinds })?;
    while let Some(row) = rows.next()? {
        let home = match row.get(5)? {
            true => Home::One(row.get(4)?),
            false => {
                let list = row.get_ref(4)?.as_str()?;
                Home::Several(serde_json::from_str(list).map_err(|error| unreadable(4, error))?)
            }
        };
        let Count(total) = VIEW.get_at(row, 0, "home_count.total")?;
        let last = Offset::from_i64(row.get(1)?);
        let is_seen = home.environments().iter().any(|environment| sight.reads_now(*environment));
        let namespace = row.get_ref(3)?.as_str()?;
        let of_kind = by_kind.get_mut(&row.get(2)?).into_iter().flatten();
        for (_, counted) in of_kind.filter(|(followed, _)| followed.is_empty() || followed == namespace) {
            counted.total += if is_seen { total } else { 0 };
            // At offset 0 nothing is: nothing changed there yet.
            if last > Offset::new(0) {
                counted.changes.push((last, home.clone()));
            }
        }
    }
    let of_kind = |(kind, all): (i64, Vec<(String, Counted)>)| {
        all.into_iter().map(move |(namespace, counted)| ((kind, namespace), counted))
    };
    Ok(by_kind.into_iter().flat_map(of_kind).collect())
}

/// Which environments a scope may look into.
struct Sight<'a> {
    view: &'a Connection,
    /// How all environments stand, by their numbers.
    all: &'a [Standing],
    audiences: Audiences,
    /// What is known of those that were asked for.
    seen: HashMap<i64, Seen>,
}

/// When a scope may look into something.
#[derive(Clone, Copy)]
enum Seen {
    Never,
    /// At some times, since it went to others or came from them.
    InPart,
    Always,
}

impl Sight<'_> {
    fn reads_now(&self, environment: i64) -> bool {
        let found = self.all.binary_search_by_key(&environment, |one| one.number).ok();
        found.and_then(|place| self.all.get(place)).is_some_and(|one| self.audiences.read(one.audience))
    }

    /// When it may look into one of the environments at least.
    fn of(&mut self, home: &Home) -> Result<Seen> {
        let mut seen = Seen::Never;
        for environment in home.environments() {
            match self.of_environment(*environment)? {
                Seen::Never => {}
                Seen::InPart => seen = Seen::InPart,
                Seen::Always => return Ok(Seen::Always),
            }
        }
        Ok(seen)
    }

    fn of_environment(&mut self, environment: i64) -> Result<Seen> {
        if let Some(seen) = self.seen.get(&environment) {
            return Ok(*seen);
        }
        let sql = "SELECT audience FROM environment_audience WHERE environment_id = ?1";
        let mut statement = self.view.prepare_cached(sql)?;
        let mut rows = statement.query([environment])?;
        let (mut read, mut unread) = (false, false);
        while let Some(row) = rows.next()? {
            if self.audiences.read(row.get(0)?) {
                read = true
            } else {
                unread = true
            };
        }
        let seen = match (read, unread) {
            (false, _) => Seen::Never,
            (true, true) => Seen::InPart,
            (true, false) => Seen::Always,
        };
        self.seen.insert(environment, seen);
        Ok(seen)
    }
}

/// SQL for resources that belonged to an environment that a scope reads, or read.
macro_rules! looked_through {
    ($held:expr) => {
        concat!(
            "SELECT sum(there), max(last), kind_id, namespace FROM (SELECT r.kind_id, r.namespace,
                (SELECT v.from_offset FROM version v WHERE v.resource_id = r.id AND v.from_offset <= :at AND ",
            told!(),
            "   ORDER BY v.from_offset DESC LIMIT 1) AS last,
                (SELECT v.deleted = 0 FROM version v WHERE v.resource_id = r.id AND v.from_offset <= :at
                    ORDER BY v.from_offset DESC LIMIT 1)
                AND ",
            in_sight!(),
            " AS there FROM (",
            $held,
            ") held CROSS JOIN resource r ON r.id = held.resource_id) GROUP BY kind_id, namespace"
        )
    };
}

const ONE_BY_ONE: &str = looked_through!(
    "SELECT DISTINCT m.resource_id FROM temp.sight_reads s
        CROSS JOIN environment_audience e INDEXED BY environment_audience_by_audience
            ON e.audience = s.audience AND e.from_offset <= :at
        CROSS JOIN membership m ON m.environment_id = e.environment_id
            AND m.kind_id IN (SELECT value FROM json_each(:kinds))"
);

/// What its environments ever had, one by one.
fn one_by_one(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    watches: &BTreeSet<Place>,
) -> Result<Vec<(Place, Held)>> {
    let mut statement = view.prepare_cached(ONE_BY_ONE)?;
    let params = named_params! {
        ":kinds": listed(watches), ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
    };
    let rows = statement.query_map(params, |row| Ok(((row.get(2)?, row.get(3)?), Held::from_row(row)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

const OF_ENVIRONMENT: &str = looked_through!(
    "SELECT DISTINCT m.resource_id FROM membership m WHERE m.environment_id = :environment AND m.kind_id = :kind"
);

/// Where the scope saw something change last of what an environment had of a kind in a namespace.
fn told_of(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    environment: i64,
    watch: &Place,
) -> Result<Option<Offset>> {
    let mut statement = view.prepare_cached(OF_ENVIRONMENT)?;
    let params = named_params! {
        ":environment": environment, ":kind": watch.0, ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
    };
    let rows = statement.query_map(params, |row| Ok(((row.get(2)?, row.get(3)?), Held::from_row(row)?)))?;
    let all = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(all.into_iter().filter(|(place, _)| follows(watch, place)).filter_map(|(_, held)| held.last).max())
}

/// The kinds of watches as a JSON array for `json_each`.
fn listed(watches: &BTreeSet<Place>) -> String {
    let kinds: BTreeSet<i64> = watches.iter().map(|(kind, _)| *kind).collect();
    serde_json::json!(kinds).to_string()
}
