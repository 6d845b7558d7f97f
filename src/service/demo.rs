//! The demo: a simulated fleet, followed by the real watchers, with a day of history behind it.
//!
//! The history is not made up in the log. A clock of the demo's own starts a day ago; the fleet takes a step,
//! the watchers follow it over HTTP, and once the log's cursors have reached every kind's newest state the
//! clock moves on. When it has caught up with the real time, it becomes the real time. Pages are there from the first step
//! on: they show the fleet as it is by the demo's clock, and how far that is. With a time at which it ends, the clock stands
//! there from then on, so that the same seed always shows the same.

mod notices;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::notices::{Incident, past, worth_a_look};
use super::end;
use super::error::ServiceError;
use super::options::{Options, Watched, WatchedSettings};
use super::readiness::Checks;
use super::retention::RetentionConfig;
use super::running::Service;
use crate::app::{Announcement, ClusterLists, Presentation, Readiness as _};
use crate::format::lasted;
use crate::http::auth::AccessConfig;
use strandline_clock::{Clock, SystemClock};
use strandline_log::{Appender, CatalogChange, LogReader};
use strandline_model::{
    CatalogFact, EnvironmentFilter, GroupBy, Kind, SavedView, Source, Tier, Timestamp, reason,
};
use strandline_sim::fleet::{Fleet, FleetOptions};
use strandline_view::ViewStatus;
use strandline_watch::{ClusterAccess, ConnectSettings, Selection, Watcher};

/// How much of the history passes in one step.
const STEP: Duration = Duration::from_secs(120);

/// How often the fleet moves once it lives in the present.
const TICK: Duration = Duration::from_secs(1);

/// How often to look whether the watchers have caught up.
const LOOK: Duration = Duration::from_micros(500);

/// How the demo is to run.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where the log and the view are kept; none for a directory that ends with the demo.
    pub data: Option<PathBuf>,
    /// Decides what happens in the fleet.
    pub seed: u64,
    /// How far back the history begins.
    pub history: Duration,
    /// When the clock stands still; none: it goes on from the present.
    pub until: Option<Timestamp>,
    /// What is kept for how long.
    pub retention: RetentionConfig,
}

/// A clock that is where it is put until it is released.
#[derive(Debug, Default)]
struct DemoClock {
    /// Microseconds; zero once the clock was released.
    stands_at: AtomicI64,
}

impl DemoClock {
    fn put(&self, time: Timestamp) {
        self.stands_at.store(time.as_micros(), Ordering::Release);
    }

    fn let_go(&self) {
        self.stands_at.store(0, Ordering::Release);
    }
}

impl Clock for DemoClock {
    fn now(&self) -> Timestamp {
        match self.stands_at.load(Ordering::Acquire) {
            0 => SystemClock.now(),
            micros => Timestamp::from_micros(micros),
        }
    }
}

/// Runs the demo until the process is asked to end.
///
/// # Errors
/// When the address or the data directory cannot be used, or a part fails.
///
/// `on_progress` receives how much of the past is recorded, and at last that all of it is.
pub fn demo(options: &DemoOptions, on_progress: impl FnMut(Duration, Duration)) -> Result<(), ServiceError> {
    let passing = options.data.is_none().then(tempdir).transpose().map_err(ServiceError::Fleet)?;
    let data = options.data.clone().or_else(|| passing.as_ref().map(|dir| dir.0.clone())).unwrap_or_default();
    end::run(|asked| run(options, data, asked, on_progress))
}

/// A directory that goes with the demo.
struct Passing(PathBuf);

impl Drop for Passing {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the machine's temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn tempdir() -> std::io::Result<Passing> {
    // Others may have put something there: a directory is made, never entered.
    for n in 0..=100 {
        let path = std::env::temp_dir().join(format!("strandline-demo-{}-{n}", std::process::id()));
        match strandline_sqlite::create_directory(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| Passing(path)),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

async fn run(
    options: &DemoOptions,
    data: PathBuf,
    asked: CancellationToken,
    on_progress: impl FnMut(Duration, Duration),
) -> Result<(), ServiceError> {
    let clock = Arc::new(DemoClock::default());
    let recorded = recorded(&data)?;
    let history = options.history;
    let start = options.until.unwrap_or_else(|| SystemClock.now()).minus(history);
    // A fleet that comes after another one in the same log is another fleet: with the same seed it would have
    // the same uids and tokens, and the log would take its objects for those it knows.
    let fleet_options = FleetOptions {
        opens_with_incident: true,
        history,
        ..FleetOptions::new(options.seed.wrapping_add(recorded), start)
    };
    let mut fleet = Fleet::new(&fleet_options);
    if recorded > 0 {
        fleet.step(SystemClock.now());
    } else {
        clock.put(start);
    }
    fleet.listen().await.map_err(ServiceError::Fleet)?;
    let announcement = Announcement::default();
    if recorded == 0 {
        announcement.set(past(Duration::ZERO, history, &[]));
    }
    let starting = Service::start(
        Options {
            catalog: catalog(&fleet),
            clusters: clusters(&fleet).await?,
            // What is made up is nobody's secret.
            access: AccessConfig { allow_anonymous_read: true, ..AccessConfig::default() },
            presentation: Presentation { views: views(), ..Presentation::default() },
            retention: options.retention.clone(),
            preparing: recorded == 0,
            // The servers tell the time of this machine, and not the one that the fleet has reached.
            witnesses: false,
            announcement: announcement.clone(),
            ..Options::new(data.clone(), options.listen)
        },
        Arc::clone(&clock) as Arc<dyn Clock>,
    );
    let Some(started) = asked.run_until_cancelled(starting).await else { return Ok(()) };
    let service = started?;
    let stage = Stage {
        address: service.address,
        status: service.status.clone(),
        checks: service.checks.clone(),
        appender: service.appender.clone(),
        log: LogReader::open(&data)?,
        announcement,
        clock,
        history,
        until: options.until,
    };
    let mut failure = None;
    let end = async {
        tokio::select! {
            () = asked.cancelled() => {}
            error = play_until_failure(fleet, stage, (recorded == 0).then_some(start), on_progress) => failure = Some(error),
        }
    };
    service.run_until(end).await?;
    failure.map_or(Ok(()), Err)
}

/// What the story needs of the service for which it is played.
struct Stage {
    address: SocketAddr,
    status: ViewStatus,
    checks: Checks,
    appender: Appender,
    log: LogReader,
    announcement: Announcement,
    clock: Arc<DemoClock>,
    /// How long the history is.
    history: Duration,
    /// When the clock stands still.
    until: Option<Timestamp>,
}

impl Stage {
    /// The time at which the history ends.
    fn present(&self) -> Timestamp {
        self.until.unwrap_or_else(|| SystemClock.now())
    }
}

/// How many changes the directory holds from an earlier run.
fn recorded(data: &Path) -> Result<u64, ServiceError> {
    if data.join("log.db").exists() { Ok(LogReader::open(data)?.head()?.get()) } else { Ok(0) }
}

/// What people of the fleet look at most.
fn views() -> Vec<SavedView> {
    let view = |name: &str, title: &str, tier: Tier, by: GroupBy| SavedView {
        name: name.to_owned(),
        title: title.to_owned(),
        filter: EnvironmentFilter { tiers: vec![tier], ..EnvironmentFilter::default() },
        group_by: vec![by],
    };
    vec![
        view("production-by-region", "Production by region", Tier::Production, GroupBy::Region),
        view("production-by-cluster", "Production by cluster", Tier::Production, GroupBy::Cluster),
        view("reviews-by-project", "Reviews by project", Tier::Development, GroupBy::Project),
    ]
}

fn catalog(fleet: &Fleet) -> Vec<CatalogFact> {
    let clusters = fleet.clusters().into_iter().map(|(spec, _)| CatalogFact::Cluster(spec));
    let projects = fleet.projects().into_iter().map(CatalogFact::Project);
    let agents = fleet.agents().into_iter().map(|agent| CatalogFact::Agent(Box::new(agent)));
    let environments = fleet.environments().into_iter().map(CatalogFact::from);
    clusters.chain(projects).chain(agents).chain(environments).collect()
}

async fn clusters(fleet: &Fleet) -> Result<Vec<Watched>, ServiceError> {
    let mut watched = Vec::new();
    for (spec, url) in fleet.clusters() {
        let settings = ConnectSettings::new(ClusterAccess::Url(url));
        let connection = strandline_watch::connect(&settings)
            .await
            .map_err(|source| ServiceError::Connect { cluster: spec.name.clone(), source })?;
        let watchers = vec![Watcher { connection, namespaces: Vec::new() }];
        watched.push(Watched { name: spec.name, watchers, settings: WatchedSettings::default() });
    }
    Ok(watched)
}

/// Plays the fleet's story, first its history, if it has one that begins at some time, and then the present; ends only with
/// what went wrong.
async fn play_until_failure(
    mut fleet: Fleet,
    stage: Stage,
    history: Option<Timestamp>,
    on_progress: impl FnMut(Duration, Duration),
) -> ServiceError {
    let mut declared = catalog(&fleet);
    if let Err(error) = play(&mut fleet, &stage, &mut declared, history, on_progress).await {
        return error;
    }
    if stage.until.is_some() {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(TICK).await;
        fleet.step(SystemClock.now());
        if let Err(error) = declare(&mut fleet, &stage, &mut declared).await {
            return error;
        }
    }
}

/// Plays the history, and says where the demo can be asked.
async fn play(
    fleet: &mut Fleet,
    stage: &Stage,
    declared: &mut Vec<CatalogFact>,
    history: Option<Timestamp>,
    mut on_progress: impl FnMut(Duration, Duration),
) -> Result<(), ServiceError> {
    shown(stage).await;
    print_line(format_args!("Open   http://{}/", stage.address));
    if history.is_some() {
        print_line(format_args!(
            "       while {} of rollouts, crashes and healing are recorded behind the page\n",
            lasted(stage.history)
        ));
    }
    follow(fleet, &stage.log).await?;
    watched(stage).await;
    while let Some(start) = history.filter(|_| stage.clock.now().plus(STEP) < stage.present()) {
        let now = stage.clock.now().plus(STEP);
        record(fleet, stage, declared, now).await?;
        let done = now.since(start).min(stage.history);
        stage.announcement.set(past(done, stage.history, &incidents_until(fleet, now)));
        on_progress(done, stage.history);
    }
    match stage.until {
        Some(end) => record(fleet, stage, declared, end).await?,
        None => stage.clock.let_go(),
    }
    shown(stage).await;
    stage.checks.set_preparing(false);
    on_progress(stage.history, stage.history);
    // A fleet that comes after another has no past in the log.
    let incidents = if history.is_some() { incidents_until(fleet, stage.present()) } else { Vec::new() };
    if !incidents.is_empty() {
        stage.announcement.set(worth_a_look(&incidents));
    }
    welcome(stage, incidents.first())
}

/// Lets everything happen until then, and waits until it is recorded.
async fn record(
    fleet: &mut Fleet,
    stage: &Stage,
    declared: &mut Vec<CatalogFact>,
    now: Timestamp,
) -> Result<(), ServiceError> {
    stage.clock.put(now);
    fleet.step(now);
    declare(fleet, stage, declared).await?;
    follow(fleet, &stage.log).await
}

/// Waits until the log says of every first list that it is complete: the clock would go on in a gap, and put its end later
/// the busier the machine is.
async fn watched(stage: &Stage) {
    let is_whole = |lists: &ClusterLists| {
        lists.complete && lists.gaps.iter().all(|(_, reason)| *reason != reason::LISTING)
    };
    while !stage.checks.clusters().iter().all(is_whole) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until pages show all that is in the log.
async fn shown(stage: &Stage) {
    while stage.status.lag() > 0 || !stage.status.is_usable() {
        tokio::time::sleep(LOOK).await;
    }
}

/// The environments that failed by a time, each with a moment at which it had.
fn incidents_until(fleet: &Fleet, time: Timestamp) -> Vec<Incident> {
    let passed = fleet.incidents().into_iter().filter(|(_, at)| *at <= time);
    passed.map(|(environment, at)| (environment, at.to_the_second())).collect()
}

/// Declares the environments anew where review apps came or went, and reports the deployments that were made.
async fn declare(
    fleet: &mut Fleet,
    stage: &Stage,
    declared: &mut Vec<CatalogFact>,
) -> Result<(), ServiceError> {
    let facts = catalog(fleet);
    if facts != *declared {
        stage.appender.declare(Source::Config, facts.clone()).await?;
        *declared = facts;
    }
    let changes: Vec<CatalogChange> = fleet
        .take_deployments()
        .into_iter()
        .map(|deployment| CatalogChange::Declare(CatalogFact::Deployment(Box::new(deployment))))
        .collect();
    if !changes.is_empty() {
        stage.appender.decide(Source::Api, move |_| Ok((changes.clone(), ()))).await?;
    }
    Ok(())
}

/// Waits until the log's cursors have reached the newest state of every kind.
async fn follow(fleet: &Fleet, log: &LogReader) -> Result<(), ServiceError> {
    for server in fleet.servers() {
        let cluster = server.name();
        loop {
            let cursors = log.cursors(&cluster)?;
            let reached = |kind: &Kind, wanted: u64| {
                let cursor = cursors.iter().find(|cursor| cursor.kind == *kind);
                let version = cursor.and_then(|cursor| cursor.resource_version.as_ref());
                version.is_some_and(|version| version.as_str().parse::<u64>().is_ok_and(|at| at >= wanted))
            };
            let behind = server.kinds().into_iter().map(|served| served.kind).any(|kind| {
                let newest = server.resource_version_of(&kind.group, &kind.kind);
                Selection::default().follows(&kind) && !reached(&kind, newest)
            });
            if !behind {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    Ok(())
}

fn welcome(stage: &Stage, incident: Option<&Incident>) -> Result<(), ServiceError> {
    let (address, changes) = (stage.address, stage.log.head()?.get());
    let url = format!("http://{address}");
    let server = if address.port() == 7979 { String::new() } else { format!(" --server {url}") };
    let tree = incident
        .map(|(environment, at)| format!("strandline tree {} --at {at}{server}\n       ", environment.id));
    print_line(format_args!(
        "Strandline shows four simulated clusters in two regions, with {changes} changes in {} of history.\n\n\
         Open   {url}/\n\
         or try strandline get environments --tier production --region us{server}\n       \
         {}curl '{url}/api/v1/environments?health=Degraded'\n\n\
         Ctrl-C ends it.",
        lasted(stage.history),
        tree.unwrap_or_default(),
    ));
    Ok(())
}

fn print_line(text: std::fmt::Arguments<'_>) {
    // Nobody may be reading, as in a pipe that was closed; the demo goes on.
    let _ = writeln!(std::io::stdout(), "{text}");
}
