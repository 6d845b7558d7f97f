//! Pages of an organization of 10,000 environments, one of them with 20,000 Pods, in a real browser: what they weigh, when they
//! are painted, how long a click takes to show, and how busy a page is that follows 100 changes a second.
//!
//! The service is the real one, in a process with a simulated cluster that it watches over HTTP. `tests/browser/measure.js`
//! drives Debian's chromium by Playwright, which `tests/browser/fetch` installs. Marks: a first page of 100 KB within
//! 500 ms; 200 ms from a click to what it shows, which web vitals call good; a tenth of its time for a page that follows.

mod common;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use strandline::http::auth::AccessConfig;
use strandline::service::{Options, Service};
use strandline_clock::SystemClock;
use strandline_model::{CatalogFact, ClusterSpec, EnvironmentSpec, Labels, TargetSpec};
use strandline_sim::api_server::ApiServer;
use tokio_util::sync::CancellationToken;

use common::busy_cluster::{BusyCluster, pod};
use common::settings;
use common::table::{Mark, Table};

const ENVIRONMENTS: u64 = 10_000;
const PODS: u64 = 20_000;
const REGIONS: [&str; 4] = ["us-east", "us-west", "eu-west", "eu-central"];
const NAMES: [&str; 5] = ["production/a", "production/b", "staging", "qa", "review/app"];
const CROWD: &str = "crowd.web.production";
/// Changes a second that a page follows.
const RATE: f64 = 100.0;

fn main() {
    if settings::is_listed() {
        return;
    }
    let Some(modules) = playwright() else {
        println!("NOT RUN: tests/browser/fetch installs no Playwright here");
        return;
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let cluster = runtime.block_on(BusyCluster::start("one"));
    fill(&cluster.server);
    let stop = CancellationToken::new();
    let address = runtime.block_on(serve(directory.path(), &cluster, &stop));
    println!("{ENVIRONMENTS} environments, and one with {PODS} Pods; all recorded");
    cluster.keep_changing(|_| "crowd".to_owned(), PODS, RATE);
    let mut table = Table::new("browser");
    measure(address, &modules, &cluster.is_changing, &mut table);
    table.finish();
    stop.cancel();
    runtime.shutdown_timeout(Duration::from_secs(10));
}

/// The folder of Playwright and what it needs.
fn playwright() -> Option<PathBuf> {
    let fetched = Command::new("tests/browser/fetch").stderr(Stdio::inherit()).output().ok()?;
    let folder = PathBuf::from(String::from_utf8(fetched.stdout).ok()?.trim());
    fetched.status.success().then(|| folder.join("node_modules"))
}

/// Prints what the script finds, line by line; a line `changes` switches changes in the cluster on or off.
fn measure(address: SocketAddr, modules: &Path, changing: &AtomicBool, table: &mut Table) {
    let mut script = Command::new("node")
        .arg("tests/browser/measure.js")
        .env("NODE_PATH", modules)
        .env("STRANDLINE_URL", format!("http://{address}"))
        .env("STRANDLINE_ENVIRONMENT", CROWD)
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node.js runs");
    for line in BufReader::new(script.stdout.take().expect("it is piped")).lines() {
        let line: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        if let Some(on) = line["changes"].as_bool() {
            changing.store(on, Ordering::Release);
            continue;
        }
        let (name, unit) = (line["name"].as_str().expect("a name"), line["unit"].as_str().expect("a unit"));
        let mark = line["at_most"].as_f64().map_or(Mark::None, Mark::AtMost);
        table.row(name, unit, line["ours"].as_f64().expect("a figure"), None, mark);
    }
    assert!(script.wait().expect("it ends").success(), "the browser did not do what it was to do");
}

fn environment(n: u64) -> EnvironmentSpec {
    let (project, which) = (n / NAMES.len() as u64, NAMES[n as usize % NAMES.len()]);
    let project = format!("group-{:02}/team-{}/project-{project:04}", project % 40, project % 5);
    of_namespace(&project, which, &format!("ns-{n}"), REGIONS[n as usize / 7 % REGIONS.len()])
}

fn of_namespace(project: &str, name: &str, namespace: &str, region: &str) -> EnvironmentSpec {
    let target = TargetSpec {
        cluster: "one".into(),
        namespace: namespace.into(),
        labels: Some(Labels::new()),
        ..TargetSpec::default()
    };
    EnvironmentSpec { region: region.into(), targets: vec![target], ..EnvironmentSpec::new(project, name) }
}

/// Each environment has a Pod, of which each fiftieth fails; of the crowd a half does.
fn fill(cluster: &ApiServer) {
    for n in 0..ENVIRONMENTS {
        cluster.apply(pod(&format!("ns-{n}"), n, 1, n.is_multiple_of(50)));
    }
    for n in 0..PODS {
        cluster.apply(pod("crowd", n, 1, n.is_multiple_of(2)));
    }
}

/// The service itself, once all is recorded and can be asked for.
async fn serve(data: &Path, cluster: &BusyCluster, stop: &CancellationToken) -> SocketAddr {
    let facts =
        std::iter::once(CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: String::new() }))
            .chain((0..ENVIRONMENTS).map(environment).map(CatalogFact::from))
            .chain([CatalogFact::from(of_namespace("crowd/web", "production", "crowd", REGIONS[0]))]);
    let options = Options {
        catalog: facts.collect(),
        clusters: vec![cluster.watched().await],
        access: AccessConfig { allow_anonymous_read: true, ..AccessConfig::default() },
        ..Options::new(data.to_owned(), SocketAddr::from(([127, 0, 0, 1], 0)))
    };
    let service = Service::start(options, Arc::new(SystemClock)).await.expect("the service starts");
    let (address, status) = (service.address, service.status.clone());
    tokio::spawn(service.run_until(stop.clone().cancelled_owned()));
    let objects = ENVIRONMENTS + PODS;
    while !status.is_usable() || status.progress().0.get() < objects || status.lag() > 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    address
}
