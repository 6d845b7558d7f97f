//! The tokens that are known at a time, and how each of them was used.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::config::{AccessConfig, LocalAccess, TokenConfig, TokenHash};
use super::issuer::{Issuer, IssuerConfig};
use super::reviewer::Reviewer;
use super::service_accounts::ReviewConfig;
use crate::http::caller::Caller;
use strandline_model::Timestamp;

/// What a configuration says of who may ask, as it is asked for.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) config: AccessConfig,
    /// Found by the hash of what was presented. How long a look-up takes tells something of the hash, and nothing of
    /// a token: who could choose tokens by their hashes would have broken SHA-256.
    by_hash: HashMap<TokenHash, Arc<Token>>,
    /// The issuers, each with its keys, which outlast a configuration that changes.
    pub(super) issuers: Vec<Arc<Issuer>>,
    /// The clusters that review tokens, each with what it said, which outlasts a configuration that changes.
    pub(super) reviewers: Vec<Arc<Reviewer>>,
    /// Whether who presents a token is asked for it: there are tokens, or there were some since the process began.
    pub(super) guarded: bool,
    /// Who asks without a token; none where that is nobody.
    pub(super) without: Option<Arc<Caller>>,
}

/// A token with how it was used, which outlasts a configuration that changes.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) caller: Arc<Caller>,
    pub(super) expires: Option<Timestamp>,
    used: Arc<Mutex<Used>>,
}

/// How a token was used since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) last: Option<(Timestamp, Option<IpAddr>)>,
    pub(super) requests: u64,
}

impl Known {
    /// Of this configuration, which takes the place of what was known before: a token that was there goes on with how it was
    /// used, and where there were tokens, they are asked for also when none is left. Whether everybody may read is decided
    /// where the server begins to listen, and stays.
    pub(super) fn new(mut config: AccessConfig, loopback: bool, before: Option<&Known>) -> Self {
        if let Some(before) = before {
            config.allow_anonymous_read = before.config.allow_anonymous_read;
        }
        let token = |token: &TokenConfig| {
            let known = before.and_then(|before| before.find(token.hash));
            let used = known.map_or_else(Arc::default, |known| Arc::clone(&known.used));
            Arc::new(Token { caller: Arc::new(Caller::from(token)), expires: token.expires, used })
        };
        let by_hash = config.tokens.iter().map(|config| (config.hash, token(config))).collect();
        let issuer = |config: &IssuerConfig| {
            let known =
                before.and_then(|before| before.issuers.iter().find(|issuer| issuer.config == *config));
            known.map_or_else(|| Arc::new(Issuer::new(config.clone())), Arc::clone)
        };
        let issuers = config.issuers.iter().map(issuer).collect();
        let reviewer = |config: &ReviewConfig| {
            let known =
                before.and_then(|before| before.reviewers.iter().find(|reviewer| reviewer.config == *config));
            known.map_or_else(|| Arc::new(Reviewer::new(config.clone())), Arc::clone)
        };
        let reviewers = config.kubernetes.iter().map(reviewer).collect();
        let guarded = config.is_guarded() || before.is_some_and(|before| before.guarded);
        let without = match config.local {
            Some(LocalAccess::Read) if loopback => Some(Caller::local_reader()),
            Some(LocalAccess::Write) if loopback => Some(Caller::local()),
            _ if guarded => None,
            _ if loopback => Some(Caller::local()),
            _ => config.allow_anonymous_read.then(Caller::anyone),
        };
        Known { config, by_hash, issuers, reviewers, guarded, without: without.map(Arc::new) }
    }

    pub(super) fn find(&self, hash: TokenHash) -> Option<&Arc<Token>> {
        self.by_hash.get(&hash)
    }
}

impl Token {
    /// Whether it is refused by now.
    pub(super) fn has_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Counts a request.
    pub(super) fn use_it(&self, now: Timestamp, peer: Option<IpAddr>) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.last = Some((now, peer));
        used.requests += 1;
    }

    pub(super) fn used(&self) -> Used {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
