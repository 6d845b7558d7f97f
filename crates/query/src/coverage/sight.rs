//! What a scope may see of the kinds of some watches: how many there are, and when one of them changed last.
//!
//! The view counts what belongs to environments, now. Of a past moment, and for a scope that sees little, what its environments
//! ever had is looked at one by one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, named_params};

use super::Held;
use crate::error::Result;
use crate::history::told;
use crate::kept::Kept;
use crate::moment::Moment;
use crate::scope::{Audiences, ResolvedScope, in_sight};
use crate::standings::Standing;
use strandline_model::Offset;
use strandline_sqlite::column::unreadable;

/// A kind, and a namespace of it.
type Place = (i64, String);

/// What a scope may see of some kinds, by kind and namespace.
pub(super) fn held(
    (view, kept): (&Connection, &Kept),
    moment: &Moment,
    scope: &ResolvedScope,
    kinds: &BTreeSet<i64>,
) -> Result<Vec<(Place, Held)>> {
    if !moment.is_newest() || scope.is_narrow() {
        return one_by_one(view, moment, scope, kinds);
    }
    let all = kept.standings.at(view, moment.offset, moment.checkpoint())?;
    let sight = Sight { all: &all, audiences: scope.audiences(view)?, former: former_audiences(view)? };
    let mut found: BTreeMap<Place, Held> = BTreeMap::new();
    // Where all of it changed last, of what is to be looked at one by one.
    let mut in_part: Vec<(Place, Home, Offset)> = Vec::new();
    for Counted { place, home, held } in counted(view, kinds)? {
        let here = found.entry(place.clone()).or_insert(Held { total: 0, last: None });
        if home.iter().any(|environment| sight.reads_now(*environment)) {
            here.total += held.total;
        }
        match sight.of(&home) {
            Seen::Always => here.last = here.last.max(held.last),
            Seen::InPart => in_part.extend(held.last.map(|last| (place, home, last))),
            Seen::Never => {}
        }
    }
    for (place, home, last) in in_part {
        let Some(here) = found.get_mut(&place).filter(|here| here.last < Some(last)) else { continue };
        for environment in home {
            here.last = here.last.max(told_of(view, moment, scope, environment, &place)?);
        }
    }
    Ok(found.into_iter().collect())
}

/// The environments to which something belongs, by their numbers.
type Home = Vec<i64>;

/// Resources of a kind and a namespace that belong to the same environments.
struct Counted {
    place: Place,
    home: Home,
    held: Held,
}

/// All that is counted of some kinds.
fn counted(view: &Connection, kinds: &BTreeSet<i64>) -> Result<Vec<Counted>> {
    let sql = "SELECT total, nullif(last_offset, 0), kind_id, namespace, home, typeof(home) = 'integer' FROM home_count
        WHERE kind_id IN (SELECT value FROM json_each(:kinds))";
    let mut statement = view.prepare_cached(sql)?;
    let rows = statement.query_map(named_params! { ":kinds": listed(kinds) }, |row| {
        let home = match row.get(5)? {
            true => vec![row.get(4)?],
            false => serde_json::from_str(row.get_ref(4)?.as_str()?).map_err(|error| unreadable(4, error))?,
        };
        Ok(Counted { place: (row.get(2)?, row.get(3)?), home, held: Held::from_row(row)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The audiences that environments had before those that they have now, or before they ended.
fn former_audiences(view: &Connection) -> Result<HashMap<i64, Vec<i64>>> {
    let sql =
        "SELECT environment_id, audience FROM environment_audience INDEXED BY environment_audience_by_end
        WHERE to_offset < 140737488355327";
    let mut statement = view.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut former: HashMap<i64, Vec<i64>> = HashMap::new();
    while let Some(row) = rows.next()? {
        former.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    Ok(former)
}

/// Which environments a scope may look into.
struct Sight<'a> {
    /// How all environments stand, by their numbers.
    all: &'a [Standing],
    audiences: Audiences,
    former: HashMap<i64, Vec<i64>>,
}

/// Of what a scope may look into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Never,
    /// At some times.
    InPart,
    Always,
}

impl Sight<'_> {
    fn reads_now(&self, environment: i64) -> bool {
        let found = self.all.binary_search_by_key(&environment, |one| one.number).ok();
        found.and_then(|place| self.all.get(place)).is_some_and(|one| self.audiences.read(one.audience))
    }

    fn of(&self, home: &Home) -> Seen {
        let mut seen = Seen::Never;
        for environment in home {
            let Some(former) = self.former.get(environment) else {
                if self.reads_now(*environment) {
                    return Seen::Always;
                }
                continue;
            };
            if self.reads_now(*environment) || former.iter().any(|audience| self.audiences.read(*audience)) {
                seen = Seen::InPart;
            }
        }
        seen
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
    kinds: &BTreeSet<i64>,
) -> Result<Vec<(Place, Held)>> {
    let mut statement = view.prepare_cached(ONE_BY_ONE)?;
    let params = named_params! {
        ":kinds": listed(kinds), ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
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
    (kind, namespace): &Place,
) -> Result<Option<Offset>> {
    let mut statement = view.prepare_cached(OF_ENVIRONMENT)?;
    let params = named_params! {
        ":environment": environment, ":kind": kind, ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
    };
    let rows = statement.query_map(params, |row| Ok((row.get::<_, String>(3)?, Held::from_row(row)?)))?;
    let all = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(all.into_iter().find(|(of, _)| of == namespace).and_then(|(_, held)| held.last))
}

/// Numbers as a JSON array for `json_each`.
fn listed(numbers: &BTreeSet<i64>) -> String {
    serde_json::json!(numbers).to_string()
}
