//! Links to elsewhere.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::values::UrlTemplate;

/// `links`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Links {
    /// On the page of an environment; with `{cluster}` or `{namespace}` one for each place it runs in. Also `{id}`, `{project}`,
    /// `{name}`, `{slug}`, `{tier}`, `{region}` and `{time}`.
    #[serde(default)]
    pub(in crate::config) environments: Vec<Link>,
    /// On the page of a resource: `{cluster}`, `{namespace}`, `{group}`, `{kind}`, `{name}`, `{uid}`, `{time}`.
    #[serde(default)]
    pub(in crate::config) resources: Vec<ResourceLink>,
    /// At a deployment: `{project}`, `{environment}`, `{id}`, `{ref}`, `{sha}`, `{job}`, `{job_id}`, `{user}`, `{time}`.
    #[serde(default)]
    pub(in crate::config) deployments: Vec<Link>,
}

/// A link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Link {
    /// What the button says.
    pub(in crate::config) label: String,
    /// The address.
    #[schemars(with = "UrlTemplate")]
    pub(in crate::config) url: Spanned<String>,
}

/// A link of resources.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct ResourceLink {
    /// What the button says.
    pub(in crate::config) label: String,
    /// The address.
    #[schemars(with = "UrlTemplate")]
    pub(in crate::config) url: Spanned<String>,
    /// Only on pages of these kinds, such as `Pod`. Default: all.
    #[serde(default)]
    pub(in crate::config) kinds: Vec<String>,
}
