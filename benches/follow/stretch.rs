//! What some changes take on their way, in time and processor time.

use std::time::Instant;

use crate::Result;
use crate::cluster::Cluster;
use crate::common::system::cpu_seconds;

/// A stretch of work that was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) count: f64,
    pub(crate) seconds: f64,
    /// Processor time of who followed the cluster, in seconds, and of the cluster.
    pub(crate) cpu: (f64, f64),
}

/// One that has begun.
pub(crate) struct Begun {
    at: Instant,
    cpu: (f64, f64),
}

impl Stretch {
    /// Begins; who follows is a process, by its number or `self`, or one that is not there yet.
    pub(crate) fn begin(cluster: &Cluster, follower: Option<&str>) -> Result<Begun> {
        let own = follower.map(cpu_seconds).transpose()?.unwrap_or_default();
        Ok(Begun { cpu: (own, cpu_seconds(&cluster.pid())?), at: Instant::now() })
    }

    /// Thousands in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.count / self.seconds / 1000.0
    }

    /// Seconds of a processor for a thousand, of who followed and of the cluster.
    pub(crate) fn cpu_each(&self) -> (f64, f64) {
        let each = |seconds: f64| seconds * 1000.0 / self.count;
        (each(self.cpu.0), each(self.cpu.1))
    }
}

impl Begun {
    /// How long ago that was.
    pub(crate) fn seconds(&self) -> f64 {
        self.at.elapsed().as_secs_f64()
    }

    /// Ends, after so many changes.
    pub(crate) fn end(self, cluster: &Cluster, follower: &str, count: usize) -> Result<Stretch> {
        let seconds = self.seconds();
        let cpu = (cpu_seconds(follower)? - self.cpu.0, cpu_seconds(&cluster.pid())? - self.cpu.1);
        Ok(Stretch { count: count as f64, seconds, cpu })
    }
}
