//! The tokens of the configuration, without their hashes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use strandline_model::Timestamp;

/// The tokens, and how they were used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokensReport {
    /// In the order of the configuration.
    pub items: Vec<TokenReport>,
    /// When the process began: how tokens were used before is not known.
    pub since: Timestamp,
    /// Why the configuration could not be read again; these are the tokens of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A token, and how it was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
