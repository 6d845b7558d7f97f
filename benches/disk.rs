//! What objects take on disk, in the log and in the view, against the bytes of their JSON; and the processor time that
//! the view's two threads take for each, which follows from the same rows.
//!
//! Environments, labels and edges are declared as in `ingest`, and kinds are gaps while they are listed. Bodies are without
//! managedFields, as the log keeps them. Nothing is moved into frames, which happens while a log is at rest.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use strandline_clock::{Clock, SystemClock};
use strandline_log::Observed;
use strandline_model::{CoverageMark, Source, reason};
use strandline_view::Projector;
use strandline_view::ruleset::RuleSet;

use common::environments::catalog;
use common::objects::PER_NAMESPACE;
use common::settings;
use common::table::{Mark, Table};
use common::{BATCH, Log, Seen, observations, watch};

/// Objects that are listed, and changes of them that follow.
const OBJECTS: usize = 12 * PER_NAMESPACE as usize;
const CHANGES: usize = OBJECTS;

/// Kinds besides that could not be listed so far.
const OTHER_KINDS: usize = 20;

/// The databases of a data directory.
const DATABASES: [&str; 2] = ["log.db", "view.db"];

/// Bytes by database and table or index.
type Bytes = BTreeMap<(&'static str, String), i64>;

/// Microseconds of processor time, by thread.
#[derive(Clone, Copy, Debug, Default)]
struct Processor {
    writer: f64,
    reader: f64,
}

fn main() {
    if settings::is_listed() {
        return;
    }
    let mut table = Table::new("disk");
    let seen: Vec<Seen> = observations(OBJECTS + CHANGES, 2);
    let json = |seen: &[Seen]| seen.iter().map(|seen| seen.observation.body.len()).sum::<usize>() as f64;
    let (listed_json, changed_json) = (json(&seen[..OBJECTS]), json(&seen[OBJECTS..]));
    let mut seen = seen.into_iter().map(|seen| (seen.kind, Observed::Applied(seen.observation)));

    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let log = Log::open(path);
    log.wait(async |appender| {
        appender.declare(Source::Config, catalog(OBJECTS as u64)).await.expect("the catalog is taken");
        for n in 0..OTHER_KINDS {
            let gap =
                CoverageMark::gap(watch(&format!("Other{n}")), SystemClock.now(), reason::FORBIDDEN, "");
            appender.mark(gap).await.expect("the gap is recorded");
        }
    });
    let mut projector = Projector::open(path, RuleSet::default()).expect("the view opens");
    project(&mut projector);
    let before = bytes(path);
    log.list(seen.by_ref().take(OBJECTS), BATCH);
    let list = project(&mut projector);
    let listed = bytes(path);
    log.observe(seen, BATCH);
    let changes = project(&mut projector);
    let changed = bytes(path);
    log.close();

    by_table("a listed object", (&before, &listed), OBJECTS);
    by_table("a later change", (&listed, &changed), CHANGES);
    let mut row = |what: &str, database: Option<&str>, count: usize, json: f64, spans: [&Bytes; 2], mark| {
        let [from, to] = spans.map(|bytes| total(bytes, database));
        table.row(what, "bytes", (to - from) / count as f64, Some(("its JSON", json / count as f64)), mark);
    };
    let list_bytes = [&before, &listed];
    row("a listed object: log and view", None, OBJECTS, listed_json, list_bytes, Mark::RatioAtMost(0.2));
    row("a listed object: log", Some("log.db"), OBJECTS, listed_json, list_bytes, Mark::None);
    row("a listed object: view", Some("view.db"), OBJECTS, listed_json, list_bytes, Mark::None);
    let change_bytes = [&listed, &changed];
    row("a later change: log and view", None, CHANGES, changed_json, change_bytes, Mark::RatioAtMost(0.06));
    row("a later change: log", Some("log.db"), CHANGES, changed_json, change_bytes, Mark::None);
    row("a later change: view", Some("view.db"), CHANGES, changed_json, change_bytes, Mark::None);
    for (what, took, count) in [("a listed object", list, OBJECTS), ("a later change", changes, CHANGES)] {
        let (writer, reader) = (took.writer / count as f64, took.reader / count as f64);
        table.row(&format!("{what}: the view's writer"), "µs of CPU", writer, None, Mark::AtMost(60.0));
        table.row(&format!("{what}: reading ahead"), "µs of CPU", reader, None, Mark::None);
    }
    table.finish();
}

/// Applies all of the log; returns what that took of the processor.
fn project(projector: &mut Projector) -> Processor {
    let before = Processor::now();
    while projector.step().expect("the view is written").is_some() {}
    let now = Processor::now();
    Processor { writer: now.writer - before.writer, reader: now.reader - before.reader }
}

impl Processor {
    /// What Linux counts for this thread and for the one that reads ahead; zero elsewhere.
    fn now() -> Self {
        let of = |task: &Path| {
            let text = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|first| first.parse::<f64>().ok()).unwrap_or_default() / 1000.0
        };
        let tasks =
            std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|task| task.path());
        let is_reader = |task: &Path| {
            std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == "view-reader")
        };
        let reader = tasks.filter(|task| is_reader(task)).map(|task| of(&task)).sum();
        Processor { writer: of(Path::new("/proc/thread-self")), reader }
    }
}

/// What each table and index takes, once all is in its database.
fn bytes(directory: &Path) -> Bytes {
    let mut bytes = Bytes::new();
    for name in DATABASES {
        let database = Connection::open(directory.join(name)).expect("the database opens");
        let sql = "SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE";
        let mut statement = database.prepare(sql).expect("SQLite counts pages");
        let mut rows = statement.query([]).expect("pages are counted");
        while let Some(row) = rows.next().expect("pages are counted") {
            let (table, size) = (row.get(0).expect("a name"), row.get(1).expect("a size"));
            bytes.insert((name, table), size);
        }
    }
    bytes
}

fn total(bytes: &Bytes, database: Option<&str>) -> f64 {
    let of = bytes.iter().filter(|((name, _), _)| database.is_none_or(|database| database == *name));
    of.map(|(_, bytes)| *bytes).sum::<i64>() as f64
}

/// Prints what grew, the largest first.
fn by_table(what: &str, (from, to): (&Bytes, &Bytes), count: usize) {
    let grown = |(key, bytes): (&(&'static str, String), &i64)| {
        let grown = (bytes - from.get(key).copied().unwrap_or_default()) as f64 / count as f64;
        (grown.round() as i64, format!("{} {}", key.0, key.1))
    };
    let mut tables: Vec<_> = to.iter().map(grown).filter(|(grown, _)| *grown != 0).collect();
    tables.sort_by_key(|(grown, name)| (-grown, name.clone()));
    println!("{what}, bytes by table and index");
    for (grown, name) in tables {
        println!("{grown:>8}  {name}");
    }
}
