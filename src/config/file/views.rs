//! Overviews that are saved under a name.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::values::{Agent, LabelSelector, Name, Pattern, ProjectPath, State, Tier};

/// An entry of `views`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct View {
    /// A unique name, which addresses use.
    #[schemars(with = "Name")]
    pub(in crate::config) name: Spanned<String>,
    /// The title on pages. Default: the name.
    pub(in crate::config) title: Option<String>,
    /// Which environments, by the parameters of the API. Default: all.
    #[serde(default)]
    pub(in crate::config) filter: ViewFilter,
    /// At most two of `tier`, `region`, `project`, `group`, `cluster`, `agent`, `health`, `state`, `label:NAME`.
    /// Default: `region`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(in crate::config) group_by: Vec<Spanned<String>>,
}

/// Which environments a view shows. An environment matches one value of each list that is given.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct ViewFilter {
    /// Of these tiers.
    #[serde(default)]
    #[schemars(with = "Vec<Tier>")]
    pub(in crate::config) tier: Vec<Spanned<String>>,
    /// In these regions.
    #[serde(default)]
    pub(in crate::config) region: Vec<String>,
    /// Of these projects.
    #[serde(default)]
    #[schemars(with = "Vec<Pattern>")]
    pub(in crate::config) project: Vec<Spanned<String>>,
    /// Of projects below these groups.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) group: Vec<Spanned<String>>,
    /// In these clusters.
    #[serde(default)]
    #[schemars(with = "Vec<Name>")]
    pub(in crate::config) cluster: Vec<String>,
    /// Reached through these agents.
    #[serde(default)]
    #[schemars(with = "Vec<Agent>")]
    pub(in crate::config) agent: Vec<Spanned<String>>,
    /// In these states.
    #[serde(default)]
    #[schemars(with = "Vec<State>")]
    pub(in crate::config) state: Vec<Spanned<String>>,
    /// With these names.
    #[serde(default)]
    #[schemars(with = "Vec<Pattern>")]
    pub(in crate::config) name: Vec<Spanned<String>>,
    /// With this health, such as `Degraded`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(in crate::config) health: Vec<Spanned<String>>,
    /// With these labels.
    #[schemars(with = "Option<LabelSelector>")]
    pub(in crate::config) labels: Option<Spanned<String>>,
}
