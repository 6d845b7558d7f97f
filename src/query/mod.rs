//! Answers for now and for any moment, from the view and, for bodies, from the log.

mod scope;
mod types;

pub use scope::Scope;
pub use types::{
    Answer, Cluster, Coverage, Edge, Environment, EnvironmentHealth, Gap, Graph, Page, PageMetadata,
    Resource, ResourceDetail, Snapshot, Version, VersionChange,
};

use thiserror::Error;

use crate::model::{At, EnvironmentId, Health, Offset, ResourceKey, Tier, Timestamp, Uid};

/// Which environments a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentFilter {
    /// Only these tiers; empty for all.
    pub tiers: Vec<Tier>,
    /// Only these regions; empty for all.
    pub regions: Vec<String>,
    /// Only these projects; empty for all.
    pub projects: Vec<String>,
    /// Only these healths; empty for all.
    pub healths: Vec<Health>,
}

/// Which resources of an environment a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceFilter {
    /// Only these kinds by name, such as `Pod`; empty for all.
    pub kinds: Vec<String>,
    /// Only these healths; empty for all.
    pub healths: Vec<Health>,
}

/// Which page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Most items in it, 1 to [`PageRequest::MAX`].
    pub limit: usize,
    /// Token of an earlier page, which pins this one to the same moment; `at` must then be absent or the same.
    pub after: Option<String>,
}

impl PageRequest {
    /// The most items one page holds.
    pub const MAX: usize = 500;
    /// Items in a page when nothing is said.
    pub const DEFAULT: usize = 100;
}

impl Default for PageRequest {
    fn default() -> Self {
        PageRequest { limit: Self::DEFAULT, after: None }
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum QueryError {
    /// No such thing at that moment, or the caller may not see it.
    #[error("there is no {what} `{id}` at that moment")]
    NotFound {
        /// `environment` or `resource`.
        what: &'static str,
        /// What was asked for.
        id: String,
    },
    /// Several resources share the uid.
    #[error("the uid `{uid}` belongs to {} resources; say which with `cluster=`", keys.len())]
    Ambiguous {
        /// What was asked for.
        uid: Uid,
        /// The resources.
        keys: Vec<ResourceKey>,
    },
    /// The moment lies after the newest change.
    #[error("offset {asked} lies in the future; the newest is {newest}")]
    FutureOffset {
        /// What was asked for.
        asked: Offset,
        /// The newest there is.
        newest: Offset,
    },
    /// The moment lies after now.
    #[error("{asked} lies in the future; it is {now}")]
    FutureTime {
        /// What was asked for.
        asked: Timestamp,
        /// Now.
        now: Timestamp,
    },
    /// The page token is not one of ours, or belongs to another list.
    #[error("the page token is not valid for this list: {0}")]
    BadToken(&'static str),
    /// The view is being built anew.
    #[error("the view is being built: {checkpoint} of {head} changes are done")]
    Building {
        /// Changes done.
        checkpoint: Offset,
        /// Changes to do.
        head: Offset,
    },
    /// Storage failed.
    #[error("reading failed: {0}")]
    Storage(String),
}

/// Answers queries; cheap to clone.
#[derive(Clone, Debug)]
pub struct Queries {}

/// How far the view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Newest offset of the log.
    pub head: Offset,
    /// Last one the view holds.
    pub checkpoint: Offset,
}

type Result<T> = std::result::Result<T, QueryError>;

impl Queries {
    /// Environments, ordered by project and name.
    pub async fn environments(
        &self,
        _scope: &Scope,
        _at: At,
        _filter: &EnvironmentFilter,
        _page: &PageRequest,
    ) -> Result<Page<Environment>> {
        Err(QueryError::Storage("not built".into()))
    }

    /// One environment.
    pub async fn environment(
        &self,
        _scope: &Scope,
        _at: At,
        _id: &EnvironmentId,
    ) -> Result<Answer<Environment>> {
        Err(QueryError::Storage("not built".into()))
    }

    /// The resources of an environment, ordered by kind, namespace and name.
    pub async fn environment_resources(
        &self,
        _scope: &Scope,
        _at: At,
        _id: &EnvironmentId,
        _filter: &ResourceFilter,
        _page: &PageRequest,
    ) -> Result<Page<Resource>> {
        Err(QueryError::Storage("not built".into()))
    }

    /// The graph of an environment.
    pub async fn environment_graph(
        &self,
        _scope: &Scope,
        _at: At,
        _id: &EnvironmentId,
    ) -> Result<Answer<Graph>> {
        Err(QueryError::Storage("not built".into()))
    }

    /// One resource with its object; `cluster` decides where several clusters hold the uid.
    pub async fn resource(
        &self,
        _scope: &Scope,
        _at: At,
        _uid: &Uid,
        _cluster: Option<&str>,
    ) -> Result<Answer<ResourceDetail>> {
        Err(QueryError::Storage("not built".into()))
    }

    /// The versions of a resource up to the moment, newest first; `bodies` adds each object.
    pub async fn resource_history(
        &self,
        _scope: &Scope,
        _at: At,
        _uid: &Uid,
        _cluster: Option<&str>,
        _bodies: bool,
        _page: &PageRequest,
    ) -> Result<Page<Version>> {
        Err(QueryError::Storage("not built".into()))
    }

    /// Clusters with what of them is watched, by name.
    pub async fn clusters(&self, _scope: &Scope, _at: At, _page: &PageRequest) -> Result<Page<Cluster>> {
        Err(QueryError::Storage("not built".into()))
    }

    /// How far the view is behind the log.
    pub fn progress(&self) -> Progress {
        Progress { head: Offset::ZERO, checkpoint: Offset::ZERO }
    }
}
