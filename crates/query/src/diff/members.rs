//! The resources of an environment at a moment, in narrow rows, and what is read of those that differ.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{Connection, named_params};
use serde_json::Value;

use crate::diff::one::body;
use crate::environments;
use crate::error::{QueryError, Result};
use crate::moment::Moment;
use crate::page::Start;
use crate::pinned::Pinned;
use crate::resources::uid;
use crate::scope::{ResolvedScope, in_sight};
use strandline_log::LogReader;
use strandline_model::{EnvironmentId, Health, Kind, Offset, ResourceKey, Uid};
use strandline_protocol::{ChangeType, Environment, EnvironmentAt, ResourceAt, ResourceChange};
use strandline_sqlite::column::VIEW;
use strandline_view::MemberHealth;

/// Pairs of objects that one answer reads at most.
pub(super) const PAIRS_MAX: u64 = 4000;

/// Differences of one resource that are told in a list, and the bytes of their values.
const DIFFERENCES_MAX: usize = 100;
const BYTES_MAX: usize = 64 << 10;

/// A resource by the view's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Its first owner in the environment.
    pub(super) owner: Option<i64>,
    pub(super) health: Option<Health>,
    /// Where the version that holds begins.
    pub(super) version: Offset,
}

/// An environment at a moment with its members.
pub(super) struct Side {
    pub(super) at: EnvironmentAt,
    /// The view's number of the environment.
    pub(super) number: Option<i64>,
    pub(super) members: HashMap<i64, Member>,
}

impl Side {
    /// One side; where the environment is not there at the moment, or not in sight, it is empty.
    pub(super) fn read(
        view: &Connection,
        moment: &Moment,
        scope: &ResolvedScope,
        id: &EnvironmentId,
    ) -> Result<Self> {
        let found = match environments::find(view, moment, scope, id) {
            Ok(found) => Some(found),
            Err(QueryError::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        let members = match &found {
            Some((number, _)) => members(view, *number, moment.offset)?,
            None => HashMap::new(),
        };
        let (number, environment) = found.unzip();
        let environment: Option<Environment> = environment;
        let at = EnvironmentAt {
            id: id.clone(),
            offset: moment.offset,
            time: moment.time(),
            exists: environment.is_some(),
            health: environment.as_ref().and_then(|environment| environment.health.state),
            resources: members.len() as u64,
            clusters: environment.map(clusters).unwrap_or_default(),
        };
        Ok(Side { at, number, members })
    }

    /// The member at the top of what owns a member; itself where nothing does.
    pub(super) fn top(&self, member: i64) -> i64 {
        let (mut at, mut seen) = (member, HashSet::new());
        while let Some(owner) = self.members.get(&at).and_then(|member| member.owner)
            && self.members.contains_key(&owner)
            && seen.insert(at)
        {
            at = owner;
        }
        at
    }
}

fn clusters(environment: Environment) -> Vec<String> {
    let all: BTreeSet<String> = environment.targets.into_iter().map(|target| target.cluster).collect();
    all.into_iter().collect()
}

fn members(view: &Connection, environment: i64, at: Offset) -> Result<HashMap<i64, Member>> {
    let sql = "SELECT m.resource_id, m.owner_id, m.health,
            (SELECT max(v.from_offset) FROM version v WHERE v.resource_id = m.resource_id AND v.from_offset <= :at)
        FROM membership m WHERE m.environment_id = :environment AND m.from_offset <= :at AND m.to_offset > :at";
    let mut statement = view.prepare_cached(sql)?;
    let rows =
        statement.query_map(named_params! { ":environment": environment, ":at": at.as_i64() }, |row| {
            let member = Member {
                owner: row.get(1)?,
                health: VIEW.get_at::<MemberHealth>(row, 2, "membership.health")?.0,
                version: Offset::from_i64(row.get(3)?),
            };
            Ok((row.get(0)?, member))
        })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Uids and addresses by the view's numbers.
pub(super) fn described(
    view: &Connection,
    numbers: impl IntoIterator<Item = i64>,
) -> Result<HashMap<i64, (Uid, ResourceKey)>> {
    let sql = r#"SELECT r.id, r.uid, c.name, k."group", k.kind, r.namespace, r.name
        FROM json_each(:numbers) chosen JOIN resource r ON r.id = chosen.value
        JOIN kind k ON k.id = r.kind_id JOIN cluster c ON c.id = r.cluster_id"#;
    let numbers: Vec<i64> = numbers.into_iter().collect();
    let mut statement = view.prepare_cached(sql)?;
    let rows =
        statement.query_map(named_params! { ":numbers": serde_json::json!(numbers).to_string() }, |row| {
            let key = ResourceKey {
                cluster: row.get(2)?,
                kind: Kind::new(row.get::<_, String>(3)?, row.get::<_, String>(4)?),
                namespace: row.get(5)?,
                name: row.get(6)?,
            };
            Ok((row.get(0)?, (uid(row, 1)?, key)))
        })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Which of some resources were there at a moment and in sight, wherever they belonged.
pub(super) fn there(
    view: &Connection,
    scope: &ResolvedScope,
    at: Offset,
    numbers: &[i64],
) -> Result<HashSet<i64>> {
    let sql = concat!(
        "SELECT r.id FROM json_each(:numbers) chosen JOIN resource r ON r.id = chosen.value
        WHERE EXISTS (SELECT 1 FROM version v WHERE v.resource_id = r.id AND v.deleted = 0
                AND v.from_offset <= :at AND v.to_offset > :at)
            AND ",
        in_sight!()
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":numbers": serde_json::json!(numbers).to_string(), ":at": at.as_i64(), ":scope": scope.as_sql(),
    };
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// One side of what became of a resource.
pub(super) fn side(
    described: &HashMap<i64, (Uid, ResourceKey)>,
    number: i64,
    member: &Member,
) -> Option<(ResourceKey, ResourceAt)> {
    let (id, key) = described.get(&number)?;
    let at = ResourceAt {
        id: id.clone(),
        name: key.name.clone(),
        namespace: key.namespace.clone(),
        cluster: key.cluster.clone(),
        health: member.health,
        offset: member.version,
    };
    Some((key.clone(), at))
}

/// The objects of two versions.
pub(super) fn bodies(log: &mut LogReader, before: Offset, after: Offset) -> Result<(Value, Value)> {
    Ok((body(log, before)?.0, body(log, after)?.0))
}

/// What becomes of one answer: the items behind where a page begins, in their order.
pub(super) struct Items {
    after: Vec<String>,
    items: Vec<ResourceChange>,
}

/// The order of items, and what a page token holds of one behind the earlier moment.
pub(super) fn position(change: &ResourceChange) -> Vec<String> {
    let key = &change.key;
    let sides = [&change.before, &change.after].map(|side| side.as_ref().map_or("", |at| at.id.as_str()));
    let parts = [&key.kind.kind, &key.kind.group, &key.namespace, &key.name, &key.cluster];
    parts.into_iter().cloned().chain(sides.map(str::to_owned)).collect()
}

/// Cuts what a list shows of one resource.
pub(super) fn shorten(change: &mut ResourceChange) {
    change.comparison.keep(DIFFERENCES_MAX, BYTES_MAX);
}

impl Items {
    pub(super) fn new(start: &Start) -> Self {
        Items { after: start.after.iter().skip(1).cloned().collect(), items: Vec::new() }
    }

    /// Keeps an item of which there is something to be told and that belongs behind where the page begins.
    pub(super) fn push(&mut self, mut item: ResourceChange) {
        if position(&item) > self.after {
            shorten(&mut item);
            self.items.push(item);
        }
    }

    /// The page, and the token of the next.
    pub(super) fn page(
        mut self,
        start: &Start,
        from: &Moment,
        to: Offset,
    ) -> (Vec<ResourceChange>, Option<String>) {
        self.items.sort_by_cached_key(position);
        let from = Pinned { offset: from.offset, by_time: from.by_time() };
        let next = start.finish(to, &mut self.items, |item| {
            [from.to_token()].into_iter().chain(position(item)).collect()
        });
        (self.items, next)
    }
}

/// An item without differences of its own.
pub(super) fn item(
    change: ChangeType,
    before: Option<(ResourceKey, ResourceAt)>,
    after: Option<(ResourceKey, ResourceAt)>,
) -> Option<ResourceChange> {
    let key = after.as_ref().or(before.as_ref()).map(|(key, _)| key.clone())?;
    let [before, after] = [before, after].map(|side| side.map(|(_, at)| at));
    Some(ResourceChange {
        change,
        key,
        before,
        after,
        clusters: None,
        comparison: Default::default(),
        children: Vec::new(),
    })
}
