//! Who a caller is, and how the command line logs in.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use strandline_model::Timestamp;

/// How a caller was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthenticationMethod {
    /// By a token of the configuration.
    Token,
    /// By a token that an issuer signed.
    SignedToken,
    /// By a token of a ServiceAccount, which its cluster reviewed.
    ServiceAccount,
    /// By the session of a browser.
    Session,
    /// By the headers of a trusted proxy.
    Proxy,
    /// Not at all: the request came from the machine of the server.
    Local,
    /// Not at all: everybody may read.
    None,
}

impl AuthenticationMethod {
    /// Whether a browser says who it is by itself, so that what is written has to come from a page of the server.
    pub fn is_of_browsers(self) -> bool {
        matches!(self, AuthenticationMethod::Session | AuthenticationMethod::Proxy)
    }
}

/// The caller as the server knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhoAmI {
    /// The name that logs have.
    pub name: String,
    /// The user.
    pub user: Option<String>,
    /// How they were authenticated.
    pub method: AuthenticationMethod,
    /// Until when that lasts at most.
    pub expires: Option<Timestamp>,
    /// What they see.
    pub reads: Rights,
    /// What they write; a CI job records deployments to its environment alone.
    pub writes: Rights,
    /// The environment of the CI job that they are.
    pub job_environment: Option<String>,
}

/// What somebody may see or write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Whether it is everything.
    pub everything: bool,
    /// What belongs to these projects, by full path in lower case.
    pub projects: BTreeSet<String>,
    /// What belongs to projects below these groups.
    pub groups: BTreeSet<String>,
    /// What looks at these namespaces alone, as `cluster/namespace`, or `cluster/*` for all of a cluster.
    #[serde(default)]
    pub namespaces: BTreeSet<String>,
}

/// How the command line logs in at this server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginMethods {
    /// At an OpenID provider; null where that is not configured.
    pub oidc: Option<OidcLogin>,
}

/// How the command line logs in at an OpenID provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OidcLogin {
    /// The URL of the provider.
    pub issuer: String,
    /// The client id of the command line, which is a public client.
    pub client_id: String,
    /// The scopes to ask for.
    pub scopes: Vec<String>,
    /// The port of the redirect URI `http://127.0.0.1:PORT/callback`; null for any.
    pub redirect_port: Option<u16>,
}
