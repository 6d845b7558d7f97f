//! What can go wrong on demand.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::random::mix;
use strandline_model::Kind;

/// One way in which a server misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A deletion that no watch ever gets; only a relist finds it.
    LostDelete,
    /// A watch event sent twice.
    RepeatedEvent,
    /// A watch event delayed until one of another object was sent.
    SwappedEvents,
    /// A watch that answers 200 and ends at once.
    ClosedWatch,
    /// A watch that is answered with HTTP 410.
    GoneAtStart,
    /// A watch that sends `ERROR` 410 where an event was due, and ends.
    GoneInStream,
    /// A continue token that has expired.
    ExpiredPage,
    /// A request that is accepted and never answered.
    Hang,
    /// A watch that stays open and never sends anything again, not even bookmarks.
    SilentWatch,
    /// A watch that ends right after an event.
    CutAfterEvent,
    /// A line before an event that is not JSON.
    GarbageLine,
    /// A watch that ends in the middle of a line.
    TruncatedLine,
    /// A list or watch that is answered with HTTP 500.
    InternalError,
    /// A streaming list refused as servers without that feature refuse it.
    NoStreamingList,
    /// Aggregated discovery answered in the legacy form, as by servers without it.
    NoAggregatedDiscovery,
}

impl Fault {
    /// The faults that a storm strikes with: those that a good client recovers from by itself. Swapped events are none of
    /// them: every server sends the events of a kind in order, and what is confirmed rests on that.
    pub const STORM: [Fault; 8] = [
        Fault::RepeatedEvent,
        Fault::ClosedWatch,
        Fault::GoneAtStart,
        Fault::GoneInStream,
        Fault::ExpiredPage,
        Fault::GarbageLine,
        Fault::TruncatedLine,
        Fault::InternalError,
    ];
}

/// The fault script of a server, switched on and off while it runs.
#[derive(Debug)]
pub struct Faults {
    script: Mutex<Script>,
    /// Wakes streams that hold something back.
    wake: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Script {
    next: BTreeMap<Fault, u32>,
    /// Faults that wait for their occasion.
    later: BTreeMap<Fault, u32>,
    refusals: BTreeMap<Option<Kind>, u16>,
    storm: Option<(u64, u64)>,
    rolls: BTreeMap<(Fault, u64), u64>,
    struck: BTreeMap<Fault, u64>,
    cleared: u64,
}

impl Faults {
    /// As a number of times: until cleared.
    pub const ALWAYS: u32 = u32::MAX;

    pub(super) fn new(wake: watch::Sender<u64>) -> Self {
        Faults { script: Mutex::default(), wake }
    }

    /// Lets a fault strike at the next so many occasions; zero switches it off.
    pub fn next(&self, fault: Fault, times: u32) {
        let mut script = self.script();
        script.next.insert(fault, times);
        script.cleared += u64::from(times == 0);
        drop(script);
        self.wake.send_modify(|_| {});
    }

    /// Lets a fault strike once, after so many occasions have passed without it.
    pub fn after(&self, fault: Fault, occasions: u32) {
        self.script().later.insert(fault, occasions);
    }

    /// Answers every request for a kind, or for anything at all, with this HTTP status until cleared.
    pub fn refuse(&self, kind: Option<Kind>, status: u16) {
        self.script().refusals.insert(kind, status);
    }

    /// Answers requests for a kind, or for anything at all, again.
    pub fn allow(&self, kind: Option<&Kind>) {
        self.script().refusals.retain(|refused, _| refused.as_ref() != kind);
    }

    /// Lets each fault of [`Fault::STORM`] strike this often in a thousand occasions, decided by the seed.
    pub fn storm(&self, seed: u64, per_mille: u32) {
        self.script().storm = Some((seed, u64::from(per_mille)));
    }

    /// Ends all faults; delayed events are sent, hanging watches stay so.
    pub fn clear(&self) {
        let mut script = self.script();
        let struck = std::mem::take(&mut script.struck);
        *script = Script { struck, cleared: script.cleared + 1, ..Script::default() };
        drop(script);
        self.wake.send_modify(|_| {});
    }

    /// How often a fault struck so far.
    pub fn struck(&self, fault: Fault) -> u64 {
        self.script().struck.get(&fault).copied().unwrap_or(0)
    }

    /// Whether a fault strikes now; `lane` identifies the kind, so that the order in which
    /// independent watches come along does not change what a storm does to each.
    pub(super) fn strikes(&self, fault: Fault, lane: u64) -> bool {
        let mut script = self.script();
        let strikes = match script.next.get_mut(&fault) {
            Some(times) if *times > 0 => {
                if *times != Self::ALWAYS {
                    *times -= 1;
                }
                true
            }
            _ => script.is_due(fault) || script.storm_strikes(fault, lane),
        };
        if strikes {
            *script.struck.entry(fault).or_default() += 1;
        }
        strikes
    }

    /// How often faults were switched off.
    pub(super) fn cleared(&self) -> u64 {
        self.script().cleared
    }

    /// The HTTP status with which a request is refused, if any.
    pub(super) fn refusal(&self, kind: Option<&Kind>) -> Option<u16> {
        let script = self.script();
        let all = script.refusals.get(&None);
        kind.and_then(|kind| script.refusals.get(&Some(kind.clone()))).or(all).copied()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Script {
    fn is_due(&mut self, fault: Fault) -> bool {
        match self.later.get_mut(&fault) {
            Some(0) => self.later.remove(&fault).is_some(),
            Some(occasions) => {
                *occasions -= 1;
                false
            }
            None => false,
        }
    }

    fn storm_strikes(&mut self, fault: Fault, lane: u64) -> bool {
        let Some((seed, per_mille)) = self.storm.filter(|_| Fault::STORM.contains(&fault)) else {
            return false;
        };
        let roll = self.rolls.entry((fault, lane)).or_default();
        *roll += 1;
        let bits = mix(seed ^ mix(lane ^ mix(fault as u64 + 1)) ^ roll.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits % 1000 < per_mille
    }
}
