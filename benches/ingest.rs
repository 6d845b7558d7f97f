//! From the JSON of a cluster until it can be asked for, against inserting the same bodies, cleaned before, into a plain
//! SQLite table with one index and `synchronous=FULL`.
//!
//! Ours cleans, digests, appends and projects, on three threads as in the service: the objects come with managedFields,
//! every workload is an environment of its own by a label, every namespace one more, and while kinds are being listed they are
//! gaps, as when a cluster is met for the first time. It ends when the view holds the last change.

mod common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use strandline_clock::{Clock, SystemClock};
use strandline_log::Observed;
use strandline_model::{CoverageMark, Source, reason};
use strandline_redact::{Rules, TypeMeta, clean};
use strandline_view::Projector;
use strandline_view::ruleset::RuleSet;

use common::environments::{self, catalog};
use common::objects::{PER_NAMESPACE, managed};
use common::plain::Plain;
use common::settings;
use common::table::{Mark, Spread, Table, milliseconds};
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
    if settings::is_listed() {
        return;
    }
    let mut table = Table::new("ingest");
    let (objects, rules) = (OBJECTS as u64, Rules::new([7; 32]));
    let seen: Vec<Seen> = observations(OBJECTS + CHANGES, 2);
    let raw: Vec<Raw> = seen.iter().map(|seen| (seen.kind, managed(&seen.observation.body))).collect();
    let (listed, changed) = raw.split_at(OBJECTS);
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..ROUNDS {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let ours = ours(directory.path(), objects, listed, changed);
        let mut table = Plain::open(&directory.path().join("raw.db"));
        let plain = [&seen[..OBJECTS], &seen[OBJECTS..]].map(|seen| milliseconds(|| table.insert(seen)));
        let cleaning = milliseconds(|| listed.iter().for_each(|(_, raw)| drop(cleaned(raw, &rules))));
        for (times, took) in times.iter_mut().zip([ours[0], plain[0], ours[1], plain[1], cleaning]) {
            times.push(took);
        }
    }
    let [list, raw_list, changes, raw_changes, cleaning] = times.map(Spread::of).map(|spread| spread.median);
    let (unit, peer) = ("k changes/s", "raw SQLite");
    let listed = (peer, OBJECTS as f64 / raw_list);
    let changed = (peer, CHANGES as f64 / raw_changes);
    let environments = environments::count(objects);
    let of = |what: &str| format!("{what} in {environments} environments, until it can be asked for");
    table.row(&of("a first list"), unit, OBJECTS as f64 / list, Some(listed), Mark::RatioAtLeast(1.0));
    table.row(&of("changes"), unit, CHANGES as f64 / changes, Some(changed), Mark::RatioAtLeast(1.0));
    table.row("cleaning alone, one thread", unit, OBJECTS as f64 / cleaning, Some(listed), Mark::None);
    table.finish();
}

fn cleaned(raw: &str, rules: &Rules) -> Observed {
    let defaults = TypeMeta { api_version: "v1", kind: "" };
    Observed::Applied(clean(raw, defaults, rules).expect("it is an object"))
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
    let rules = Rules::new([7; 32]);
    let seen = |raw: &Raw| (raw.0, cleaned(&raw.1, &rules));
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
