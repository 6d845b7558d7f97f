//! The graph of an environment of 20,000 Pods against that of one of 20, as users ask for it: collapsed, worst first,
//! now and at a past moment; with the way to what is wrong and the first pages of its list.
//!
//! Limits are those of the design: a grouped graph of 20,000 Pods within 30 ms.

mod common;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use strandline_clock::SystemClock;
use strandline_log::Observation;
use strandline_model::{
    At, CatalogFact, ClusterSpec, EnvironmentId, EnvironmentSpec, Labels, Offset, ResourceVersion, Source,
    TargetSpec, Uid,
};
use strandline_object::digest::Digest;
use strandline_protocol::Collapse;
use strandline_query::{ExplainEnvironment, GetEnvironmentGraph, ListEnvironmentResources};
use strandline_query::{GraphFilter, PageRequest, Queries, ResourceFilter, ResourceOrder, Scope};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ViewStatus};
use tokio::runtime::Runtime;

use common::settings;
use common::table::{Mark, Table, in_turn};
use common::{BATCH, Log, Seen};

const PODS: u64 = 20_000;
const FEW: u64 = 20;
const ROUNDS: usize = 21;

/// Milliseconds that the design allows for a graph of so many.
const LIMIT: f64 = 30.0;

/// What is asked, and how many things the answer tells.
type Ask = fn(&Crowd) -> usize;

const QUESTIONS: [(&str, Ask); 7] = [
    ("graph by kind", |crowd| crowd.graph(At::Now, Collapse::Kind)),
    ("graph of what has no owner", |crowd| crowd.graph(At::Now, Collapse::Owner)),
    ("graph, the worst first, the rest counted", |crowd| crowd.graph(At::Now, Collapse::Siblings)),
    ("the same at a past moment", |crowd| crowd.graph(At::Offset(crowd.past), Collapse::Siblings)),
    ("why it is as it is", Crowd::why),
    ("first page of its resources, the worst first", |crowd| crowd.list(ResourceOrder::Health)),
    ("first page of its resources, by name", |crowd| crowd.list(ResourceOrder::Name)),
];

fn main() {
    if settings::is_listed() {
        return;
    }
    let (many, few) = (Crowd::new(PODS), Crowd::new(FEW));
    let mut table = Table::new("graph");
    for (name, ask) in QUESTIONS {
        let [many, few] = in_turn(
            ROUNDS,
            [&mut || _ = std::hint::black_box(ask(&many)), &mut || _ = std::hint::black_box(ask(&few))],
        );
        table.row(name, "ms", many.median, Some(("of 20 Pods", few.median)), Mark::AtMost(LIMIT));
    }
    table.finish();
}

/// A recorded environment: a Service, a Deployment, its ReplicaSet and Pods, of which each hundredth fails, and then
/// half of them.
struct Crowd {
    queries: Queries,
    runtime: Runtime,
    /// When only each hundredth failed.
    past: Offset,
    _directory: tempfile::TempDir,
}

fn id() -> EnvironmentId {
    EnvironmentId::of("shop/web", "production")
}

fn object(kind: &'static str, name: &str, owner: &str, rest: Value, version: u64) -> Seen {
    let owners = if owner.is_empty() { json!([]) } else { json!([{"kind": "A", "name": "a", "uid": owner}]) };
    let mut body = json!({"apiVersion": "v1", "kind": kind, "metadata": {
        "name": name, "namespace": "shop", "uid": name, "labels": {"app": "web"}, "ownerReferences": owners}});
    if let (Some(body), Value::Object(rest)) = (body.as_object_mut(), rest) {
        body.extend(rest);
    }
    let body = body.to_string();
    let digest = Digest(*blake3::hash(body.as_bytes()).as_bytes().first_chunk().expect("it is long enough"));
    let resource_version = ResourceVersion::new(version.to_string());
    let (namespace, name, uid) = ("shop".to_owned(), name.to_owned(), Uid::new(name));
    Seen {
        kind,
        observation: Observation { namespace, name, uid, resource_version, digest, body, changed_by: None },
    }
}

fn pods(count: u64, failing: u64, version: u64) -> Vec<Seen> {
    let pod = |n: u64| {
        let phase = if n.is_multiple_of(failing) { "Failed" } else { "Succeeded" };
        let rest = json!({
            "spec": {"serviceAccountName": "web", "containers": [], "volumes": [{"name": "s", "configMap": {"name": "s"}}]},
            "status": {"phase": phase}});
        object("Pod", &format!("web-{n}"), "set", rest, version)
    };
    (0..count).map(pod).collect()
}

impl Crowd {
    fn new(count: u64) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let log = Log::open(directory.path());
        let runtime = Runtime::new().expect("a runtime");
        runtime.block_on(log.appender.declare(Source::Config, facts())).expect("the catalog is declared");
        let selector = json!({"spec": {"selector": {"app": "web"}}});
        let mut first = vec![object("Service", "web", "", selector, 1)];
        first.extend([
            object("Deployment", "all", "", json!({}), 1),
            object("ReplicaSet", "set", "all", json!({}), 1),
        ]);
        first.extend(pods(count, 100, 1));
        log.append(first, BATCH);
        project(directory.path());
        let past =
            runtime.block_on(log.appender.declare(Source::Config, facts())).expect("nothing is new").head;
        log.append(pods(count, 2, 2), BATCH);
        log.close();
        project(directory.path());
        let status = ViewStatus::new(Watermark::default());
        status.set_usable(true);
        let queries = Queries::new(directory.path(), 1, status, Arc::new(SystemClock));
        Crowd { queries, runtime, past, _directory: directory }
    }

    fn graph(&self, at: At, collapse: Collapse) -> usize {
        let filter = GraphFilter { collapse, ..GraphFilter::default() };
        let (scope, id) = (Scope::everything(), id());
        let answer =
            self.runtime.block_on(self.queries.ask(&scope, at, GetEnvironmentGraph::new(&id, &filter)));
        let graph = answer.expect("a graph").value;
        graph.nodes.len() + graph.groups.len()
    }

    fn list(&self, order: ResourceOrder) -> usize {
        let filter = ResourceFilter { order, ..ResourceFilter::default() };
        let (scope, id, page) = (Scope::everything(), id(), PageRequest::default());
        let answer = self.queries.ask(&scope, At::Now, ListEnvironmentResources::new(&id, &filter, &page));
        self.runtime.block_on(answer).expect("a page").items.len()
    }

    fn why(&self) -> usize {
        let (scope, id) = (Scope::everything(), id());
        let answer = self.queries.ask(&scope, At::Now, ExplainEnvironment::new(&id, 10));
        self.runtime.block_on(answer).expect("an answer").value.paths.len()
    }
}

fn facts() -> Vec<CatalogFact> {
    let target = TargetSpec {
        cluster: "bench".into(),
        namespace: "shop".into(),
        labels: Some(Labels::new()),
        ..TargetSpec::default()
    };
    let environment =
        EnvironmentSpec { id: id(), targets: vec![target], ..EnvironmentSpec::new("shop/web", "production") };
    let cluster = ClusterSpec { name: "bench".into(), region: "eu".into() };
    vec![CatalogFact::Cluster(cluster), CatalogFact::from(environment)]
}

fn project(directory: &Path) {
    let mut projector = Projector::open(directory, RuleSet::default()).expect("the view opens");
    while projector.step().expect("the view is written").is_some() {}
}
