//! Environments and where their resources are found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, EnvironmentId};
use crate::inventory::Inventory;
use crate::key::ResourceKey;
use crate::source::Source;
use crate::time::Timestamp;
use strandline_syntax::keywords;
use strandline_syntax::slug;

/// GitLab's five deployment tiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    #[default]
    Other,
}

keywords!(
    Tier, "tier", Exact,
    Production => "production",
    Staging => "staging",
    Testing => "testing",
    Development => "development",
    Other => "other",
);

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

/// Whether an environment is in use, in GitLab's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentState {
    /// In use.
    #[default]
    Available,
    /// Being taken down.
    Stopping,
    /// No longer in use: it has no resources any more, but its history stays known.
    Stopped,
}

keywords!(
    EnvironmentState, "environment state", Exact,
    Available => "available",
    Stopping => "stopping",
    Stopped => "stopped",
);

/// GitLab's further settings of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentSettings {
    /// GitLab's number of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Where users reach what runs in it; empty when not given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub external_url: String,
    /// Whether it exists only with a branch, as review apps do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dynamic: bool,
    /// When GitLab means to stop it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_stop_at: Option<Timestamp>,
    /// The agent that its settings name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_agent: Option<AgentId>,
    /// The namespace that its settings name; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kubernetes_namespace: String,
    /// The Flux resource that its settings name; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flux_resource_path: String,
    /// Whether of what its settings name only what carries GitLab's two labels counts; see [`TargetSpec::only_labelled`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_labelled: bool,
}

impl EnvironmentSettings {
    /// Where its settings say that its resources are; none where they do not say it.
    pub fn target(&self) -> Option<TargetSpec> {
        let (agent, namespace) = (self.cluster_agent.clone()?, self.kubernetes_namespace.clone());
        let within = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let inventory = Inventory::from_flux_path(&self.flux_resource_path, within).ok();
        let (somewhere, only_labelled) = (inventory.is_some() || within.is_some(), self.only_labelled);
        let agent = Some(agent);
        somewhere.then(|| TargetSpec { agent, namespace, inventory, only_labelled, ..TargetSpec::default() })
    }
}

/// An environment as it is declared and, one to one, the parameters of its resource group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Where it runs, as declared; empty when not given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// Labels of users' own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Whether it is in use.
    #[serde(default)]
    pub state: EnvironmentState,
    /// What else is declared of it.
    #[serde(flatten)]
    pub settings: EnvironmentSettings,
    /// Where its resources are found as declared, which overrides settings and deployments; a resource belongs
    /// when any target matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetSpec>,
}

impl EnvironmentSpec {
    /// An environment of which nothing more is known: with the slug and the tier that its name suggests.
    pub fn new(project: &str, name: &str) -> Self {
        EnvironmentSpec {
            id: EnvironmentId::of(project, name),
            project: project.to_owned(),
            name: name.to_owned(),
            slug: slug(name),
            tier: Tier::guess(name),
            ..EnvironmentSpec::default()
        }
    }

    /// The region in a name, as in `production/us-region`.
    pub fn region_of_name(&self) -> Option<&str> {
        let last = self.name.rsplit_once('/')?.1.strip_suffix("-region")?;
        (!last.is_empty()).then_some(last)
    }
}

/// A place in which an environment is declared to find its resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetSpec {
    /// Name of the cluster; empty where the agent names it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster: String,
    /// The agent through which the cluster is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Namespace; with an inventory it may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Labels that a resource must all carry; none for GitLab's own two, empty for the whole namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// The inventory whose mark a resource must carry; then labels are required, and the namespace is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// Whether a resource must carry GitLab's two labels of this environment besides: so wherever somebody declared it who
    /// does not see everything, and was not granted whole namespaces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_labelled: bool,
}

/// A place in which an environment's resources are found: what matches all its conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Name of the cluster.
    pub cluster: String,
    /// Namespace. Empty for all of them and for what is in none, which takes an inventory: without one, nothing matches.
    pub namespace: String,
    /// Labels that a resource must all carry; none means any labels.
    pub labels: BTreeMap<String, String>,
    /// The inventory whose mark a resource must carry; none where no tool keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// The agent through which the cluster is reached, where the target is one by an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// Who declares an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum DeclaredBy {
    /// The configuration file.
    Config,
    /// A folder of files.
    Folder,
    /// A caller of the API.
    Api,
    /// A namespace of a cluster of which the configuration says that each is an environment.
    Namespace,
    /// A resource of a cluster.
    Cluster(ResourceKey),
}

impl From<Source> for DeclaredBy {
    fn from(source: Source) -> Self {
        match source {
            Source::Config => DeclaredBy::Config,
            Source::Folder => DeclaredBy::Folder,
            Source::Api => DeclaredBy::Api,
            Source::Namespace => DeclaredBy::Namespace,
        }
    }
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
