//! Following a cluster over HTTP: list 100,000 objects, then 50,000 updates, as the service does it.
//!
//! The cluster is a simulated API server in a process of its own, so that the figures of this one are those of
//! the watchers, the log's writer and the projector alone. Beside them stand the marks: ten times the rate per
//! core at which Argo CD's gitops-engine fills its cache in memory, and how much memory we allow ourselves for each object.
//! What caches take is the same for many objects as for some, so a fifth of the objects is listed by another process first:
//! what there is beyond that is for the other four fifths. `STRANDLINE_FOLLOW` is another number of objects.

#[path = "../common/mod.rs"]
mod common;

mod cluster;
mod figures;
mod follower;

use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cluster::Cluster;
use common::process::Process;
use common::system::{Memory, cpu_seconds, disk};
use figures::{print_memory, row};
use follower::Follower;

/// What can go wrong here goes to a person who reads the output.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// Objects per second and core that gitops-engine lists, and changes per second that it follows.
const PEER: (f64, f64) = (1_211.0, 1_180.0);
const TIMES_THE_PEER: f64 = 10.0;
/// Megabytes per 100,000 objects more.
const SETTLED: f64 = 60.0;
/// The part of the objects that fills all caches.
const BASE: usize = 5;
/// The argument by which this program says what a part of the objects takes.
const ALONE: &str = "--a-part-alone";
/// Peak over settled.
const PEAK: f64 = 2.0;
/// After this long without work memory counts as settled.
const REST: Duration = Duration::from_secs(5);

fn main() -> Result<()> {
    if std::env::args().any(|argument| argument == cluster::ARGUMENT) {
        return cluster::run();
    }
    let objects = objects()?;
    if std::env::args().any(|argument| argument == ALONE) {
        return alone(objects / BASE);
    }
    let base: f64 = Process::start(ALONE)?.answer()?.parse()?;
    let mut cluster = Cluster::start(objects)?;
    let directory = tempfile::tempdir()?;
    let before = Memory::now()?;
    let follower = Follower::start(directory.path(), &cluster.url)?;
    let listed = Stretch::measure(&mut cluster, &follower, |_| Ok(objects))?;
    sleep(REST);
    let (after_list, list_disk) = (Memory::now()?, disk(directory.path())?);
    let followed = Stretch::measure(&mut cluster, &follower, |cluster| cluster.update(objects / 2))?;
    sleep(REST);
    let (after_all, all_disk) = (Memory::now()?, disk(directory.path())?);
    let compared = Comparing::measure(&cluster, &follower)?;
    let after_comparing = Memory::now()?;
    follower.stop()?;

    println!("\nfollow: {objects} objects, {:.0} JSON bytes each with managedFields", cluster.bytes_each);
    listed.print("listed", "objects", PEER.0);
    followed.print("followed", "changes", PEER.1);
    if let Some(seconds) = cluster.offered {
        row(
            "  offered",
            format!("{:.0} changes/s", followed.count / seconds),
            "what the simulated server gave",
        );
    }
    compared.print(objects);
    let part = objects / BASE;
    println!("memory of the watching process, {:.0} MB before it began", before.settled);
    println!("  of another one after a list of {part} objects: {base:.0} MB");
    let more = (objects - part) as f64 / 100_000.0;
    print_memory(&after_list, "after the list", (base, more));
    print_memory(&after_all, "after the updates", (base, more));
    print_memory(&after_comparing, "after comparing", (base, more));
    println!("disk, log and view with their WALs");
    row("after the list", format!("{:.0} bytes/object", list_disk / listed.count), "");
    row("after the updates", format!("{:.0} bytes/change", (all_disk - list_disk) / followed.count), "");
    Ok(())
}

/// Lists so many objects in a process of its own, and says what that takes once it is at rest.
fn alone(objects: usize) -> Result<()> {
    let mut cluster = Cluster::start(objects)?;
    let directory = tempfile::tempdir()?;
    let follower = Follower::start(directory.path(), &cluster.url)?;
    Stretch::measure(&mut cluster, &follower, |_| Ok(objects))?;
    sleep(REST);
    let settled = Memory::now()?.settled;
    follower.stop()?;
    directory.close()?;
    println!("{settled}");
    Ok(())
}

fn objects() -> Result<usize> {
    match std::env::var("STRANDLINE_FOLLOW") {
        Ok(number) => Ok(number.parse().map_err(|_| format!("STRANDLINE_FOLLOW is no number: {number}"))?),
        Err(_) => Ok(100_000),
    }
}

/// A consistency list of every kind.
struct Comparing {
    seconds: f64,
    cpu: (f64, f64),
}

impl Comparing {
    fn measure(cluster: &Cluster, follower: &Follower) -> Result<Self> {
        let (own, other) = (cpu_seconds("self")?, cpu_seconds(&cluster.pid())?);
        let started = Instant::now();
        follower.until_compared()?;
        let seconds = started.elapsed().as_secs_f64();
        let cpu = (cpu_seconds("self")? - own, cpu_seconds(&cluster.pid())? - other);
        Ok(Comparing { seconds, cpu })
    }

    fn print(&self, objects: usize) {
        println!("compared {objects} objects with the cluster, as once a day");
        row("  in", format!("{:.1} s", self.seconds), "");
        let (own, other) = self.cpu;
        row("  CPU", format!("{own:.2} s"), &format!("and {other:.2} s of the simulated server"));
    }
}

/// Some changes on their way from the cluster into log and view.
struct Stretch {
    count: f64,
    /// Until all are in the log, and until all are in the view.
    durable: f64,
    queryable: f64,
    /// Of this process and of the cluster's.
    cpu: (f64, f64),
}

impl Stretch {
    /// Measures from before `make`, which tells how many changes there will be.
    fn measure(
        cluster: &mut Cluster,
        follower: &Follower,
        make: impl FnOnce(&mut Cluster) -> Result<usize>,
    ) -> Result<Self> {
        let (own, other) = (cpu_seconds("self")?, cpu_seconds(&cluster.pid())?);
        let (started, written) = (Instant::now(), follower.taken());
        let count = make(cluster)?;
        follower.until_durable(written + count as u64)?;
        let durable = started.elapsed().as_secs_f64();
        follower.until_queryable()?;
        let queryable = started.elapsed().as_secs_f64();
        let cpu = (cpu_seconds("self")? - own, cpu_seconds(&cluster.pid())? - other);
        Ok(Stretch { count: count as f64, durable, queryable, cpu })
    }

    fn print(&self, what: &str, unit: &str, peer: f64) {
        let rate = |seconds: f64| format!("{:.0} {unit}/s in {seconds:.1} s", self.count / seconds);
        println!("{what} {:.0} {unit}", self.count);
        row("  to durable", rate(self.durable), "");
        row("  to queryable", rate(self.queryable), "");
        let (per_core, mark) = (self.count / self.cpu.0, peer * TIMES_THE_PEER);
        let met = if per_core >= mark { "met" } else { "missed" };
        let said = format!("mark: {mark:.0}, ten times gitops-engine's: {met}");
        row("  per core", format!("{per_core:.0} {unit} per CPU second"), &said);
        let per_thousand = |seconds: f64| seconds * 1000.0 / self.count;
        let (own, other) = (per_thousand(self.cpu.0), per_thousand(self.cpu.1));
        row(
            "  CPU",
            format!("{own:.4} s per 1,000 {unit}"),
            &format!("and {other:.4} s of the simulated server"),
        );
    }
}
