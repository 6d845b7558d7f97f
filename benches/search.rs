//! Searching names: resources of many environments with their images and deployments, asked by one who sees everything, by a
//! group that sees half of it, and by a project that sees a thousandth.
//!
//! The mark is the design's: 20 ms at 500,000 resources, which `STRANDLINE_BENCH_OBJECTS=500000` makes; without it there are
//! 50,000, of which it is a tenth. Peers are what SQLite has for it: LIKE over the names, and FTS5 with trigrams, which is also
//! weighed by what it takes to write and to keep.

mod common;

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::json;
use strandline_clock::SystemClock;
use strandline_gitlab::Membership;
use strandline_log::{Appender, Batch, Begin, LogWriter, Observation, Observed, Phase};
use strandline_model::{
    At, CatalogFact, ClusterSpec, DeploymentId, DeploymentSpec, DeploymentStatus, EnvironmentSpec, Kind,
    Labels, ResourceVersion, TargetSpec, Uid, WatchKey,
};
use strandline_object::digest::Digest;
use strandline_protocol::SearchType;
use strandline_query::testing;
use strandline_query::{Queries, Scope, Search};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ViewStatus};
use tokio::runtime::Runtime;

use common::settings;
use common::table::{Mark, Table, in_turn, milliseconds};
use common::{BATCH, Random};

const FULL: usize = 500_000;
const MARK: f64 = 20.0;
/// Resources of one environment.
const EACH: usize = 100;
const CLUSTERS: usize = 20;
const ROUNDS: usize = 21;
const APPS: [&str; 12] = [
    "api", "web", "worker", "checkout", "ledger", "search", "mailer", "gateway", "catalog", "billing",
    "auth", "report",
];
const TIERS: [&str; 4] = ["production", "staging", "qa", "development"];

fn objects() -> usize {
    settings::number("OBJECTS", FULL / 10)
}

/// The project of an environment; every other one is ours.
fn project(environment: usize) -> String {
    let project = environment / TIERS.len();
    let group = if project.is_multiple_of(2) { "ours" } else { "theirs" };
    format!("{group}/team-{}/{}-{project}", project % 40, APPS[project % APPS.len()])
}

fn cluster(environment: usize) -> String {
    format!("cluster-{:02}", environment % CLUSTERS)
}

fn namespace(environment: usize) -> String {
    let project = environment / TIERS.len();
    format!("{}-{project}-{}", APPS[project % APPS.len()], TIERS[environment % TIERS.len()])
}

fn environment(n: usize) -> EnvironmentSpec {
    let target = TargetSpec {
        cluster: cluster(n),
        namespace: namespace(n),
        labels: Some(Labels::new()),
        ..TargetSpec::default()
    };
    EnvironmentSpec { targets: vec![target], ..EnvironmentSpec::new(&project(n), TIERS[n % TIERS.len()]) }
}

fn letters(random: &mut Random, count: usize) -> String {
    const OF_NAMES: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..count).map(|_| char::from(OF_NAMES[random.below(OF_NAMES.len() as u64) as usize])).collect()
}

/// A Pod as a Deployment's ReplicaSet names it.
fn pod(n: usize, random: &mut Random) -> Observation {
    let environment = n / EACH;
    let app = APPS[n % APPS.len()];
    let name = format!("{app}-{}-{}", letters(random, 10), letters(random, 5));
    let namespace = namespace(environment);
    let image = format!("registry.example.com/{}/{app}:2.{}", project(environment), n % 7);
    let body = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("u{n}")},
        "spec": {"containers": [{"name": "main", "image": image}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    let body = body.to_string();
    let digest = Digest(*blake3::hash(body.as_bytes()).as_bytes().first_chunk().expect("it is long enough"));
    let (uid, resource_version) = (Uid::new(format!("u{n}")), ResourceVersion::new(n.to_string()));
    Observation { namespace, name, uid, resource_version, digest, body, changed_by: None }
}

fn deployment(n: usize, random: &mut Random) -> CatalogFact {
    let environment = environment(n / 10);
    CatalogFact::Deployment(Box::new(DeploymentSpec {
        id: DeploymentId(n as u64 + 1000),
        environment: environment.id,
        project: environment.project,
        status: DeploymentStatus::Success,
        reference: format!("v2.{}.{}", n % 40, n % 9),
        tag: true,
        sha: format!("{:016x}{:016x}{:08x}", random.next(), random.next(), n),
        job: None,
        user: format!("{}.{}", ["kim", "pat", "bjorn", "chiyo"][n % 4], n % 300),
        created_at: None,
        finished_at: None,
        agent: None,
        authorization: None,
    }))
}

async fn play(appender: Appender, objects: usize) {
    let (environments, mut random) = (objects.div_ceil(EACH), Random(7));
    let clusters =
        (0..CLUSTERS).map(|n| CatalogFact::Cluster(ClusterSpec { name: cluster(n), region: "eu".into() }));
    let declared = (0..environments).map(|n| CatalogFact::from(environment(n)));
    let deployments: Vec<_> = (0..environments * 10).map(|n| deployment(n, &mut random)).collect();
    let facts = clusters.chain(declared).chain(deployments).collect();
    testing::declare(&appender, facts).await;
    for of in 0..CLUSTERS {
        let watch = WatchKey { cluster: cluster(of), kind: Kind::new("", "Pod"), namespace: String::new() };
        let epoch = appender.begin(Begin::new(&watch, true)).await.expect("a run").epoch;
        let pods: Vec<usize> = (0..objects).filter(|n| n / EACH % CLUSTERS == of).collect();
        for some in pods.chunks(BATCH) {
            let observed = some.iter().map(|n| Observed::Applied(pod(*n, &mut random))).collect();
            let (watch, cursor) = (watch.clone(), Some(ResourceVersion::new("1")));
            let batch = Batch { watch, epoch, phase: Phase::Watch, observed, cursor };
            appender.append(batch).await.expect("the log takes it");
        }
    }
}

fn record(directory: &Path, objects: usize) -> f64 {
    let (writer, appender) = LogWriter::open(directory, Arc::new(SystemClock)).expect("the log opens");
    let thread = std::thread::spawn(move || writer.run());
    Runtime::new().expect("a runtime").block_on(play(appender, objects));
    thread.join().expect("the writer ends").expect("the writer ends well");
    let mut projector = Projector::open(directory, RuleSet::default()).expect("the view opens");
    milliseconds(|| while projector.step().expect("the view is written").is_some() {})
}

/// What is searched for, and of what.
const SEARCHES: [(&str, &str, &[SearchType]); 12] = [
    ("a word that a twelfth of all begins with", "checkout", &[]),
    ("a word that is in few", "k7z", &[]),
    ("a word that is nowhere", "nothing-is-called-so", &[]),
    ("a letter", "c", &[]),
    ("two words, one of a namespace", "ledger production", &[]),
    ("a commit", "c0ffee", &[]),
    ("a word that a twelfth of all begins with, environments", "checkout", &[SearchType::Environments]),
    ("the same, projects", "checkout", &[SearchType::Projects]),
    ("the same, clusters", "checkout", &[SearchType::Clusters]),
    ("the same, resources", "checkout", &[SearchType::Resources]),
    ("the same, images", "checkout", &[SearchType::Images]),
    ("the same, deployments", "checkout", &[SearchType::Deployments]),
];

fn main() {
    if settings::is_listed() {
        return;
    }
    let objects = objects();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let project_ms = record(directory.path(), objects);
    let status = ViewStatus::new(Watermark::default());
    status.set_usable(true);
    let queries = Queries::new(directory.path(), 1, status, Arc::new(SystemClock));
    let runtime = Runtime::new().expect("a runtime");
    let half = Scope::members(Membership::new([""; 0], ["ours"]));
    let (all, one) = (Scope::everything(), Scope::projects([project(0)]));
    let ask = |scope: &Scope, text: &str, types: &[SearchType]| {
        let search = Search::new(text.parse().expect("words"), types, Search::DEFAULT);
        runtime.block_on(queries.ask(scope, At::Now, search)).expect("an answer")
    };
    println!("{objects} resources, {} environments", objects.div_ceil(EACH));
    let mut table = Table::new("search");
    let mark = Mark::AtMost(MARK * objects as f64 / FULL as f64);
    for (name, text, types) in SEARCHES {
        // Each scope asks by itself: a reader has the sets of one at a time, and keeps them for the next key that is typed.
        let [everything] = in_turn(ROUNDS, [&mut || drop(ask(&all, text, types))]);
        let [of_half] = in_turn(ROUNDS, [&mut || drop(ask(&half, text, types))]);
        let [of_one] = in_turn(ROUNDS, [&mut || drop(ask(&one, text, types))]);
        table.row(name, "ms", everything.median, None, mark);
        table.row(
            &format!("{name}, half"),
            "ms",
            of_half.median,
            Some(("all", everything.median)),
            Mark::RatioAtMost(2.0),
        );
        table.row(
            &format!("{name}, one project"),
            "ms",
            of_one.median,
            Some(("all", everything.median)),
            Mark::None,
        );
    }
    peers(&mut table, directory.path(), objects, project_ms).expect("SQLite answers");
    table.finish();
}

/// What SQLite has for it, over the same names.
fn peers(table: &mut Table, directory: &Path, objects: usize, project_ms: f64) -> rusqlite::Result<()> {
    let view = Connection::open(strandline_view::path(directory))?;
    let like = "SELECT count(*) FROM resource WHERE name LIKE '%k7z%'";
    let lines = "SELECT count(*) FROM resource_lines WHERE instr(lines, 'k7z')";
    let count = |sql: &str| view.query_row(sql, [], |row| row.get::<_, i64>(0)).map(drop);
    let [packed, plain] = in_turn(
        ROUNDS,
        [&mut || count(lines).expect("the lines are read"), &mut || count(like).expect("the names are read")],
    );
    table.row(
        "reading all lines in SQL",
        "ms",
        packed.median,
        Some(("LIKE over the table", plain.median)),
        Mark::None,
    );
    let kept: i64 = view.query_row(
        "SELECT (SELECT sum(length(lines)) FROM resource_lines) + (SELECT sum(length(lines)) FROM image_lines)
            + (SELECT 12 * count(*) FROM search_members) + (SELECT 12 * count(*) FROM image_members)",
        [],
        |row| row.get(0),
    )?;
    let other = directory.join("fts.db");
    let mut fts = Connection::open(&other)?;
    fts.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = normal;
        CREATE VIRTUAL TABLE names USING fts5(name, content='', tokenize='trigram', detail=none);",
    )?;
    let names: Vec<(i64, String)> = view
        .prepare("SELECT id, name FROM resource ORDER BY id")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let write = milliseconds(|| {
        for some in names.chunks(8 * BATCH) {
            let transaction = fts.transaction().expect("a transaction");
            for name in some {
                let sql = "INSERT INTO names (rowid, name) VALUES (?1, ?2)";
                transaction
                    .prepare_cached(sql)
                    .expect("a statement")
                    .execute((name.0, &name.1))
                    .expect("a row");
            }
            transaction.commit().expect("it is committed");
        }
    });
    let pages: i64 = fts.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    let each = |total: f64| total / objects as f64;
    let trigrams = each(pages as f64 * 4096.0);
    table.row(
        "kept of a resource",
        "bytes",
        each(kept as f64),
        Some(("FTS5 trigrams", trigrams)),
        Mark::RatioAtMost(1.0),
    );
    let all = each(project_ms * 1000.0);
    table.row(
        "projecting a resource, all of it",
        "µs",
        all,
        Some(("FTS5 trigrams alone", each(write * 1000.0))),
        Mark::None,
    );
    Ok(())
}
