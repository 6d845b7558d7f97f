//! Reads again who may ask whenever the configuration changes, and says when tokens are about to expire.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::http::Authenticator;
use crate::http::auth::{AccessConfig, EXPIRY_NOTICE, REFRESH};
use strandline_clock::Clock;
use strandline_model::Timestamp;

/// How often an issuer is asked again that could not be reached.
const RETRY: Duration = Duration::from_secs(30);

/// How often the file is looked at. It may come by a mount that reports no changes, so it is read.
const LOOK: Duration = Duration::from_secs(2);

/// What is reported of a file that cannot be used: anyone may probe, so it names nothing.
const PROBLEM: &str = "reloading the configuration failed; the previous access rules stay in effect";

/// A file that says who may ask.
#[derive(Clone, Debug)]
pub struct AccessFile {
    /// Where it is.
    pub path: PathBuf,
    /// Reads of its text who may ask, or says what is wrong with it.
    pub parse: fn(&str, &Path) -> Result<AccessConfig, String>,
}

/// Follows the file, where there is one, until `stop`.
pub(super) async fn follow(
    file: Option<AccessFile>,
    access: Arc<Authenticator>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let (mut last, mut warned) = (None, BTreeSet::new());
    loop {
        if let Some(file) = &file {
            let path = file.path.clone();
            let text = tokio::task::spawn_blocking(move || read(&path)).await;
            let text = text.unwrap_or_else(|error| Err(error.to_string()));
            if last.as_ref() != Some(&text) {
                take(&text, file, &access);
                last = Some(text);
            }
        }
        warn_of_expiry(&access, clock.now(), &mut warned);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Fetches the keys of issuers again and again, until `stop`.
pub(super) async fn follow_issuers(access: Arc<Authenticator>, stop: CancellationToken) {
    let fetching = async {
        loop {
            access.refresh_issuers().await;
            let all = access.issuer_problems().is_empty();
            tokio::time::sleep(if all { REFRESH } else { RETRY }).await;
        }
    };
    stop.run_until_cancelled(fetching).await;
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Goes by what the file says now, or by what it said before where that cannot be used.
fn take(text: &Result<String, String>, file: &AccessFile, access: &Authenticator) {
    let text = text.as_ref().map_err(Clone::clone);
    match text.and_then(|text| (file.parse)(text, &file.path)) {
        Ok(config) => {
            let before = access.config();
            let config = AccessConfig { allow_anonymous_read: before.allow_anonymous_read, ..config };
            let (changed, tokens) = (config != before, config.tokens.len());
            // Also where it is as it was: what was wrong with the file is over.
            access.replace(config);
            if changed {
                tracing::info!(tokens, "access rules reloaded");
            }
        }
        Err(error) => {
            access.report_problem(Some(PROBLEM));
            tracing::error!(error, "{PROBLEM}, so removed tokens are still valid");
        }
    }
}

/// Says once of each token that it expires soon, and once that it has.
fn warn_of_expiry(access: &Authenticator, now: Timestamp, warned: &mut BTreeSet<(String, Timestamp, bool)>) {
    for token in access.config().tokens {
        let Some(expires) = token.expires.filter(|expires| *expires <= now.plus(EXPIRY_NOTICE)) else {
            continue;
        };
        let expired = expires <= now;
        if !warned.insert((token.name.clone(), expires, expired)) {
            continue;
        }
        let name = token.name;
        match expired {
            true => tracing::warn!(token = name, %expires, "a token has expired; its requests are rejected"),
            false => tracing::warn!(token = name, %expires, "a token expires soon"),
        }
    }
}
