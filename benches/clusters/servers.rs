//! The clusters: simulated API servers in a process of their own, which is this program again.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use strandline_sim::api_server::{ApiServer, Author, builtin_kinds};

use crate::common::Random;
use crate::common::process::Process;
use crate::workload::{NAMESPACE, PODS, WORKLOAD, WORKLOADS, Workload, config_map, namespace};
use crate::{Result, Size};

/// The argument by which this program becomes the clusters.
pub(crate) const ARGUMENT: &str = "--as-the-clusters";

const CONTROLLER: Author = Author::updates("kube-controller-manager");
const KUBELET: Author = Author::updates("kubelet").through("status");

/// Events that each server retains for watches that resume.
const WINDOW: usize = 256;

/// The process of the clusters.
pub(crate) struct Servers {
    process: Process,
    /// Where each of them is.
    pub(crate) urls: Vec<String>,
}

impl Servers {
    /// Starts the process and waits until it holds its objects.
    pub(crate) fn start(size: Size) -> Result<Self> {
        let mut process = Process::start(ARGUMENT)?;
        let urls = (0..size.clusters).map(|_| process.answer()).collect::<std::io::Result<_>>()?;
        Ok(Servers { process, urls })
    }

    /// Lets things happen for so long, at so many changes in a second, without waiting for it.
    pub(crate) fn begin(&mut self, rate: f64, lasting: Duration) -> Result<()> {
        Ok(self.process.say(&format!("{rate} {}", lasting.as_secs_f64()))?)
    }

    /// Waits until that is over; returns how many changes there were, and by how many seconds they came late at most.
    pub(crate) fn ended(&mut self) -> Result<(u64, f64)> {
        let line = self.process.answer()?;
        let (changes, late) = line.split_once(' ').ok_or("an answer of one word")?;
        Ok((changes.parse()?, late.parse()?))
    }

    /// The number of the process.
    pub(crate) fn pid(&self) -> String {
        self.process.pid()
    }
}

/// What the process does: fills the servers, says where they are, and lets happen what each line says.
pub(crate) fn run(size: Size) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let servers: Vec<ApiServer> = (0..size.clusters)
        .map(|cluster| ApiServer::new(&crate::cluster_name(cluster), builtin_kinds()))
        .collect();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let each = servers.len().div_ceil(cores);
    std::thread::scope(|scope| {
        for (part, servers) in servers.chunks(each).enumerate() {
            let first = (part * each) as u64;
            scope.spawn(move || {
                (first..).zip(servers).for_each(|(cluster, server)| fill(server, cluster, size.objects));
            });
        }
    });
    for server in &servers {
        runtime.block_on(server.start_again())?;
        println!("{}", server.url());
    }
    let mut ready = vec![u8::MAX; servers.len() * usize::try_from(size.namespaces() * WORKLOADS)?];
    let mut random = Random(42);
    for line in std::io::stdin().lines() {
        let line = line?;
        let (rate, lasting) = line.split_once(' ').ok_or("a line of one word")?;
        let (rate, lasting): (f64, f64) = (rate.parse()?, lasting.parse()?);
        let (begun, mut changes, mut late) = (Instant::now(), 0_u64, 0.0_f64);
        while begun.elapsed().as_secs_f64() < lasting {
            turn(&servers, size, &mut ready, &mut random);
            changes += 4;
            let ahead = changes as f64 / rate - begun.elapsed().as_secs_f64();
            late = late.max(-ahead);
            std::thread::sleep(Duration::from_secs_f64(ahead.max(0.0)));
        }
        println!("{changes} {late}");
    }
    Ok(())
}

/// Gives a cluster its objects.
fn fill(server: &ApiServer, cluster: u64, objects: u64) {
    server.set_window(WINDOW);
    for number in 0..objects / NAMESPACE {
        server.apply_as(
            serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(number)}}),
            CONTROLLER,
        );
        for workload in 0..WORKLOADS {
            let workload = Workload { cluster, namespace: number, number: workload, ready: u8::MAX, at: 0 };
            for object in workload.objects() {
                server.apply_as(object, CONTROLLER);
            }
        }
        for place in WORKLOADS * WORKLOAD..NAMESPACE {
            server.apply_as(config_map(cluster, number, place - WORKLOADS * WORKLOAD), CONTROLLER);
        }
    }
}

/// Lets a Pod of some cluster become ready, or cease to be, and those move that count it.
fn turn(servers: &[ApiServer], size: Size, ready: &mut [u8], random: &mut Random) {
    let (cluster, namespace) = (random.below(size.clusters), random.below(size.namespaces()));
    let (number, pod) = (random.below(WORKLOADS), random.below(PODS));
    let place = (cluster * size.namespaces() + namespace) * WORKLOADS + number;
    let ready = &mut ready[place as usize];
    *ready ^= 1 << pod;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
    let workload = Workload { cluster, namespace, number, ready: *ready, at };
    for object in workload.turned(pod) {
        servers[cluster as usize].apply_as(object, KUBELET);
    }
}
