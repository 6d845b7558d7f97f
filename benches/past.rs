//! Past moments against now: what an environment of a thousand resources held, its graph and its health, the overview of
//! all, one object, what differs between two moments, and the pages of a list, in a log of a fleet of which one environment
//! is far busier than the others.
//!
//! The marks are the design's: a past moment within five times of now, a busy history within twice of a quiet one, and a
//! view built anew at one and a half times the rate at which changes become durable and can be asked for.
//! `STRANDLINE_BENCH_CHANGES` says how many changes the log holds, `STRANDLINE_BENCH_OBJECTS` of how many objects, and
//! `STRANDLINE_BENCH_BUSY` how many of a hundred things happen in the busy environment. With `STRANDLINE_BENCH_DIR` log and
//! view are built there, and used again where they are.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use strandline_clock::SystemClock;
use strandline_log::Observed;
use strandline_model::{
    At, CatalogFact, ClusterSpec, EnvironmentId, EnvironmentSpec, Labels, Offset, Source, TargetSpec, Uid,
};
use strandline_object_diff::Lens;
use strandline_protocol::{Collapse, Graph};
use strandline_query::{
    DiffEnvironment, GetOverview, GraphFilter, HealthFilter, PageRequest, Queries, ResourceFilter, Scope,
};
use strandline_query::{GetEnvironmentGraph, GetEnvironmentHealth, GetResource, ListEnvironmentResources};
use strandline_sqlite::Watermark;
use strandline_view::{Build, ViewStatus};
use tokio::runtime::Runtime;

use common::fleet::{Fleet, Sight};
use common::settings::{self, Place};
use common::table::{Mark, Table, in_turn};
use common::{BATCH, Log, followed, objects, view_options};

const ROUNDS: usize = 21;
const SEED: u64 = 7;

/// Sights handed over at once while a log is built.
const CHUNK: usize = 20_000;

/// What a log was built of, and what building it took.
struct Built {
    changes: u64,
    /// The first moment at which everything was there.
    whole: Offset,
    /// Seconds until all was durable …
    append: f64,
    /// … and could be asked for as well, by a projector that follows on a thread of its own.
    ingest: f64,
    /// Seconds in which the view was built anew.
    rebuild: f64,
    bytes: Bytes,
}

/// What all bodies take, in bytes.
#[derive(Clone, Copy, Default)]
struct Bytes {
    json: f64,
    /// Each packed by itself by zstd, as told by one in a hundred.
    zstd: f64,
}

impl Bytes {
    /// Packs one body of so many.
    const SAMPLE: usize = 100;

    fn add(&mut self, seen: &[Sight]) {
        let bodies = seen.iter().filter_map(|(_, observed)| match observed {
            Observed::Applied(observation) => Some(observation.body.as_str()),
            _ => None,
        });
        for (n, body) in bodies.enumerate() {
            self.json += body.len() as f64;
            if n % Self::SAMPLE == 0 {
                let packed = zstd::bulk::compress(body.as_bytes(), 3).expect("a body is packed");
                self.zstd += (packed.len() * Self::SAMPLE) as f64;
            }
        }
    }
}

fn environment(namespace: &str) -> EnvironmentSpec {
    let target = TargetSpec {
        cluster: "bench".into(),
        namespace: namespace.to_owned(),
        labels: Some(Labels::new()),
        ..TargetSpec::default()
    };
    EnvironmentSpec { targets: vec![target], ..EnvironmentSpec::new("shop/web", namespace) }
}

/// Tells how far something is, in ten steps.
struct Progress {
    what: &'static str,
    total: u64,
    told: u64,
    begun: Instant,
}

impl Progress {
    fn new(what: &'static str, total: u64) -> Self {
        Progress { what, total, told: 0, begun: Instant::now() }
    }

    fn at(&mut self, done: u64) {
        let tenth = done * 10 / self.total.max(1);
        if tenth > self.told {
            self.told = tenth;
            let rate = done as f64 / self.begun.elapsed().as_secs_f64();
            eprintln!("{} {done} of {} changes, {rate:.0} a second", self.what, self.total);
        }
    }
}

/// Records a fleet until the log holds so many changes, with a projector that follows, and builds the view anew.
fn build(directory: &Path, fleet: &mut Fleet, changes: u64) -> Built {
    let log = Log::open(directory);
    let built = followed(directory, |wait| record(&log, fleet, changes, wait));
    log.close();
    let begun = Instant::now();
    let mut progress = Progress::new("built anew", built.changes);
    let mut build = Build::open(directory, view_options()).expect("the build opens");
    while build.step().expect("the view is written") {
        progress.at(build.checkpoint().get());
    }
    build.swap().expect("the view is put into place");
    Built { rebuild: begun.elapsed().as_secs_f64(), ..built }
}

/// Records chunk by chunk and waits for each until it can be asked for.
fn record(log: &Log, fleet: &mut Fleet, changes: u64, wait: &dyn Fn(Offset)) -> Built {
    let runtime = Runtime::new().expect("a runtime");
    let cluster = CatalogFact::Cluster(ClusterSpec { name: "bench".into(), region: "eu".into() });
    let environments = fleet.namespaces().map(|namespace| CatalogFact::from(environment(&namespace)));
    let facts: Vec<_> = std::iter::once(cluster).chain(environments).collect();
    // Declaring the same once more tells the head.
    let declare =
        || runtime.block_on(log.appender.declare(Source::Config, facts.clone())).expect("facts").head;
    declare();
    let (mut append, mut ingest, mut progress) = (0.0, 0.0, Progress::new("recorded", changes));
    let mut bytes = Bytes::default();
    let mut observe = |count: usize, fleet: &mut Fleet| {
        let seen: Vec<_> = fleet.by_ref().take(count).collect();
        bytes.add(&seen);
        let begun = Instant::now();
        log.observe(seen, BATCH);
        append += begun.elapsed().as_secs_f64();
        let reached = declare();
        wait(reached);
        ingest += begun.elapsed().as_secs_f64();
        reached
    };
    let mut left = usize::try_from(fleet.first()).expect("a number of objects");
    let mut whole = Offset::ZERO;
    while left > 0 {
        let count = left.min(CHUNK);
        left -= count;
        whole = observe(count, fleet);
    }
    let mut reached = whole;
    while reached.get() < changes {
        let rest = usize::try_from(changes - reached.get()).expect("a number of changes");
        reached = observe(rest.min(CHUNK), fleet);
        progress.at(reached.get());
    }
    Built { changes: reached.get(), whole, append, ingest, rebuild: 0.0, bytes }
}

/// Builds the log, or finds it where it was built before of the same.
fn built(directory: &Path, fleet: &mut Fleet, settings: [u64; 3]) -> Built {
    let note = directory.join("past.json");
    let known: Value = std::fs::read_to_string(&note)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    if known["settings"] == json!(settings) {
        let number = |name: &str| known[name].as_u64().unwrap_or_default();
        let real = |name: &str| known[name].as_f64().unwrap_or_default();
        return Built {
            changes: number("changes"),
            whole: Offset::new(number("whole")),
            append: real("append"),
            ingest: real("ingest"),
            rebuild: real("rebuild"),
            bytes: Bytes { json: real("json"), zstd: real("zstd") },
        };
    }
    let built = build(directory, fleet, settings[0]);
    let Built { changes, whole, append, ingest, rebuild, bytes } = built;
    let text = json!({
        "settings": settings, "changes": changes, "whole": whole,
        "append": append, "ingest": ingest, "rebuild": rebuild, "json": bytes.json, "zstd": bytes.zstd,
    });
    std::fs::write(note, text.to_string()).expect("the note is written");
    built
}

/// Who asks, and of what.
struct Asking {
    queries: Queries,
    runtime: Runtime,
    scope: Scope,
}

impl Asking {
    /// All resources of an environment, in two pages.
    fn list(&self, at: At, id: &EnvironmentId) -> usize {
        let mut page = PageRequest { limit: PageRequest::MAX, after: None };
        let mut found = 0;
        loop {
            let any = ResourceFilter::default();
            let answer = self.queries.ask(&self.scope, at, ListEnvironmentResources::new(id, &any, &page));
            let answer = self.runtime.block_on(answer).expect("a page");
            found += answer.items.len();
            match answer.metadata.next {
                Some(next) => page.after = Some(next),
                None => return found,
            }
        }
    }

    fn graph(&self, at: At, id: &EnvironmentId, collapse: Collapse) -> usize {
        let filter = GraphFilter { collapse, limit: Graph::LIMIT, ..GraphFilter::default() };
        let answer = self.queries.ask(&self.scope, at, GetEnvironmentGraph::new(id, &filter));
        self.runtime.block_on(answer).expect("a graph").value.edges.len()
    }

    fn health(&self, at: At, id: &EnvironmentId) -> usize {
        let filter = HealthFilter::default();
        let answer = self.queries.ask(&self.scope, at, GetEnvironmentHealth::new(id, filter));
        self.runtime.block_on(answer).expect("a history").value.intervals.len()
    }

    fn overview(&self, at: At) -> u64 {
        let answer = self.queries.ask(&self.scope, at, GetOverview::default());
        self.runtime.block_on(answer).expect("an overview").value.totals.total
    }

    fn object(&self, at: At, uid: &Uid) -> usize {
        let answer = self.queries.ask(&self.scope, at, GetResource::new(uid, None));
        self.runtime.block_on(answer).expect("an object").value.environments.len()
    }

    /// What differs in an environment between a moment and now, as its page tells it first.
    fn diff(&self, from: At, id: &EnvironmentId) -> u64 {
        let question = DiffEnvironment {
            environment: id.clone(),
            from: Some(from),
            lens: Lens::whole(),
            children: false,
            page: PageRequest { limit: PageRequest::MAX, after: None },
        };
        let answer = self.queries.ask(&self.scope, At::Now, question);
        self.runtime.block_on(answer).expect("what differs").counts.differing()
    }

    /// The token of a page of a list of single resources.
    fn token_of(&self, page: usize, id: &EnvironmentId) -> PageRequest {
        let mut request = PageRequest { limit: 1, after: None };
        for _ in 1..page {
            request.after = self.page(id, &request);
        }
        request
    }

    fn page(&self, id: &EnvironmentId, request: &PageRequest) -> Option<String> {
        let any = ResourceFilter::default();
        let answer = self.queries.ask(&self.scope, At::Now, ListEnvironmentResources::new(id, &any, request));
        self.runtime.block_on(answer).expect("a page").metadata.next
    }
}

fn main() {
    if settings::is_listed() {
        return;
    }
    let mut table = Table::new("past");
    let settings = [
        settings::number("CHANGES", 60_000),
        settings::number("OBJECTS", 6_000),
        settings::number("BUSY", 50),
    ];
    let mut fleet = Fleet::new(SEED, settings[1], settings[2]);
    let place = Place::new().expect("a directory");
    let directory = place.path();
    let built = built(directory, &mut fleet, settings);
    println!("{} changes of {} objects at first, busy {} %", built.changes, fleet.objects(), settings[2]);
    let status = ViewStatus::new(Watermark::default());
    status.set_usable(true);
    let queries = Queries::new(directory, 1, status, Arc::new(SystemClock));
    let runtime = Runtime::new().expect("a runtime");
    let asking = Asking { queries, runtime, scope: Scope::everything() };
    rates(&mut table, &built);
    sizes(&mut table, &built, directory);
    compare(&mut table, &asking, &built, &fleet);
    table.finish();
}

/// What ingest and a rebuild took.
fn rates(table: &mut Table, built: &Built) {
    let rate = |seconds: f64| built.changes as f64 / seconds.max(f64::MIN_POSITIVE) / 1000.0;
    let (append, ingest, rebuild) = (rate(built.append), rate(built.ingest), rate(built.rebuild));
    let mut row = |peer, mark| table.row("rebuild of the view", "k changes/s", rebuild, Some(peer), mark);
    row(("ingest till queryable", ingest), Mark::RatioAtLeast(1.5));
    row(("append till durable", append), Mark::None);
}

/// What is left of a change on the disk, against its body by itself.
fn sizes(table: &mut Table, built: &Built, directory: &Path) {
    let each = |bytes: f64| bytes / built.changes as f64;
    let file = |name: &str| {
        let bytes = std::fs::metadata(directory.join(name)).expect("the file is there").len();
        each(bytes as f64)
    };
    let (log, view) = (file("log.db"), file("view.db"));
    let (json, zstd) = (("as JSON", each(built.bytes.json)), ("JSON by zstd 3", each(built.bytes.zstd)));
    table.row("log of a change", "bytes", log, Some(json), Mark::None);
    table.row("log of a change", "bytes", log, Some(zstd), Mark::None);
    table.row("log and view of a change", "bytes", log + view, Some(json), Mark::RatioAtMost(0.1));
}

fn compare(table: &mut Table, asking: &Asking, built: &Built, fleet: &Fleet) {
    let mut namespaces = fleet.namespaces().map(|name| environment(&name).id);
    let (busy, quiet) = (namespaces.next().expect("a busy one"), namespaces.next().expect("a quiet one"));
    let (whole, head) = (built.whole.get(), built.changes);
    let past = |share: u64| At::Offset(Offset::new(whole + (head - whole) * share / 100));
    let moments = [("1 % back", past(99)), ("in the middle", past(50)), ("at its beginning", past(0))];
    // One of the middle of the namespace, which lives as long as the environment.
    let deployment = Uid::new(objects::uid(objects::WORKLOAD * 42));
    for (when, at) in moments {
        let mut against_now = |name: &str, most: f64, ask: &dyn Fn(At) -> usize| {
            let [now, then] = in_turn(
                ROUNDS,
                [&mut || _ = std::hint::black_box(ask(At::Now)), &mut || _ = std::hint::black_box(ask(at))],
            );
            let name = format!("{name} {when}");
            table.row(&name, "ms", then.median, Some(("the same now", now.median)), Mark::RatioAtMost(most));
        };
        against_now("list of 1,000 resources", 5.0, &|at| asking.list(at, &busy));
        against_now("graph of 1,000 resources", 5.0, &|at| asking.graph(at, &busy, Collapse::None));
        against_now("graph in groups", 5.0, &|at| asking.graph(at, &busy, Collapse::Siblings));
        against_now("health over the day before", 5.0, &|at| asking.health(at, &busy));
        against_now("overview of all environments", 2.0, &|at| {
            usize::try_from(asking.overview(at)).unwrap_or(usize::MAX)
        });
        against_now("one object", 5.0, &|at| asking.object(at, &deployment));
    }
    for (when, at) in moments {
        let [now, diff] = in_turn(
            ROUNDS,
            [&mut || _ = std::hint::black_box(asking.list(At::Now, &busy)), &mut || {
                _ = std::hint::black_box(asking.diff(at, &busy))
            }],
        );
        let name = format!("what differs from {when} to now");
        table.row(&name, "ms", diff.median, Some(("the list now", now.median)), Mark::None);
    }
    let middle = past(50);
    let [deep, shallow] =
        in_turn(ROUNDS, [&mut || _ = asking.list(middle, &busy), &mut || _ = asking.list(middle, &quiet)]);
    let (name, peer) = ("list in the middle of a busy history", Some(("of a quiet one", shallow.median)));
    table.row(name, "ms", deep.median, peer, Mark::RatioAtMost(2.0));
    let (first, last) = (asking.token_of(1, &busy), asking.token_of(1000, &busy));
    let [first, last] =
        in_turn(ROUNDS, [&mut || _ = asking.page(&busy, &first), &mut || _ = asking.page(&busy, &last)]);
    let peer = Some(("page 1", first.median));
    table.row("page 1,000 of a list", "ms", last.median, peer, Mark::RatioAtMost(2.0));
}
