//! The overview of an organization: 10,000 environments of 2,000 projects in 100 clusters, with a week of changes of
//! health behind each, as users ask for it: production by region, now and a week ago, of a member of one group, by a
//! label, by project, and all of it. Between any two questions a hundred Pods change.
//!
//! A moment of the past is asked for again, as the pages about an incident do, or another each time.
//!
//! The mark is the design's: 5 ms now and twice that at a past moment. `STRANDLINE_BENCH_CHANGES` says how often the
//! Pod of each environment changes; without it 100 times. `STRANDLINE_BENCH_PROJECTS` says of how many projects there are five
//! environments each.
//!
//! Of the same organization: a page of the changes of health across environments, for which the mark is 20 ms.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use strandline_clock::{Clock, SystemClock};
use strandline_gitlab::Membership;
use strandline_log::{Appender, Batch, Begin, Epoch, LogWriter, Observation, Observed, Phase};
use strandline_model::{
    At, CatalogFact, ClusterSpec, EnvironmentFilter, EnvironmentSpec, GroupBy, Kind, Labels, ResourceVersion,
    TargetSpec, Tier, Timestamp, Uid, WatchKey,
};
use strandline_object::digest::Digest;
use strandline_protocol::{FeedKind, Trend};
use strandline_query::testing;
use strandline_query::{
    ChangesFilter, GetOverview, ListChanges, OverviewRows, PageRequest, Queries, Scope, TrendFilter,
};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ViewStatus};
use tokio::runtime::Runtime;

use common::settings;
use common::table::{Mark, Table, in_turn};

const CLUSTERS: usize = 100;
const GROUPS: usize = 40;
const REGIONS: [&str; 8] =
    ["us-east", "us-west", "eu-west", "eu-central", "ap-south", "ap-east", "sa-east", "af-south"];
/// The environments of each project: a half serves users in a second region.
const NAMES: [&str; 5] = ["production/a", "production/b", "staging", "qa", "review/app"];
/// Changes between any two questions, as in a tenth of a second of a busy organization.
const BETWEEN: usize = 100;
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
const ROUNDS: usize = 41;

fn projects() -> usize {
    settings::number("PROJECTS", 2_000)
}

fn environments() -> usize {
    projects() * NAMES.len()
}

/// A clock that goes from a week ago to now as the changes do.
#[derive(Debug, Default)]
struct History(AtomicI64);

impl Clock for History {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

impl History {
    fn set(&self, time: Timestamp) {
        self.0.store(time.as_micros(), Ordering::Relaxed);
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

fn watch(n: usize) -> WatchKey {
    WatchKey { cluster: cluster(n), kind: Kind::new("", "Pod"), namespace: String::new() }
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
    let environments = (0..environments()).map(|n| CatalogFact::from(environment(n)));
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

/// The organization's clusters, of which changes are written to a log.
struct Organization {
    appender: Appender,
    clock: Arc<History>,
    epochs: Vec<Epoch>,
    random: Random,
    version: usize,
}

impl Organization {
    /// All that is declared, and each environment's Pod.
    async fn begin(appender: Appender, clock: Arc<History>) -> Self {
        testing::declare(&appender, facts()).await;
        let mut epochs = Vec::new();
        for n in 0..CLUSTERS {
            epochs.push(appender.begin(Begin::new(&watch(n), true)).await.expect("a run").epoch);
        }
        let mut organization = Organization { appender, clock, epochs, random: Random(7), version: 0 };
        organization.change(0..environments()).await;
        organization
    }

    /// So many changes, each of any environment.
    async fn change_any(&mut self, count: usize) {
        let environments: Vec<usize> = (0..count).map(|_| self.random.below(environments())).collect();
        self.change(environments).await;
    }

    /// Changes the Pods of these environments.
    async fn change(&mut self, environments: impl IntoIterator<Item = usize>) {
        let mut by_cluster: Vec<Vec<Observed>> = vec![Vec::new(); CLUSTERS];
        for n in environments {
            self.version += 1;
            by_cluster[place(n)].push(Observed::Applied(pod(n, self.version, &mut self.random)));
        }
        let batches = by_cluster.into_iter().enumerate().filter(|(_, observed)| !observed.is_empty());
        let batches = batches.map(|(n, observed)| {
            let cursor = Some(ResourceVersion::new("1"));
            let (watch, epoch) = (watch(n), self.epochs[n]);
            self.appender.append(Batch { watch, epoch, phase: Phase::Watch, observed, cursor })
        });
        for done in futures_util::future::join_all(batches).await {
            done.expect("the log takes it");
        }
    }

    /// A week in which as many changes as there are environments came so many times; says when it began.
    async fn live(&mut self, rounds: usize) -> Timestamp {
        let start = SystemClock.now().minus(WEEK);
        for round in 1..=rounds {
            let passed = WEEK.mul_f64(round as f64 / rounds as f64);
            self.clock.set(start.plus(passed));
            self.change_any(environments()).await;
        }
        start
    }
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
    if settings::is_listed() {
        return;
    }
    let rounds = settings::number("CHANGES", 100);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (begun, clock, runtime) =
        (Instant::now(), Arc::new(History::default()), Runtime::new().expect("a runtime"));
    let (writer, appender) = LogWriter::open(directory.path(), clock.clone()).expect("the log opens");
    let writer = std::thread::spawn(move || writer.run());
    clock.set(SystemClock.now().minus(WEEK + Duration::from_secs(3600)));
    let mut organization = runtime.block_on(Organization::begin(appender, clock));
    let start = runtime.block_on(organization.live(rounds));
    println!("recorded {} changes in {:.1?}", (rounds + 1) * environments(), begun.elapsed());
    let begun = Instant::now();
    let status = ViewStatus::new(Watermark::default());
    let projector = Projector::open(directory.path(), RuleSet::default()).expect("the view opens");
    let mut projector = projector.with_recent(status.recent());
    let mut catch_up = || while projector.step().expect("the view is written").is_some() {};
    catch_up();
    println!("projected in {:.1?}", begun.elapsed());
    status.set_usable(true);
    let queries = Queries::new(directory.path(), 1, status, Arc::new(SystemClock));
    let mut table = Table::new("overview");
    for (name, scope, request) in questions() {
        let ask = |at: At| {
            let answer = runtime.block_on(queries.ask(&scope, at, request.clone())).expect("an overview");
            std::hint::black_box(answer.value.totals.total);
        };
        let mut go_on = || {
            organization.clock.set(SystemClock.now());
            runtime.block_on(organization.change_any(BETWEEN));
            catch_up();
        };
        let mut passed = Duration::ZERO;
        let mut another = || {
            // Longer than between two rounds of changes, so that it is another offset.
            passed += Duration::from_secs(6100);
            ask(At::Time(start.plus(passed)));
        };
        let [_, now, then, first] =
            in_turn(ROUNDS, [&mut go_on, &mut || ask(At::Now), &mut || ask(At::Time(start)), &mut another]);
        table.row(name, "ms", now.median, None, Mark::AtMost(5.0));
        let peer = Some(("the same now", now.median));
        table.row(
            &format!("{name}, a week ago, asked again"),
            "ms",
            then.median,
            peer,
            Mark::RatioAtMost(2.0),
        );
        table.row(
            &format!("{name}, another time each round"),
            "ms",
            first.median,
            peer,
            Mark::RatioAtMost(2.0),
        );
    }
    let group = || EnvironmentFilter {
        groups: vec!["group-07".parse().expect("a group")],
        ..EnvironmentFilter::default()
    };
    let everyone = Scope::everything;
    let member = || Scope::members(Membership::new([""; 0], ["group-07"]));
    let feeds = [
        ("changes of health", everyone(), EnvironmentFilter::default()),
        ("changes of health of a group", everyone(), group()),
        ("changes of health, of a member of one group", member(), EnvironmentFilter::default()),
    ];
    for (name, scope, environments) in feeds {
        let kinds = vec![FeedKind::Health];
        let filter = ChangesFilter { environments, kinds, ..ChangesFilter::default() };
        let mut page = || {
            let question = ListChanges::new(&filter, &PageRequest::default());
            let found = runtime.block_on(queries.ask(&scope, At::Now, question)).expect("a page");
            assert!(!found.items.is_empty(), "health changed");
        };
        let mut go_on = || {
            organization.clock.set(SystemClock.now());
            runtime.block_on(organization.change_any(BETWEEN));
            catch_up();
        };
        let [_, now] = in_turn(ROUNDS, [&mut go_on, &mut page]);
        table.row(name, "ms", now.median, None, Mark::AtMost(20.0));
    }
    table.finish();
    drop(organization);
    writer.join().expect("the writer ends").expect("the writer ends well");
}
