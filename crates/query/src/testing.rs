//! A small world for tests: recorded by the log's writer, folded by the projector, ready to be asked.

mod catalog;
mod history;
mod objects;

pub use catalog::{declare, environment, facts};
pub use history::{environments, mark, mover, say, small_history};
pub use objects::{judged_fields, observation};

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{GraphFilter, PageRequest, Queries};
use strandline_clock::Clock;
use strandline_clock::testing::ManualClock;
use strandline_log::{Appender, Batch, Begin, LogReader, LogWriter, Observation, Observed, Phase};
use strandline_model::{
    CatalogFact, ChangedBy, CoverageMark, CoverageState, EnvironmentSpec, Kind, Offset, ResourceVersion,
    Source, Timestamp, Uid, WatchKey,
};
use strandline_protocol::{Collapse, Graph};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ProjectorOptions, RecentChanges, ViewStatus};

/// All of a list in one page.
pub fn whole() -> PageRequest {
    PageRequest { limit: PageRequest::MAX, after: None }
}

/// A graph of which nothing is left out.
pub fn uncut() -> GraphFilter {
    GraphFilter { collapse: Collapse::None, limit: Graph::LIMIT, ..GraphFilter::default() }
}

/// Runs a future to its end, on a thread of its own so that it does not matter who calls.
pub fn block_on<T: Send>(future: impl Future<Output = T> + Send) -> T {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(future)
    };
    std::thread::scope(|scope| scope.spawn(run).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Opens the log of a directory, lets `play` write to it, and closes it.
pub fn record<T: Send, F: Future<Output = T> + Send>(
    directory: &Path,
    clock: Arc<dyn Clock>,
    play: impl FnOnce(Appender) -> F,
) -> T {
    let (writer, appender) = LogWriter::open(directory, clock).expect("the log opens");
    let thread = std::thread::spawn(move || writer.run());
    let result = block_on(play(appender));
    thread.join().expect("the writer ends").expect("the writer ends well");
    result
}

/// Queries over the projected state of a directory.
pub fn queries(directory: &Path, clock: Arc<dyn Clock>) -> Queries {
    reading(directory, clock, ViewStatus::new(Watermark::default()))
}

/// The same, which know how far the view is.
fn reading(directory: &Path, clock: Arc<dyn Clock>, status: ViewStatus) -> Queries {
    status.set_usable(true);
    Queries::new(directory, 1, status, clock)
}

/// One resource as a test speaks of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    pub cluster: String,
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// The value of its label `app`; empty for none.
    pub app: String,
    /// Uid of its owner; empty for none.
    pub owner: String,
    /// See [`judged_fields`].
    pub health: usize,
    /// The finalizer that holds it back while it is being deleted; empty while it is meant to stay.
    pub waits_for: String,
}

impl Thing {
    /// A healthy Pod that belongs to nobody, with a uid made of its namespace and name.
    pub fn pod(cluster: &str, namespace: &str, name: &str) -> Self {
        Thing {
            cluster: cluster.into(),
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: namespace.into(),
            name: name.into(),
            uid: format!("{namespace}-{name}"),
            app: String::new(),
            owner: String::new(),
            health: 0,
            waits_for: String::new(),
        }
    }

    /// The same of another kind.
    pub fn of(self, api_version: &str, kind: &str) -> Self {
        Thing { api_version: api_version.into(), kind: kind.into(), ..self }
    }

    fn watch(&self) -> WatchKey {
        let kind = Kind::from_api_version(&self.api_version, &self.kind);
        WatchKey { cluster: self.cluster.clone(), kind, namespace: String::new() }
    }

    fn end(&self, version: u64) -> Observed {
        Observed::Deleted {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            uid: Uid::new(self.uid.as_str()),
            resource_version: ResourceVersion::new(version.to_string()),
        }
    }

    fn observation(&self, version: u64) -> Observation {
        let label = (!self.app.is_empty()).then(|| ("app".to_owned(), json!(self.app)));
        let owner =
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner", "uid": self.owner});
        let owners: Vec<_> = (!self.owner.is_empty()).then_some(owner).into_iter().collect();
        let mut body = json!({"apiVersion": self.api_version, "kind": self.kind, "metadata": {
            "name": self.name, "namespace": self.namespace, "uid": self.uid,
            "creationTimestamp": "2026-11-20T00:00:00Z",
            "labels": label.into_iter().collect::<Map<_, _>>(), "ownerReferences": owners,
        }});
        if !self.waits_for.is_empty() {
            body["metadata"]["finalizers"] = json!([self.waits_for]);
            body["metadata"]["deletionTimestamp"] = json!(World::time(0));
        }
        if let Some(body) = body.as_object_mut() {
            body.extend(judged_fields(self.health));
        }
        let by = ChangedBy {
            manager: "kubectl".into(),
            operation: "Update".into(),
            subresource: if self.kind == "Pod" { "status".into() } else { String::new() },
            time: (self.kind == "Pod").then_some(World::time(0)),
        };
        let changed_by = (self.kind != "ConfigMap").then_some(by);
        Observation { changed_by, ..observation(&self.namespace, &self.name, &self.uid, version, &body) }
    }
}

/// What an Event says of a thing.
#[derive(Clone, Debug)]
pub struct Remark {
    pub about: Thing,
    pub reason: &'static str,
    pub count: u32,
    /// Whether it gives the thing's name alone.
    pub by_name: bool,
}

impl Remark {
    fn watch(&self) -> WatchKey {
        WatchKey { kind: Kind::new("events.k8s.io", "Event"), ..self.about.watch() }
    }

    fn observation(&self, step: usize) -> Observation {
        let Thing { namespace, name, uid, api_version, kind, .. } = &self.about;
        let (own, about) = (format!("{name}.{}", self.reason), if self.by_name { name } else { uid });
        let body = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": own, "namespace": namespace, "uid": format!("{uid}.{}", self.reason)},
            "regarding": {"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name, "uid": about},
            "type": if self.reason == "BackOff" { "Warning" } else { "Normal" }, "reason": self.reason,
            "note": format!("{} it is", self.reason), "reportingController": "kubelet",
            "eventTime": World::time(0), "series": {"count": self.count, "lastObservedTime": World::time(step)},
        });
        observation(namespace, &own, &format!("{uid}.{}", self.reason), step as u64, &body)
    }
}

/// One step of a world's history.
#[derive(Clone, Debug)]
pub enum Event {
    /// Nothing happens, but time passes.
    Nothing,
    /// The catalog holds exactly these environments, and the clusters they look at.
    Declare(Vec<EnvironmentSpec>),
    /// The same by another source than the configuration, which says of clusters that it holds no more that nobody watches them
    /// any more.
    Beside(Vec<EnvironmentSpec>),
    /// The catalog holds exactly these facts.
    Catalog(Vec<CatalogFact>),
    Apply(Thing),
    Delete(Thing),
    /// Any object of the cluster `one`.
    Object(Value),
    /// It is gone.
    Gone(Value),
    Say(Remark),
    /// A kind of a cluster is not watched from here on, or is again; an empty kind is the cluster's discovery.
    Mark {
        cluster: String,
        kind: String,
        namespace: String,
        gap: bool,
    },
    /// Coverage is marked just so.
    Marked(CoverageMark),
    /// A kind of a cluster is covered like this from here on.
    Cover {
        cluster: String,
        kind: Kind,
        state: CoverageState,
    },
}

/// A recorded world: every step happens a minute after the one before.
pub struct World {
    pub queries: Queries,
    pub clock: Arc<ManualClock>,
    /// The newest offset after each step; before the first, zero.
    pub heads: Vec<Offset>,
    /// The clusters of which somebody looked which kinds they have.
    looked_at: BTreeSet<String>,
    rules: RuleSet,
    directory: TempDir,
    status: ViewStatus,
}

impl World {
    /// When a step happens.
    pub fn time(step: usize) -> Timestamp {
        const DAWN: i64 = 1_790_000_000_000_000;
        let minutes = i64::try_from(step).unwrap_or(0);
        Timestamp::from_micros(DAWN + minutes * 60_000_000)
    }

    /// A world in which this has happened.
    pub fn new(events: impl IntoIterator<Item = Event>) -> Self {
        World::judged_by(RuleSet::default(), events)
    }

    /// The same, judged by other rules.
    pub fn judged_by(rules: RuleSet, events: impl IntoIterator<Item = Event>) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let clock = Arc::new(ManualClock::default());
        let status = ViewStatus::new(Watermark::default());
        let queries = reading(directory.path(), clock.clone(), status.clone());
        let (heads, looked_at) = (vec![Offset::ZERO], BTreeSet::new());
        let mut world = World { queries, clock, heads, looked_at, rules, directory, status };
        world.go_on(events);
        world
    }

    /// Lets more happen and projects it.
    pub fn go_on(&mut self, events: impl IntoIterator<Item = Event>) {
        let first = self.heads.len();
        let (clock, start) = (self.clock.clone(), self.heads.last().copied().unwrap_or_default());
        let mut looked_at = std::mem::take(&mut self.looked_at);
        let events: Vec<_> = events.into_iter().collect();
        let (heads, looked_at) = record(self.directory.path(), clock.clone(), |appender| async move {
            let mut heads = vec![start];
            for (step, event) in (first..).zip(&events) {
                clock.set(World::time(step));
                let head = write(&appender, step, event, &mut looked_at).await;
                heads.push(head.unwrap_or(heads[heads.len() - 1]));
            }
            (heads, looked_at)
        });
        self.looked_at = looked_at;
        self.heads.extend(&heads[1..]);
        self.project();
    }

    /// Lets the view take what the log holds.
    pub fn project(&self) {
        let mut projector =
            Projector::open(self.directory.path(), ProjectorOptions::small(self.rules.clone()))
                .expect("the view opens")
                .with_recent(self.status.recent());
        while projector.step().expect("the view takes the log").is_some() {}
        self.status.head().set(self.head());
        self.status.checkpoint().set(projector.checkpoint());
    }

    /// Says how far the log is, as its writer does, while the view stays where it is.
    pub fn tell_head(&self) {
        self.status.head().set(self.head());
    }

    /// Opens its log for writing, until the appender and all its clones are gone.
    pub fn write(&self) -> Appender {
        let (writer, appender) =
            LogWriter::open(self.directory.path(), self.clock.clone()).expect("the log opens");
        std::thread::spawn(move || writer.run());
        appender
    }

    /// The newest offset of its log.
    pub fn head(&self) -> Offset {
        LogReader::open(self.directory.path()).and_then(|log| log.head()).expect("the log can be read")
    }

    /// Judges by other rules from here on.
    pub fn judge_by(&mut self, rules: RuleSet) {
        self.rules = rules;
    }

    /// Builds the view anew.
    pub fn rebuild(&self) {
        let rules = self.rules.clone();
        strandline_view::build(self.directory.path(), ProjectorOptions::small(rules), &Watermark::default())
            .expect("the view is built");
        self.queries.reopen();
    }

    /// The view as it lies on disk.
    pub fn view(&self) -> rusqlite::Connection {
        let view = strandline_view::open_reader(self.directory.path()).expect("the view can be read");
        super::scope::prepare(&view).expect("a scope's sets find room");
        view
    }

    /// Which environments changed lately.
    pub fn recent(&self) -> &RecentChanges {
        self.status.recent()
    }

    /// Where log and view are.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The last step.
    pub fn last(&self) -> usize {
        self.heads.len() - 1
    }
}

/// Writes an event and tells the newest offset where the log did.
async fn write(
    appender: &Appender,
    step: usize,
    event: &Event,
    looked_at: &mut BTreeSet<String>,
) -> Option<Offset> {
    let appended = match event {
        Event::Nothing => return None,
        Event::Declare(environments) => {
            catalog::declare_beside(appender, Source::Config, facts(environments), looked_at).await
        }
        Event::Beside(environments) => {
            catalog::declare_beside(appender, Source::Folder, facts(environments), looked_at).await
        }
        Event::Catalog(facts) => {
            catalog::declare_beside(appender, Source::Config, facts.clone(), looked_at).await
        }
        Event::Apply(thing) => {
            let seen = Observed::Applied(thing.observation(step as u64));
            appender.append(batch(appender, thing.watch(), seen).await).await
        }
        Event::Object(object) => {
            let (watch, seen) = (objects::watch("one", object), objects::applied(object, step as u64));
            appender.append(batch(appender, watch, seen).await).await
        }
        Event::Gone(object) => {
            let (watch, seen) = (objects::watch("one", object), objects::deleted(object, step as u64));
            appender.append(batch(appender, watch, seen).await).await
        }
        Event::Say(remark) => {
            let seen = Observed::Applied(remark.observation(step));
            appender.append(batch(appender, remark.watch(), seen).await).await
        }
        Event::Delete(thing) => {
            appender.append(batch(appender, thing.watch(), thing.end(step as u64)).await).await
        }
        Event::Mark { cluster, kind, namespace, gap } => {
            // A mark of one namespace is none of the cluster, of which nobody would know anything since it was declared.
            if kind.is_empty() && namespace.is_empty() {
                looked_at.insert(cluster.clone());
            }
            let kind = Kind::new("", kind.as_str());
            let watch = WatchKey { cluster: cluster.clone(), kind, namespace: namespace.clone() };
            let state = if *gap { CoverageState::Gap } else { CoverageState::Watched };
            let reason = if *gap { "forbidden" } else { "" };
            appender.mark(CoverageMark::new(watch, state, World::time(step), reason, "")).await
        }
        Event::Marked(mark) => appender.mark(mark.clone()).await,
        Event::Cover { cluster, kind, state } => {
            let watch = WatchKey { cluster: cluster.clone(), kind: kind.clone(), namespace: String::new() };
            appender.mark(CoverageMark::new(watch, *state, World::time(step), state.as_str(), "")).await
        }
    };
    Some(appended.expect("the log takes it").head)
}

/// Lets many things of one kind and cluster be there at once, at a step.
pub async fn apply_all(appender: &Appender, step: usize, things: &[Thing]) {
    let Some(watch) = things.first().map(Thing::watch) else { return };
    let epoch = appender.begin(Begin::new(&watch, false)).await.expect("a run").epoch;
    let observed = things.iter().map(|thing| Observed::Applied(thing.observation(step as u64))).collect();
    let batch = Batch { watch, epoch, phase: Phase::UpToDate, observed, cursor: None };
    appender.append(batch).await.expect("the log takes it");
}

/// Lets a thing end.
pub async fn end(appender: &Appender, thing: &Thing) {
    let batch = batch(appender, thing.watch(), thing.end(0)).await;
    appender.append(batch).await.expect("the log takes it");
}

/// Lets a body of a kind be there, whatever stands in it.
pub async fn observe(appender: &Appender, cluster: &str, seen: Observation) {
    let body: Value = serde_json::from_str(&seen.body).expect("a body is JSON");
    let text = |name: &str| body[name].as_str().unwrap_or_default();
    let kind = Kind::from_api_version(text("apiVersion"), text("kind"));
    let watch = WatchKey { cluster: cluster.into(), kind, namespace: String::new() };
    let batch = batch(appender, watch, Observed::Applied(seen)).await;
    appender.append(batch).await.expect("the log takes it");
}

async fn batch(appender: &Appender, watch: WatchKey, seen: Observed) -> Batch {
    let epoch = appender.begin(Begin::new(&watch, false)).await.expect("a run").epoch;
    Batch { watch, epoch, phase: Phase::UpToDate, observed: vec![seen], cursor: None }
}
