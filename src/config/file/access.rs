//! Who may read and write.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::issuers::Issuer;
use super::kubernetes::{Kubernetes, ProxyAccessReview};
use super::values::{LocalAccess, Name, ProjectPath, TimeOrDate};

/// Who may read and write.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Access {
    /// The tokens; where there is one, every request needs one.
    #[serde(default)]
    pub(in crate::config) tokens: Vec<Token>,
    /// Issuers of signed tokens, such as GitLab; where there is one, every request needs a token.
    #[serde(default)]
    pub(in crate::config) issuers: Vec<Issuer>,
    /// Clusters that review the tokens of their ServiceAccounts; where there is one, every request needs a token.
    #[serde(default)]
    pub(in crate::config) kubernetes: Vec<Kubernetes>,
    /// A proxy that authenticates people; where there is one, every other request needs a token.
    #[serde(default)]
    #[schemars(with = "Proxy")]
    pub(in crate::config) proxy: Option<Proxy>,
    /// What needs no token on a loopback address although there are tokens; a proxy on the same machine makes every
    /// caller local.
    #[schemars(with = "Option<LocalAccess>")]
    pub(in crate::config) local: Option<Spanned<String>>,
    /// Without tokens, listen on any address and let everybody read everything; refused otherwise.
    #[serde(default)]
    pub(in crate::config) allow_anonymous_read: bool,
    /// The audit log names who read what, not only who wrote.
    #[serde(default)]
    pub(in crate::config) audit_reads: bool,
}

/// A proxy that authenticates people, and says in headers who they are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Proxy {
    /// Where it connects from, such as `10.0.0.7` or `10.0.8.0/24`. Its headers count from there alone; it has to remove those that
    /// clients send.
    #[schemars(with = "Vec<String>")]
    pub(in crate::config) addresses: Vec<Spanned<String>>,
    /// The header with the user's name.
    #[schemars(with = "Option<String>", extend("default" = PROXY_USER_HEADER))]
    pub(in crate::config) user_header: Option<Spanned<String>>,
    /// The header with the full paths of the user's groups, separated by commas.
    #[schemars(with = "Option<String>", extend("default" = PROXY_GROUPS_HEADER))]
    pub(in crate::config) groups_header: Option<Spanned<String>>,
    /// Members of these groups may write below them.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) write_groups: Vec<Spanned<String>>,
    /// Members of these groups see everything.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) readers: Vec<Spanned<String>>,
    /// Members of these groups see and write everything.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) admins: Vec<Spanned<String>>,
    /// Besides, let them see environments in the namespaces that clusters let them read.
    #[serde(default)]
    #[schemars(with = "ProxyAccessReview")]
    pub(in crate::config) access_review: Option<ProxyAccessReview>,
}

/// The header with the user's name where none is given.
pub(in crate::config) const PROXY_USER_HEADER: &str = "X-Forwarded-User";

/// The header with the user's groups where none is given.
pub(in crate::config) const PROXY_GROUPS_HEADER: &str = "X-Forwarded-Groups";

/// An entry of `tokens`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Token {
    /// A unique name, shown in logs.
    #[schemars(with = "Name")]
    pub(in crate::config) name: Spanned<String>,
    /// `sha256:` and 64 hexadecimal digits, printed by `strandline token`.
    #[schemars(with = "String")]
    pub(in crate::config) hash: Spanned<String>,
    /// The owner, shown in logs.
    #[schemars(with = "Option<String>")]
    pub(in crate::config) user: Option<Spanned<String>>,
    /// Refused from then on; a date is its start in UTC. Default: never.
    #[schemars(with = "Option<TimeOrDate>")]
    pub(in crate::config) expires: Option<Spanned<String>>,
    /// Sees the environments of these projects.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) projects: Vec<Spanned<String>>,
    /// Sees every project below these groups.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) groups: Vec<Spanned<String>>,
    /// May also write, within what it sees.
    #[serde(default)]
    pub(in crate::config) write: bool,
    /// Sees everything.
    #[serde(default)]
    pub(in crate::config) everything: bool,
}
