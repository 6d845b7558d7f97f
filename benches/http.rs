//! Answers over HTTP, against a warp handler on the same machine, in the same run, that does one prepared read and sends the
//! same number of bytes.
//!
//! The service is the real one, with the data of `ingest` and nobody logged in. Both servers have the same runtime, and the
//! same callers, who take turns between them: each keeps its connection and sends a request when the last is
//! answered. So a ratio of 1 would be an answer that costs a router and a read by primary key, and callers included.
//!
//! Nothing is recorded meanwhile, so that what is asked again within a second is an answer given again; the rows that say
//! "each time" are asked of the view and the log.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use strandline::http::auth::AccessConfig;
use strandline::service::{Options, Service};
use strandline_clock::{Clock, SystemClock};
use strandline_model::Source;
use strandline_view::Projector;
use strandline_view::ruleset::RuleSet;
use tokio_util::sync::CancellationToken;
use warp::Filter;

use common::environments::{self, catalog};
use common::objects::{PER_NAMESPACE, uid};
use common::table::{Mark, Spread, Table, milliseconds};
use common::{BATCH, Log, observations};

const OBJECTS: usize = 12 * PER_NAMESPACE as usize;
const CALLERS: usize = 4;
const ROUNDS: usize = 7;
/// Requests of a round, by all callers together.
const REQUESTS: usize = 4000;

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    // What an answer of 500 was for.
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
    let directory = tempfile::tempdir().expect("a temporary directory");
    record(directory.path());
    // As the service has them: one worker more than there are cores.
    let workers = std::thread::available_parallelism().map_or(2, |cores| cores.get() + 1);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let stop = CancellationToken::new();
    let ours = runtime.block_on(serve(directory.path(), &stop));
    let mut table = Table::new("http");
    let environments = environments::count(OBJECTS as u64);
    println!("{OBJECTS} objects in {environments} environments, {CALLERS} callers");
    let only = std::env::var("STRANDLINE_BENCH_ONLY").unwrap_or_default();
    for question in questions(ours).into_iter().filter(|question| question.name.starts_with(&only)) {
        let peer = runtime.block_on(async { minimal(directory.path(), question.bytes) });
        let mut times: [Vec<f64>; 2] = Default::default();
        for round in 0..=ROUNDS {
            for (times, address) in times.iter_mut().zip([ours, peer]) {
                let took = milliseconds(|| call(address, &question.paths));
                // The first round warms what both keep.
                if round > 0 {
                    times.push(took);
                }
            }
        }
        let [ours, peer] = times.map(|times| REQUESTS as f64 / Spread::of(times).median);
        let name = format!("{}, {} bytes", question.name, question.bytes);
        table.row(&name, "k/s", ours, Some(("minimal handler", peer)), question.mark);
    }
    table.finish();
    stop.cancel();
    runtime.shutdown_timeout(Duration::from_secs(10));
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
    let environments =
        ids.iter().filter_map(|item| item["id"].as_str()).map(|id| format!("/api/v1/environments/{id}"));
    let (point, first, probe) = (Mark::RatioAtLeast(0.7), Mark::RatioAtLeast(0.6), Mark::RatioAtLeast(0.8));
    let every = (0..OBJECTS as u64).map(|n| format!("/api/v1/resources/{}", uid(n))).collect();
    let moments = (0..OBJECTS / 2).map(|n| OBJECTS - n);
    let moments = moments.map(|at| format!("/api/v1/environments?limit=20&at={at}")).collect();
    let all = [
        ("probe", vec!["/livez".to_owned()], probe),
        ("a resource, each time another", every, point),
        ("20 environments, each time of another offset", moments, first),
        ("one of 500 resources", resources, point),
        ("one of 100 environments", environments.collect(), point),
        ("a first page of 20 environments", vec!["/api/v1/environments?limit=20".to_owned()], first),
        ("a first page of 100 environments", vec!["/api/v1/environments?limit=100".to_owned()], first),
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

/// The service itself, at the address it listens on.
async fn serve(data: &Path, stop: &CancellationToken) -> SocketAddr {
    let options = Options {
        catalog: catalog(OBJECTS as u64),
        access: AccessConfig { allow_anonymous_read: true, ..AccessConfig::default() },
        ..Options::new(data.to_owned(), SocketAddr::from(([127, 0, 0, 1], 0)))
    };
    let clock = Arc::new(SystemClock) as Arc<dyn Clock>;
    let service = Service::start(options, clock).await.expect("the service starts");
    let (address, status) = (service.address, service.status.clone());
    while !status.is_usable() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::spawn(service.run_until(stop.clone().cancelled_owned()));
    address
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

/// Asks all callers' requests, and waits for all answers.
fn call(server: SocketAddr, paths: &[String]) {
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            scope.spawn(move || {
                let mut connection = Caller::connect(server);
                for n in 0..REQUESTS / CALLERS {
                    connection.ask(&paths[(n * CALLERS + caller) % paths.len()]);
                }
            });
        }
    });
}

fn asked(server: SocketAddr, path: &str) -> Vec<u8> {
    let mut caller = Caller::connect(server);
    caller.ask(path);
    caller.body
}

/// A caller with its connection.
struct Caller {
    stream: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

impl Caller {
    fn connect(server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).expect("the server listens");
        stream.set_nodelay(true).expect("an option of the socket");
        Caller { stream: BufReader::with_capacity(64 * 1024, stream), line: String::new(), body: Vec::new() }
    }

    /// Sends a request and reads its answer.
    fn ask(&mut self, path: &str) {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes()).expect("it is sent");
        let (mut length, mut first) = (0, true);
        loop {
            self.line.clear();
            self.stream.read_line(&mut self.line).expect("a head");
            assert!(!first || self.line.starts_with("HTTP/1.1 200"), "{path}: {}", self.line);
            first = false;
            let line = self.line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a number");
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).expect("a body");
    }
}
