//! How time, memory, disk and answers grow with the number of objects.
//!
//! One log grows to each of some sizes, with a projector that follows it: objects that come, in environments that are declared, and
//! then a tenth as many changes of those that are there. At each size a process of its own serves what was recorded, as the program
//! does, and is asked over HTTP by one caller; it is then ended, and the log goes on. So that no answer is one given again, each
//! question is asked of another offset, resource, environment or word each time.
//!
//! The peer of each figure is the same figure at the first size. `STRANDLINE_BENCH_SIZES=250000,1000000` names other sizes, and
//! `STRANDLINE_BENCH_DIR` where log and view are kept. Besides a table there is a picture, `target/bench/scale.svg`.

#[path = "../common/mod.rs"]
mod common;

mod picture;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use strandline::http::auth::AccessConfig;
use strandline::service::{Options, Service};
use strandline_clock::{Clock, SystemClock};
use strandline_log::LogReader;
use strandline_model::{CatalogFact, ClusterSpec, EnvironmentSpec, Labels, Offset, Source, TargetSpec};
use tokio_util::sync::CancellationToken;

use common::caller::{Caller, asked};
use common::fleet::Fleet;
use common::objects::{PER_NAMESPACE, WORKLOAD, namespace, uid};
use common::settings::{self, Place};
use common::system::{Memory, disk};
use common::table::{Mark, Table, kept_beside, milliseconds};
use common::{BATCH, Log, Random, followed, runtime};
use picture::Panel;

const SIZES: [u64; 4] = [250_000, 500_000, 1_000_000, 2_000_000];
const SEED: u64 = 7;
/// Of a hundred changes, how many are of the first namespace.
const BUSY: u64 = 4;
/// Workloads of a namespace that are environments of their own, besides the namespace as a whole.
const OWN: u64 = 5;
const REGIONS: [&str; 4] = ["eu", "us", "ap", "sa"];
/// Sights handed over at once while a log is recorded.
const CHUNK: usize = 5_000;
/// How often each question is asked.
const ASKED: u64 = 100;
/// After this long without work memory counts as settled.
const REST: Duration = Duration::from_secs(12);
/// The argument with which a process of its own serves what was recorded.
const SERVE: &str = "--serve";

/// How the names of figures end that are of the slowest answer.
const SLOWEST: &str = ": the slowest of a hundred";

/// Figures in their order, each by its name and unit.
type Figures = Vec<((String, String), f64)>;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if settings::is_listed() {
        return;
    }
    if let Some(place) = arguments.iter().position(|argument| argument == SERVE) {
        let [directory, objects, changes] = &arguments[place + 1..place + 4] else {
            panic!("three arguments")
        };
        let number = |text: &String| text.parse().expect("a number");
        return serve(Path::new(directory), number(objects), number(changes));
    }
    let sizes = sizes();
    let mut table = Table::new("scale");
    let place = Place::new().expect("a directory");
    let directory = place.path();
    let mut fleet = Fleet::new(SEED, sizes.iter().copied().max().unwrap_or_default(), BUSY);
    let mut found: Vec<Figures> = Vec::new();
    let mut there = 0;
    for size in &sizes {
        let (figures, head) = grow(directory, &mut fleet, (there, *size));
        there = *size;
        let served = served(directory, *size, head);
        eprintln!("{size} objects, {} environments, {head} changes", environments(*size));
        let figures: Figures = figures.into_iter().chain(served).collect();
        figures.iter().for_each(|((name, unit), figure)| eprintln!("  {name:<58} {figure:>10.2} {unit}"));
        found.push(figures);
    }
    for (size, figures) in sizes.iter().zip(&found) {
        for ((name, unit), figure) in figures {
            let first = found[0].iter().find(|(of, _)| of == &(name.clone(), unit.clone()));
            let peer = first.map(|(_, first)| ("at the first size", *first));
            table.row(&format!("{size}: {name}"), unit, *figure, peer, Mark::None);
        }
    }
    table.finish();
    let picture = kept_beside("scale.svg");
    std::fs::write(&picture, drawn(&sizes, &found)).expect("the picture is written");
    println!("drawn in {}", picture.display());
}

/// A picture of what matters most.
fn drawn(sizes: &[u64], found: &[Figures]) -> String {
    let line = |unit: &str, name: &str| {
        let of = |figures: &Figures| {
            figures.iter().find(|(of, _)| of.0 == name && of.1 == unit).map(|(_, figure)| *figure)
        };
        found.iter().filter_map(of).collect::<Vec<_>>()
    };
    let lines = |unit: &str, names: &[(&str, &str)]| {
        names.iter().map(|(name, shown)| ((*shown).to_owned(), line(unit, name))).collect()
    };
    let is_answer = |name: &str, unit: &str| unit == "ms" && !name.ends_with(SLOWEST);
    let names = found.first().into_iter().flatten().map(|((name, unit), _)| (name, unit));
    let answers = names.filter(|(name, unit)| is_answer(name, unit));
    let answers = answers.map(|(name, unit)| (name.clone(), line(unit, name))).collect();
    let rates = [
        ("objects that come, till they can be asked for", "objects that come"),
        ("changes, till they can be asked for", "changes"),
    ];
    let memory = [
        ("memory after the start", "after the start"),
        ("memory after all questions", "after all questions"),
        ("memory of who serves, at most", "at most"),
    ];
    let bytes = [("log and view, for each object", "log and view")];
    let beside = |n: f64| [690.0, 34.0 + n * 150.0, 170.0, 90.0];
    let panels = [
        Panel { title: "answers over HTTP, median ms", place: [50.0, 34.0, 290.0, 390.0], lines: answers },
        Panel {
            title: "until it can be asked for, 1,000/s",
            place: beside(0.0),
            lines: lines("k/s", &rates),
        },
        Panel { title: "memory of the server, MB", place: beside(1.0), lines: lines("MB", &memory) },
        Panel { title: "on disk, bytes an object", place: beside(2.0), lines: lines("bytes", &bytes) },
    ];
    picture::svg("What grows with the number of objects", sizes, &panels)
}

fn sizes() -> Vec<u64> {
    let text = std::env::var("STRANDLINE_BENCH_SIZES").unwrap_or_default();
    let mut sizes: Vec<u64> = text.split(',').filter_map(|size| size.trim().parse().ok()).collect();
    if sizes.is_empty() {
        sizes = SIZES.to_vec();
    }
    // Whole namespaces, at least three.
    sizes.iter_mut().for_each(|size| *size = size.div_ceil(PER_NAMESPACE).max(3) * PER_NAMESPACE);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// How many environments so many objects have.
fn environments(objects: u64) -> u64 {
    objects / PER_NAMESPACE * (1 + OWN)
}

/// The cluster, and the environments of the namespaces of so many objects: one of each as a whole, and of some of its workloads by
/// their label.
fn catalog(objects: u64) -> impl Iterator<Item = CatalogFact> {
    let cluster = CatalogFact::Cluster(ClusterSpec { name: "bench".into(), region: "eu".into() });
    let environments = (0..objects / PER_NAMESPACE).flat_map(|n| {
        let first = n * PER_NAMESPACE / WORKLOAD;
        let own = (0..OWN).map(move |workload| Some(first + workload));
        std::iter::once(None).chain(own).map(move |workload| CatalogFact::from(environment(n, workload)))
    });
    std::iter::once(cluster).chain(environments)
}

/// The environment of a namespace, or of one of its workloads.
fn environment(n: u64, workload: Option<u64>) -> EnvironmentSpec {
    let labels =
        workload.map(|workload| ("app.kubernetes.io/instance".to_owned(), format!("web-{workload}")));
    let target = TargetSpec {
        cluster: "bench".into(),
        namespace: namespace(n * PER_NAMESPACE),
        labels: Some(Labels::from_iter(labels)),
        ..TargetSpec::default()
    };
    let name = match workload {
        None => "staging".to_owned(),
        Some(workload) => format!("production/{}", workload % OWN),
    };
    let project = format!("group-{}/web-{n}", n % 40);
    let region = REGIONS[n as usize % REGIONS.len()].to_owned();
    EnvironmentSpec { region, targets: vec![target], ..EnvironmentSpec::new(&project, &name) }
}

/// Records the objects between two sizes, and what happens then; returns what that took, and the offset that was reached.
fn grow(directory: &Path, fleet: &mut Fleet, (from, to): (u64, u64)) -> (Figures, Offset) {
    let log = Log::open(directory);
    let (rates, head) = followed(directory, |wait| {
        let begun = Instant::now();
        log.watched();
        let facts = catalog(to).collect();
        wait(log.wait(async |appender| appender.declare(Source::Config, facts).await.expect("facts").head));
        let declared = begun.elapsed().as_secs_f64();
        let reader = LogReader::open(directory).expect("the log opens");
        let mut record = |count: u64, of: &dyn Fn(&mut Fleet) -> common::fleet::Sight| {
            let (mut left, mut seconds, mut head) =
                (usize::try_from(count).expect("a number"), 0.0, Offset::ZERO);
            while left > 0 {
                let seen: Vec<_> = (0..left.min(CHUNK)).map(|_| of(fleet)).collect();
                left -= seen.len();
                let begun = Instant::now();
                log.observe(seen, BATCH);
                head = reader.head().expect("the log is read");
                wait(head);
                seconds += begun.elapsed().as_secs_f64();
            }
            (count as f64 / seconds / 1000.0, head)
        };
        let (listed, _) = record(to - from, &|fleet| fleet.comes().expect("there are more"));
        let (changed, head) = record(to / 10, &Fleet::meanwhile);
        std::thread::sleep(REST);
        let memory = Memory::now().expect("the memory of this process");
        let figures = vec![
            figure("environments declared, till they can be asked for", "s", declared),
            figure("objects that come, till they can be asked for", "k/s", listed),
            figure("changes, till they can be asked for", "k/s", changed),
            figure("memory of who records, settled", "MB", memory.settled),
            figure("memory of who records, at most so far", "MB", memory.peak),
        ];
        (figures, head)
    });
    log.close();
    let bytes = disk(directory).expect("the files are there");
    let each = figure("log and view, for each object", "bytes", bytes / to as f64);
    (rates.into_iter().chain([figure("log and view", "MB", bytes / 1e6), each]).collect(), head)
}

fn figure(name: &str, unit: &str, figure: f64) -> ((String, String), f64) {
    ((name.to_owned(), unit.to_owned()), figure)
}

/// Lets a process of its own serve what was recorded, and returns what it found.
fn served(directory: &Path, objects: u64, head: Offset) -> Figures {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.arg(SERVE).arg(directory).args([objects.to_string(), head.get().to_string()]);
    let output = command.stderr(Stdio::inherit()).output().expect("it runs");
    assert!(output.status.success(), "the serving process failed");
    let text = String::from_utf8(output.stdout).expect("figures");
    let read = |line: &str| {
        let mut parts = line.split('\t');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let (name, unit, figure) = (next(), next(), next());
        ((name, unit), figure.parse().expect("a figure"))
    };
    text.lines().map(read).collect()
}

/// Serves a directory, asks, and prints what that takes, a figure in each line.
fn serve(directory: &Path, objects: u64, changes: u64) {
    // What happened besides, such as a view that is built anew.
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
    let runtime = runtime();
    let stop = CancellationToken::new();
    let begun = Instant::now();
    let address = runtime.block_on(start(directory, objects, &stop));
    let print = |name: &str, unit: &str, figure: f64| println!("{name}\t{unit}\t{figure}");
    print("start, till everything can be asked for", "s", begun.elapsed().as_secs_f64());
    std::thread::sleep(REST);
    print("memory after the start", "MB", Memory::now().expect("the memory of this process").settled);
    for (name, paths) in questions(objects, changes) {
        let mut caller = Caller::connect(address);
        // The first warms what is kept.
        caller.ask(&paths[0]);
        let mut each: Vec<f64> = paths[1..].iter().map(|path| milliseconds(|| caller.ask(path))).collect();
        each.sort_by(f64::total_cmp);
        print(name, "ms", each[each.len() / 2]);
        print(&format!("{name}{SLOWEST}"), "ms", each[each.len() * 99 / 100]);
    }
    std::thread::sleep(REST);
    let memory = Memory::now().expect("the memory of this process");
    print("memory after all questions", "MB", memory.settled);
    print("memory of who serves, at most", "MB", memory.peak);
    stop.cancel();
    runtime.shutdown_timeout(Duration::from_secs(10));
}

/// Starts the service, and returns when its view has everything.
async fn start(directory: &Path, objects: u64, stop: &CancellationToken) -> SocketAddr {
    let options = Options {
        catalog: catalog(objects).collect(),
        access: AccessConfig { allow_anonymous_read: true, ..AccessConfig::default() },
        ..Options::new(directory.to_owned(), SocketAddr::from(([127, 0, 0, 1], 0)))
    };
    let clock = Arc::new(SystemClock) as Arc<dyn Clock>;
    let service = Service::start(options, clock).await.expect("the service starts");
    let (address, status) = (service.address, service.status.clone());
    tokio::spawn(service.run_until(stop.clone().cancelled_owned()));
    while !status.is_usable() || status.lag() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let counts = asked(address, "/api/v1/overview");
    assert!(!counts.is_empty(), "it answers");
    address
}

/// What is asked, each time otherwise: by its name, one time more than is measured.
fn questions(objects: u64, changes: u64) -> Vec<(&'static str, Vec<String>)> {
    let each = |of: &dyn Fn(u64) -> String| (0..=ASKED).map(of).collect::<Vec<_>>();
    // Of somewhere in the whole, and never the same.
    let some = |n: u64, all: u64| Random(n).below(all);
    let namespace = |n: u64| environment(some(n, objects / PER_NAMESPACE), None).id;
    let recent = |n: u64| changes - n;
    let middle = |n: u64| changes / 2 + n;
    vec![
        (
            "a resource with its object",
            each(&|n| format!("/api/v1/resources/{}", uid(some(n, objects) / WORKLOAD * WORKLOAD))),
        ),
        (
            "100 of 1,000 resources of an environment",
            each(&|n| format!("/api/v1/environments/{}/resources?limit=100", namespace(n))),
        ),
        (
            "the same in the middle of the log",
            each(&|n| format!("/api/v1/environments/{}/resources?limit=100&at={}", namespace(n), middle(n))),
        ),
        (
            "the graph of an environment of 1,000 resources",
            each(&|n| format!("/api/v1/environments/{}/graph", namespace(n))),
        ),
        (
            "100 environments of production in a region",
            each(&|n| format!("/api/v1/environments?tier=production&region=eu&limit=100&at={}", recent(n))),
        ),
        (
            "the overview of everything by region and tier",
            each(&|n| format!("/api/v1/overview?group_by=region,tier&at={}", recent(n))),
        ),
        ("a page of changes", each(&|n| format!("/api/v1/changes?limit=20&at={}", recent(n)))),
        (
            "a search for a word that is in few",
            each(&|n| format!("/api/v1/search?q=web-{}", some(n, objects))),
        ),
    ]
}
