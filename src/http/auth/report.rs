//! What is told of tokens to who sees everything; never a hash.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::Serialize;

use super::config::TokenConfig;
use super::known::Used;
use strandline_model::Timestamp;

/// The tokens, and how they were used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokensReport {
    /// In the order of the configuration.
    pub items: Vec<TokenReport>,
    /// When the process began: how tokens were used before is not known.
    pub since: Timestamp,
    /// Why the configuration could not be read again; these are the tokens of before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<&'static str>,
}

/// A token, and how it was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenReport {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub user: Option<String>,
    /// Projects whose environments it sees, by full path.
    pub projects: BTreeSet<String>,
    /// Groups below which it sees every project, by full path.
    pub groups: BTreeSet<String>,
    /// Whether it sees everything.
    pub everything: bool,
    /// Whether it may write.
    pub write: bool,
    /// From when on it is refused.
    pub expires: Option<Timestamp>,
    /// Whether it is refused by now.
    pub expired: bool,
    /// When it was used last.
    pub last_used: Option<Timestamp>,
    /// From where it was used last.
    pub last_peer: Option<IpAddr>,
    /// How many requests it made.
    pub requests: u64,
}

impl TokenReport {
    pub(super) fn new(config: &TokenConfig, used: Used, expired: bool) -> Self {
        TokenReport {
            name: config.name.clone(),
            user: config.user.clone(),
            projects: config.projects.clone(),
            groups: config.groups.clone(),
            everything: config.everything,
            write: config.write,
            expires: config.expires,
            expired,
            last_used: used.last.map(|(time, _)| time),
            last_peer: used.last.and_then(|(_, peer)| peer),
            requests: used.requests,
        }
    }
}
