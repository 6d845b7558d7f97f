//! Servers over one recorded world, each of them in another state.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::super::server::{Server, server};
use super::super::{AppState, Authenticator, Check, Readiness, Ready, Uncounted, access};
use crate::api::routes;
use crate::app::{ClusterLists, CurrentPresentation, Presentation};
use crate::catalog::{CatalogWriter, QuotaConfig};
use crate::http::auth::{AccessConfig, TokenConfig, TokenHash};
use crate::http::{Load, LoadLimits};
use strandline_clock::{Clock, SystemClock};
use strandline_log::Appender;
use strandline_model::{
    AgentSpec, CatalogFact, DeploymentId, DeploymentSpec, DeploymentStatus, EnvironmentSpec,
    EnvironmentState, Offset, ProjectSpec, SavedView, Source, TargetSpec, Timestamp,
};
use strandline_query::Queries;
use strandline_query::testing::{World, queries, small_history};
use strandline_view::ViewStatus;

/// Breaks when it is asked, as a bug in a check would.
struct Breaking;

impl Readiness for Breaking {
    fn checks(&self) -> Vec<Check> {
        panic!("on purpose")
    }

    fn clusters(&self) -> Vec<ClusterLists> {
        panic!("on purpose")
    }
}

/// A clock by which a minute passes whenever it is looked at, so that no two wrong tokens come within one.
#[derive(Debug, Default)]
struct Hasty(AtomicI64);

impl Clock for Hasty {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(60_000_000, Ordering::Relaxed))
    }
}

/// Which server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whom {
    /// Has the recorded world.
    Whole,
    /// Is building its view.
    Building,
    /// Has let go of the first changes.
    Compacted,
    /// Finds no files.
    Broken,
    /// Has a log that is damaged, and takes nothing.
    ReadOnly,
    /// Lets nobody write, as often as that is.
    Hurried,
    /// Has as much under way of everybody as one may have.
    Full,
    /// Has a place for no connection.
    Crowded,
    /// Can be reached by others, and wants tokens.
    Guarded,
    /// Can be reached by others, and has no tokens.
    Open,
}

/// One that sees a project, and may write of it where `write` says so.
fn token(name: &str, write: bool) -> TokenConfig {
    TokenConfig {
        name: name.into(),
        hash: TokenHash::of(&format!("sl_{name}")),
        user: None,
        expires: None,
        projects: BTreeSet::from(["shop/db".to_owned()]),
        groups: BTreeSet::new(),
        write,
        everything: false,
    }
}

/// The servers of a test; all of them tell of one world, as far as they can tell of any.
pub(super) struct Servers {
    by: BTreeMap<Whom, Server>,
    _worlds: [World; 2],
    /// Keep the logs open.
    _appenders: [Appender; 2],
}

impl Servers {
    pub(super) async fn new() -> Self {
        let world = World::new(small_history());
        let appender = world.write();
        seed(&appender).await;
        world.project();
        let catalog = CatalogWriter::new(&appender);
        let views = vec![SavedView { name: "all".into(), ..SavedView::default() }];
        let presentation = CurrentPresentation::new(Presentation { views, ..Presentation::default() });
        let state = |queries: Queries, readiness: Arc<dyn Readiness>| AppState {
            queries,
            readiness,
            metrics: Arc::new(Uncounted),
            clock: world.clock.clone(),
            current_presentation: presentation.clone(),
            catalog: catalog.clone(),
            ..super::super::state(true)
        };
        let whole = || state(world.queries.clone(), Arc::new(Ready(true)));
        let nowhere = Path::new("/nonexistent");
        let building = Queries::new(nowhere, 1, ViewStatus::default(), Arc::new(SystemClock));
        let broken = queries(nowhere, Arc::new(SystemClock));
        let compacted = World::new(small_history());
        compacted.write().compact(Offset::new(30)).await.expect("the log takes it");
        let tokens = vec![token("shop", false), token("writer", true)];
        let guarded = AccessConfig { tokens, ..AccessConfig::default() };
        let guarded = Arc::new(Authenticator::new(guarded, false, Arc::new(Hasty::default())));
        // The state of tests without a world has a log that is closed.
        let closed = super::super::state(true).catalog;
        let refusing = Appender::refusing("the log is damaged at offset 7");
        let hurried = QuotaConfig { writes_per_minute: 0, ..QuotaConfig::default() };
        let states = [
            (Whom::ReadOnly, AppState { catalog: CatalogWriter::new(&refusing), ..whole() }),
            (Whom::Hurried, AppState { catalog: catalog.clone().with_quotas(hurried), ..whole() }),
            (Whom::Guarded, AppState { access: guarded, ..whole() }),
            (Whom::Full, whole()),
            (Whom::Crowded, whole()),
            (Whom::Open, AppState { access: access(&[], false), ..whole() }),
            (Whom::Whole, whole()),
            (Whom::Compacted, state(compacted.queries.clone(), Arc::new(Ready(true)))),
            (Whom::Building, state(building, Arc::new(Ready(false)))),
            (Whom::Broken, AppState { catalog: closed, ..state(broken, Arc::new(Breaking)) }),
        ];
        let mut by = BTreeMap::new();
        for (whom, state) in states {
            let limits = match whom {
                Whom::Full => LoadLimits { requests_each: 0, ..LoadLimits::default() },
                Whom::Crowded => LoadLimits { connections: 0, ..LoadLimits::default() },
                _ => LoadLimits::default(),
            };
            by.insert(whom, server(routes(&state), |options| options.load = Load::new(limits)).await);
        }
        Servers { by, _worlds: [world, compacted], _appenders: [appender, refusing] }
    }

    pub(super) async fn ask(&self, ask: &Ask) -> String {
        let Ask { whom, method, target, host, headers, content } = ask;
        let length = if content.is_empty() || headers.contains("content-length") {
            String::new()
        } else {
            format!("content-length: {}\r\n", content.len())
        };
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{length}{headers}\r\n{content}"
        );
        self.by[whom].raw(head.as_bytes()).await
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) whom: Whom,
    pub(super) method: &'static str,
    pub(super) target: String,
    pub(super) host: &'static str,
    pub(super) headers: String,
    pub(super) content: String,
}

pub(super) fn get(target: impl Into<String>) -> Ask {
    Ask {
        whom: Whom::Whole,
        method: "GET",
        target: target.into(),
        host: "localhost",
        headers: String::new(),
        content: String::new(),
    }
}

/// Something to ask about for every path of the catalog, and one of each that somebody else declares.
pub(super) async fn seed(appender: &Appender) {
    let agent = |name: &str, configuration: &str| {
        let mut spec = AgentSpec::new(format!("ops/agents:{name}").parse().expect("an agent's name"));
        (spec.cluster, spec.configuration) = ("east".into(), configuration.into());
        CatalogFact::Agent(Box::new(spec))
    };
    let project =
        |path: &str| CatalogFact::Project(ProjectSpec { path: path.into(), ..ProjectSpec::default() });
    let environment = |name: &str| EnvironmentSpec::new("shop/db", name);
    let target = TargetSpec {
        agent: "ops/agents:fixed".parse().ok(),
        namespace: "shop".into(),
        ..TargetSpec::default()
    };
    let held = EnvironmentSpec { targets: vec![target], ..environment("held") };
    let stopped = EnvironmentSpec { state: EnvironmentState::Stopped, ..environment("stopped") };
    let deployment = |id: u64, status: DeploymentStatus| {
        let spec = DeploymentSpec { id: DeploymentId(id), status, ..deployment(&held) };
        CatalogFact::Deployment(Box::new(spec))
    };
    // Two projects have a deployment of this number.
    let shared = |project: &str| {
        let spec =
            DeploymentSpec { id: DeploymentId(600), project: project.into(), ..self::deployment(&held) };
        CatalogFact::Deployment(Box::new(spec))
    };
    let shared = ["shop/db", "shop/cart"].map(shared);
    let elsewhere = vec![
        project("shop/cart"),
        project("shop/fixed"),
        agent("fixed", "user_access: {projects: [{id: ops/agents}]}"),
    ];
    appender.declare(Source::Folder, elsewhere).await.expect("the log takes it");
    let of_api = vec![
        project("shop/db"),
        project("shop/gone"),
        agent("production", "ci_access: {instance: {}}"),
        agent("gone", ""),
        deployment(512, DeploymentStatus::Running),
        deployment(513, DeploymentStatus::Failed),
        CatalogFact::from(environment("gone")),
        CatalogFact::from(environment("going")),
        CatalogFact::from(stopped),
        CatalogFact::from(held),
    ];
    appender
        .declare(Source::Api, of_api.into_iter().chain(shared).collect())
        .await
        .expect("the log takes it");
}

/// A deployment of which nothing is said but where to.
fn deployment(to: &EnvironmentSpec) -> DeploymentSpec {
    DeploymentSpec {
        id: DeploymentId(0),
        environment: to.id.clone(),
        project: to.project.clone(),
        status: DeploymentStatus::Created,
        reference: "main".into(),
        tag: false,
        sha: String::new(),
        job: None,
        user: String::new(),
        created_at: None,
        finished_at: None,
        agent: None,
        authorization: None,
    }
}
