//! Answers for now and for any moment, from the view and, for bodies, from the log.
//!
//! A file per question. Each takes the view in one unchanging state, the moment, and a [`Scope`].

mod clusters;
mod coverage;
mod environments;
mod events;
mod graph;
mod history;
mod moment;
mod page;
mod reader;
mod resources;
mod scope;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod types;

pub use coverage::CoverageFilter;
pub use events::EventFilter;
pub use scope::Scope;
pub use types::{
    Answer, Cluster, Coverage, Edge, Environment, EnvironmentHealth, FoldedEvent, Gap, Graph, LastChange,
    Page, PageMetadata, Resource, ResourceDetail, Snapshot, Version, VersionChange, WatchCoverage, WatchGap,
};

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use thiserror::Error;

use self::moment::Moment;
use self::page::Start;
use self::reader::Reader;
use crate::clock::Clock;
use crate::log::{LogError, LogReader};
use crate::projection::ViewStatus;
use crate::store::{Pool, PoolError, is_corrupt};

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
    /// Token of an earlier page, which pins this one to the same moment; `at` then need not be said again.
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
    /// The view is damaged; it is built anew by itself.
    #[error("the view is damaged: {0}")]
    Damaged(String),
    /// Storage failed.
    #[error("reading failed: {0}")]
    Storage(String),
}

/// How far the view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Newest offset of the log.
    pub head: Offset,
    /// Last one the view holds.
    pub checkpoint: Offset,
}

type Result<T> = std::result::Result<T, QueryError>;

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        if is_corrupt(&error) {
            QueryError::Damaged(error.to_string())
        } else {
            QueryError::Storage(error.to_string())
        }
    }
}

impl From<LogError> for QueryError {
    fn from(error: LogError) -> Self {
        QueryError::Storage(error.to_string())
    }
}

impl From<PoolError> for QueryError {
    fn from(error: PoolError) -> Self {
        QueryError::Storage(error.to_string())
    }
}

/// Answers queries; clones share one pool of readers.
#[derive(Clone)]
pub struct Queries {
    pool: Pool<Reader>,
    status: ViewStatus,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Queries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queries")
    }
}

/// One question at one moment, with the view and the log to answer it from.
struct Question<'a> {
    view: &'a Connection,
    log: &'a mut LogReader,
    moment: Moment,
    scope: &'a Scope,
    start: Start,
}

impl Queries {
    /// Answers from the view and log of a data directory with at most `readers` questions at a time.
    pub fn new(directory: &Path, readers: usize, status: ViewStatus, clock: Arc<dyn Clock>) -> Self {
        let directory = directory.to_owned();
        Queries { pool: Pool::new(readers, move || Reader::open(&directory)), status, clock }
    }

    /// Opens the files anew, after the view was swapped for another.
    pub fn reopen(&self) {
        self.pool.reset();
    }

    /// How far the view is behind the log.
    pub fn progress(&self) -> Progress {
        let (head, checkpoint) = self.status.progress();
        Progress { head, checkpoint }
    }

    /// Runs a question on a thread of the pool. `list` names the list being paged and `filter` what narrows it.
    async fn ask<T: Send + 'static>(
        &self,
        scope: &Scope,
        at: At,
        list: &'static str,
        filter: &impl Debug,
        page: &PageRequest,
        answer: impl FnOnce(Question<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if !self.status.is_usable() {
            let Progress { head, checkpoint } = self.progress();
            return Err(QueryError::Building { checkpoint, head });
        }
        let start = Start::read(list, scope, filter, page)?;
        let (scope, now) = (scope.clone(), self.clock.now());
        let result = self.pool.run(move |reader| {
            let (view, log) = reader.begin()?;
            let moment = Moment::find(&view, log, now, at, start.pinned)?;
            answer(Question { view: &view, log, moment, scope: &scope, start })
        });
        let result = result.await?;
        if let Err(QueryError::Damaged(damage)) = &result {
            tracing::error!(damage, "the view is damaged and will be built anew");
            self.status.report_damage();
        }
        result
    }

    /// Environments, ordered by project and name.
    ///
    /// # Errors
    /// See [`QueryError`], as for every question.
    pub async fn environments(
        &self,
        scope: &Scope,
        at: At,
        filter: &EnvironmentFilter,
        page: &PageRequest,
    ) -> Result<Page<Environment>> {
        let wanted = filter.clone();
        let answer = move |q: Question<'_>| environments::list(q.view, &q.moment, q.scope, &wanted, &q.start);
        self.ask(scope, at, "environments", filter, page, answer).await
    }

    /// One environment.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when it was not declared at that moment.
    pub async fn environment(
        &self,
        scope: &Scope,
        at: At,
        id: &EnvironmentId,
    ) -> Result<Answer<Environment>> {
        let id = id.clone();
        let answer = move |q: Question<'_>| environments::get(q.view, &q.moment, q.scope, &id);
        self.ask(scope, at, "environment", &(), &PageRequest::default(), answer).await
    }

    /// The resources of an environment, ordered by kind, namespace and name.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when the environment was not declared at that moment.
    pub async fn environment_resources(
        &self,
        scope: &Scope,
        at: At,
        id: &EnvironmentId,
        filter: &ResourceFilter,
        page: &PageRequest,
    ) -> Result<Page<Resource>> {
        let (of, wanted) = (id.clone(), filter.clone());
        let answer =
            move |q: Question<'_>| resources::list(q.view, &q.moment, q.scope, &of, &wanted, &q.start);
        self.ask(scope, at, "environment_resources", &(id, filter), page, answer).await
    }

    /// The graph of an environment.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when the environment was not declared at that moment.
    pub async fn environment_graph(
        &self,
        scope: &Scope,
        at: At,
        id: &EnvironmentId,
    ) -> Result<Answer<Graph>> {
        let id = id.clone();
        let answer = move |q: Question<'_>| graph::get(q.view, &q.moment, q.scope, &id);
        self.ask(scope, at, "environment_graph", &(), &PageRequest::default(), answer).await
    }

    /// One resource with its object; `cluster` decides where several clusters hold the uid.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when it was not there at that moment, [`QueryError::Ambiguous`] when several
    /// resources carry the uid.
    pub async fn resource(
        &self,
        scope: &Scope,
        at: At,
        uid: &Uid,
        cluster: Option<&str>,
    ) -> Result<Answer<ResourceDetail>> {
        let (uid, cluster) = (uid.clone(), cluster.map(str::to_owned));
        let answer = move |q: Question<'_>| {
            resources::get(q.view, q.log, &q.moment, q.scope, &uid, cluster.as_deref())
        };
        self.ask(scope, at, "resource", &(), &PageRequest::default(), answer).await
    }

    /// The versions of a resource up to the moment, newest first; `bodies` adds each object.
    ///
    /// # Errors
    /// As for [`Queries::resource`], save that the resource may be gone by then.
    pub async fn resource_history(
        &self,
        scope: &Scope,
        at: At,
        uid: &Uid,
        cluster: Option<&str>,
        bodies: bool,
        page: &PageRequest,
    ) -> Result<Page<Version>> {
        let filter = (uid.clone(), cluster.map(str::to_owned));
        let (of, cluster) = filter.clone();
        let answer = move |q: Question<'_>| {
            let cluster = cluster.as_deref();
            history::list(q.view, q.log, &q.moment, q.scope, &of, cluster, bodies, &q.start)
        };
        self.ask(scope, at, "resource_history", &filter, page, answer).await
    }

    /// Clusters with what of them is watched, by name.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub async fn clusters(&self, scope: &Scope, at: At, page: &PageRequest) -> Result<Page<Cluster>> {
        let answer = move |q: Question<'_>| clusters::list(q.view, &q.moment, q.scope, &q.start);
        self.ask(scope, at, "clusters", &(), page, answer).await
    }
}
