//! Lists across environments: what changed, and what Kubernetes' Events said, newest first, at the end of forty days and a month
//! before, asked by one who sees everything, of a group, and by a project.
//!
//! The mark is the design's: 20 ms for a page at a million, which `STRANDLINE_BENCH_CHANGES=1000000` makes; without it there are
//! 100,000. Half are changes that somebody made, half are Events. The peer is a table with nothing but these rows and an index on
//! their time, read by a prepared statement.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use strandline_clock::testing::ManualClock;
use strandline_log::{Appender, Batch, Begin, LogWriter, Observation, Observed, Phase};
use strandline_model::{
    At, CatalogFact, ClusterSpec, EnvironmentFilter, EnvironmentSpec, Kind, Labels, ResourceVersion,
    TargetSpec, Timestamp, Uid, WatchKey,
};
use strandline_object::digest::Digest;
use strandline_query::testing;
use strandline_query::{
    ChangesFilter, EventFeedFilter, EventFilter, ListChanges, ListEvents, PageRequest, Queries, Question,
    Scope,
};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ViewStatus};
use tokio::runtime::Runtime;

use common::settings;
use common::table::{Mark, Table, in_turn, milliseconds};
use common::{BATCH, Random};

const MARK: f64 = 20.0;
/// Changes of one environment.
const EACH: usize = 250;
/// Environments of one project, and projects of one group.
const PROJECT: usize = 4;
const GROUP: usize = 10;
const ROUNDS: usize = 21;
const START: i64 = 1_790_000_000_000_000;
const DAYS: u64 = 40;
const REASONS: [&str; 6] = ["Scheduled", "Pulled", "Created", "Started", "BackOff", "Unhealthy"];

/// Reasons of one Event in so many: one that hardly any has, and one that just too many have to be read whole.
const SELDOM: [(&str, u64); 2] = [("NodeNotReady", 5_000), ("Evicted", 400)];

fn changes() -> usize {
    settings::number("CHANGES", 100_000)
}

fn project(environment: usize) -> String {
    let project = environment / PROJECT;
    format!("group-{}/project-{project}", project / GROUP)
}

fn namespace(environment: usize) -> String {
    format!("space-{environment}")
}

fn environment(n: usize) -> EnvironmentSpec {
    let target = TargetSpec {
        cluster: "one".into(),
        namespace: namespace(n),
        labels: Some(Labels::new()),
        ..TargetSpec::default()
    };
    EnvironmentSpec { targets: vec![target], ..EnvironmentSpec::new(&project(n), &format!("env-{n}")) }
}

fn observation(namespace: String, name: String, uid: String, version: usize, body: &Value) -> Observation {
    let body = body.to_string();
    let digest = Digest(*blake3::hash(body.as_bytes()).as_bytes().first_chunk().expect("it is long enough"));
    let (uid, resource_version) = (Uid::new(uid), ResourceVersion::new(version.to_string()));
    Observation { namespace, name, uid, resource_version, digest, body, changed_by: None }
}

/// A state of an environment's Deployment, with another image.
fn deployment(environment: usize, version: usize) -> Observation {
    let (namespace, uid) = (namespace(environment), format!("d{environment}"));
    let image = format!("registry.example.com/{}:2.{version}", project(environment));
    let body = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "uid": uid},
        "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "main", "image": image}]}}}});
    observation(namespace, "web".into(), uid, version, &body)
}

/// An Event about it; a tenth says again what an earlier one said.
fn event(environment: usize, version: usize, time: Timestamp, random: &mut Random) -> Observation {
    let seldom = SELDOM.iter().find(|(_, of)| random.below(*of) == 0);
    let reason = seldom.map_or_else(|| REASONS[random.below(6) as usize], |(reason, _)| reason);
    let namespace = namespace(environment);
    let word = if random.below(10) == 0 { 0 } else { version };
    let r#type = if random.below(20) == 0 { "Warning" } else { "Normal" };
    let (name, uid) = (format!("web.{version}"), format!("e{version}"));
    let body = json!({"apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": namespace, "uid": uid}, "type": r#type, "reason": reason,
        "involvedObject": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": "web",
            "uid": format!("d{environment}")},
        "message": format!("{reason}: {word}"), "count": 1, "lastTimestamp": time.to_string(),
        "source": {"component": "kubelet"}});
    observation(namespace, name, uid, version, &body)
}

async fn play(appender: Appender, changes: usize, clock: &ManualClock) {
    let (environments, mut random) = (changes.div_ceil(EACH), Random(7));
    let cluster = CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: "eu".into() });
    let declared = (0..environments).map(|n| CatalogFact::from(environment(n)));
    let facts = std::iter::once(cluster).chain(declared).collect();
    testing::declare(&appender, facts).await;
    let mut watches = Vec::new();
    for kind in [Kind::new("apps", "Deployment"), Kind::new("", "Event")] {
        let watch = WatchKey { cluster: "one".into(), kind, namespace: String::new() };
        let epoch = appender.begin(Begin::new(&watch, true)).await.expect("a run").epoch;
        watches.push((watch, epoch));
    }
    let step = Duration::from_secs(DAYS * 24 * 3600).div_f64(changes.div_ceil(BATCH) as f64);
    let numbers: Vec<usize> = (0..changes).collect();
    for (round, some) in numbers.chunks(BATCH).enumerate() {
        clock.pass(step);
        let now = strandline_clock::Clock::now(clock);
        let (watch, epoch) = watches[round % 2].clone();
        let observed = some.iter().map(|&n| {
            // Each has a Deployment before anything is said of it.
            let of = if n < environments * 2 {
                n % environments
            } else {
                random.below(environments as u64) as usize
            };
            let seen =
                if round % 2 == 0 { deployment(of, n + 1) } else { event(of, n + 1, now, &mut random) };
            Observed::Applied(seen)
        });
        let (observed, cursor) = (observed.collect(), Some(ResourceVersion::new("1")));
        let batch = Batch { watch, epoch, phase: Phase::Watch, observed, cursor };
        appender.append(batch).await.expect("the log takes it");
    }
}

fn record(directory: &Path, changes: usize, clock: &Arc<ManualClock>) -> f64 {
    let (writer, appender) = LogWriter::open(directory, clock.clone()).expect("the log opens");
    let thread = std::thread::spawn(move || writer.run());
    Runtime::new().expect("a runtime").block_on(play(appender, changes, clock));
    thread.join().expect("the writer ends").expect("the writer ends well");
    let mut projector = Projector::open(directory, RuleSet::default()).expect("the view opens");
    milliseconds(|| while projector.step().expect("the view is written").is_some() {})
}

/// A table with nothing but when, whose and what.
fn peer(view: &Path, directory: &Path) -> rusqlite::Result<Connection> {
    let peer = Connection::open(directory.join("peer.db"))?;
    peer.execute("ATTACH ?1 AS view", [view.to_string_lossy()])?;
    peer.execute_batch(
        "CREATE TABLE said (at INTEGER, environment INTEGER, project TEXT, reason TEXT, note TEXT);
        INSERT INTO said SELECT f.said_at, f.environment_id, e.project, k.reason, k.note FROM view.event_feed f
            JOIN view.kube_event k ON k.id = f.event_id JOIN view.environment e ON e.id = f.environment_id
            ORDER BY f.said_at;
        CREATE INDEX said_by_time ON said (at);",
    )?;
    Ok(peer)
}

fn main() {
    if settings::is_listed() {
        return;
    }
    let changes = changes();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let clock = Arc::new(ManualClock::default());
    clock.set(Timestamp::from_micros(START));
    let project_ms = record(directory.path(), changes, &clock);
    let view = strandline_view::path(directory.path());
    let peer = peer(&view, directory.path()).expect("the peer is written");
    let status = ViewStatus::new(Watermark::default());
    status.set_usable(true);
    let queries = Queries::new(directory.path(), 1, status, clock.clone());
    let runtime = Runtime::new().expect("a runtime");
    println!("{changes} changes of {} environments; {project_ms:.0} ms to project", changes.div_ceil(EACH));
    let group = EnvironmentFilter {
        groups: vec!["group-1".parse().expect("a path")],
        ..EnvironmentFilter::default()
    };
    let none = EnvironmentFilter::default;
    let all = Scope::everything();
    let one = Scope::projects([project(0)]);
    let reason = |reason: &str| EventFilter { types: Vec::new(), reasons: vec![reason.to_owned()] };
    let month = At::Ago(Duration::from_secs(30 * 24 * 3600));
    let page = PageRequest::default();
    let of_changes = |environments, since| {
        ListChanges::new(&ChangesFilter { environments, since, ..ChangesFilter::default() }, &page)
    };
    let of_events = |environments, since, events| {
        ListEvents::new(&EventFeedFilter { environments, since, events, ..EventFeedFilter::default() }, &page)
    };
    let any = EventFilter::default;
    let mut table = Table::new("feed");
    for (then, at) in [("now", At::Now), ("a month ago", month)] {
        let until = strandline_clock::Clock::now(&*clock).as_micros()
            - if at == At::Now { 0 } else { 30 * 24 * 3600 * 1_000_000 };
        let sql = "SELECT at, environment, reason, note FROM said WHERE at <= ?1 ORDER BY at DESC LIMIT 100";
        let plain = || {
            let mut statement = peer.prepare_cached(sql).expect("a statement");
            let rows = statement.query_map([until], |row| row.get::<_, String>(3)).expect("rows");
            assert_eq!(rows.count(), 100);
        };
        let [plain] = in_turn(ROUNDS, [&mut || plain()]);
        let mut row = |name: &str, scope: &Scope, question: &dyn Fn(&Scope)| {
            let [found] = in_turn(ROUNDS, [&mut || question(scope)]);
            let peer = Some(("a plain table", plain.median));
            table.row(&format!("{name}, {then}"), "ms", found.median, peer, Mark::AtMost(MARK));
        };
        let changes = |environments: fn() -> EnvironmentFilter, since| {
            let (runtime, queries, of_changes) = (&runtime, &queries, &of_changes);
            move |scope: &Scope| drop(answer(runtime, queries, scope, at, of_changes(environments(), since)))
        };
        row("changes", &all, &changes(none, None));
        row("changes of a project's member", &one, &changes(none, None));
        row("changes of a group", &all, &|scope| {
            drop(answer(&runtime, &queries, scope, at, of_changes(group.clone(), None)))
        });
        row("events", &all, &|scope| {
            drop(answer(&runtime, &queries, scope, at, of_events(none(), None, any())))
        });
        row("events of a project's member", &one, &|scope| {
            drop(answer(&runtime, &queries, scope, at, of_events(none(), None, any())))
        });
        row("events of a group", &all, &|scope| {
            drop(answer(&runtime, &queries, scope, at, of_events(group.clone(), None, any())))
        });
        let seldom = SELDOM.map(|(reason, of)| (reason, format!("of one in {of}")));
        for (name, frequency) in [("Nothing", "that is nowhere".to_owned())].into_iter().chain(seldom) {
            let wanted = reason(name);
            row(&format!("events of a reason {frequency}, 30 days"), &all, &|scope| {
                drop(answer(&runtime, &queries, scope, at, of_events(none(), Some(month), wanted.clone())))
            });
        }
    }
    let kept = Connection::open(&view).and_then(|view| {
        let sql = "SELECT sum(pgsize) FROM dbstat WHERE name IN ('event_feed', 'event_feed_by_environment')";
        let rows = "SELECT count(*) FROM event_feed";
        let [bytes, rows]: [i64; 2] =
            [view.query_row(sql, [], |row| row.get(0))?, view.query_row(rows, [], |row| row.get(0))?];
        Ok(bytes as f64 / rows.max(1) as f64)
    });
    if let Ok(kept) = kept {
        table.row("kept of an Event for its environment", "bytes", kept, None, Mark::None);
    }
    table.finish();
}

fn answer<Q: Question>(
    runtime: &Runtime,
    queries: &Queries,
    scope: &Scope,
    at: At,
    question: Q,
) -> Q::Answer {
    runtime.block_on(queries.ask(scope, at, question)).expect("an answer")
}
