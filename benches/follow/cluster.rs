//! The cluster: a simulated API server in a process of its own, which is this program again.

use std::time::Instant;

use serde_json::Value;
use strandline_sim::api_server::{ApiServer, Author, builtin_kinds};

use crate::Result;
use crate::common::Random;
use crate::common::objects::observation;
use crate::common::process::Process;

/// The argument by which this program becomes the cluster.
pub(crate) const ARGUMENT: &str = "--as-the-cluster";

const CONTROLLER: Author = Author::updates("kube-controller-manager");
const KUBELET: Author = Author::updates("kubelet").through("status");

/// The cluster's process.
pub(crate) struct Cluster {
    process: Process,
    pub(crate) url: String,
    pub(crate) bytes_each: f64,
    /// Seconds in which it made the last updates.
    pub(crate) offered: Option<f64>,
}

impl Cluster {
    /// Starts the process and waits until it holds so many objects.
    pub(crate) fn start(objects: usize) -> Result<Self> {
        let mut process = Process::start(ARGUMENT)?;
        process.say(&objects.to_string())?;
        let (url, bytes_each) = answer(&mut process)?;
        Ok(Cluster { process, url, bytes_each, offered: None })
    }

    /// Makes updates and tells how many changed something.
    pub(crate) fn update(&mut self, count: usize) -> Result<usize> {
        self.process.say(&count.to_string())?;
        let (changed, seconds) = answer(&mut self.process)?;
        self.offered = Some(seconds);
        Ok(changed.parse()?)
    }

    /// The number of the process.
    pub(crate) fn pid(&self) -> String {
        self.process.pid()
    }
}

/// A word and a number.
fn answer(process: &mut Process) -> Result<(String, f64)> {
    let line = process.answer()?;
    let (word, number) = line.split_once(' ').ok_or("an answer of one word")?;
    Ok((word.to_owned(), number.parse()?))
}

/// What the process does: fills the server with as many objects as the first line says, says where it is, and makes as many
/// updates as each further line says.
pub(crate) fn run() -> Result<()> {
    let mut counts = std::io::stdin().lines();
    let mut next = || -> Option<Result<usize>> { counts.next().map(|line| Ok(line?.parse()?)) };
    let objects = next().ok_or("no number of objects")??;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = runtime.block_on(ApiServer::start("bench", builtin_kinds()))?;
    let mut random = Random(42);
    for object in 0..objects as u64 {
        let mut whole: Value = serde_json::from_str(
            &observation(object, object + 1, &mut random, |place| place).observation.body,
        )?;
        // Made by a controller, then reported on by a kubelet, so that managedFields are as long as they use to be.
        let status = whole.as_object_mut().and_then(|members| members.shift_remove("status"));
        server.apply_as(whole.clone(), CONTROLLER);
        if let Some(status) = status {
            whole["status"] = status;
            server.apply_as(whole, KUBELET);
        }
    }
    println!("{} {}", server.url(), bytes_each(&server));
    let mut version = objects as u64;
    while let Some(count) = next() {
        let count = count?;
        // No watch is to be told that it came too late, however slow it is.
        server.set_window(count * 2);
        let (started, mut changed) = (Instant::now(), 0);
        for _ in 0..count {
            version += 1;
            let object = random.below(objects as u64);
            let update = serde_json::from_str(
                &observation(object, version, &mut random, |place| place).observation.body,
            )?;
            let before = server.resource_version();
            changed += usize::from(server.apply_as(update, KUBELET) > before);
        }
        println!("{changed} {}", started.elapsed().as_secs_f64());
    }
    Ok(())
}

/// The mean size of the objects, from a sample.
fn bytes_each(server: &ApiServer) -> f64 {
    let kinds =
        [("", "Pod"), ("apps", "Deployment"), ("apps", "ReplicaSet"), ("discovery.k8s.io", "EndpointSlice")];
    let (mut bytes, mut count) = (0, 0);
    for (group, kind) in kinds {
        for namespace in ["shop-0", "shop-1", "shop-2"] {
            let names = server.names(group, kind, namespace);
            for object in names.iter().filter_map(|name| server.object(group, kind, namespace, name)) {
                bytes += object.to_string().len();
                count += 1;
            }
        }
    }
    bytes as f64 / f64::from(count.max(1))
}
