//! What the system says of processes and files.

use std::path::Path;

use crate::{PEAK, Result, SETTLED};

/// Ticks in which the system counts CPU time, a second; the same on every Linux we run on.
const TICKS: f64 = 100.0;

/// CPU seconds that a process, by its number or `self`, has used so far.
pub(crate) fn cpu_seconds(process: &str) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field is a name in parentheses, which may hold anything.
    let (_, fields) = stat.rsplit_once(')').ok_or("a stat without a name")?;
    let mut times = fields.split_whitespace().skip(11);
    let mut next = || -> Result<f64> { Ok(times.next().ok_or("a stat without times")?.parse()?) };
    Ok((next()? + next()?) / TICKS)
}

/// Memory of this process in megabytes.
pub(crate) struct Memory {
    pub(crate) peak: f64,
    pub(crate) settled: f64,
    /// The part of it that is not mapped from files.
    anonymous: f64,
}

impl Memory {
    pub(crate) fn now() -> Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let of = |name: &str| -> Result<f64> {
            let line =
                status.lines().find_map(|line| line.strip_prefix(name)).ok_or("a status without it")?;
            let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
            Ok(kilobytes / 1024.0)
        };
        Ok(Memory { peak: of("VmHWM:")?, settled: of("VmRSS:")?, anonymous: of("RssAnon:")? })
    }

    pub(crate) fn print(&self, when: &str, hundred_thousands: f64) {
        let Memory { peak, settled, anonymous } = self;
        let mark = SETTLED * hundred_thousands;
        let verdict = |met: bool| if met { "met" } else { "missed" };
        let met = verdict(*settled <= mark);
        let said = format!("mark: {mark:.0} MB: {met}");
        row(
            &format!("  {when}, settled"),
            format!("{settled:.0} MB, {anonymous:.0} MB of it anonymous"),
            &said,
        );
        let (times, met) = (peak / settled, verdict(*peak <= PEAK * settled));
        let said = format!("{times:.1} times settled, mark: {PEAK:.0}: {met}");
        row(&format!("  {when}, peak"), format!("{peak:.0} MB"), &said);
    }
}

/// Bytes of all files of a data directory.
pub(crate) fn disk(directory: &Path) -> Result<f64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes as f64)
}

/// A line of the table.
pub(crate) fn row(what: &str, figure: String, said: &str) {
    println!("{what:<32}{figure:<40}{said}");
}
