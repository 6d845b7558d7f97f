//! What a scope pays for being one: 20,000 environments in 100 clusters, of which a member of one group sees the half, asked
//! by that member and by one who sees everything, in turn.
//!
//! The mark is the design's: a scoped answer takes twice as long as an unscoped one at most, once the reader has the sets of
//! what the scope sees. What making these takes stands in a row of its own: it is paid when another scope asked
//! before, and when something of the catalog moved.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use strandline_clock::{Clock, SystemClock};
use strandline_gitlab::Membership;
use strandline_log::{Appender, Batch, Begin, LogWriter, Observation, Observed, Phase};
use strandline_model::{
    At, CatalogFact, ClusterSpec, CoverageMark, CoverageState, EnvironmentFilter, EnvironmentId,
    EnvironmentSpec, GroupBy, Kind, Labels, ResourceVersion, TargetSpec, Uid, WatchKey,
};
use strandline_object::digest::Digest;
use strandline_query::testing;
use strandline_query::{
    CoverageFilter, DeploymentFilter, GetOverview, GraphFilter, ImageFilter, PageRequest, Queries,
    ResourceFilter, ResourceSearch, Scope,
};
use strandline_query::{
    GetEnvironment, GetEnvironmentGraph, GetResource, ListClusters, ListCoverage, ListDeployments,
    ListEnvironmentResources, ListEnvironments, ListImages, SearchResources,
};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ViewStatus};
use tokio::runtime::Runtime;

use common::settings;
use common::table::{Mark, Table, in_turn};

const ENVIRONMENTS: usize = 20_000;
const CLUSTERS: usize = 100;
/// Environments of one project.
const EACH: usize = 5;
const ROUNDS: usize = 21;

fn cluster(n: usize) -> String {
    format!("cluster-{:03}", n % CLUSTERS)
}

/// The projects of the two groups take turns.
fn project(environment: usize) -> String {
    let project = environment / EACH;
    format!("{}/project-{project:04}", if project.is_multiple_of(2) { "ours" } else { "theirs" })
}

fn environment(n: usize) -> EnvironmentSpec {
    let name = ["production", "staging", "qa", "development", "review/app"][n % EACH];
    let target = TargetSpec {
        cluster: cluster(n),
        namespace: format!("ns-{n}"),
        labels: Some(Labels::new()),
        ..TargetSpec::default()
    };
    EnvironmentSpec {
        region: format!("region-{}", n % CLUSTERS % 8),
        targets: vec![target],
        ..EnvironmentSpec::new(&project(n), name)
    }
}

fn pod(n: usize) -> Observation {
    let body = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("web-{n}"), "namespace": format!("ns-{n}"), "uid": format!("u{n}")},
        "spec": {"containers": [{"name": "web", "image": format!("registry.example.com/web:{}", n % 500)}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let body = body.to_string();
    Observation {
        namespace: format!("ns-{n}"),
        name: format!("web-{n}"),
        uid: Uid::new(format!("u{n}")),
        resource_version: ResourceVersion::new(n.to_string()),
        digest: Digest(*blake3::hash(body.as_bytes()).as_bytes().first_chunk().expect("it is long enough")),
        body,
        changed_by: None,
    }
}

async fn play(appender: Appender) {
    let clusters =
        (0..CLUSTERS).map(|n| CatalogFact::Cluster(ClusterSpec { name: cluster(n), region: String::new() }));
    let environments = (0..ENVIRONMENTS).map(|n| CatalogFact::from(environment(n)));
    testing::declare(&appender, clusters.chain(environments).collect()).await;
    for n in 0..CLUSTERS {
        let watch = WatchKey { cluster: cluster(n), kind: Kind::new("", "Pod"), namespace: String::new() };
        let epoch = appender.begin(Begin::new(&watch, true)).await.expect("a run").epoch;
        let other = WatchKey { kind: Kind::new("", "ConfigMap"), ..watch.clone() };
        for (watch, state) in [(&watch, CoverageState::Watched), (&other, CoverageState::Gap)] {
            let reason = if state == CoverageState::Gap { "forbidden" } else { "" };
            let mark = CoverageMark::new(watch.clone(), state, SystemClock.now(), reason, "");
            appender.mark(mark).await.expect("the log takes it");
        }
        let observed = (n..ENVIRONMENTS).step_by(CLUSTERS).map(|n| Observed::Applied(pod(n))).collect();
        let cursor = Some(ResourceVersion::new("1"));
        let batch = Batch { watch, epoch, phase: Phase::Watch, observed, cursor };
        appender.append(batch).await.expect("the log takes it");
    }
}

fn record(directory: &Path) {
    let (writer, appender) = LogWriter::open(directory, Arc::new(SystemClock)).expect("the log opens");
    let thread = std::thread::spawn(move || writer.run());
    Runtime::new().expect("a runtime").block_on(play(appender));
    thread.join().expect("the writer ends").expect("the writer ends well");
    let mut projector = Projector::open(directory, RuleSet::default()).expect("the view opens");
    while projector.step().expect("the view is written").is_some() {}
}

/// A question: how many things an answer told, so that it is known to be one.
type Ask = fn(&Runtime, &Queries, &Scope) -> usize;

fn id() -> EnvironmentId {
    environment(0).id
}

fn hundred() -> PageRequest {
    PageRequest { limit: 100, after: None }
}

/// What is asked, with how much longer than of everything a scope may wait.
const QUESTIONS: [(&str, Mark, Ask); 12] = [
    ("a page of 100 environments", TWICE, |runtime, queries, scope| {
        let filter = EnvironmentFilter::default();
        runtime
            .block_on(queries.ask(scope, At::Now, ListEnvironments::new(&filter, &hundred())))
            .expect("a page")
            .items
            .len()
    }),
    ("the overview of all, by region", TWICE, |runtime, queries, scope| {
        let request = GetOverview { group_by: vec![GroupBy::Region], ..GetOverview::default() };
        let answer = runtime.block_on(queries.ask(scope, At::Now, request)).expect("an overview");
        answer.value.groups.len()
    }),
    ("one environment", TWICE, |runtime, queries, scope| {
        runtime.block_on(queries.ask(scope, At::Now, GetEnvironment::new(&id()))).map_or(0, |_| 1)
    }),
    ("its resources", TWICE, |runtime, queries, scope| {
        let (of, filter, hundred) = (id(), ResourceFilter::default(), hundred());
        let page = queries.ask(scope, At::Now, ListEnvironmentResources::new(&of, &filter, &hundred));
        runtime.block_on(page).expect("a page").items.len()
    }),
    ("its graph", TWICE, |runtime, queries, scope| {
        let (of, filter) = (id(), GraphFilter::default());
        let graph = queries.ask(scope, At::Now, GetEnvironmentGraph::new(&of, &filter));
        runtime.block_on(graph).expect("a graph").value.nodes.len()
    }),
    ("one resource", TWICE, |runtime, queries, scope| {
        runtime
            .block_on(queries.ask(scope, At::Now, GetResource::new(&Uid::new("u0"), None)))
            .map_or(0, |_| 1)
    }),
    ("a search by name", TWICE, |runtime, queries, scope| {
        let search =
            ResourceSearch { names: vec!["web-0".parse().expect("a pattern")], ..ResourceSearch::default() };
        runtime
            .block_on(queries.ask(scope, At::Now, SearchResources::new(&search, &hundred())))
            .expect("a page")
            .items
            .len()
    }),
    ("a search by namespace", TWICE, |runtime, queries, scope| {
        let search = ResourceSearch { namespace: Some("ns-0".into()), ..ResourceSearch::default() };
        runtime
            .block_on(queries.ask(scope, At::Now, SearchResources::new(&search, &hundred())))
            .expect("a page")
            .items
            .len()
    }),
    ("100 clusters", TWICE, |runtime, queries, scope| {
        runtime
            .block_on(queries.ask(scope, At::Now, ListClusters::new(&hundred())))
            .expect("a page")
            .items
            .len()
    }),
    ("coverage of 100 kinds", TWICE, |runtime, queries, scope| {
        let filter = CoverageFilter::default();
        runtime
            .block_on(queries.ask(scope, At::Now, ListCoverage::new(&filter, &hundred())))
            .expect("a page")
            .items
            .len()
    }),
    ("a page of 100 images", TWICE, |runtime, queries, scope| {
        let filter = ImageFilter::default();
        runtime
            .block_on(queries.ask(scope, At::Now, ListImages::new(&filter, &hundred())))
            .expect("a page")
            .items
            .len()
    }),
    ("100 environments with their resources, as GraphQL asks", TWICE, |runtime, queries, scope| {
        runtime.block_on(async {
            let held = queries.held(At::Now).await.expect("a moment");
            let (filter, every, hundred) =
                (EnvironmentFilter::default(), ResourceFilter::default(), hundred());
            let page =
                held.ask(scope, At::Now, ListEnvironments::new(&filter, &hundred)).await.expect("a page");
            let mut told = 0;
            for environment in &page.items {
                let found = held.ask(
                    scope,
                    At::Now,
                    ListEnvironmentResources::new(&environment.id, &every, &hundred),
                );
                told += found.await.expect("a page").items.len();
            }
            told
        })
    }),
];

/// What a scoped answer may take beside an unscoped one.
const TWICE: Mark = Mark::RatioAtMost(2.0);

fn main() {
    if settings::is_listed() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let begun = Instant::now();
    record(directory.path());
    println!("recorded and projected {ENVIRONMENTS} environments in {:.1?}", begun.elapsed());
    let status = ViewStatus::new(Watermark::default());
    status.set_usable(true);
    let queries = Queries::new(directory.path(), 1, status, Arc::new(SystemClock));
    // A reader keeps the sets of the scope that asked last, so that each has one for itself.
    let of_all = queries;
    let status = ViewStatus::new(Watermark::default());
    status.set_usable(true);
    let queries = Queries::new(directory.path(), 1, status, Arc::new(SystemClock));
    let (everything, member) = (Scope::everything(), Scope::members(Membership::new([""; 0], ["ours"])));
    let project = Scope::projects([project(0)]);
    let runtime = Runtime::new().expect("a runtime");
    let mut table = Table::new("scope");
    for (scope, sight) in [(&member, "10,000"), (&project, "5")] {
        for (name, mark, ask) in QUESTIONS {
            let (mut all, mut ours) = (0, 0);
            let [of_all, of_ours] = in_turn(
                ROUNDS,
                [&mut || all = ask(&runtime, &of_all, &everything), &mut || {
                    ours = ask(&runtime, &queries, scope)
                }],
            );
            assert!(all >= ours && ours > 0, "{name}: {ours} of {all}");
            let peer = Some(("everything", of_all.median));
            table.row(&format!("{name}, of {sight} in sight"), "ms", of_ours.median, peer, mark);
        }
    }
    let (filter, hundred) = (DeploymentFilter::default(), hundred());
    let page = |scope: &Scope| {
        let page = queries.ask(scope, At::Now, ListDeployments::new(&filter, &hundred));
        std::hint::black_box(runtime.block_on(page).expect("a page").items.len());
    };
    // The same twice, by scopes of the same reach: a reader has the sets of one of them.
    let twin = Scope::members(Membership::new(["nobody/knows"], ["ours"]));
    let [held, made] = in_turn(
        ROUNDS,
        [&mut || page(&member), &mut || {
            page(&twin);
            page(&member);
        }],
    );
    let making = (made.median - 2.0 * held.median).max(0.0) / 2.0;
    table.row("making the sets of 10,000 environments", "ms", making, None, Mark::AtMost(50.0));
    table.finish();
}
