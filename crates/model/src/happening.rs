//! What can happen to what an environment holds.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use strandline_syntax::keywords;

/// What happened to a resource, was reported of one, or was deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Happening {
    /// A resource took another state.
    Changed = 0,
    /// A resource was seen for the first time.
    Created = 1,
    /// A resource that had been there came to belong.
    Joined = 2,
    /// A resource ended.
    Deleted = 3,
    /// A resource that still exists no longer belongs.
    Parted = 4,
    /// A Kubernetes Event of the normal course of things.
    Said = 5,
    /// Any other Kubernetes Event, such as a Warning.
    Warned = 6,
    /// A deployment was recorded for the first time.
    Deployed = 7,
    /// A deployment changed its status.
    Progressed = 8,
}

impl Happening {
    /// All of them.
    pub const ALL: [Happening; 9] = [
        Happening::Changed,
        Happening::Created,
        Happening::Joined,
        Happening::Deleted,
        Happening::Parted,
        Happening::Said,
        Happening::Warned,
        Happening::Deployed,
        Happening::Progressed,
    ];

    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Happening::Changed => "changed",
            Happening::Created => "created",
            Happening::Joined => "joined",
            Happening::Deleted => "deleted",
            Happening::Parted => "parted",
            Happening::Said => "said",
            Happening::Warned => "warned",
            Happening::Deployed => "deployed",
            Happening::Progressed => "progressed",
        }
    }

    /// The lane on which it is drawn.
    pub const fn lane(self) -> Lane {
        match self {
            Happening::Changed
            | Happening::Created
            | Happening::Joined
            | Happening::Deleted
            | Happening::Parted => Lane::Changes,
            Happening::Said | Happening::Warned => Lane::Events,
            Happening::Deployed | Happening::Progressed => Lane::Deployments,
        }
    }
}

/// A lane of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Changes of resources.
    Changes,
    /// Kubernetes Events.
    Events,
    /// Deployments.
    Deployments,
    /// Health.
    Health,
    /// When something was not being watched.
    Gaps,
}

keywords!(
    Lane, "lane", Ignored,
    Changes => "changes",
    Events => "events",
    Deployments => "deployments",
    Health => "health",
    Gaps => "gaps",
);

/// The hour of a moment, counted from 1970; what happens is counted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hour(pub i64);

impl Hour {
    const MICROS: i64 = 3_600_000_000;

    /// The hour that a moment lies in.
    pub const fn of(time: Timestamp) -> Self {
        Hour(time.as_micros().div_euclid(Hour::MICROS))
    }

    /// Its first moment.
    pub const fn first(self) -> Timestamp {
        Timestamp::from_micros(self.0.saturating_mul(Hour::MICROS))
    }

    /// Its last moment.
    pub const fn last(self) -> Timestamp {
        Timestamp::from_micros(self.0.saturating_mul(Hour::MICROS).saturating_add(Hour::MICROS - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_follow_on_each_other_before_and_after_1970() {
        for micros in [-3_600_000_001, -3_600_000_000, -1, 0, 3_599_999_999, 3_600_000_000] {
            let time = Timestamp::from_micros(micros);
            let hour = Hour::of(time);
            assert!(hour.first() <= time && time <= hour.last(), "{micros}");
            assert_eq!(Hour(hour.0 + 1).first().as_micros(), hour.last().as_micros() + 1);
        }
    }

    #[test]
    fn lanes_are_named_without_regard_to_case() {
        assert_eq!("Gaps".parse(), Ok(Lane::Gaps));
        assert!("moon".parse::<Lane>().is_err_and(|error| error.contains("changes, events")));
    }
}
