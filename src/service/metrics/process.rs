//! What the process takes of its machine, under the names that every client library of Prometheus gives it.

use std::fmt;
use std::path::Path;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::service::metric_writer::{MetricWriter, signed};
use strandline_model::Timestamp;

/// The process; its names have no prefix of ours.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) started: Timestamp,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = MetricWriter { encoder: &mut encoder };
        let none: &[(&str, &str)] = &[];
        let started = self.started.as_micros() / 1_000_000;
        let help = "Start time of the process, in seconds since 1970";
        out.gauges("process_start_time_seconds", help, [(none, started)])?;
        let used = Usage::of(Path::new("/proc/self"));
        let cpu = used.cpu_seconds.map(|seconds| (none, seconds));
        out.seconds_total("process_cpu_seconds", "User and system CPU time of the process", cpu)?;
        let bytes = used.resident_bytes.map(|bytes| (none, signed(bytes)));
        out.gauges("process_resident_memory_bytes", "Resident memory of the process", bytes)?;
        let files = used.open_files.map(|files| (none, signed(files)));
        out.gauges("process_open_fds", "Open file descriptors of the process", files)?;
        let most = rlimit::Resource::NOFILE.get_soft().ok().map(|most| (none, signed(most)));
        out.gauges("process_max_fds", "Limit of open file descriptors of the process", most)
    }
}

/// What a folder of /proc says; nothing on systems that have none.
#[derive(Debug, Default)]
struct Usage {
    cpu_seconds: Option<f64>,
    resident_bytes: Option<u64>,
    open_files: Option<u64>,
}

impl Usage {
    fn of(folder: &Path) -> Self {
        let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let status = std::fs::read_to_string(folder.join("status")).unwrap_or_default();
        let files = std::fs::read_dir(folder.join("fd")).ok().map(|entries| entries.count() as u64);
        // The descriptor by which they are read is none of them.
        let open_files = files.map(|files| files.saturating_sub(1));
        Usage { cpu_seconds: cpu_seconds(&stat), resident_bytes: resident_bytes(&status), open_files }
    }
}

/// The 14th and 15th field, in hundredths of a second: so the kernel gives them to programs on every architecture that
/// we build for. The second field, the name, may hold anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) as f64 / 100.0)
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_says_is_read_whatever_the_process_is_called() {
        let stat = "7 (a ) 1 2 (x) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 100 1 2";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(resident_bytes("VmPeak:\t 9 kB\nVmRSS:\t    2048 kB\n"), Some(2_097_152));
        assert_eq!((cpu_seconds("7 (x) S 1"), resident_bytes("VmRSS: many")), (None, None));
        let nowhere = Usage::of(Path::new("/nowhere"));
        assert!(nowhere.cpu_seconds.is_none() && nowhere.open_files.is_none());
    }
}
