//! A clock that follows the machine's, but none of its jumps before there is evidence that they are right.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Clock, ClockChange, Exact};
use strandline_model::{ClockEvent, Timestamp};

/// A difference that is no jump: time follows it without ever going back.
const SLEW_MAX: i64 = 2_000_000;

/// A cluster's clock that differs from ours by no more confirms it: its times come in whole seconds, and late.
const AGREES: i64 = 5_000_000;

/// After so long a jump that no cluster's clock contradicts is taken for deliberate.
const PATIENCE: Duration = Duration::from_secs(60);

/// For so long a cluster's clock is evidence.
const EVIDENCE: Duration = Duration::from_secs(600);

/// A disagreement that lasts longer makes the machine's clock a problem, and so does one with all clusters by as much.
const LASTING: Duration = Duration::from_secs(60);

/// The time that is recorded and by which questions are answered.
pub struct SteadyClock {
    machine: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    /// When it was last read, by the clock that never jumps, and what it showed then.
    read_at: Duration,
    time: Timestamp,
    /// Since when it goes on by itself: the start, or when the machine's clock was last adopted.
    anchored: Timestamp,
    /// Whether a cluster's clock has agreed with it since then.
    confirmed: bool,
    jump: Option<Jump>,
    /// What the clusters' clocks showed last, as what to add to the clock that never jumps, and when.
    witnesses: BTreeMap<String, (i64, Duration)>,
    jumps: u64,
    changes: Vec<ClockChange>,
}

/// A jump of the machine's clock that is not followed.
#[derive(Clone, Copy)]
struct Jump {
    /// When it began and when it was last seen to change, by the clock that never jumps.
    began: Duration,
    since: Duration,
    /// By how many microseconds the machine's clock is ahead.
    deviation: i64,
    /// The last time at which both clocks agreed.
    agreed: Timestamp,
}

/// The state of the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockStatus {
    /// Jumps of the machine's clock so far.
    pub jumps: u64,
    /// By how many microseconds the machine's clock is ahead of the time in use.
    pub deviation_micros: i64,
    /// For how long it has been so after a jump; none while there was none.
    pub deviates_for: Option<Duration>,
    /// By how much the clocks of clusters are ahead of the time in use.
    pub skews: Vec<Skew>,
}

/// By how much a cluster's clock is ahead of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skew {
    /// The cluster.
    pub cluster: String,
    /// In microseconds; negative when it is behind.
    pub ahead_micros: i64,
}

impl ClockStatus {
    /// What is wrong with the machine's clock, and what to do; none while it can be relied on.
    pub fn problem(&self) -> Option<String> {
        let seconds = |micros: i64| micros.unsigned_abs() / 1_000_000;
        let direction = |micros: i64| if micros < 0 { "behind" } else { "ahead of" };
        if self.deviates_for.is_some_and(|lasts| lasts > LASTING) {
            let (seconds, direction) = (seconds(self.deviation_micros), direction(self.deviation_micros));
            return Some(format!(
                "this machine's clock jumped and is {seconds} s {direction} the time of the clusters, which is recorded; set it right"
            ));
        }
        let lasting = i64::try_from(LASTING.as_micros()).unwrap_or(i64::MAX);
        let ahead = self.skews.iter().map(|skew| skew.ahead_micros);
        let (least, most) = (ahead.clone().min()?, ahead.max()?);
        let nearest = if least > lasting { least } else { most };
        (least > lasting || most < -lasting).then(|| {
            let (seconds, direction) = (seconds(nearest), direction(nearest));
            format!(
                "the clocks of all clusters are at least {seconds} s {direction} this machine's; set it right"
            )
        })
    }

    /// The jump that is not followed, in words; empty while there is none.
    pub fn detail(&self) -> String {
        let seconds = self.deviation_micros.unsigned_abs() / 1_000_000;
        let direction = if self.deviation_micros < 0 { "back" } else { "ahead" };
        match self.deviates_for {
            Some(_) => format!(
                "this machine's clock jumped {seconds} s {direction}; recorded time does not follow it"
            ),
            None => String::new(),
        }
    }
}

impl fmt::Debug for SteadyClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SteadyClock").field("status", &self.status()).finish()
    }
}

impl SteadyClock {
    /// Begins with the time that the machine's clock shows now.
    pub fn new(machine: Arc<dyn Clock>) -> Self {
        let (read_at, time) = read(&*machine);
        let state = State {
            read_at,
            time,
            anchored: time,
            confirmed: false,
            jump: None,
            witnesses: BTreeMap::new(),
            jumps: 0,
            changes: Vec::new(),
        };
        SteadyClock { machine, state: Mutex::new(state) }
    }

    /// A cluster's clock shows this time now.
    pub fn witness(&self, cluster: &str, their_time: Timestamp) {
        let (mut state, _) = self.advanced();
        let ahead = their_time.as_micros().saturating_sub(state.time.as_micros());
        state.confirmed |= state.jump.is_none() && ahead.abs() <= AGREES;
        let witness = (their_time.as_micros().saturating_sub(micros(state.read_at)), state.read_at);
        state.witnesses.insert(cluster.to_owned(), witness);
    }

    /// Whether there is something to be recorded, and possibly another time to be followed after that.
    pub fn has_changes(&self) -> bool {
        let (state, machine) = self.advanced();
        !state.changes.is_empty() || state.jump.is_some_and(|jump| state.prefers(machine, &jump))
    }

    /// The state of the clock now.
    pub fn status(&self) -> ClockStatus {
        let (state, machine) = self.advanced();
        let offset = state.offset();
        let skews = state
            .evidence(Duration::ZERO)
            .map(|(cluster, told)| Skew { cluster: cluster.clone(), ahead_micros: told - offset });
        ClockStatus {
            jumps: state.jumps,
            deviation_micros: machine.as_micros().saturating_sub(state.time.as_micros()),
            deviates_for: state.jump.map(|jump| state.read_at.saturating_sub(jump.began)),
            skews: skews.collect(),
        }
    }

    /// The state as it is now, and what the machine's clock shows.
    fn advanced(&self) -> (MutexGuard<'_, State>, Timestamp) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (read_at, machine) = read(&*self.machine);
        state.advance(read_at, machine);
        (state, machine)
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        self.advanced().0.time
    }

    fn monotonic(&self) -> Duration {
        self.machine.monotonic()
    }

    fn take_changes(&self) -> Vec<ClockChange> {
        let (mut state, machine) = self.advanced();
        if let Some(jump) = state.jump
            && state.prefers(machine, &jump)
        {
            state.adopt(machine, &jump);
        }
        std::mem::take(&mut state.changes)
    }
}

impl State {
    fn advance(&mut self, read_at: Duration, machine: Timestamp) {
        let before = self.time;
        let passed = read_at.saturating_sub(self.read_at);
        self.read_at = self.read_at.max(read_at);
        self.time = before.plus(passed);
        let ahead = machine.as_micros().saturating_sub(self.time.as_micros());
        match self.jump {
            None if (0..=SLEW_MAX).contains(&ahead) => self.time = machine,
            // It goes on at half its pace until the machine's clock has caught up.
            None if (-SLEW_MAX..0).contains(&ahead) => self.time = before.plus(passed / 2).max(machine),
            None => {
                self.jump = Some(Jump { began: read_at, since: read_at, deviation: ahead, agreed: before });
                self.jumped(ahead);
            }
            Some(jump) if ahead.abs() <= SLEW_MAX => {
                self.jump = None;
                tracing::info!("this machine's clock is back to the time before its jump");
                self.changed(ClockEvent::Returned, jump.deviation, Exact::Unknown);
            }
            Some(jump) if (ahead - jump.deviation).abs() > SLEW_MAX => {
                self.jump = Some(Jump { since: read_at, deviation: ahead, ..jump });
                self.jumped(ahead);
            }
            Some(_) => {}
        }
    }

    fn jumped(&mut self, ahead: i64) {
        self.jumps += 1;
        let seconds = ahead as f64 / 1e6;
        tracing::warn!(
            seconds,
            "this machine's clock jumped; recorded time does not follow it until the clusters' clocks confirm it"
        );
        self.changed(ClockEvent::Jumped, ahead, Exact::Unknown);
    }

    fn changed(&mut self, event: ClockEvent, deviation_micros: i64, exact: Exact) {
        self.changes.push(ClockChange { event, deviation_micros, exact });
    }

    /// What has to be added to the clock that never jumps.
    fn offset(&self) -> i64 {
        self.time.as_micros().saturating_sub(micros(self.read_at))
    }

    /// What clusters' clocks showed since then, as far as it still counts.
    fn evidence(&self, since: Duration) -> impl Iterator<Item = (&String, i64)> {
        let since = since.max(self.read_at.saturating_sub(EVIDENCE));
        self.witnesses
            .iter()
            .filter(move |(_, (_, at))| *at >= since)
            .map(|(cluster, (told, _))| (cluster, *told))
    }

    /// Whether the machine's clock is right rather than the time in use: it is nearer to the clusters' clocks after the
    /// jump, or none has shown anything for long.
    fn prefers(&self, machine: Timestamp, jump: &Jump) -> bool {
        let median = |since| {
            let mut told: Vec<i64> = self.evidence(since).map(|(_, told)| told).collect();
            told.sort_unstable();
            told.get(told.len() / 2).copied()
        };
        let waited = self.read_at.saturating_sub(jump.since) >= PATIENCE;
        let told = median(jump.since).or_else(|| if waited { median(Duration::ZERO) } else { None });
        match told {
            Some(told) => {
                let theirs = machine.as_micros().saturating_sub(micros(self.read_at));
                told.abs_diff(theirs) < told.abs_diff(self.offset())
            }
            None => waited,
        }
    }

    fn adopt(&mut self, machine: Timestamp, jump: &Jump) {
        // Where nothing ever confirmed the time in use it may have been wrong from its beginning.
        let exact = if self.confirmed { Exact::Until(jump.agreed) } else { Exact::Before(self.anchored) };
        let deviation = machine.as_micros().saturating_sub(self.time.as_micros());
        tracing::warn!(
            seconds = deviation as f64 / 1e6,
            "recorded time follows this machine's clock after its jump; times recorded before may be wrong"
        );
        (self.time, self.anchored, self.jump, self.confirmed) = (machine, machine, None, false);
        self.changed(ClockEvent::Adopted, deviation, exact);
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// Reads both clocks at one moment: whoever is stopped between the two reads them again.
fn read(machine: &dyn Clock) -> (Duration, Timestamp) {
    const APART_MAX: Duration = Duration::from_millis(200);
    loop {
        let before = machine.monotonic();
        let time = machine.now();
        let after = machine.monotonic();
        if after.saturating_sub(before) <= APART_MAX {
            return (after, time);
        }
    }
}
