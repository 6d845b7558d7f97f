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
    /// Besides, let them see environments in the namespaces that the cluster lets them read.
    #[serde(default)]
    #[schemars(with = "AccessReview")]
    pub(in crate::config) access_review: Option<AccessReview>,
}

/// Let the cluster say who may read in it (SubjectAccessReview): whoever is allowed this in each namespace where an environment looks sees the environment.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct AccessReview {
    /// The verb that has to be allowed.
    #[schemars(with = "Option<String>", extend("default" = VERB))]
    pub(in crate::config) verb: Option<Spanned<String>>,
    /// The API group of the resource. Default: the core group.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) group: Option<Spanned<String>>,
    /// The resource, in the plural.
    #[schemars(with = "Option<String>", extend("default" = RESOURCE))]
    pub(in crate::config) resource: Option<Spanned<String>>,
}

/// The verb where none is given.
pub(in crate::config) const VERB: &str = "list";

/// The resource where none is given.
pub(in crate::config) const RESOURCE: &str = "configmaps";

/// Let clusters say who may read in them (SubjectAccessReview), by the names that users and groups have there.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct UserAccessReview {
    /// The clusters that are asked, of `clusters`.
    #[schemars(with = "Vec<Name>")]
    pub(in crate::config) clusters: Vec<Spanned<String>>,
    /// The claim that names the user there, as `--oidc-username-claim` does.
    #[schemars(with = "Option<String>", extend("default" = USERNAME_CLAIM))]
    pub(in crate::config) username_claim: Option<Spanned<String>>,
    /// The prefix of the user's name there, as `--oidc-username-prefix`. Default: nothing.
    pub(in crate::config) username_prefix: Option<String>,
    /// The claim that lists the groups there. Default: `groups_claim` of `users`.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) groups_claim: Option<Spanned<String>>,
    /// The prefix of each group there, as `--oidc-groups-prefix`. Default: nothing.
    pub(in crate::config) groups_prefix: Option<String>,
    /// The verb that has to be allowed.
    #[schemars(with = "Option<String>", extend("default" = VERB))]
    pub(in crate::config) verb: Option<Spanned<String>>,
    /// The API group of the resource. Default: the core group.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) group: Option<Spanned<String>>,
    /// The resource, in the plural.
    #[schemars(with = "Option<String>", extend("default" = RESOURCE))]
    pub(in crate::config) resource: Option<Spanned<String>>,
}

/// Let clusters say who may read in them (SubjectAccessReview), by the names that users and groups have there.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct ProxyAccessReview {
    /// The clusters that are asked, of `clusters`.
    #[schemars(with = "Vec<Name>")]
    pub(in crate::config) clusters: Vec<Spanned<String>>,
    /// The header with the name that the user has there. Default: `user_header` of `proxy`.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) user_header: Option<Spanned<String>>,
    /// The prefix of the user's name there, as `--oidc-username-prefix`. Default: nothing.
    pub(in crate::config) username_prefix: Option<String>,
    /// The header with the names of the user's groups there, separated by commas. Default: `groups_header` of `proxy`.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) groups_header: Option<Spanned<String>>,
    /// The prefix of each group there, as `--oidc-groups-prefix`. Default: nothing.
    pub(in crate::config) groups_prefix: Option<String>,
    /// The verb that has to be allowed.
    #[schemars(with = "Option<String>", extend("default" = VERB))]
    pub(in crate::config) verb: Option<Spanned<String>>,
    /// The API group of the resource. Default: the core group.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) group: Option<Spanned<String>>,
    /// The resource, in the plural.
    #[schemars(with = "Option<String>", extend("default" = RESOURCE))]
    pub(in crate::config) resource: Option<Spanned<String>>,
}

/// The claim of the user's name where none is given.
pub(in crate::config) const USERNAME_CLAIM: &str = "sub";

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
