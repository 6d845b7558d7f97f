//! Following a cluster over HTTP: list 100,000 objects, then 50,000 updates, as the service does it, beside Argo CD's
//! gitops-engine, which keeps a tree and the health of resources in memory and no history.
//!
//! The cluster is a simulated API server in a process of its own, and the peer has another, so that the figures of this one are
//! those of the watchers, the log's writer and the projector alone. Both list the same objects, and follow as many updates, one
//! after the other. The mark is ten times what the peer does for each second of a processor, of which it has one. It is built by
//! `benches/peers/build`, whose folder `STRANDLINE_PEERS` names; without it there are no ratios, and no mark is met.
//!
//! Memory has marks too. What caches take is the same for many objects as for some, so a fifth of the objects is listed by another
//! process first: what there is beyond that is for the other four fifths. `STRANDLINE_BENCH_OBJECTS` is another number of objects.

#[path = "../common/mod.rs"]
mod common;

mod cluster;
mod follower;
mod peer;
mod stretch;

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use cluster::Cluster;
use common::process::Process;
use common::settings;
use common::system::{Memory, disk};
use common::table::{Mark, Table};
use follower::Follower;
use peer::Peer;
use stretch::Stretch;

/// What can go wrong here goes to a person who reads the output.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// A tenth of the peer's processor time.
const CPU: Mark = Mark::RatioAtMost(0.1);
/// Megabytes per 100,000 objects more.
const SETTLED: Mark = Mark::AtMost(60.0);
/// Peak over settled.
const PEAK: Mark = Mark::RatioAtMost(2.0);
/// The part of the objects that fills all caches.
const BASE: usize = 5;
/// The argument by which this program says what a part of the objects takes.
const ALONE: &str = "--a-part-alone";
/// After this long without work memory counts as settled.
const REST: Duration = Duration::from_secs(5);

fn main() -> Result<()> {
    if settings::is_listed() {
        return Ok(());
    }
    if settings::has_argument(cluster::ARGUMENT) {
        return cluster::run();
    }
    let objects = settings::number("OBJECTS", 100_000);
    if settings::has_argument(ALONE) {
        return alone(objects / BASE);
    }
    let mut table = Table::new("follow");
    let base: f64 = Process::start(ALONE)?.answer()?.parse()?;
    let mut cluster = Cluster::start(objects)?;
    let ours = Ours::measure(&mut cluster, objects)?;
    let peer = Peer::measure(&mut cluster, objects, objects / 2)?;

    println!("{objects} objects, {:.0} JSON bytes each with managedFields", cluster.bytes_each);
    ours.listed.rows(&mut table, "objects of a first list", peer.as_ref().map(|peer| peer.listed));
    ours.followed.rows(&mut table, "changes", peer.as_ref().map(|peer| peer.followed));
    if let Some(seconds) = ours.offered {
        let offered = ours.followed.stretch.count / seconds / 1000.0;
        table.row("changes that the simulated server gave", "k/s", offered, None, Mark::None);
    }
    let (seconds, cpu) = (ours.compared.seconds, ours.compared.cpu.0);
    table.row("comparing all objects with the cluster, as once a day", "s", seconds, None, Mark::None);
    table.row("processor time of it", "s", cpu, None, Mark::None);
    let settled = peer.as_ref().map(|peer| ("gitops-engine", peer.memory.settled));
    table.row("memory after the updates", "MB", ours.after_updates.settled, settled, Mark::None);
    let part = objects / BASE;
    table.row(&format!("memory after a list of {part} objects"), "MB", base, None, Mark::None);
    for (when, memory) in [("list", ours.after_list), ("updates", ours.after_updates)] {
        let more = (memory.settled - base) * 100_000.0 / (objects - part) as f64;
        table.row(&format!("memory of 100,000 objects more, after the {when}"), "MB", more, None, SETTLED);
        let name = format!("memory at most, up to the end of the {when}");
        table.row(&name, "MB", memory.peak, Some(("settled", memory.settled)), PEAK);
    }
    let [list, updates] = ours.disk;
    table.row("log and view, of a listed object", "bytes", list / objects as f64, None, Mark::None);
    let each = (updates - list) / ours.followed.stretch.count;
    table.row("log and view, of a change", "bytes", each, None, Mark::None);
    table.finish();
    Ok(())
}

/// Lists so many objects in a process of its own, and says what that takes once it is at rest.
fn alone(objects: usize) -> Result<()> {
    let mut cluster = Cluster::start(objects)?;
    let directory = tempfile::tempdir()?;
    let follower = Follower::start(directory.path(), &cluster.url)?;
    Taken::measure(&mut cluster, &follower, |_| Ok(objects))?;
    sleep(REST);
    let settled = Memory::now()?.settled;
    follower.stop()?;
    directory.close()?;
    println!("{settled}");
    Ok(())
}

/// What we take for all of it.
struct Ours {
    listed: Taken,
    after_list: Memory,
    followed: Taken,
    after_updates: Memory,
    /// A consistency list of every kind.
    compared: Stretch,
    /// Seconds in which the cluster made its updates.
    offered: Option<f64>,
    /// Bytes of log and view with their WALs, after the list and after the updates.
    disk: [f64; 2],
}

impl Ours {
    fn measure(cluster: &mut Cluster, objects: usize) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let follower = Follower::start(directory.path(), &cluster.url)?;
        let listed = Taken::measure(cluster, &follower, |_| Ok(objects))?;
        sleep(REST);
        let (after_list, list) = (Memory::now()?, disk(directory.path())?);
        let followed = Taken::measure(cluster, &follower, |cluster| cluster.update(objects / 2))?;
        sleep(REST);
        let (after_updates, updates) = (Memory::now()?, disk(directory.path())?);
        let comparing = Stretch::begin(cluster, Some("self"))?;
        follower.until_compared()?;
        let compared = comparing.end(cluster, "self", objects)?;
        follower.stop()?;
        let (offered, disk) = (cluster.offered, [list, updates]);
        Ok(Ours { listed, after_list, followed, after_updates, compared, offered, disk })
    }
}

/// Some changes on their way from the cluster into log and view.
struct Taken {
    /// Seconds until all were in the log.
    durable: f64,
    /// Until all were in the view.
    stretch: Stretch,
}

impl Taken {
    /// Measures from before `make`, which tells how many changes there will be.
    fn measure(
        cluster: &mut Cluster,
        follower: &Follower,
        make: impl FnOnce(&mut Cluster) -> Result<usize>,
    ) -> Result<Self> {
        let (begun, written) = (Stretch::begin(cluster, Some("self"))?, follower.taken());
        let count = make(cluster)?;
        follower.until_durable(written + count as u64)?;
        let durable = begun.seconds();
        follower.until_queryable()?;
        Ok(Taken { durable, stretch: begun.end(cluster, "self", count)? })
    }

    fn rows(&self, table: &mut Table, what: &str, peer: Option<Stretch>) {
        let Taken { durable, stretch } = self;
        let against = |of: fn(&Stretch) -> f64| peer.as_ref().map(|peer| ("gitops-engine", of(peer)));
        let durable = stretch.count / durable / 1000.0;
        table.row(&format!("{what}, until in the log"), "k/s", durable, None, Mark::None);
        let rates = against(Stretch::rate);
        table.row(&format!("{what}, until in the view"), "k/s", stretch.rate(), rates, Mark::None);
        let ((own, server), own_of_peer) = (stretch.cpu_each(), against(|peer| peer.cpu_each().0));
        table.row(&format!("{what}, processor time of 1,000"), "s", own, own_of_peer, CPU);
        let name = format!("{what}, the simulated server's time of 1,000");
        table.row(&name, "s", server, against(|peer| peer.cpu_each().1), Mark::None);
    }
}
