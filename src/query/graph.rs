//! The graph of an environment.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, named_params};

use super::moment::{Concerns, Moment};
use super::page::Start;
use super::resources::Held;
use super::scope::Scope;
use super::types::{Answer, Edge, Graph};
use super::{ResourceFilter, Result, environments, resources};
use crate::model::{EnvironmentId, Offset, Uid};

/// The environment's resources and the edges between them.
pub(super) fn get(
    view: &Connection,
    moment: &Moment,
    scope: &Scope,
    id: &EnvironmentId,
) -> Result<Answer<Graph>> {
    let (number, environment) = environments::find(view, moment.offset, scope, id)?;
    let start = Start::whole(Graph::LIMIT);
    let mut held = resources::members(view, moment.offset, number, &ResourceFilter::default(), &start)?;
    let truncated = held.len() > Graph::LIMIT;
    held.truncate(Graph::LIMIT);
    let edges = edges(view, moment.offset, number, &held)?;
    let nodes = held.into_iter().map(|held| held.resource).collect();
    let metadata = moment.snapshot(view, scope, &Concerns::Environment(number))?;
    Ok(Answer { value: Graph { environment, nodes, edges, truncated }, metadata })
}

/// The far end of an edge, within one cluster.
#[derive(PartialEq, Eq, Hash)]
enum Far<'a> {
    Uid(&'a str, &'a str),
    Address { cluster: &'a str, group: &'a str, kind: &'a str, namespace: &'a str, name: &'a str },
}

/// Edges of which both ends are among the nodes.
fn edges(view: &Connection, at: Offset, environment: i64, nodes: &[Held]) -> Result<Vec<Edge>> {
    let mut by_number = HashMap::new();
    let mut by_far = HashMap::new();
    for held in nodes {
        let (key, uid) = (&held.resource.key, &held.resource.id);
        by_number.insert(held.id.0, &held.resource);
        by_far.insert(Far::Uid(&key.cluster, uid.as_str()), uid);
        let (group, kind) = (&key.kind.group, &key.kind.kind);
        let (cluster, namespace, name) = (&key.cluster, &key.namespace, &key.name);
        by_far.insert(Far::Address { cluster, group, kind, namespace, name }, uid);
    }
    let sql = "SELECT e.declared_by, e.kind, e.outward, e.far_uid, e.far_group, e.far_kind, e.far_namespace,
            e.far_name FROM membership m JOIN edge e ON e.declared_by = m.resource_id
        WHERE m.environment_id = :environment AND m.from_offset <= :at AND m.to_offset > :at
            AND e.from_offset <= :at AND e.to_offset > :at";
    let mut statement = view.prepare_cached(sql)?;
    let mut rows = statement.query(named_params! { ":environment": environment, ":at": at.as_i64() })?;
    let mut found = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let Some(near) = by_number.get(&row.get::<_, i64>(0)?) else { continue };
        let [uid, group, kind, namespace, name]: [String; 5] =
            [row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?];
        let cluster = &near.key.cluster;
        let far = if uid.is_empty() {
            Far::Address { cluster, group: &group, kind: &kind, namespace: &namespace, name: &name }
        } else {
            Far::Uid(cluster, &uid)
        };
        let Some(&far) = by_far.get(&far) else { continue };
        found.insert(directed(near.id.clone(), far.clone(), row.get(2)?, row.get(1)?));
    }
    Ok(found.into_iter().collect())
}

/// From cause to dependent, whichever of the two declared the edge.
fn directed(near: Uid, far: Uid, outward: bool, kind: String) -> Edge {
    if outward { Edge { from: near, to: far, kind } } else { Edge { from: far, to: near, kind } }
}
