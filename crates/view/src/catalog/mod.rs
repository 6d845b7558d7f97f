//! The catalog: clusters, projects, agents, environments and deployments as they are declared, and what follows.
//!
//! What an environment is follows from several facts: its own, its project's, its agents', its clusters', the last
//! deployment that ended well, and what resources of clusters declare. Whichever of them changes, the environments
//! that it concerns are settled anew from all of them, so the order in which facts arrive never matters.
//!
//! Why: docs/decisions/0017-a-fact-has-one-source.md.

mod agents;
mod clusters;
mod declarations;
mod deployments;
mod environments;
mod facts;
mod projects;
mod resolve;
mod rows;
mod targets;
mod viewers;

use super::context::Apply;
use strandline_model::{CatalogFact, CatalogKind, EnvironmentId, ResourceId, Source};
use strandline_object::Object;

/// Whether an object may declare something: the region of its cluster, or an environment.
pub(super) fn is_declaring(object: &Object<'_>) -> bool {
    clusters::is_node(object) || declarations::is_declared(object)
}

/// Applies what a resource declares; what is gone, or cannot be read, declares nothing.
pub(super) fn declare(
    at: &mut Apply<'_>,
    id: ResourceId,
    object: Option<&Object<'_>>,
) -> rusqlite::Result<()> {
    clusters::declare_node(at, id, object)?;
    declarations::declare(at, id, object)
}

/// Applies a declared fact.
pub(super) fn declared(at: &mut Apply<'_>, source: Source, fact: &CatalogFact) -> rusqlite::Result<()> {
    match fact {
        CatalogFact::Cluster(cluster) => clusters::settle(at, &cluster.name, Some(cluster)),
        CatalogFact::Project(project) => projects::settle(at, &project.path, Some((project, source))),
        CatalogFact::Agent(agent) => agents::settle(at, &agent.id.to_string(), Some((agent, source))),
        CatalogFact::Environment(spec) => environments::declared(at, spec, source),
        CatalogFact::Deployment(deployment) => deployments::declared(at, deployment),
    }
}

/// Ends a fact that is no longer declared.
pub(super) fn withdrawn(at: &mut Apply<'_>, kind: CatalogKind, name: &str) -> rusqlite::Result<()> {
    match kind {
        CatalogKind::Cluster => clusters::settle(at, name, None),
        CatalogKind::Project => projects::settle(at, name, None),
        CatalogKind::Agent => agents::settle(at, name, None),
        CatalogKind::Environment => environments::withdrawn(at, &EnvironmentId::new(name)),
        // What was deployed was deployed: only the record of it ends.
        CatalogKind::Deployment => deployments::withdrawn(at, name),
    }
}
