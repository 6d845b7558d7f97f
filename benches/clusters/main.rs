//! A fleet of many clusters, which the whole service watches over HTTP while changes come in at a steady rate: how long a change
//! takes from its cluster until it can be asked for, what that takes of memory, disk and processor, and how long answers take.
//!
//! The clusters are simulated API servers in a process of their own, on the same machine. Each has namespaces of 200 objects, and
//! each namespace is an environment. What happens is that a Pod becomes ready, or ceases to be, and its EndpointSlice, ReplicaSet
//! and Deployment move with it, anywhere. One change in 49 is looked at, however late it is, so that a pause counts with all that
//! waited for it.
//!
//! `STRANDLINE_BENCH_CLUSTERS`, `…_OBJECTS` (of a cluster), `…_RATE` (changes in a second) and `…_MINUTES` are other sizes than
//! 100, 2,000, 1,000 and 2, and `STRANDLINE_BENCH_DIR` is where log and view are kept.

#[path = "../common/mod.rs"]
mod common;

mod asking;
mod lag;
mod servers;
mod workload;

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use strandline::http::auth::AccessConfig;
use strandline::service::{Options, Service};
use strandline_clock::{Clock, SystemClock};
use strandline_model::{CatalogFact, ClusterSpec, EnvironmentSpec, Labels, TargetSpec};
use strandline_view::ViewStatus;
use tokio_util::sync::CancellationToken;

use asking::Asking;
use common::busy_cluster::watched;
use common::settings::{self, Place};
use common::system::{Memory, cpu_seconds, disk};
use common::table::{Mark, Table};
use lag::Lags;
use servers::Servers;
use workload::{NAMESPACE, namespace};

/// What can go wrong here goes to a person who reads the output.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const REGIONS: [&str; 4] = ["eu", "us", "ap", "sa"];
const TIERS: [&str; 3] = ["production", "staging", "development"];
const MINUTE: Duration = Duration::from_secs(60);
/// After this long without work memory counts as settled.
const REST: Duration = Duration::from_secs(5);

/// How large the fleet is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) clusters: u64,
    /// Of each cluster, besides its Namespaces.
    pub(crate) objects: u64,
}

impl Size {
    /// Namespaces of each cluster.
    pub(crate) const fn namespaces(self) -> u64 {
        self.objects / NAMESPACE
    }

    fn all(self) -> u64 {
        self.clusters * (self.objects + self.namespaces())
    }
}

/// What a minute was like.
struct Minute {
    /// Milliseconds, in order.
    lags: Vec<f64>,
    changes: f64,
    memory: f64,
    disk: f64,
    /// Cores, of this process and of that of the clusters.
    cores: [f64; 2],
}

fn main() -> Result<()> {
    if settings::is_listed() {
        return Ok(());
    }
    let clusters = settings::number("CLUSTERS", 100).max(1);
    let size = Size { clusters, objects: settings::number("OBJECTS", 2_000_u64).next_multiple_of(NAMESPACE) };
    if settings::has_argument(servers::ARGUMENT) {
        return servers::run(size);
    }
    let (rate, minutes) = (settings::number("RATE", 1_000) as f64, settings::number("MINUTES", 2).max(1));
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
    let place = Place::new()?;
    let directory = place.path();
    let mut servers = Servers::start(size)?;
    eprintln!(
        "{} clusters, {} objects, {} environments",
        size.clusters,
        size.all(),
        environments(size).count()
    );
    let runtime = common::runtime();
    let stop = CancellationToken::new();
    let begun = Instant::now();
    let (address, status) = runtime.block_on(start(directory, size, &servers.urls, &stop))?;
    until_listed(&status, size);
    let listed = begun.elapsed().as_secs_f64();
    let listing = [cpu_seconds("self")?, cpu_seconds(&servers.pid())?];
    std::thread::sleep(REST);
    let (after_list, list_disk) = (Memory::now()?, disk(directory)?);
    eprintln!(
        "listed in {listed:.0} s, {listing:.0?} s of processor, {after_list:.0?}, {:.0} MB",
        list_disk / 1e6
    );

    let asking = Asking::begin(address, size);
    servers.begin(rate, MINUTE * u32::try_from(minutes)?)?;
    let mut lags = Lags::new(directory, status.clone())?;
    let mut found: Vec<Minute> = Vec::new();
    for minute in 1..=minutes {
        let of = Minute::measure(&mut lags, &status, directory, &servers)?;
        let [median, most, last] = [0.5, 0.99, 1.0].map(|part| quantile(&of.lags, part));
        eprintln!(
            "minute {minute}: {:.0} changes/s, lag {median:.0} ms, p99 {most:.0}, at most {last:.0}; {:.0} MB, {:.0} MB on \
             disk, {:.2} and {:.2} cores",
            of.changes,
            of.memory,
            of.disk / 1e6,
            of.cores[0],
            of.cores[1],
        );
        found.push(of);
    }
    let (made, late) = servers.ended()?;
    let answers = asking.end();
    let memory = Memory::now()?;

    let mut table = Table::new("clusters");
    let mut row = |name: &str, unit: &str, figure: f64| table.row(name, unit, figure, None, Mark::None);
    row("first lists, until they can be asked for", "k/s", size.all() as f64 / listed / 1000.0);
    row("first lists: log and view, for each object", "bytes", list_disk / size.all() as f64);
    row("memory after the first lists", "MB", after_list.settled);
    row("memory while they lasted, at most", "MB", after_list.peak);
    row("changes that the clusters had", "k/s", made as f64 / (minutes * 60) as f64 / 1000.0);
    row("changes that came later than they should, at most", "s", late);
    let mut all: Vec<f64> = found.iter().flat_map(|minute| minute.lags.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    for (name, part) in [("median", 0.5), ("p99", 0.99), ("at most", 1.0)] {
        row(&format!("lag, {name}"), "ms", quantile(&all, part));
    }
    let worst = found.iter().map(|minute| quantile(&minute.lags, 0.99)).fold(0.0, f64::max);
    row("lag, p99 of the worst minute", "ms", worst);
    if let (Some(first), Some(last)) = (found.first(), found.last()) {
        row("lag, p99 of the first minute", "ms", quantile(&first.lags, 0.99));
        row("lag, p99 of the last minute", "ms", quantile(&last.lags, 0.99));
        row("memory after the first minute", "MB", first.memory);
        row("memory after the last minute", "MB", last.memory);
        row("log and view, for each change", "bytes", (last.disk - list_disk) / made as f64);
        row("log and view, at last", "MB", last.disk / 1e6);
        let cores = |part: usize| found.iter().map(|minute| minute.cores[part]).sum::<f64>() / minutes as f64;
        row("cores that this takes", "", cores(0));
        row("cores that the clusters take", "", cores(1));
    }
    row("memory, at most", "MB", memory.peak);
    for (name, times) in answers {
        row(&format!("meanwhile: {name}"), "ms", quantile(&times, 0.5));
        row(&format!("meanwhile: {name}, p99"), "ms", quantile(&times, 0.99));
    }
    table.finish();
    stop.cancel();
    runtime.shutdown_timeout(Duration::from_secs(10));
    Ok(())
}

impl Minute {
    fn measure(lags: &mut Lags, status: &ViewStatus, directory: &Path, servers: &Servers) -> Result<Self> {
        let cpu = || Ok::<_, std::io::Error>([cpu_seconds("self")?, cpu_seconds(&servers.pid())?]);
        let (begun, before, used) = (Instant::now(), status.progress().1.get(), cpu()?);
        let lags = lags.until(|| begun.elapsed() >= MINUTE)?;
        let (seconds, now) = (begun.elapsed().as_secs_f64(), cpu()?);
        Ok(Minute {
            lags,
            changes: (status.progress().1.get() - before) as f64 / seconds,
            memory: Memory::now()?.settled,
            disk: disk(directory)?,
            cores: [0, 1].map(|part| (now[part] - used[part]) / seconds),
        })
    }
}

/// What a part of figures in order stays below; zero where there are none.
fn quantile(figures: &[f64], part: f64) -> f64 {
    let place = (figures.len() as f64 * part) as usize;
    figures.get(place.min(figures.len().saturating_sub(1))).copied().unwrap_or_default()
}

pub(crate) fn cluster_name(cluster: u64) -> String {
    format!("cluster-{cluster}")
}

/// The environments of all clusters: a namespace each.
fn environments(size: Size) -> impl Iterator<Item = EnvironmentSpec> {
    (0..size.clusters).flat_map(move |cluster| {
        (0..size.namespaces()).map(move |number| {
            let target = TargetSpec {
                cluster: cluster_name(cluster),
                namespace: namespace(number),
                labels: Some(Labels::new()),
                ..TargetSpec::default()
            };
            let project = format!("group-{}/service-{}", number % 40, cluster * 2 + number % 2);
            let name = format!("{}/{cluster}-{number}", TIERS[(number % 3) as usize]);
            EnvironmentSpec { targets: vec![target], ..EnvironmentSpec::new(&project, &name) }
        })
    })
}

/// Starts the service on all clusters.
async fn start(
    directory: &Path,
    size: Size,
    urls: &[String],
    stop: &CancellationToken,
) -> Result<(SocketAddr, ViewStatus)> {
    let mut clusters = Vec::new();
    for (cluster, url) in (0..).zip(urls) {
        clusters.push(watched(cluster_name(cluster), url.clone()).await);
    }
    let of = |cluster: u64| ClusterSpec {
        name: cluster_name(cluster),
        region: REGIONS[(cluster % REGIONS.len() as u64) as usize].into(),
    };
    let catalog = (0..size.clusters).map(of).map(CatalogFact::Cluster);
    let options = Options {
        catalog: catalog.chain(environments(size).map(CatalogFact::from)).collect(),
        clusters,
        access: AccessConfig { allow_anonymous_read: true, ..AccessConfig::default() },
        ..Options::new(directory.to_owned(), SocketAddr::from(([127, 0, 0, 1], 0)))
    };
    let service = Service::start(options, Arc::new(SystemClock) as Arc<dyn Clock>).await?;
    let (address, status) = (service.address, service.status.clone());
    tokio::spawn(service.run_until(stop.clone().cancelled_owned()));
    Ok((address, status))
}

/// Waits until the view has all objects.
fn until_listed(status: &ViewStatus, size: Size) {
    let mut printed = Instant::now();
    // Facts of the catalog and marks come besides.
    while status.progress().1.get() < size.all() || status.lag() > 0 {
        std::thread::sleep(Duration::from_millis(10));
        if printed.elapsed() > MINUTE {
            printed = Instant::now();
            eprintln!("head and view at {:?}, {:?}", status.progress(), Memory::now());
        }
    }
}
