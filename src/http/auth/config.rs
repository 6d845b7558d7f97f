//! Who may ask: tokens by their hash, each with what it may see and write.
//!
//! Why: docs/decisions/0019-tokens-are-random-and-hashed-once.md.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use sha2::{Digest, Sha256};

use super::claims::Mapping;
use super::issuer::IssuerConfig;
use super::proxy::ProxyConfig;
use super::service_accounts::ReviewConfig;
use crate::http::caller::Caller;
use strandline_gitlab::Membership;
use strandline_model::{Places, Timestamp};
use strandline_protocol::AuthenticationMethod;

/// What the tokens that we make begin with, so that scanners for leaked credentials can tell them.
pub const TOKEN_PREFIX: &str = "sl_";

impl AccessConfig {
    /// Whether everybody has to say who they are.
    pub fn is_guarded(&self) -> bool {
        let signed = !self.issuers.is_empty() || !self.kubernetes.is_empty();
        !self.tokens.is_empty() || signed || self.proxy.is_some()
    }

    /// The clusters that are asked what somebody may read there, by name.
    pub fn asked_clusters(&self) -> BTreeSet<&str> {
        let of_users = self.issuers.iter().filter_map(|issuer| match &issuer.mapping {
            Mapping::Users(rules) => rules.access_review.as_deref(),
            Mapping::Jobs(_) => None,
        });
        let of_proxy = self.proxy.iter().filter_map(|proxy| proxy.access_review.as_deref());
        let rules = of_users.map(|of| &of.rules).chain(of_proxy.map(|of| &of.rules));
        let of_people = rules.flat_map(|rules| &rules.clusters).map(String::as_str);
        let of_accounts = self.kubernetes.iter().filter(|one| one.access_review.is_some());
        of_people.chain(of_accounts.map(|one| one.cluster.as_str())).collect()
    }
}

/// How long before its end a token is spoken of.
pub const EXPIRY_NOTICE: Duration = Duration::from_secs(14 * 24 * 3600);

/// The algorithm that a written hash names.
const ALGORITHM: &str = "sha256:";

/// Who may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessConfig {
    /// The tokens; where there is one, everybody needs one.
    pub tokens: Vec<TokenConfig>,
    /// Issuers whose signed tokens are taken; where there is one, everybody needs a token.
    pub issuers: Vec<IssuerConfig>,
    /// Clusters that say whose the tokens of their ServiceAccounts are; where there is one, everybody needs a token.
    pub kubernetes: Vec<ReviewConfig>,
    /// A proxy that says who somebody is.
    pub proxy: Option<ProxyConfig>,
    /// What whoever can reach a server on a loopback address may do without one; none for nothing, once there are tokens.
    pub local: Option<LocalAccess>,
    /// Whether a server without tokens may listen where others than this machine can reach it, and let everybody read.
    pub allow_anonymous_read: bool,
    /// Whether the log tells who read what, too.
    pub audit_reads: bool,
}

/// What this machine may do without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalAccess {
    /// See everything.
    Read,
    /// See and write everything.
    Write,
}

/// A token, with what it may see and write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenConfig {
    /// Its name, unique in the configuration; logs tell it.
    pub name: String,
    /// The hash by which it is known.
    pub hash: TokenHash,
    /// Whose it is.
    pub user: Option<String>,
    /// From when on it is refused.
    pub expires: Option<Timestamp>,
    /// Projects whose environments it sees, by full path.
    pub projects: BTreeSet<String>,
    /// Groups below which it sees every project, by full path.
    pub groups: BTreeSet<String>,
    /// Whether it may also write, of what it sees.
    pub write: bool,
    /// Whether it sees everything, whatever its projects and groups are.
    pub everything: bool,
}

/// The SHA-256 of a token, written as `sha256:` and 64 hex digits.
///
/// A plain hash is enough where the token holds 256 random bits: there is nothing to guess that a slow hash would
/// have to protect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of this token.
    pub fn of(token: &str) -> Self {
        TokenHash(Sha256::digest(token.as_bytes()).into())
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ALGORITHM)?;
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl FromStr for TokenHash {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.strip_prefix(ALGORITHM).ok_or(())?;
        let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).map_err(|_| ())?;
        bytes.try_into().map(TokenHash).map_err(|_| ())
    }
}

impl From<&TokenConfig> for Caller {
    fn from(token: &TokenConfig) -> Self {
        Caller {
            name: token.name.clone(),
            user: token.user.clone(),
            member: Membership::new(&token.projects, &token.groups),
            subject: None,
            places: Places::default(),
            everything: token.everything,
            write: token.write,
            writes: Membership::new(&token.projects, &token.groups),
            writes_everything: token.everything && token.write,
            job: None,
            method: AuthenticationMethod::Token,
            expires: token.expires,
        }
    }
}
