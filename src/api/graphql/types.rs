//! Words of the schema: its enumerations, its scalar, and what stands in more than one place.

use juniper::{GraphQLEnum, GraphQLObject, GraphQLScalar};

use strandline_model as model;
use strandline_model::{HealthCounts, Timestamp};
use strandline_protocol as protocol;

/// A moment, as RFC 3339 in UTC.
#[derive(Clone, Debug, GraphQLScalar)]
#[graphql(transparent)]
pub(super) struct Time(String);

impl From<Timestamp> for Time {
    fn from(time: Timestamp) -> Self {
        Time(time.to_string())
    }
}

/// Tier of an environment.
#[derive(Clone, Copy, Debug, GraphQLEnum)]
pub(super) enum DeploymentTier {
    Production,
    Staging,
    Testing,
    Development,
    Other,
}

/// How a deployment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GraphQLEnum)]
pub(super) enum DeploymentStatus {
    Created,
    Blocked,
    Running,
    Success,
    Failed,
    Canceled,
    Skipped,
}

/// Health, in the words in which it is told everywhere.
#[derive(Clone, Copy, Debug, GraphQLEnum)]
#[graphql(rename_all = "none")]
pub(super) enum Health {
    Healthy,
    Suspended,
    Progressing,
    Missing,
    Degraded,
    Unknown,
}

/// The same words there and here, both ways.
macro_rules! same_words {
    ($ours:ty, $theirs:ty: $($word:ident),+) => {
        impl From<$theirs> for $ours {
            fn from(word: $theirs) -> Self {
                match word {
                    $(<$theirs>::$word => <$ours>::$word,)+
                }
            }
        }

        impl From<$ours> for $theirs {
            fn from(word: $ours) -> Self {
                match word {
                    $(<$ours>::$word => <$theirs>::$word,)+
                }
            }
        }
    };
}

same_words!(DeploymentTier, model::Tier: Production, Staging, Testing, Development, Other);
same_words!(
    DeploymentStatus, model::DeploymentStatus: Created, Blocked, Running, Success, Failed, Canceled, Skipped
);
same_words!(Health, model::Health: Healthy, Suspended, Progressing, Missing, Degraded, Unknown);

/// The health of an environment.
#[derive(Clone, Debug, GraphQLObject)]
pub(super) struct EnvironmentHealth {
    /// The health; null while the environment has no resource that has one.
    state: Option<Health>,
    /// Since when it has been so.
    since: Time,
    /// While part of it is not watched, and `state` is therefore `Unknown`: what was known last.
    last_known: Option<Health>,
    /// Its resources by their own health.
    counts: Counts,
}

/// How many resources are in each state of health.
#[derive(Clone, Debug, GraphQLObject)]
#[graphql(name = "HealthCounts")]
struct Counts {
    healthy: i32,
    suspended: i32,
    progressing: i32,
    missing: i32,
    degraded: i32,
    unknown: i32,
    /// Those of kinds that have no health.
    none: i32,
}

impl From<HealthCounts> for Counts {
    fn from(counts: HealthCounts) -> Self {
        // GraphQL's integers end at 2^31 - 1.
        let int = |count: u64| i32::try_from(count).unwrap_or(i32::MAX);
        Counts {
            healthy: int(counts.healthy),
            suspended: int(counts.suspended),
            progressing: int(counts.progressing),
            missing: int(counts.missing),
            degraded: int(counts.degraded),
            unknown: int(counts.unknown),
            none: int(counts.none),
        }
    }
}

impl From<&protocol::EnvironmentHealth> for EnvironmentHealth {
    fn from(health: &protocol::EnvironmentHealth) -> Self {
        EnvironmentHealth {
            state: health.state.map(Health::from),
            since: health.since.into(),
            last_known: health.last_known.map(Health::from),
            counts: health.counts.into(),
        }
    }
}

/// How a list goes on.
#[derive(Clone, Debug, GraphQLObject)]
pub(super) struct PageInfo {
    /// Whether there is more of it.
    has_next_page: bool,
    /// What `after` takes to go on; null where there is no more.
    end_cursor: Option<String>,
}

impl From<Option<String>> for PageInfo {
    fn from(next: Option<String>) -> Self {
        PageInfo { has_next_page: next.is_some(), end_cursor: next }
    }
}
