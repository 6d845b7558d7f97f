//! The overview of an organization: 10,000 environments of 2,000 projects in 100 clusters, with a week of changes of
//! health behind each, as users ask for it: production by region, now and a week ago, of a member of one group, by a
//! label, by project, and all of it.
//!
//! The mark is the design's: 5 ms now and twice that at a past moment. `STRANDLINE_BENCH_CHANGES` says how often the
//! Pod of each environment changes; without it 100 times.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use strandline_clock::{Clock, SystemClock};
use strandline_gitlab::Membership;
use strandline_log::{Appender, Batch, Begin, LogWriter, Observation, Observed, Phase};
use strandline_model::{
    At, CatalogFact, ClusterSpec, EnvironmentFilter, EnvironmentSpec, GroupBy, Kind, Labels, ResourceVersion,
    TargetSpec, Tier, Timestamp, Uid, WatchKey,
};
use strandline_object::digest::Digest;
use strandline_protocol::Trend;
use strandline_query::testing;
use strandline_query::{GetOverview, OverviewRows, PageRequest, Queries, Scope, TrendFilter};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ViewStatus};
use tokio::runtime::Runtime;

use common::table::{Mark, Table, in_turn};

const PROJECTS: usize = 2_000;
const CLUSTERS: usize = 100;
const GROUPS: usize = 40;
const REGIONS: [&str; 8] =
    ["us-east", "us-west", "eu-west", "eu-central", "ap-south", "ap-east", "sa-east", "af-south"];
/// The environments of each project: a half serves users in a second region.
const NAMES: [&str; 5] = ["production/a", "production/b", "staging", "qa", "review/app"];
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
const ROUNDS: usize = 41;

/// A clock that goes from a week ago to now as the changes do.
#[derive(Debug, Default)]
struct History(AtomicI64);

impl Clock for History {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// A small generator of numbers (splitmix64), the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

fn cluster(n: usize) -> String {
    format!("cluster-{:03}", n % CLUSTERS)
}

fn project(n: usize) -> String {
    format!("group-{:02}/team-{}/project-{n:04}", n % GROUPS, n % 5)
}

/// The number of an environment's cluster; the region is the cluster's.
fn place(environment: usize) -> usize {
    Random(environment as u64).below(CLUSTERS)
}

fn environment(n: usize) -> EnvironmentSpec {
    let (of, which) = (n / NAMES.len(), n % NAMES.len());
    let mut name = NAMES[which].to_owned();
    if which == 1 && of % 2 == 1 {
        name = "development".to_owned();
    }
    let target = TargetSpec {
        cluster: cluster(place(n)),
        namespace: format!("ns-{n}"),
        labels: Some(Labels::new()),
        ..TargetSpec::default()
    };
    let labels =
        [("team", format!("team-{}", of % 50)), ("criticality", ["low", "high", "critical"][of % 3].into())];
    EnvironmentSpec {
        region: REGIONS[place(n) % REGIONS.len()].into(),
        labels: labels.map(|(name, value)| (name.to_owned(), value)).into(),
        targets: vec![target],
        ..EnvironmentSpec::new(&project(of), &name)
    }
}

fn facts() -> Vec<CatalogFact> {
    let cluster = |n: usize| {
        CatalogFact::Cluster(ClusterSpec { name: cluster(n), region: REGIONS[n % REGIONS.len()].into() })
    };
    let environments = (0..PROJECTS * NAMES.len()).map(|n| CatalogFact::from(environment(n)));
    (0..CLUSTERS).map(cluster).chain(environments).collect()
}

/// The one Pod of an environment, mostly well.
fn pod(environment: usize, version: usize, random: &mut Random) -> Observation {
    let phase = ["Running", "Running", "Running", "Pending", "Failed"][random.below(5)];
    let body = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": format!("ns-{environment}"), "uid": format!("u{environment}"),
            "resourceVersion": version.to_string()},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": "True"}]}});
    let body = body.to_string();
    Observation {
        namespace: format!("ns-{environment}"),
        name: "web".into(),
        uid: Uid::new(format!("u{environment}")),
        resource_version: ResourceVersion::new(version.to_string()),
        digest: Digest(*blake3::hash(body.as_bytes()).as_bytes().first_chunk().expect("it is long enough")),
        body,
        changed_by: None,
    }
}

/// Writes a week of history and says when it began to be whole.
async fn play(appender: Appender, clock: Arc<History>, changes: usize) -> Timestamp {
    let (end, environments) = (SystemClock.now(), PROJECTS * NAMES.len());
    let start = end.minus(WEEK + Duration::from_secs(3600));
    clock.0.store(start.as_micros(), Ordering::Relaxed);
    testing::declare(&appender, facts()).await;
    let watch =
        |n: usize| WatchKey { cluster: cluster(n), kind: Kind::new("", "Pod"), namespace: String::new() };
    let mut epochs = Vec::new();
    for n in 0..CLUSTERS {
        epochs.push(appender.begin(Begin::new(&watch(n), true)).await.expect("a run").epoch);
    }
    let (mut random, mut version) = (Random(7), 0);
    for round in 0..=changes {
        let passed = WEEK.mul_f64(round as f64 / changes as f64) + Duration::from_secs(3600);
        clock.0.store(start.plus(passed).as_micros(), Ordering::Relaxed);
        let mut by_cluster: Vec<Vec<Observed>> = vec![Vec::new(); CLUSTERS];
        // Each as often as another, but never all in turn.
        for n in 0..environments {
            let n = if round == 0 { n } else { random.below(environments) };
            version += 1;
            by_cluster[place(n)].push(Observed::Applied(pod(n, version, &mut random)));
        }
        let batches = by_cluster.into_iter().enumerate().map(|(n, observed)| {
            let cursor = Some(ResourceVersion::new("1"));
            appender.append(Batch {
                watch: watch(n),
                epoch: epochs[n],
                phase: Phase::Watch,
                observed,
                cursor,
            })
        });
        for done in futures_util::future::join_all(batches).await {
            done.expect("the log takes it");
        }
    }
    start.plus(Duration::from_secs(3600))
}

fn record(directory: &Path, changes: usize) -> Timestamp {
    let clock = Arc::new(History::default());
    let (writer, appender) = LogWriter::open(directory, clock.clone()).expect("the log opens");
    let thread = std::thread::spawn(move || writer.run());
    let runtime = Runtime::new().expect("a runtime");
    let start = runtime.block_on(play(appender, clock, changes));
    thread.join().expect("the writer ends").expect("the writer ends well");
    start
}

/// A question, and who asks it.
fn questions() -> Vec<(&'static str, Scope, GetOverview)> {
    let production = EnvironmentFilter { tiers: vec![Tier::Production], ..EnvironmentFilter::default() }
        .in_use_by_default();
    let labelled = EnvironmentFilter {
        labels: "team in (team-1,team-2,team-3),criticality!=low".parse().expect("a selector"),
        ..production.clone()
    };
    let group = EnvironmentFilter {
        groups: vec!["group-07".parse().expect("a group")],
        ..EnvironmentFilter::default()
    };
    let all = EnvironmentFilter::default().in_use_by_default();
    let ask = |filter: &EnvironmentFilter, by: &[GroupBy]| GetOverview {
        filter: filter.clone(),
        group_by: by.to_vec(),
        ..GetOverview::default()
    };
    let day = |question: GetOverview| GetOverview {
        trend: Some(TrendFilter { since: None, buckets: Trend::BUCKETS_DEFAULT }),
        ..question
    };
    let listed = |question: GetOverview| {
        let page = PageRequest { limit: 60, after: None };
        GetOverview { environments: Some(OverviewRows { page, ..OverviewRows::default() }), ..question }
    };
    let (everyone, member) = (Scope::everything, Scope::members(Membership::new([""; 0], ["group-07"])));
    vec![
        ("production by region", everyone(), ask(&production, &[GroupBy::Region])),
        ("the same, of a member of one group", member, ask(&production, &[GroupBy::Region])),
        ("production with labels, by region", everyone(), ask(&labelled, &[GroupBy::Region])),
        ("production by project", everyone(), ask(&production, &[GroupBy::Project])),
        ("production by cluster", everyone(), ask(&production, &[GroupBy::Cluster])),
        ("one group, by region and tier", everyone(), ask(&group, &[GroupBy::Region, GroupBy::Tier])),
        ("all tiers by region", everyone(), ask(&all, &[GroupBy::Region])),
        ("the same with 60 environments", everyone(), listed(ask(&all, &[GroupBy::Region]))),
        ("the same with the trend of a day", everyone(), day(ask(&all, &[GroupBy::Region]))),
    ]
}

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let changes =
        std::env::var("STRANDLINE_BENCH_CHANGES").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let begun = Instant::now();
    let start = record(directory.path(), changes);
    println!("recorded {} changes in {:.1?}", (changes + 1) * PROJECTS * NAMES.len(), begun.elapsed());
    let begun = Instant::now();
    let mut projector = Projector::open(directory.path(), RuleSet::default()).expect("the view opens");
    while projector.step().expect("the view is written").is_some() {}
    println!("projected in {:.1?}", begun.elapsed());
    drop(projector);
    let status = ViewStatus::new(Watermark::default());
    status.set_usable(true);
    let queries = Queries::new(directory.path(), 1, status, Arc::new(SystemClock));
    let runtime = Runtime::new().expect("a runtime");
    let mut table = Table::new("overview");
    for (name, scope, request) in questions() {
        let ask = |at: At| {
            let answer = runtime.block_on(queries.ask(&scope, at, request.clone())).expect("an overview");
            std::hint::black_box(answer.value.totals.total);
        };
        let [now, then] = in_turn(ROUNDS, [&mut || ask(At::Now), &mut || ask(At::Time(start))]);
        table.row(name, "ms", now.median, None, Mark::AtMost(5.0));
        let peer = Some(("the same now", now.median));
        table.row(&format!("{name}, a week ago"), "ms", then.median, peer, Mark::RatioAtMost(2.0));
    }
    table.finish();
}
