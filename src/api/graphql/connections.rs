//! Lists as GitLab has them: pages of nodes, each also as an edge with its cursor, and how many there are of all pages.

use juniper::graphql_object;

use super::asker::Asker;
use super::objects::{Deployment, Environment};
use super::types::PageInfo;
use crate::http::problem::Problem;
use strandline_model::{At, EnvironmentId};
use strandline_protocol as protocol;
use strandline_query::{CountDeployments, DeploymentFilter, EnvironmentFilter, GetOverview, Queries};

/// GraphQL's integers end at 2^31 - 1.
fn int(count: u64) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Some environments of a project.
pub(super) struct EnvironmentConnection {
    edges: Vec<EnvironmentEdge>,
    next: Option<String>,
    filter: EnvironmentFilter,
    queries: Queries,
}

/// An environment at its place in a list.
pub(super) struct EnvironmentEdge {
    cursor: String,
    node: Environment,
}

impl EnvironmentConnection {
    pub(super) fn new(
        (page, cursors): (protocol::Page<protocol::Environment>, Vec<String>),
        filter: EnvironmentFilter,
        queries: &Queries,
    ) -> Self {
        let nodes = page.items.into_iter().map(|value| Environment::new(value, queries));
        let edges = nodes.zip(cursors).map(|(node, cursor)| EnvironmentEdge { cursor, node }).collect();
        EnvironmentConnection { edges, next: page.metadata.next, filter, queries: queries.clone() }
    }
}

/// A page of environments.
#[graphql_object(context = Asker)]
impl EnvironmentConnection {
    /// The environments.
    fn nodes(&self) -> Vec<&Environment> {
        self.edges.iter().map(|edge| &edge.node).collect()
    }

    /// The same, each with its cursor.
    fn edges(&self) -> &[EnvironmentEdge] {
        &self.edges
    }

    /// How many there are on all pages, as far as the caller sees them.
    async fn count(&self, #[graphql(context)] asker: &Asker) -> Result<i32, Problem> {
        let request = GetOverview { filter: self.filter.clone(), ..GetOverview::default() };
        let _turn = asker.turn().await;
        let found = self.queries.ask(&asker.scope, At::Now, request).await?;
        Ok(int(found.value.totals.total))
    }

    /// How the list goes on.
    fn page_info(&self) -> PageInfo {
        self.next.clone().into()
    }
}

/// An environment at its place in a list.
#[graphql_object(context = Asker)]
impl EnvironmentEdge {
    /// What `after` takes to go on behind it.
    fn cursor(&self) -> &str {
        &self.cursor
    }

    /// The environment.
    fn node(&self) -> &Environment {
        &self.node
    }
}

/// Some deployments to an environment.
pub(super) struct DeploymentConnection {
    edges: Vec<DeploymentEdge>,
    next: Option<String>,
    of: (EnvironmentId, DeploymentFilter),
    queries: Queries,
}

/// A deployment at its place in a list.
pub(super) struct DeploymentEdge {
    cursor: String,
    node: Deployment,
}

impl DeploymentConnection {
    pub(super) fn new(
        (page, cursors): (protocol::Page<protocol::Deployment>, Vec<String>),
        of: (EnvironmentId, DeploymentFilter),
        queries: &Queries,
    ) -> Self {
        let nodes = page.items.into_iter().map(|value| Deployment::new(value, queries));
        let edges = nodes.zip(cursors).map(|(node, cursor)| DeploymentEdge { cursor, node }).collect();
        DeploymentConnection { edges, next: page.metadata.next, of, queries: queries.clone() }
    }

    /// The first of them.
    pub(super) fn into_first(self) -> Option<Deployment> {
        self.edges.into_iter().next().map(|edge| edge.node)
    }
}

/// A page of deployments.
#[graphql_object(context = Asker)]
impl DeploymentConnection {
    /// The deployments.
    fn nodes(&self) -> Vec<&Deployment> {
        self.edges.iter().map(|edge| &edge.node).collect()
    }

    /// The same, each with its cursor.
    fn edges(&self) -> &[DeploymentEdge] {
        &self.edges
    }

    /// How many there are on all pages, as far as the caller sees them.
    async fn count(&self, #[graphql(context)] asker: &Asker) -> Result<i32, Problem> {
        let (environment, filter) = &self.of;
        let _turn = asker.turn().await;
        Ok(int(self.queries.ask(&asker.scope, At::Now, CountDeployments::new(environment, filter)).await?))
    }

    /// How the list goes on.
    fn page_info(&self) -> PageInfo {
        self.next.clone().into()
    }
}

/// A deployment at its place in a list.
#[graphql_object(context = Asker)]
impl DeploymentEdge {
    /// What `after` takes to go on behind it.
    fn cursor(&self) -> &str {
        &self.cursor
    }

    /// The deployment.
    fn node(&self) -> &Deployment {
        &self.node
    }
}
