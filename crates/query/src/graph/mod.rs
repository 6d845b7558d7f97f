//! The graph of an environment.

mod draw;
mod forest;
mod links;
mod missing;
mod why;

pub use why::ExplainEnvironment;
pub(super) use why::{Cause, cause, sick};

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, named_params};

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::GraphFilter;
use crate::graph::draw::{Drawing, HeapKey, Wanted};
use crate::graph::forest::Forest;
use crate::graph::links::Ends;
use crate::moment::Moment;
use crate::question::{Context, Question};
use crate::resources::{Held, uid};
use crate::scope::ResolvedScope;
use crate::{environments, resources};
use serde::Serialize;
use strandline_model::{EnvironmentId, HealthCounts, Kind, Offset, Uid, attention};
use strandline_protocol::{Answer, Below, Graph, GraphNode, Group, KindBelow, MissingEnd, MissingReference};
use strandline_sqlite::column::PackedUid;

/// The graph of an environment.
#[derive(Clone, Debug, Serialize)]
pub struct GetEnvironmentGraph {
    /// The environment.
    pub environment: EnvironmentId,
    /// What of the graph is shown.
    pub filter: GraphFilter,
}

impl GetEnvironmentGraph {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId, filter: &GraphFilter) -> Self {
        GetEnvironmentGraph { environment: environment.clone(), filter: filter.clone() }
    }
}

impl Question for GetEnvironmentGraph {
    const NAME: &'static str = "environment_graph";
    type Answer = Answer<Graph>;

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time, or the resource to begin with was not in it.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, .. } = context;
        get(view, &moment, scope, &self.environment, &self.filter)
    }
}

/// What an environment holds, as much of it as was asked for, with the edges in between.
pub(super) fn get(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    id: &EnvironmentId,
    filter: &GraphFilter,
) -> Result<Answer<Graph>> {
    let (number, environment) = environments::find(view, moment, scope, id)?;
    let forest = Forest::load(view, moment.offset, number)?;
    let under = filter
        .under
        .as_ref()
        .map(|uid| place_of(view, &forest, uid, filter.cluster.as_deref()))
        .transpose()?;
    let limit = filter.limit.clamp(1, Graph::LIMIT);
    let drawing =
        Drawing::of(&forest, &Wanted { under, depth: filter.depth(), collapse: filter.collapse, limit });
    let numbers: Vec<i64> = drawing.shown.iter().map(|&place| forest.members[place].id).collect();
    let nodes = resources::with_numbers(view, moment.offset, &numbers)?;
    let kinds = Kinds::load(view, &forest)?;
    let groups = groups(view, &forest, &drawing, &kinds)?;
    let edges = {
        let named = drawing.heaped.iter();
        let named =
            named.filter_map(|(place, key)| Some((forest.members[*place].id, groups.get(key)?.id.as_str())));
        Ends::new(&nodes, named.collect()).edges(view, moment.offset)?
    };
    // Whether what is out of sight is there is not the caller's to know.
    let missing = match scope.is_everything() {
        true => missing_of(view, moment.offset, &nodes)?,
        false => Vec::new(),
    };
    let value = Graph {
        environment,
        nodes: nodes_of(&forest, &drawing, nodes, &kinds),
        groups: worst_first(groups),
        edges,
        missing,
        truncated: drawing.truncated,
    };
    let metadata = moment.snapshot(view, scope, &Concerns::Environment(number))?;
    Ok(Answer { value, metadata })
}

/// The place of a member by its uid.
fn place_of(view: &Connection, forest: &Forest, uid: &Uid, cluster: Option<&str>) -> Result<usize> {
    let sql = "SELECT r.id FROM resource r JOIN cluster c ON c.id = r.cluster_id
        WHERE r.uid = :uid AND (:cluster IS NULL OR c.name = :cluster) ORDER BY r.id";
    let mut statement = view.prepare_cached(sql)?;
    let rows = statement
        .query_map(named_params! { ":uid": PackedUid(uid.as_str()), ":cluster": cluster }, |row| {
            row.get(0)
        })?;
    for number in rows {
        if let Some(place) = forest.find(number?) {
            return Ok(place);
        }
    }
    Err(QueryError::not_found("resource", uid))
}

/// Cluster and name of the kinds of all members: what is only counted is of them too.
struct Kinds(HashMap<i64, (String, Kind)>);

impl Kinds {
    fn load(view: &Connection, forest: &Forest) -> Result<Self> {
        let numbers: BTreeSet<i64> = forest.members.iter().map(|member| member.kind).collect();
        let sql = r#"SELECT k.id, c.name, k."group", k.kind FROM json_each(:numbers) n
            JOIN kind k ON k.id = n.value JOIN cluster c ON c.id = k.cluster_id"#;
        let mut statement = view.prepare_cached(sql)?;
        let rows = statement.query_map(
            named_params! { ":numbers": serde_json::json!(numbers).to_string() },
            |row| {
                let kind = Kind::new(row.get::<_, String>(2)?, row.get::<_, String>(3)?);
                Ok((row.get(0)?, (row.get(1)?, kind)))
            },
        )?;
        Ok(Kinds(rows.collect::<rusqlite::Result<_>>()?))
    }

    fn of(&self, number: i64) -> (&str, Kind) {
        self.0.get(&number).map_or(("", Kind::new("", "")), |(cluster, kind)| (cluster, kind.clone()))
    }
}

fn groups(
    view: &Connection,
    forest: &Forest,
    drawing: &Drawing,
    kinds: &Kinds,
) -> Result<BTreeMap<HeapKey, Group>> {
    let owners: Vec<i64> =
        drawing.heaps.keys().filter_map(|(owner, _)| Some(forest.members[(*owner)?].id)).collect();
    let sql = "SELECT r.id, r.uid FROM json_each(:numbers) n JOIN resource r ON r.id = n.value";
    let mut statement = view.prepare_cached(sql)?;
    let rows = statement
        .query_map(named_params! { ":numbers": serde_json::json!(owners).to_string() }, |row| {
            Ok((row.get(0)?, uid(row, 1)?))
        })?;
    let uids: HashMap<i64, Uid> = rows.collect::<rusqlite::Result<_>>()?;
    let group = |(key, heap): (&HeapKey, &draw::Heap)| {
        let (cluster, kind) = kinds.of(key.1);
        let parent = key.0.and_then(|owner| uids.get(&forest.members[owner].id)).cloned();
        let id = format!("{cluster}/{}/{kind}", parent.as_ref().map_or("", Uid::as_str));
        let cluster = cluster.to_owned();
        (*key, Group { id, cluster, kind, parent, health: heap.worst, counts: heap.counts })
    };
    Ok(drawing.heaps.iter().map(group).collect())
}

/// What resources that are shown name and is not there.
fn missing_of(view: &Connection, at: Offset, nodes: &[Held]) -> Result<Vec<MissingReference>> {
    let nodes: HashMap<i64, &Held> = nodes.iter().map(|held| (held.id.0, held)).collect();
    let mut numbers: Vec<i64> = nodes.keys().copied().collect();
    numbers.sort_unstable();
    let found = missing::missing(view, at, &numbers, Graph::MISSING)?;
    let reference = |(number, end): (i64, MissingEnd)| {
        let resource = &nodes.get(&number)?.resource;
        Some(MissingReference { id: resource.id.clone(), cluster: resource.key.cluster.clone(), end })
    };
    Ok(found.into_iter().filter_map(reference).collect())
}

/// What needs attention first, then by kind, cluster and owner: the view's own numbers say nothing to anyone.
fn worst_first(groups: BTreeMap<HeapKey, Group>) -> Vec<Group> {
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_cached_key(|group| {
        let owner = group.parent.as_ref().map(Uid::to_string);
        let Kind { group: of, kind } = group.kind.clone();
        (attention(group.health), kind, of, group.cluster.clone(), owner)
    });
    groups
}

/// The nodes by kind, namespace and name, each with its owner and what is below it.
fn nodes_of(forest: &Forest, drawing: &Drawing, nodes: Vec<Held>, kinds: &Kinds) -> Vec<GraphNode> {
    let uids: HashMap<i64, Uid> = nodes.iter().map(|held| (held.id.0, held.resource.id.clone())).collect();
    let below = draw::kinds_below(forest, &drawing.shown, |kind| kinds.of(kind));
    let node = |held: Held| {
        let place = forest.find(held.id.0);
        let owner = place.and_then(|place| forest.members[place].owner);
        let parent = owner.and_then(|owner| uids.get(&forest.members[owner].id).cloned());
        let below = place.and_then(|place| Some(summary(forest, place, below.get(&place)?, kinds)));
        GraphNode { resource: held.resource, parent, below }
    };
    nodes.into_iter().map(node).collect()
}

fn summary(forest: &Forest, place: usize, kinds: &[(i64, HealthCounts)], names: &Kinds) -> Below {
    let counts = forest.below(place);
    let of_kind = |&(kind, counts): &(i64, HealthCounts)| KindBelow {
        kind: names.of(kind).1,
        total: counts.total(),
        health: counts.worst(),
    };
    Below {
        children: forest.children(place).len() as u64,
        total: counts.total(),
        health: counts.worst(),
        kinds: kinds.iter().map(of_kind).collect(),
    }
}
