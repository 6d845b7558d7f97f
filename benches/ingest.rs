//! From the JSON of a cluster until it can be asked for, against inserting the same bodies, cleaned before, into a plain
//! SQLite table with one index and `synchronous=FULL`.
//!
//! Ours cleans, digests, appends and projects, on three threads as in the service: the objects come with managedFields,
//! every workload is an environment of its own by a label, every namespace one more, and while kinds are being listed they are
//! gaps, as when a cluster is met for the first time. It ends when the view holds the last change.

mod common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use strandline_clock::{Clock, SystemClock};
use strandline_log::Observed;
use strandline_model::{
    CatalogFact, ClusterSpec, CoverageMark, EnvironmentSpec, Labels, Source, TargetSpec, reason,
};
use strandline_redact::{Rules, TypeMeta, clean};
use strandline_view::Projector;
use strandline_view::ruleset::RuleSet;

use common::objects::{PER_NAMESPACE, WORKLOAD, managed, namespace};
use common::table::{Mark, Spread, Table};
use common::{BATCH, Log, Seen, observations, watch};

/// Objects that are listed, and changes of them that follow.
const OBJECTS: usize = 12 * PER_NAMESPACE as usize;
const CHANGES: usize = OBJECTS;
const ROUNDS: usize = 5;

/// Kinds besides that could not be listed so far.
const OTHER_KINDS: usize = 20;

/// An object as a cluster sends it, with its kind.
type Raw = (&'static str, String);

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let objects = OBJECTS as u64;
    let seen: Vec<Seen> = observations(OBJECTS + CHANGES, 2);
    let raw: Vec<Raw> = seen.iter().map(|seen| (seen.kind, managed(&seen.observation.body))).collect();
    let (listed, changed) = raw.split_at(OBJECTS);
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..ROUNDS {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let ours = ours(directory.path(), objects, listed, changed);
        let plain = inserted(directory.path(), &seen).expect("the rows are inserted");
        let cleaning = milliseconds(|| listed.iter().for_each(|(_, raw)| drop(cleaned(raw))));
        for (times, took) in times.iter_mut().zip([ours[0], plain[0], ours[1], plain[1], cleaning]) {
            times.push(took);
        }
    }
    let [list, raw_list, changes, raw_changes, cleaning] = times.map(Spread::of).map(|spread| spread.median);
    let mut table = Table::new("ingest");
    let (unit, peer) = ("k changes/s", "raw SQLite");
    let listed = (peer, OBJECTS as f64 / raw_list);
    let changed = (peer, CHANGES as f64 / raw_changes);
    let environments = objects / WORKLOAD + objects / PER_NAMESPACE;
    let of = |what: &str| format!("{what} in {environments} environments, until it can be asked for");
    table.row(&of("a first list"), unit, OBJECTS as f64 / list, Some(listed), Mark::RatioAtLeast(1.0));
    table.row(&of("changes"), unit, CHANGES as f64 / changes, Some(changed), Mark::RatioAtLeast(1.0));
    table.row("cleaning alone, one thread", unit, OBJECTS as f64 / cleaning, Some(listed), Mark::None);
    table.finish();
}

fn milliseconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1000.0
}

fn cleaned(raw: &str) -> Observed {
    let (rules, defaults) = (Rules::new([7; 32]), TypeMeta { api_version: "v1", kind: "" });
    Observed::Applied(clean(raw, defaults, &rules).expect("it is an object"))
}

/// What the first list takes, and the changes after it.
fn ours(directory: &Path, objects: u64, listed: &[Raw], changed: &[Raw]) -> [f64; 2] {
    let log = Log::open(directory);
    log.wait(async |appender| {
        appender.declare(Source::Config, catalog(objects)).await.expect("the catalog is taken");
        for n in 0..OTHER_KINDS {
            let gap =
                CoverageMark::gap(watch(&format!("Other{n}")), SystemClock.now(), reason::FORBIDDEN, "");
            appender.mark(gap).await.expect("the gap is recorded");
        }
    });
    let mut projector = Projector::open(directory, RuleSet::default()).expect("the view opens");
    while projector.step().expect("the view is written").is_some() {}
    let seen = |raw: &Raw| (raw.0, cleaned(&raw.1));
    let list = beside(&mut projector, || log.list(listed.iter().map(seen), BATCH));
    let changes = beside(&mut projector, || log.observe(changed.iter().map(seen), BATCH));
    log.close();
    [list, changes]
}

/// What work on the log takes until its view has all of it.
fn beside(projector: &mut Projector, work: impl FnOnce()) -> f64 {
    let ended = AtomicBool::new(false);
    milliseconds(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| follow(projector, &ended));
            work();
            ended.store(true, Ordering::Release);
        });
    })
}

/// Keeps the view up with the log until all that it has when `ended` is applied.
fn follow(projector: &mut Projector, ended: &AtomicBool) {
    loop {
        let last = ended.load(Ordering::Acquire);
        match projector.step().expect("the view is written") {
            None if last => return,
            None => std::thread::sleep(Duration::from_millis(1)),
            Some(_) => {}
        }
    }
}

/// An environment for each workload, by its label, and one for each namespace.
fn catalog(objects: u64) -> Vec<CatalogFact> {
    let cluster = ClusterSpec { name: "bench".to_owned(), region: "eu".to_owned() };
    let target = |object: u64, labels: Labels| TargetSpec {
        cluster: "bench".to_owned(),
        namespace: namespace(object),
        labels: Some(labels),
        ..TargetSpec::default()
    };
    let environment = |project: String, name: &str, target: TargetSpec| EnvironmentSpec {
        targets: vec![target],
        ..EnvironmentSpec::new(&project, name)
    };
    let workloads = (0..objects).step_by(WORKLOAD as usize).map(|object| {
        let instance = format!("web-{}", object / WORKLOAD);
        let labels = Labels::from_iter([("app.kubernetes.io/instance".to_owned(), instance)]);
        environment(format!("shop/web-{object}"), "production", target(object, labels))
    });
    let namespaces = (0..objects)
        .step_by(PER_NAMESPACE as usize)
        .map(|object| environment(format!("shop/all-{object}"), "staging", target(object, Labels::new())));
    let environments = workloads.chain(namespaces).map(CatalogFact::from);
    std::iter::once(CatalogFact::Cluster(cluster)).chain(environments).collect()
}

/// What inserting the bodies takes: those of the first list, and those of the changes.
fn inserted(directory: &Path, seen: &[Seen]) -> rusqlite::Result<[f64; 2]> {
    let mut connection = Connection::open(directory.join("raw.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = full;
         CREATE TABLE change (id INTEGER PRIMARY KEY, uid TEXT NOT NULL, version TEXT NOT NULL, body TEXT NOT NULL);
         CREATE INDEX change_by_uid ON change (uid);",
    )?;
    let (listed, changed) = seen.split_at(OBJECTS);
    let mut times = [0.0; 2];
    for (took, seen) in times.iter_mut().zip([listed, changed]) {
        let begun = Instant::now();
        for chunk in seen.chunks(BATCH) {
            let transaction = connection.transaction()?;
            for item in chunk {
                let seen = &item.observation;
                transaction
                    .prepare_cached("INSERT INTO change (uid, version, body) VALUES (?1, ?2, ?3)")?
                    .execute(params![seen.uid.as_str(), seen.resource_version.as_str(), seen.body])?;
            }
            transaction.commit()?;
        }
        *took = begun.elapsed().as_secs_f64() * 1000.0;
    }
    Ok(times)
}
