//! How objects are judged, hidden and compared.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::values::{Duration, DurationOrNever, Kind, LabelSelector, Name, Path};

/// How health is judged and counted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Health {
    /// Lua scripts in Argo CD's layout, `<group>/<Kind>/health.lua`.
    #[schemars(with = "Option<Path>")]
    pub(in crate::config) scripts: Option<Spanned<String>>,
    /// An `argocd-cm` ConfigMap with scripts; they take precedence over the folder's.
    #[schemars(with = "Option<Path>")]
    pub(in crate::config) argocd_cm: Option<Spanned<String>>,
    /// Resources that are shown and counted, but do not affect the environment.
    #[serde(default)]
    #[schemars(with = "Vec<Ignored>")]
    pub(in crate::config) ignore: Vec<Spanned<Ignored>>,
    /// An environment shows Progressing only after this long; until then it shows its earlier health.
    #[schemars(with = "Option<Duration>", extend("default" = "0s"))]
    pub(in crate::config) progressing_grace: Option<Spanned<String>>,
    /// A Pod that no Node can take is Degraded after this long; `never` or `0s`: it stays Progressing.
    #[schemars(with = "Option<DurationOrNever>", extend("default" = "5m"))]
    pub(in crate::config) unschedulable_grace: Option<Spanned<String>>,
    /// A new object without a status is Progressing for this long, then has no health.
    #[schemars(with = "Option<Duration>", extend("default" = "1m"))]
    pub(in crate::config) unreported_grace: Option<Spanned<String>>,
}

/// An entry of `ignore`; it has `kind`, `labels` or both.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Ignored {
    /// Of this kind. Default: any.
    #[schemars(with = "Option<Kind>")]
    pub(in crate::config) kind: Option<Spanned<String>>,
    /// With these labels. Default: any.
    #[schemars(with = "Option<LabelSelector>")]
    pub(in crate::config) labels: Option<Spanned<String>>,
}

/// What is hidden before it is recorded.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Redact {
    /// Names whose values are hidden, besides the built-in ones.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(in crate::config) names: Vec<Spanned<String>>,
    /// Names whose values are never hidden because of the name.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(in crate::config) keep: Vec<Spanned<String>>,
    /// Objects that are treated as Secrets: keys stay, every value becomes a digest.
    #[serde(default)]
    pub(in crate::config) leave_out: Vec<LeaveOut>,
}

/// An entry of `leave_out`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct LeaveOut {
    /// Of this kind.
    #[schemars(with = "Kind")]
    pub(in crate::config) kind: Spanned<String>,
    /// In these namespaces. Default: all.
    #[serde(default)]
    #[schemars(with = "Vec<Name>")]
    pub(in crate::config) namespaces: Vec<Spanned<String>>,
    /// With these names. Default: all.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(in crate::config) names: Vec<Spanned<String>>,
}

/// What differences leave out.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Diff {
    /// Paths, as `Deployment.apps:spec.replicas`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(in crate::config) ignore: Vec<Spanned<String>>,
}
