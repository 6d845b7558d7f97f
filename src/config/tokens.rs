//! The part of the file about who may ask: tokens by their hash, each with what it may see and write.

use std::collections::{BTreeSet, HashMap};

use http::HeaderName;
use serde_saphyr::{Location, Spanned};

use super::check::Check;
use super::file::{Access, PROXY_GROUPS_HEADER, PROXY_USER_HEADER, Proxy, Token};
use crate::http::auth::{AccessConfig, LocalAccess, ProxyConfig, TOKEN_PREFIX, TokenConfig, TokenHash};
use strandline_model::{EnvironmentId, Timestamp};

impl Check {
    pub(super) fn who_may_ask(&mut self, written: &Access) -> AccessConfig {
        AccessConfig {
            tokens: self.tokens(&written.tokens),
            issuers: self.issuers(&written.issuers),
            kubernetes: self.kubernetes(&written.kubernetes, &written.issuers),
            proxy: written.proxy.as_ref().map(|proxy| self.proxy(proxy)),
            local: written.local.as_ref().and_then(|local| self.local(local)),
            allow_anonymous_read: written.allow_anonymous_read,
            audit_reads: written.audit_reads,
        }
    }

    fn local(&mut self, written: &Spanned<String>) -> Option<LocalAccess> {
        match written.value.as_str() {
            "read" => Some(LocalAccess::Read),
            "write" => Some(LocalAccess::Write),
            other => {
                let message = format!("invalid local access `{other}`");
                self.report(written.referenced, "bad_word", message).hint =
                    Some("use `read` or `write`, or omit it to require a token from everyone".to_owned());
                None
            }
        }
    }

    fn tokens(&mut self, written: &[Token]) -> Vec<TokenConfig> {
        let (mut names, mut hashes) = (HashMap::new(), HashMap::new());
        let mut tokens = Vec::new();
        for token in written {
            self.token_name(token, &mut names);
            if token.projects.is_empty() && token.groups.is_empty() && !token.everything {
                let message = format!("the token `{}` has no access", token.name.value);
                self.report(token.name.referenced, "sees_nothing", message).hint =
                    Some("set `projects`, `groups`, or `everything: true`".to_owned());
            }
            let hash = self.token_hash(token, &mut hashes);
            let user = self.token_user(token);
            let expires = token.expires.as_ref().and_then(|expires| self.expiry(expires));
            let projects = self.full_paths("project", &token.projects);
            let groups = self.full_paths("group", &token.groups);
            let (name, write, everything) = (token.name.value.clone(), token.write, token.everything);
            tokens.extend(hash.map(|hash| TokenConfig {
                name,
                hash,
                user,
                expires,
                projects,
                groups,
                write,
                everything,
            }));
        }
        tokens
    }

    fn proxy(&mut self, written: &Proxy) -> ProxyConfig {
        let mut addresses = Vec::new();
        for address in &written.addresses {
            match address.value.parse() {
                Ok(network) => addresses.push(network),
                Err(()) => {
                    let message = format!("`{}` is not an address or a network", address.value);
                    self.report(address.referenced, "bad_address", message).hint = Some(
                        "use one such as 10.0.0.7 or 10.0.8.0/24; not everybody can be the proxy".to_owned(),
                    );
                }
            }
        }
        let user_header = self.header(written.user_header.as_ref(), PROXY_USER_HEADER);
        let groups_header = self.header(written.groups_header.as_ref(), PROXY_GROUPS_HEADER);
        let at = written.addresses.first().map_or(Location::UNKNOWN, |address| address.referenced);
        let headers = [&user_header, &groups_header];
        let access_review = written.access_review.as_ref();
        let access_review = access_review.map(|review| self.proxy_access_review(review, at, headers));
        ProxyConfig {
            addresses,
            access_review: access_review.map(Box::new),
            user_header,
            groups_header,
            write_groups: self.full_paths("group", &written.write_groups),
            readers: self.full_paths("group", &written.readers),
            admins: self.full_paths("group", &written.admins),
        }
    }

    pub(super) fn header(&mut self, written: Option<&Spanned<String>>, usual: &'static str) -> HeaderName {
        let name = written.map_or(usual, |written| written.value.as_str());
        HeaderName::from_bytes(name.as_bytes()).unwrap_or_else(|_| {
            let at = written.map_or(Location::UNKNOWN, |written| written.referenced);
            self.report(at, "bad_name", format!("`{name}` is not the name of a header"));
            HeaderName::from_static("x-forwarded-user")
        })
    }

    fn token_name<'f>(&mut self, token: &'f Token, lines: &mut HashMap<&'f str, u64>) {
        let (name, at) = (token.name.value.as_str(), token.name.referenced);
        // Where a name is wrong, what is written there may be the token itself, so it is not repeated.
        if !EnvironmentId::new(name).is_plain() || name.starts_with(TOKEN_PREFIX) {
            self.report(at, "bad_name", "invalid token name").hint =
                Some("use letters, digits, `-`, `_` and `.`, and never the token itself".to_owned());
        } else if let Some(line) = lines.insert(name, at.line()) {
            self.report(at, "duplicate", format!("duplicate token `{name}`, first in line {line}"));
        }
    }

    fn token_hash(&mut self, token: &Token, lines: &mut HashMap<TokenHash, u64>) -> Option<TokenHash> {
        let at = token.hash.referenced;
        // What is written there may be the token itself, so it is not repeated.
        let Ok(hash) = token.hash.value.parse() else {
            self.report(at, "bad_hash", "invalid hash: expected `sha256:` and 64 hex digits").hint =
                Some("generate a token and its entry with `strandline token`".to_owned());
            return None;
        };
        if let Some(line) = lines.insert(hash, at.line()) {
            let message = format!("duplicate hash, first in line {line}");
            self.report(at, "duplicate", message).hint = Some("generate a token for each entry".to_owned());
        }
        Some(hash)
    }

    fn token_user(&mut self, token: &Token) -> Option<String> {
        let user = token.user.as_ref()?;
        if user.value.trim().is_empty() || user.value.chars().any(char::is_control) {
            let message = "the token's `user` is empty or has control characters";
            self.report(user.referenced, "bad_name", message);
        }
        Some(user.value.clone())
    }

    /// A time, or a date, which stands for its start in UTC.
    fn expiry(&mut self, written: &Spanned<String>) -> Option<Timestamp> {
        let text = written.value.as_str();
        let read = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse());
        if read.is_err() {
            let message = "the token's `expires` is not a time";
            self.report(written.referenced, "bad_time", message).hint =
                Some("use 2027-01-31 (the start of that day in UTC) or 2027-01-31T14:05:00Z".to_owned());
        }
        read.ok()
    }

    pub(super) fn full_paths(&mut self, what: &str, written: &[Spanned<String>]) -> BTreeSet<String> {
        for path in written {
            let sound = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_control() || c == ' ');
            if !path.value.split('/').all(sound) {
                let message = format!("`{}` is not the full path of a {what}", path.value);
                self.report(path.referenced, "bad_path", message).hint =
                    Some("use the path of its URL, such as shop/web, without slashes at the ends".to_owned());
            }
        }
        written.iter().map(|path| path.value.clone()).collect()
    }
}
