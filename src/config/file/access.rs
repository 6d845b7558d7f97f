//! Who may read and write.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::issuers::Issuer;
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
