//! One history: what happens to the clusters and to us, and the comparison at its end.

mod hardship;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use strandline::service::follow_clock;
use strandline_clock::{Clock, SteadyClock};
use strandline_log::{Appender, LogError, LogReader, LogWriter};
use strandline_model::{CatalogFact, ClusterSpec, Kind, Offset, Source, Timestamp};
use strandline_redact::Rules;
use strandline_sim::api_server::{ApiServer, Fault, ServedKind};
use strandline_view::Projector;
use strandline_view::ruleset::RuleSet;
use strandline_watch::{ClusterConnection, ClusterSettings, Limits, Watcher, supervise};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::history::History;
use super::law;
use super::truth::Truth;
use crate::random::Random;
use crate::server::Result;

/// What is to happen.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    /// One fault after so many occasions, instead of whatever the seed brings.
    pub(super) fault: Option<(Fault, u32)>,
    /// Whether outages, kills and long absences come too, under which only the law can be asked for.
    pub(super) hard: bool,
    /// Whether stores are set back to older copies besides.
    pub(super) set_back: SetBack,
}

/// How stores are set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetBack {
    Never,
    /// In the midst of all the rest, so that its traces may be gone before anybody looks; only what is answered at the end
    /// is compared.
    Anytime,
    /// With something lost by it that was recorded, and with time to compare.
    Traced,
}

/// When every history begins.
const BEGIN: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// A clock that stands while something is done and leaps while all wait.
struct Virtual(Instant);

/// The clock of the machine that we run on: it may be set wrong, while time passes as ever.
struct Machine {
    truth: Arc<Virtual>,
    wrong_by: AtomicI64,
}

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        let truth = self.truth.now().as_micros();
        Timestamp::from_micros(truth + self.wrong_by.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        self.truth.monotonic()
    }
}

impl Clock for Virtual {
    fn now(&self) -> Timestamp {
        BEGIN.plus(self.0.elapsed())
    }
}

/// Our side: everything that a process runs, but for the API.
struct Process {
    cancel: CancellationToken,
    supervisors: Vec<JoinHandle<()>>,
    appender: Appender,
    writer: JoinHandle<Result<(), LogError>>,
}

struct World {
    random: Random,
    scenario: Scenario,
    /// How often faults strike, where they do.
    often: Option<u32>,
    clock: Arc<Virtual>,
    machine: Arc<Machine>,
    /// Whether there is room on the disk.
    room: Arc<AtomicBool>,
    servers: Vec<ApiServer>,
    truth: Truth,
    rounds: u64,
    process: Option<Process>,
    folder: tempfile::TempDir,
}

fn pod() -> Kind {
    Kind::new("", "Pod")
}

fn widget() -> Kind {
    Kind::new("acme.example", "Widget")
}

fn widgets() -> ServedKind {
    ServedKind::custom("acme.example", "v1", "Widget", "widgets")
}

const CRD: (&str, &str) = ("", "widgets.acme.example");

fn definition() -> Kind {
    Kind::new("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// A folder in memory where there is one: what is tested here is not the disk.
pub(super) fn folder() -> std::io::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
}

/// Plays a history and compares what was recorded with what was.
pub(super) fn run(scenario: &Scenario) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let mut world = World::new(scenario)?;
        world.start()?;
        for _ in 0..40 {
            world.step().await?;
        }
        world.settle().await?;
        world.stop().await?;
        match scenario.hard {
            true => world.obeys_the_law(),
            false => world.compare(),
        }
    })
}

impl World {
    fn new(scenario: &Scenario) -> Result<Self> {
        let mut random = Random::new(scenario.seed);
        let kind = ServedKind::builtin;
        let kinds = || {
            vec![
                kind("", "v1", "Pod", "pods", true),
                kind("", "v1", "ConfigMap", "configmaps", true),
                kind(
                    "apiextensions.k8s.io",
                    "v1",
                    "CustomResourceDefinition",
                    "customresourcedefinitions",
                    false,
                ),
                widgets(),
            ]
        };
        let names = if random.below(4) == 0 { &["one", "two"][..] } else { &["one"] };
        let servers: Vec<_> = names.iter().map(|name| ApiServer::new(name, kinds())).collect();
        let mut often = None;
        if scenario.fault.is_none() && random.below(2) == 0 {
            let chosen = [5, 20, 80][random.below(3) as usize];
            servers.iter().for_each(|server| server.faults().storm(scenario.seed, chosen));
            often = Some(chosen);
        }
        if let Some((fault, occasions)) = scenario.fault {
            servers[0].faults().after(fault, occasions);
        }
        servers.iter().for_each(|server| server.start_clock(BEGIN));
        let clock = Arc::new(Virtual(Instant::now()));
        Ok(World {
            random,
            scenario: scenario.clone(),
            often,
            machine: Arc::new(Machine { truth: Arc::clone(&clock), wrong_by: AtomicI64::new(0) }),
            room: Arc::new(AtomicBool::new(true)),
            clock,
            servers,
            truth: Truth::default(),
            rounds: 0,
            process: None,
            folder: folder()?,
        })
    }

    fn start(&mut self) -> Result<()> {
        let steady = Arc::new(SteadyClock::new(self.machine.clone()));
        let clock: Arc<dyn Clock> = steady.clone();
        let (writer, appender) = LogWriter::open(self.folder.path(), Arc::clone(&clock))?;
        let room = Arc::clone(&self.room);
        let writer = tokio::spawn(writer.with_room(move || room.load(Ordering::Relaxed)).run_here());
        let cancel = CancellationToken::new();
        let (mut supervisors, mut times) = (Vec::new(), Vec::new());
        for server in &self.servers {
            let rules = Arc::new(Rules::new([7; 32]));
            let settings = ClusterSettings {
                seed: self.scenario.seed,
                streaming_lists: !self.scenario.seed.is_multiple_of(3),
                limits: Limits { page_objects: 3, ..Limits::default() },
                ..ClusterSettings::new(server.name(), rules)
            };
            times.push((server.name(), settings.limits.server_time.clone()));
            let way = |namespaces: &[&str]| Watcher {
                connection: ClusterConnection::through(server.in_process(), "http://simulated"),
                namespaces: namespaces.iter().map(|&name| name.to_owned()).collect(),
            };
            let ways = match self.scenario.seed % 5 {
                0 => vec![way(&[]), way(&["shop", "bank"])],
                _ => vec![way(&[])],
            };
            let (sink, clock) = (appender.clone(), Arc::clone(&clock));
            supervisors.push(tokio::spawn(supervise(settings, ways, sink, clock, cancel.clone())));
        }
        let recorder = Some(appender.clone());
        supervisors.push(tokio::spawn(follow_clock(steady, move || times.clone(), recorder, cancel.clone())));
        let fact = |server: &ApiServer| {
            CatalogFact::Cluster(ClusterSpec { name: server.name(), region: String::new() })
        };
        let (catalog, declaring) = (self.servers.iter().map(fact).collect(), appender.clone());
        supervisors.push(tokio::spawn(async move {
            // A log that is closed meanwhile already contains it, or the next process declares it.
            let _ = declaring.declare(Source::Config, catalog).await;
        }));
        self.process = Some(Process { cancel, supervisors, appender, writer });
        Ok(())
    }

    async fn stop(&mut self) -> Result<()> {
        let Some(process) = self.process.take() else { return Ok(()) };
        process.cancel.cancel();
        for supervisor in process.supervisors {
            supervisor.await?;
        }
        drop(process.appender);
        process.writer.await??;
        Ok(())
    }

    async fn step(&mut self) -> Result<()> {
        let server = self.random.below(self.servers.len() as u64) as usize;
        let now = self.clock.now();
        if self.scenario.hard && self.random.below(6) == 0 {
            return self.hardship(server).await;
        }
        match self.random.below(100) {
            0..=39 => self.apply(server, &pod()),
            40..=54 => self.delete(server, &pod()),
            55..=64 => self.apply(server, &Kind::new("", "ConfigMap")),
            65..=69 => self.delete(server, &Kind::new("", "ConfigMap")),
            70..=77 => self.apply(server, &widget()),
            78..=80 => self.delete(server, &widget()),
            // With one fault alone nothing else may disturb.
            _ if self.scenario.fault.is_some() => self.apply(server, &pod()),
            81..=84 => self.switch_widgets(server, now),
            85..=89 => self.refuse(server),
            90..=91 => self.servers[server].set_away(true),
            92 => self.servers[server].set_away(false),
            93..=94 => self.shrink(server),
            95..=96 => self.restart().await?,
            _ => self.strike(server),
        }
        let wait = match self.random.below(10) {
            0 => self.random.below(90_000),
            1..=3 => self.random.below(4_000),
            _ => self.random.below(50),
        };
        sleep(Duration::from_millis(wait)).await;
        Ok(())
    }

    /// A place that several objects of all kinds have after each other and at the same time.
    fn place(&mut self) -> (&'static str, &'static str) {
        (self.random.pick(&["shop", "bank"]), self.random.pick(&["a", "b", "c", "d"]))
    }

    fn apply(&mut self, server: usize, kind: &Kind) {
        self.rounds += 1;
        let (place, now) = (self.place(), self.clock.now());
        self.truth.apply(&self.servers[server], now, kind, place, self.rounds);
        // Many a state does not last.
        if self.random.below(4) == 0 {
            self.rounds += 1;
            self.truth.apply(&self.servers[server], now, kind, place, self.rounds);
        }
    }

    fn delete(&mut self, server: usize, kind: &Kind) {
        let (place, now) = (self.place(), self.clock.now());
        let lost = self.scenario.fault.is_none() && self.random.below(6) == 0;
        self.servers[server].faults().next(Fault::LostDelete, u32::from(lost));
        self.truth.delete(&self.servers[server], now, kind, place, lost);
        self.servers[server].faults().next(Fault::LostDelete, 0);
        if self.random.below(2) == 0 {
            self.rounds += 1;
            self.truth.apply(&self.servers[server], now, kind, place, self.rounds);
        }
    }

    fn switch_widgets(&mut self, server: usize, now: Timestamp) {
        let there = self.servers[server].kinds().iter().any(|served| served.kind == widget());
        if there {
            self.truth.remove_kind(&self.servers[server], now, &widget());
            self.truth.delete(&self.servers[server], now, &definition(), CRD, false);
        } else {
            self.servers[server].add_kind(widgets());
            self.rounds += 1;
            self.truth.apply(&self.servers[server], now, &definition(), CRD, self.rounds);
        }
    }

    fn refuse(&mut self, server: usize) {
        let faults = self.servers[server].faults();
        let kind = [pod(), widget()][self.random.below(2) as usize].clone();
        match self.random.below(5) {
            0 | 1 => faults.allow(Some(&kind)),
            2 => faults.refuse(Some(kind), 403),
            3 => faults.refuse(Some(kind), 401),
            _ => faults.refuse(Some(kind), 503),
        }
    }

    /// The server forgets what lies back.
    fn shrink(&mut self, server: usize) {
        self.servers[server].set_window(1);
        self.servers[server].set_window(2048);
    }

    fn strike(&mut self, server: usize) {
        const FAULTS: [Fault; 8] = [
            Fault::GoneInStream,
            Fault::GoneAtStart,
            Fault::ExpiredPage,
            Fault::TruncatedLine,
            Fault::Hang,
            Fault::SilentWatch,
            Fault::NoStreamingList,
            Fault::ClosedWatch,
        ];
        let fault = self.random.pick(&FAULTS);
        let times = 1 + self.random.below(3) as u32;
        self.servers[server].faults().next(fault, times);
    }

    /// Our process ends and is started again some time later.
    async fn restart(&mut self) -> Result<()> {
        self.stop().await?;
        Projector::open(self.folder.path(), RuleSet::default())?.step()?;
        sleep(Duration::from_millis(self.random.below(60_000))).await;
        self.start()
    }

    /// All faults end. Deletions that were never told are found by a list, which a watch that is told "gone" makes.
    async fn settle(&mut self) -> Result<()> {
        self.room.store(true, Ordering::Relaxed);
        self.machine.wrong_by.store(0, Ordering::Relaxed);
        for server in &self.servers {
            server.set_away(false);
            server.faults().clear();
        }
        sleep(Duration::from_secs(300)).await;
        let lists = self.scenario.fault.is_none();
        for server in &self.servers {
            for served in server.kinds() {
                self.rounds += 1;
                server.faults().next(Fault::GoneInStream, u32::from(lists));
                let namespace = if served.namespaced { "shop" } else { "" };
                let place = (namespace, "last");
                self.truth.apply(server, self.clock.now(), &served.kind, place, self.rounds);
                sleep(Duration::from_secs(5)).await;
            }
            server.faults().clear();
        }
        sleep(Duration::from_secs(200)).await;
        Ok(())
    }

    /// Asks the record about many moments; in a time of its own, for questions are answered by other threads.
    fn obeys_the_law(&self) -> Result<()> {
        let (now, seed) = (self.clock.now(), self.scenario.seed);
        let ask = || -> Result<()> {
            let record = law::Record::open(self.folder.path(), now)?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                record.check_moment(&self.truth, now).await?;
                match self.scenario.set_back {
                    SetBack::Anytime => Ok(()),
                    _ => record.check(&self.truth, BEGIN, now, seed).await,
                }
            })
        };
        std::thread::scope(|scope| scope.spawn(ask).join()).map_err(|_| "asking panicked")?
    }

    fn compare(&self) -> Result<()> {
        let mut records = Vec::new();
        let mut log = LogReader::open(self.folder.path())?;
        loop {
            let after =
                records.last().map_or(Offset::ZERO, |record: &strandline_model::Record| record.offset);
            let more = log.after(after, 1000)?;
            if more.is_empty() {
                break;
            }
            records.extend(more);
        }
        let prompt = self.scenario.fault.is_some();
        let history = History::read(&records)?;
        history.compare(&self.truth, prompt)?;
        let mut projector = Projector::open(self.folder.path(), RuleSet::default())?;
        while projector.step()?.is_some() {}
        if projector.checkpoint() != log.head()? {
            return Err("the view did not keep up".into());
        }
        Ok(())
    }
}
