//! Reports tokens and how they were used to callers who see everything; never a hash.

use super::config::TokenConfig;
use super::known::Used;
use strandline_protocol::TokenReport;

/// A token with how it was used.
pub(super) fn token_report(config: &TokenConfig, used: Used, expired: bool) -> TokenReport {
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
