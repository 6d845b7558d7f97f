//! What the system says of processes and files.

use std::io::{Error, Result};
use std::path::Path;

/// Ticks in which the system counts CPU time, a second; the same on every Linux we run on.
const TICKS: f64 = 100.0;

/// CPU seconds that a process, by its number or `self`, has used so far.
pub(crate) fn cpu_seconds(process: &str) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field is a name in parentheses, which may hold anything.
    let (_, fields) = stat.rsplit_once(')').ok_or_else(|| Error::other("a stat without a name"))?;
    let mut times = fields.split_whitespace().skip(11);
    let mut next = || number(times.next().unwrap_or_default());
    Ok((next()? + next()?) / TICKS)
}

/// Memory of a process in megabytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) peak: f64,
    pub(crate) settled: f64,
    /// The part of it that is not mapped from files.
    pub(crate) anonymous: f64,
}

impl Memory {
    /// That of this one, as it is now.
    pub(crate) fn now() -> Result<Self> {
        Memory::of("self")
    }

    /// That of a process, by its number or `self`, as it is now.
    pub(crate) fn of(process: &str) -> Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let of = |name: &str| -> Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            Ok(number(line.trim().trim_end_matches("kB").trim())? / 1024.0)
        };
        Ok(Memory { peak: of("VmHWM:")?, settled: of("VmRSS:")?, anonymous: of("RssAnon:")? })
    }
}

fn number(text: &str) -> Result<f64> {
    text.parse().map_err(|error| Error::other(format!("{text:?} is no number: {error}")))
}

/// Bytes of all files of a data directory.
pub(crate) fn disk(directory: &Path) -> Result<f64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes as f64)
}
