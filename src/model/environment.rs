//! Environments and where their resources are found.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{EnvironmentId, Inventory};

/// GitLab's five deployment tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Serves users.
    Production,
    /// Rehearses production.
    Staging,
    /// Runs tests.
    Testing,
    /// Serves developers.
    Development,
    /// None of these.
    Other,
}

impl Tier {
    /// All tiers, the most important first.
    pub const ALL: [Tier; 5] =
        [Tier::Production, Tier::Staging, Tier::Testing, Tier::Development, Tier::Other];

    /// The word for it in JSON, SQL and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Tier::Production => "production",
            Tier::Staging => "staging",
            Tier::Testing => "testing",
            Tier::Development => "development",
            Tier::Other => "other",
        }
    }
}

/// GitLab's words for tiers, tried in this order anywhere in a name.
const TIER_WORDS: [(&[&str], Tier); 4] = [
    (&["dev", "review", "trunk"], Tier::Development),
    (&["test", "tst", "int", "acpt", "accept", "qa", "qc", "control", "quality"], Tier::Testing),
    (&["stg", "stag", "modl", "model", "pre", "demo", "non"], Tier::Staging),
    (&["prod", "prd", "live"], Tier::Production),
];

impl Tier {
    /// The tier that a name suggests, by GitLab's table and without regard to case.
    pub fn guess(name: &str) -> Self {
        let name = name.to_lowercase();
        let suggested = |words: &[&str]| words.iter().any(|word| name.contains(word));
        TIER_WORDS.iter().find(|(words, _)| suggested(words)).map_or(Tier::Other, |(_, tier)| *tier)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Tier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Tier::ALL.into_iter().find(|tier| tier.as_str() == text).ok_or_else(|| {
            format!("`{text}` is not a tier; it is one of production, staging, testing, development, other")
        })
    }
}

/// An environment and, one to one, the parameters of its resource group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentSpec {
    /// The name in addresses and on the command line.
    pub id: EnvironmentId,
    /// Full path of the project, such as `shop/web`.
    pub project: String,
    /// Its name in the project, such as `production/us-region`.
    pub name: String,
    /// GitLab's slug of the name.
    pub slug: String,
    /// Its tier.
    pub tier: Tier,
    /// Where it runs; empty when not known.
    pub region: String,
    /// Where its resources are found; a resource belongs when any target matches.
    pub targets: Vec<Target>,
}

/// A place in which an environment's resources are found: what matches all that it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Name of the cluster.
    pub cluster: String,
    /// Namespace. Empty for all of them and for what is in none, which takes an inventory: without one, nothing matches.
    pub namespace: String,
    /// Labels that a resource must all carry; none means whatever else the target says.
    pub labels: BTreeMap<String, String>,
    /// The inventory whose mark a resource must carry; none where no tool keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn targets_without_an_inventory_are_written_as_they_were_before_there_were_any() {
        let old = r#"{"cluster":"one","namespace":"shop","labels":{"app":"web"}}"#;
        let target: Target = serde_json::from_str(old).unwrap();
        assert_eq!(target.inventory, None);
        assert_eq!(serde_json::to_string(&target).unwrap(), old);
        let new = r#"{"cluster":"one","namespace":"","labels":{},"inventory":"argocd:shop"}"#;
        let target: Target = serde_json::from_str(new).unwrap();
        assert_eq!(target.inventory.as_ref().map(Inventory::to_string).as_deref(), Some("argocd:shop"));
        assert_eq!(serde_json::to_string(&target).unwrap(), new);
    }

    #[test]
    fn tiers_are_guessed_as_gitlab_does() {
        let cases = [
            ("production", Tier::Production),
            ("PRD-eu", Tier::Production),
            ("live", Tier::Production),
            ("gstg", Tier::Staging),
            ("preprod", Tier::Staging),
            ("non-production", Tier::Staging),
            ("qa/prod-like", Tier::Testing),
            ("acpt", Tier::Testing),
            ("integration", Tier::Testing),
            ("review/fix-production", Tier::Development),
            ("my-env", Tier::Other),
        ];
        for (name, tier) in cases {
            assert_eq!(Tier::guess(name), tier, "{name}");
        }
    }
}
