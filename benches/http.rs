//! Answers over HTTP, against a warp handler on the same machine, in the same run, that does one prepared read and sends the
//! same number of bytes.
//!
//! The service is the real one, with the data of `ingest` and nobody logged in, and watches a simulated cluster besides. Both
//! servers have the same runtime, and the same callers, who take turns between them: each keeps its connection and sends a
//! request when the last is answered. So a ratio of 1 would be an answer that costs a router and a read by primary key,
//! and callers included.
//!
//! First nothing is recorded meanwhile, so that what is asked again within a second is an answer given again; the rows that
//! say "each time" are asked of the view and the log. Then 1,000 changes a second come in, from a cluster that is simulated
//! on the same cores, and answers of the past are as they were, while those of now are made anew.

mod common;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use strandline::http::auth::AccessConfig;
use strandline::service::{Options, Service};
use strandline_clock::{Clock, SystemClock};
use strandline_model::{CatalogFact, ClusterSpec, EnvironmentSpec, Labels, Source, TargetSpec};
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ViewStatus};
use tokio_util::sync::CancellationToken;
use warp::Filter;

use common::busy_cluster::{BusyCluster, pod};
use common::caller::{Caller, asked};
use common::environments::{self, catalog};
use common::objects::{PER_NAMESPACE, uid};
use common::settings;
use common::table::{Mark, Spread, Table, milliseconds};
use common::{BATCH, Log, observations, runtime};

const OBJECTS: usize = 12 * PER_NAMESPACE as usize;
const CALLERS: usize = 4;
const ROUNDS: usize = 7;
/// Requests of a round, by all callers together.
const REQUESTS: usize = 4000;
/// Pods that change, and how many do in a second.
const BUSY_PODS: u64 = 2000;
const RATE: f64 = 1000.0;

fn main() {
    if settings::is_listed() {
        return;
    }
    // What an answer of 500 was for.
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
    let directory = tempfile::tempdir().expect("a temporary directory");
    record(directory.path());
    let runtime = runtime();
    let stop = CancellationToken::new();
    let cluster = runtime.block_on(BusyCluster::start("busy"));
    for n in 0..BUSY_PODS {
        cluster.server.apply(pod(&busy_namespace(n), n, 1, false));
    }
    let (ours, status) = runtime.block_on(serve(directory.path(), &cluster, &stop));
    cluster.keep_changing(busy_namespace, BUSY_PODS, RATE);
    let mut table = Table::new("http");
    let environments = environments::count(OBJECTS as u64);
    println!("{OBJECTS} objects in {environments} environments, {BUSY_PODS} Pods besides, {CALLERS} callers");
    let only = std::env::var("STRANDLINE_BENCH_ONLY").unwrap_or_default();
    let mut least = f64::INFINITY;
    for question in questions(ours).into_iter().filter(|question| question.name.starts_with(&only)) {
        let peer = runtime.block_on(async { minimal(directory.path(), question.bytes) });
        let mut slowest = [0.0; 2];
        for (is_changing, slowest) in [false, true].into_iter().zip(&mut slowest) {
            let before = (Instant::now(), status.progress().0.get());
            cluster.is_changing.store(is_changing, Ordering::Release);
            let [mut our, mut their] = <[Asked; 2]>::default();
            for round in 0..=ROUNDS {
                for (asked, address) in [(&mut our, ours), (&mut their, peer)] {
                    let took = call(address, &question.paths);
                    // The first round warms what both keep.
                    if round > 0 {
                        asked.add(took);
                    }
                }
            }
            let came = (status.progress().0.get() - before.1) as f64 / before.0.elapsed().as_secs_f64();
            cluster.is_changing.store(false, Ordering::Release);
            if is_changing {
                least = least.min(came);
            }
            let meanwhile = if is_changing { ", with changes" } else { "" };
            let name = format!("{}, {} bytes{meanwhile}", question.name, question.bytes);
            let peer = Some(("minimal handler", their.rate()));
            table.row(&name, "k/s", our.rate(), peer, question.mark);
            *slowest = our.slowest();
        }
        let [idle, busy] = slowest;
        let name = format!("{}: of a hundred the slowest, with changes", question.name);
        table.row(&name, "ms", busy, Some(("without", idle)), Mark::RatioAtMost(3.0));
    }
    table.finish();
    println!("with changes: of {RATE} that were to come in a second, {least:.0} did at least");
    stop.cancel();
    runtime.shutdown_timeout(Duration::from_secs(10));
}

/// How long answers took, in milliseconds: those of a round together, and each.
#[derive(Default)]
struct Asked {
    rounds: Vec<f64>,
    each: Vec<f64>,
}

impl Asked {
    fn add(&mut self, (round, each): (f64, Vec<f64>)) {
        self.rounds.push(round);
        self.each.extend(each);
    }

    /// Thousands of answers in a second.
    fn rate(&self) -> f64 {
        REQUESTS as f64 / Spread::of(self.rounds.clone()).median
    }

    /// What 99 of a hundred answers stay below.
    fn slowest(&self) -> f64 {
        let mut each = self.each.clone();
        each.sort_by(f64::total_cmp);
        each[each.len() * 99 / 100]
    }
}

/// What is asked, again and again.
struct Question {
    name: &'static str,
    paths: Vec<String>,
    bytes: usize,
    mark: Mark,
}

fn questions(server: SocketAddr) -> Vec<Question> {
    let resources = (0..500).map(|n| format!("/api/v1/resources/{}", uid(n * 24))).collect();
    let page = asked(server, "/api/v1/environments?limit=100");
    let page: serde_json::Value = serde_json::from_slice(&page).expect("a page of environments");
    let ids = page["items"].as_array().expect("items");
    let environments: Vec<_> = ids
        .iter()
        .filter_map(|item| item["id"].as_str())
        .map(|id| format!("/api/v1/environments/{id}"))
        .collect();
    let graphs = environments.iter().map(|environment| format!("{environment}/graph")).collect();
    let (point, first, probe) = (Mark::RatioAtLeast(0.7), Mark::RatioAtLeast(0.6), Mark::RatioAtLeast(0.8));
    let every = (0..OBJECTS as u64).map(|n| format!("/api/v1/resources/{}", uid(n))).collect();
    let moments = (0..OBJECTS / 2).map(|n| OBJECTS - n);
    let moments = moments.map(|at| format!("/api/v1/environments?limit=20&at={at}")).collect();
    let all = [
        ("probe", vec!["/livez".to_owned()], probe),
        ("a resource, each time another", every, point),
        ("20 environments, each time of another offset", moments, first),
        ("one of 500 resources", resources, point),
        ("one of 100 environments", environments, point),
        ("a first page of 20 environments", vec!["/api/v1/environments?limit=20".to_owned()], first),
        ("a first page of 100 environments", vec!["/api/v1/environments?limit=100".to_owned()], first),
        ("the graph of one of 100 environments", graphs, Mark::None),
        ("a first page of 20 changes", vec!["/api/v1/changes?limit=20".to_owned()], Mark::None),
        ("the overview by tier", vec!["/api/v1/overview?group_by=tier".to_owned()], Mark::None),
    ];
    let with_size = |(name, paths, mark): (&'static str, Vec<String>, Mark)| {
        let some: Vec<_> = paths.iter().step_by(paths.len().div_ceil(100)).collect();
        let bytes = some.iter().map(|path| asked(server, path).len()).sum::<usize>() / some.len();
        Question { name, paths, bytes, mark }
    };
    all.into_iter().map(with_size).collect()
}

/// A log of the objects with their environments, and the view of it.
fn record(directory: &Path) {
    let log = Log::open(directory);
    log.wait(async |appender| {
        let declared = appender.declare(Source::Config, catalog(OBJECTS as u64)).await;
        declared.expect("the catalog is taken");
    });
    let seen = observations(OBJECTS, 1).into_iter();
    log.list(seen.map(|seen| (seen.kind, strandline_log::Observed::Applied(seen.observation))), BATCH);
    log.close();
    let mut projector = Projector::open(directory, RuleSet::default()).expect("the view opens");
    while projector.step().expect("the view is written").is_some() {}
}

/// The environments of the Pods that change, by their namespaces.
fn busy_namespace(n: u64) -> String {
    format!("busy-{}", n % 20)
}

fn busy_environments() -> impl Iterator<Item = CatalogFact> {
    (0..20).map(|n| {
        let target = TargetSpec {
            cluster: "busy".into(),
            namespace: busy_namespace(n),
            labels: Some(Labels::new()),
            ..TargetSpec::default()
        };
        let environment = EnvironmentSpec::new("busy/web", &format!("production/{n}"));
        CatalogFact::from(EnvironmentSpec { targets: vec![target], ..environment })
    })
}

/// The service itself, at the address it listens on, once all is recorded and can be asked for.
async fn serve(data: &Path, cluster: &BusyCluster, stop: &CancellationToken) -> (SocketAddr, ViewStatus) {
    let busy = CatalogFact::Cluster(ClusterSpec { name: "busy".into(), region: String::new() });
    let options = Options {
        catalog: catalog(OBJECTS as u64).into_iter().chain([busy]).chain(busy_environments()).collect(),
        clusters: vec![cluster.watched().await],
        access: AccessConfig { allow_anonymous_read: true, ..AccessConfig::default() },
        ..Options::new(data.to_owned(), SocketAddr::from(([127, 0, 0, 1], 0)))
    };
    let clock = Arc::new(SystemClock) as Arc<dyn Clock>;
    let service = Service::start(options, clock).await.expect("the service starts");
    let (address, status) = (service.address, service.status.clone());
    tokio::spawn(service.run_until(stop.clone().cancelled_owned()));
    while !status.is_usable() || status.progress().0.get() < OBJECTS as u64 + BUSY_PODS || status.lag() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (address, status)
}

/// A handler that reads a row by its number and sends so many bytes of it.
fn minimal(directory: &Path, bytes: usize) -> SocketAddr {
    let file = directory.join(format!("minimal-{bytes}.db"));
    if !file.exists() {
        let connection = Connection::open(&file).expect("a database");
        let made = connection.execute_batch(&format!(
            "PRAGMA journal_mode = wal; CREATE TABLE answer (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
             WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 499)
             INSERT INTO answer SELECT n, printf('%.{bytes}c', 'x') FROM n;"
        ));
        made.expect("the rows are inserted");
    }
    let count = Arc::new(AtomicI64::new(0));
    let handler = warp::path::full().map(move |_| {
        thread_local!(static READER: std::cell::RefCell<Option<(std::path::PathBuf, Connection)>> = const { std::cell::RefCell::new(None) });
        READER.with_borrow_mut(|reader| {
            if reader.as_ref().is_none_or(|(of, _)| *of != file) {
                let connection = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY);
                *reader = Some((file.clone(), connection.expect("it opens")));
            }
            let (_, connection) = reader.as_ref().expect("it was set");
            let number = count.fetch_add(1, Ordering::Relaxed) % 500;
            let mut statement =
                connection.prepare_cached("SELECT body FROM answer WHERE id = ?1").expect("it is SQL");
            let body: String = statement.query_row([number], |row| row.get(0)).expect("a row");
            warp::reply::with_header(body, "content-type", "application/json")
        })
    });
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("an address");
    listener.set_nonblocking(true).expect("an option of the socket");
    let address = listener.local_addr().expect("its address");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    tokio::spawn(warp::serve(handler).incoming(listener).run());
    address
}

/// Asks all callers' requests, and waits for all answers; returns how long all took, and each.
fn call(server: SocketAddr, paths: &[String]) -> (f64, Vec<f64>) {
    let begun = Instant::now();
    let each = std::thread::scope(|scope| {
        let ask = |caller: usize| {
            let mut connection = Caller::connect(server);
            let path = |n: usize| &paths[(n * CALLERS + caller) % paths.len()];
            (0..REQUESTS / CALLERS).map(|n| milliseconds(|| connection.ask(path(n)))).collect::<Vec<_>>()
        };
        let callers: Vec<_> = (0..CALLERS).map(|caller| scope.spawn(move || ask(caller))).collect();
        callers.into_iter().flat_map(|caller| caller.join().expect("a caller")).collect()
    });
    (begun.elapsed().as_secs_f64() * 1000.0, each)
}
