//! Answers for now and for any moment, from the view and, for bodies, from the log.
//!
//! A file per question. Each takes the view in one unchanging state, the moment, and a [`Scope`].

mod agents;
mod alike;
mod clusters;
mod coverage;
mod deployments;
mod diff;
mod edges;
mod environments;
mod error;
mod events;
mod fields;
mod filters;
mod floors;
mod freshness;
mod gaps;
mod graph;
mod groups;
mod health;
mod history;
mod images;
mod judged;
mod left_behind;
mod moment;
mod onset;
mod overview;
mod page;
mod projects;
mod reader;
mod resources;
mod scope;
mod search;
mod sieve;
mod stretch;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod timeline;
mod warnings;
mod words;

pub use coverage::CoverageFilter;
pub use deployments::DeploymentFilter;
pub use diff::{BesideRequest, DiffRequest, EnvironmentDiffRequest};
pub use error::QueryError;
pub use events::EventFilter;
pub use filters::{GraphFilter, HealthFilter, PageRequest, ResourceFilter, ResourceOrder};
pub use freshness::{Confirmed, Freshness};
pub use images::ImageFilter;
pub use onset::OnsetFilter;
pub use overview::OverviewRequest;
pub use scope::Scope;
pub use search::{Presence, ResourceSearch};
pub use strandline_model::EnvironmentFilter;
pub use timeline::{Order as TimelineOrder, TimelineFilter};

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use serde::Serialize;

use self::freshness::Live;
use self::moment::Moment;
use self::page::{PageKey, Start};
use self::reader::Reader;
use self::scope::Sight;
use strandline_clock::Clock;
use strandline_log::LogReader;
use strandline_protocol::{
    Answer, Environment, Graph, HealthHistory, Overview, Page, Resource, ResourceDetail, Version, Why,
};
use strandline_sqlite::{Asker, Crowd, Pool};
use strandline_view::ViewStatus;

use strandline_model::{At, EnvironmentId, Offset, Uid};

/// How far the view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Newest offset of the log.
    pub head: Offset,
    /// Last one the view holds.
    pub checkpoint: Offset,
}

type Result<T> = std::result::Result<T, QueryError>;

/// Answers queries; clones share one pool of readers.
#[derive(Clone)]
pub struct Queries {
    pool: Pool<Reader>,
    status: ViewStatus,
    clock: Arc<dyn Clock>,
    /// The moment of all questions, where they are to agree with each other.
    held: Option<Moment>,
    /// How long a question may read.
    longest: Duration,
    freshness: Option<Arc<dyn Freshness>>,
    pages: PageKey,
    /// Whose questions they are.
    asker: Asker,
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
    scope: &'a Sight,
    start: Start,
}

impl Queries {
    /// Answers from the view and log of a data directory with at most `readers` questions at a time.
    pub fn new(directory: &Path, readers: usize, status: ViewStatus, clock: Arc<dyn Clock>) -> Self {
        let directory = directory.to_owned();
        let of_log = status.clone();
        let open = move || {
            let reader = Reader::open(&directory)?;
            // Files that took the place of ours hold something else.
            match of_log.is_log_displaced() {
                false => Ok(reader),
                true => Err("the data directory was removed or replaced".to_owned()),
            }
        };
        let pool = Pool::new(readers, open);
        let (longest, pages, asker) = (reader::LONGEST, PageKey::passing(), Asker::from(""));
        Queries { pool, status, clock, held: None, longest, freshness: None, pages, asker }
    }

    /// The same, whose answers by time state up to when they are confirmed.
    pub fn with_freshness(self, freshness: Arc<dyn Freshness>) -> Self {
        Queries { freshness: Some(freshness), ..self }
    }

    /// The same, whose lists can be gone on with after a restart: their tokens are marked with what follows from this key.
    pub fn with_key(self, key: &[u8; 32]) -> Self {
        Queries { pages: PageKey::derived(key), ..self }
    }

    /// The same for somebody, who gets a fair share of the readers and no more.
    pub fn of(self, asker: &Asker) -> Self {
        Queries { asker: Arc::clone(asker), ..self }
    }

    /// How many questions are read, and how many wait for a reader.
    pub fn crowd(&self) -> Crowd {
        self.pool.crowd()
    }

    fn live(&self) -> Live {
        Live { problem: self.status.writer_problem(), freshness: self.freshness.clone() }
    }

    /// The same with less time for a question.
    #[cfg(test)]
    fn within(&self, longest: Duration) -> Self {
        Queries { longest, ..self.clone() }
    }

    /// Opens the files anew, after the view was swapped for another.
    pub fn reopen(&self) {
        self.pool.reset();
    }

    /// Lets `swap` put another view into the place of the one that is read. Questions wait for it where they have to open
    /// the view; those at work go on with the one that they have.
    pub fn replace<R>(&self, swap: impl FnOnce() -> R) -> R {
        self.pool.replace(swap)
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
        filter: &impl Serialize,
        page: &PageRequest,
        answer: impl FnOnce(Question<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let start = Start::read(&self.pages, list, scope, filter, page)?;
        let (scope, now, held, live) = (scope.clone(), self.clock.now(), self.held.clone(), self.live());
        self.read(move |view, log| {
            let moment = match held {
                Some(held) => held.found_again(view, log)?,
                None => Moment::find(view, log, now, at, start.pinned)?.with_live(live),
            };
            let (sight, start) = (scope.look_up(view)?, start.at(&moment));
            let question = Question { view, log: &mut *log, moment: moment.clone(), scope: &sight, start };
            let placed = |error: QueryError| words::suggested(error.asked_at(&moment), view, &moment, &sight);
            answer(question).map_err(|error| placed(error).dated(log).or_lost(log))
        })
        .await
    }

    /// Reads on a thread of the pool, from the view in one unchanging state.
    async fn read<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&Connection, &mut LogReader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if !self.status.is_usable() {
            let Progress { head, checkpoint } = self.progress();
            return Err(QueryError::Building { checkpoint, head });
        }
        let longest = self.longest;
        let result = self.pool.run(&self.asker, move |reader, abandoned| {
            let (view, mut log) = reader.begin(longest, abandoned)?;
            answer(&view, &mut log)
        });
        let result = result.await?;
        if let Err(QueryError::Damaged(damage)) = &result {
            tracing::error!(damage, "the view is damaged and will be rebuilt");
            self.status.report_damage();
        }
        result
    }

    /// The same questions, all at one moment: what `at` means now. Whatever moment they are asked for themselves is
    /// passed over then, and a page token only tells where its list goes on.
    ///
    /// Asked of questions that have a moment already, "now" is theirs, and durations are counted back from it.
    ///
    /// # Errors
    /// When there is no such moment yet, or the view cannot be read.
    pub async fn held(&self, at: At) -> Result<Queries> {
        if self.held.is_some() && at == At::Now {
            return Ok(self.clone());
        }
        let now = self.held.as_ref().map_or_else(|| self.clock.now(), |held| held.now);
        let held = self.read(move |view, log| Moment::find(view, log, now, at, None)).await?;
        let held = held.with_live(self.live());
        Ok(Queries { held: Some(held), ..self.clone() })
    }

    /// All environments of a selection, counted in groups.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub async fn overview(
        &self,
        scope: &Scope,
        at: At,
        request: &OverviewRequest,
    ) -> Result<Answer<Overview>> {
        let wanted = request.clone();
        let answer = move |q: Question<'_>| overview::get(q.view, &q.moment, q.scope, &wanted);
        self.ask(scope, at, "overview", &(), &PageRequest::default(), answer).await
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
    /// [`QueryError::NotFound`] when the environment was not declared at that moment, or the resource to begin with was
    /// not in it.
    pub async fn environment_graph(
        &self,
        scope: &Scope,
        at: At,
        id: &EnvironmentId,
        filter: &GraphFilter,
    ) -> Result<Answer<Graph>> {
        let (id, filter) = (id.clone(), filter.clone());
        let answer = move |q: Question<'_>| graph::get(q.view, &q.moment, q.scope, &id, &filter);
        self.ask(scope, at, "environment_graph", &(), &PageRequest::default(), answer).await
    }

    /// The ways from the roots of an environment that make it what it is down to what is wrong, at most `limit`.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when the environment was not declared at that moment.
    pub async fn environment_why(
        &self,
        scope: &Scope,
        at: At,
        id: &EnvironmentId,
        limit: usize,
    ) -> Result<Answer<Why>> {
        let id = id.clone();
        let answer = move |q: Question<'_>| graph::why(q.view, &q.moment, q.scope, &id, limit);
        self.ask(scope, at, "environment_why", &(), &PageRequest::default(), answer).await
    }

    /// The health of an environment over a span of time that ends at the moment.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when the environment was not declared at that moment.
    pub async fn environment_health(
        &self,
        scope: &Scope,
        at: At,
        id: &EnvironmentId,
        filter: &HealthFilter,
    ) -> Result<Answer<HealthHistory>> {
        let (id, filter) = (id.clone(), *filter);
        let answer =
            move |q: Question<'_>| health::of_environment(q.view, q.log, &q.moment, q.scope, &id, &filter);
        self.ask(scope, at, "environment_health", &(), &PageRequest::default(), answer).await
    }

    /// The health of a resource over a span of time that ends at the moment.
    ///
    /// # Errors
    /// As for [`Queries::resource`], save that the resource may be gone by then.
    pub async fn resource_health(
        &self,
        scope: &Scope,
        at: At,
        uid: &Uid,
        cluster: Option<&str>,
        filter: &HealthFilter,
    ) -> Result<Answer<HealthHistory>> {
        let (uid, cluster, filter) = (uid.clone(), cluster.map(str::to_owned), *filter);
        let answer = move |q: Question<'_>| {
            let of = (&uid, cluster.as_deref());
            health::of_resource(q.view, q.log, &q.moment, q.scope, of, &filter)
        };
        self.ask(scope, at, "resource_health", &(), &PageRequest::default(), answer).await
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
}
