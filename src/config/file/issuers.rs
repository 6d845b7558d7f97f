//! Issuers of signed tokens.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::kubernetes::UserAccessReview;
use super::values::{Algorithm, Name, Path, ProjectPath, Role, Url};

/// An entry of `issuers`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Issuer {
    /// A unique name, shown in logs before the name of each holder of a token.
    #[schemars(with = "Name")]
    pub(in crate::config) name: Spanned<String>,
    /// What its tokens say in `iss`, exactly.
    #[schemars(with = "Url")]
    pub(in crate::config) issuer: Spanned<String>,
    /// What its tokens have to say in `aud`: the URL of this server.
    #[schemars(with = "String")]
    pub(in crate::config) audience: Spanned<String>,
    /// How its tokens may be signed. Default: `RS256`.
    #[serde(default)]
    #[schemars(with = "Vec<Algorithm>")]
    pub(in crate::config) algorithms: Vec<Spanned<String>>,
    /// Where its keys are. Default: what `/.well-known/openid-configuration` of the issuer says.
    #[schemars(with = "Option<Url>")]
    pub(in crate::config) jwks_url: Option<Spanned<String>>,
    /// Take its tokens for those of GitLab's CI jobs; this or `users` is required.
    #[serde(default)]
    #[schemars(with = "Jobs")]
    pub(in crate::config) jobs: Option<Jobs>,
    /// Take its tokens for those of people.
    #[serde(default)]
    #[schemars(with = "Users")]
    pub(in crate::config) users: Option<Users>,
    /// Let browsers log in at the issuer; needs `users`, and is for one entry.
    #[serde(default)]
    #[schemars(with = "Login")]
    pub(in crate::config) login: Option<Login>,
    /// Let `strandline login` log in at the issuer; needs `users`, and is for one entry.
    #[serde(default)]
    #[schemars(with = "CommandLine")]
    pub(in crate::config) command_line: Option<CommandLine>,
}

/// Let `strandline login` log in at the issuer, as a public client of its own. The server tells everybody who reaches it these keys.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct CommandLine {
    /// The client id of the command line; its tokens are taken besides those for the `audience` of the entry.
    #[schemars(with = "String")]
    pub(in crate::config) client_id: Spanned<String>,
    /// Scopes besides `openid`. Default: `profile`.
    pub(in crate::config) scopes: Option<Vec<String>>,
    /// The port of the redirect URI to register, `http://127.0.0.1:PORT/callback`. Default: any port.
    #[schemars(range(min = 1))]
    pub(in crate::config) redirect_port: Option<std::num::NonZeroU16>,
}

/// Let browsers log in at the issuer, by OpenID Connect. The `audience` of the entry is the client id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Login {
    /// The URL of this server as browsers have it; the redirect URI to register is this and `/login/callback`.
    #[schemars(with = "Url")]
    pub(in crate::config) public_url: Spanned<String>,
    /// A file with the client secret. Default: the client is public.
    #[schemars(with = "Option<Path>")]
    pub(in crate::config) client_secret_file: Option<Spanned<String>>,
    /// Scopes besides `openid`. Default: `profile`.
    pub(in crate::config) scopes: Option<Vec<String>>,
}

/// Which CI jobs are accepted. A job sees its own project, and records deployments to the environment that it is for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Jobs {
    /// Jobs of these projects.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) projects: Vec<Spanned<String>>,
    /// Jobs of every project below these groups.
    #[serde(default)]
    #[schemars(with = "Vec<ProjectPath>")]
    pub(in crate::config) groups: Vec<Spanned<String>>,
    /// Jobs of unprotected branches and tags may write, too.
    #[serde(default)]
    pub(in crate::config) unprotected_refs: bool,
}

/// What people may do: they see the projects below their groups.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Users {
    /// The claim that lists the full paths of a user's groups. Default: `groups_direct`.
    pub(in crate::config) groups_claim: Option<String>,
    /// Roles of GitLab; a user may write below the groups where they have one of them.
    #[serde(default)]
    #[schemars(with = "Vec<Role>")]
    pub(in crate::config) write_roles: Vec<Spanned<String>>,
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
    #[schemars(with = "UserAccessReview")]
    pub(in crate::config) access_review: Option<UserAccessReview>,
}
