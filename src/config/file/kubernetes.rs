//! Clusters whose ServiceAccounts may ask.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::values::{Name, ProjectPath};

/// An entry of `kubernetes`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Kubernetes {
    /// The cluster that reviews the tokens, one of `clusters`; its credentials have to allow that.
    #[schemars(with = "Name")]
    pub(in crate::config) cluster: Spanned<String>,
    /// What its tokens say in `iss`, exactly.
    #[schemars(with = "String")]
    pub(in crate::config) issuer: Spanned<String>,
    /// What its tokens have to say in `aud`: the URL of this server, with something of the cluster where several have the same issuer.
    #[schemars(with = "String")]
    pub(in crate::config) audience: Spanned<String>,
    /// Which of its ServiceAccounts are accepted; what several entries grant to one adds up.
    pub(in crate::config) service_accounts: Vec<AccountGrant>,
}

/// An entry of `service_accounts`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct AccountGrant {
    /// The namespace of the ServiceAccount.
    #[schemars(with = "String")]
    pub(in crate::config) namespace: Spanned<String>,
    /// Its name. Default: all of the namespace.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) name: Option<Spanned<String>>,
    /// Sees the environments of these projects.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) projects: Vec<Spanned<String>>,
    /// Sees every project below these groups.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) groups: Vec<Spanned<String>>,
    /// May also write, within what this entry grants.
    #[serde(default)]
    pub(in crate::config) write: bool,
    /// Sees everything.
    #[serde(default)]
    pub(in crate::config) everything: bool,
}
