//! Environments counted together.

use serde::{Deserialize, Serialize};

use super::UnknownWord;
use strandline_model::{EnvironmentId, GroupBy, Health, HealthCounts, SavedView, Timestamp, more_urgent};

/// All environments of a selection at a moment, in groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// What they are grouped by.
    pub group_by: Vec<GroupBy>,
    /// The groups, those that need attention most first, then by their keys.
    pub groups: Vec<OverviewGroup>,
    /// How many more groups there are.
    pub groups_left_out: u64,
    /// All environments together; one that stands in several groups counts once.
    pub totals: OverviewCounts,
    /// Where there are none: the words of the question that fit nothing at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<UnknownWord>,
}

impl Overview {
    /// The most groups that are told.
    pub const LIMIT: usize = 500;
    /// The most environments that one group names.
    pub const ATTENTION: usize = 5;
}

/// Environments that have the same keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverviewGroup {
    /// A key for each of what they are grouped by; empty where it is not known, or there is none.
    pub keys: Vec<String>,
    /// How many there are, and how they are.
    #[serde(flatten)]
    pub counts: OverviewCounts,
    /// Those that need attention most, then those that came to need it last; at most [`Overview::ATTENTION`].
    pub attention: Vec<OverviewEnvironment>,
}

/// How many environments there are, and how they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverviewCounts {
    /// All of them.
    pub total: u64,
    /// Those of which the caller may not see what they hold: they have no health here and no resources.
    pub denied: u64,
    /// The others, by health.
    pub environments: HealthCounts,
    /// The resources of the others, by health.
    pub resources: HealthCounts,
    /// What among the environments needs attention most; none where none has a health.
    pub health: Option<Health>,
}

impl OverviewCounts {
    /// Counts one that the caller may not look into.
    pub fn deny(&mut self) {
        self.total += 1;
        self.denied += 1;
    }

    /// Counts one with its health and resources.
    pub fn count(&mut self, health: Option<Health>, resources: HealthCounts) {
        self.total += 1;
        *self.environments.slot(health) += 1;
        self.resources.add(resources);
        self.health = more_urgent(self.health, health);
    }
}

/// An environment that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverviewEnvironment {
    /// Its name in addresses.
    pub id: EnvironmentId,
    /// Project path.
    pub project: String,
    /// Its name in the project.
    pub name: String,
    /// Its health.
    pub health: Health,
    /// Since when it has been so.
    pub since: Timestamp,
}

/// The overviews that the configuration gives names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SavedViews {
    /// In the order of the configuration.
    pub items: Vec<SavedView>,
}
