//! Health: what it can be, in which order it worsens, and how it is counted.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use crate::time::Timestamp;
use strandline_syntax::keywords;

/// The health of a resource or environment, each value worse than the one before.
///
/// The order is Argo CD's: what cannot be known counts as worst, so that it is never taken for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Health {
    /// It does what it should.
    Healthy = 0,
    /// Paused on purpose.
    Suspended = 1,
    /// On its way to Healthy.
    Progressing = 2,
    /// Declared but not there.
    Missing = 3,
    /// Failed, or will not get there by itself.
    Degraded = 4,
    /// Cannot be determined.
    Unknown = 5,
}

keywords!(
    Health, "health", Ignored,
    Healthy => "Healthy",
    Suspended => "Suspended",
    Progressing => "Progressing",
    Missing => "Missing",
    Degraded => "Degraded",
    Unknown => "Unknown",
);

impl Health {
    /// Whether something is wrong, or at least not yet right.
    pub fn needs_attention(self) -> bool {
        self > Health::Suspended
    }
}

/// How early people want to see this, 0 first: what has failed comes before what cannot be known.
pub const fn attention(health: Option<Health>) -> u8 {
    match health {
        Some(Health::Degraded) => 0,
        Some(Health::Unknown) => 1,
        Some(Health::Missing) => 2,
        Some(Health::Progressing) => 3,
        Some(Health::Suspended) => 4,
        Some(Health::Healthy) => 5,
        None => 6,
    }
}

/// Which of two needs [`attention`] more; the first where both need it alike.
pub fn more_urgent(one: Option<Health>, other: Option<Health>) -> Option<Health> {
    if attention(other) < attention(one) { other } else { one }
}

/// What was found about one object, and by which rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The health; none for kinds that have no health, such as ConfigMap.
    pub health: Option<Health>,
    /// One CamelCase word, such as `CrashLoopBackOff`; may be empty.
    pub reason: String,
    /// A sentence for people; may be empty.
    pub message: String,
    /// The rule that judged, such as `builtin/Pod`.
    pub rule: String,
    /// What the same state means once it has lasted for too long; none where it means the same for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<Later>,
}

/// The verdict on a state that has lasted for too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Later {
    /// Since when it lasts, from the object itself; none where it has no such time.
    pub since: Option<Timestamp>,
    /// How long it may last.
    #[serde(rename = "after_seconds", serialize_with = "whole_seconds")]
    pub after: Duration,
    /// The health from then on; none where it has no health any more.
    pub health: Option<Health>,
    /// As of a verdict.
    pub reason: String,
    /// As of a verdict.
    pub message: String,
}

fn whole_seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_secs())
}

impl Later {
    /// From when on it holds, of a state that was seen at this time. What is said to have begun after that began then:
    /// a clock that is ahead must not put it off.
    pub fn due(&self, seen: Timestamp) -> Timestamp {
        self.since.map_or(seen, |since| since.min(seen)).plus(self.after)
    }
}

impl Verdict {
    /// The verdict that holds at the time at which the state was seen, which may have lasted for too long by then.
    #[must_use]
    pub fn seen_at(self, seen: Timestamp) -> Self {
        if self.later.as_ref().is_some_and(|later| later.due(seen) <= seen) { self.outlasted() } else { self }
    }

    /// The verdict once the state has lasted for too long.
    #[must_use]
    pub fn outlasted(self) -> Self {
        match self.later {
            Some(Later { health, reason, message, .. }) => {
                Verdict { health, reason, message, rule: self.rule, later: None }
            }
            None => self,
        }
    }
}

/// How many resources are in each state of health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthCounts {
    /// Healthy ones.
    pub healthy: u64,
    /// Suspended ones.
    pub suspended: u64,
    /// Progressing ones.
    pub progressing: u64,
    /// Missing ones.
    pub missing: u64,
    /// Degraded ones.
    pub degraded: u64,
    /// Unknown ones.
    pub unknown: u64,
    /// Those of kinds that have no health.
    pub none: u64,
}

impl HealthCounts {
    /// The counter of a state.
    pub fn slot(&mut self, health: Option<Health>) -> &mut u64 {
        match health {
            Some(Health::Healthy) => &mut self.healthy,
            Some(Health::Suspended) => &mut self.suspended,
            Some(Health::Progressing) => &mut self.progressing,
            Some(Health::Missing) => &mut self.missing,
            Some(Health::Degraded) => &mut self.degraded,
            Some(Health::Unknown) => &mut self.unknown,
            None => &mut self.none,
        }
    }

    /// Adds what was counted elsewhere.
    pub const fn add(&mut self, other: HealthCounts) {
        self.healthy += other.healthy;
        self.suspended += other.suspended;
        self.progressing += other.progressing;
        self.missing += other.missing;
        self.degraded += other.degraded;
        self.unknown += other.unknown;
        self.none += other.none;
    }

    /// What among them needs [`attention`] most; none where nothing has a health.
    pub fn worst(mut self) -> Option<Health> {
        let there = Health::ALL.into_iter().filter(|health| *self.slot(Some(*health)) > 0);
        there.min_by_key(|health| attention(Some(*health)))
    }

    /// All resources counted; what was read from elsewhere may say more than there can be.
    pub const fn total(&self) -> u64 {
        self.healthy
            .saturating_add(self.suspended)
            .saturating_add(self.progressing)
            .saturating_add(self.missing)
            .saturating_add(self.degraded)
            .saturating_add(self.unknown)
            .saturating_add(self.none)
    }
}
