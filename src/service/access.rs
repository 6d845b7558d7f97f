//! Reads again who may ask whenever the configuration changes, and says when tokens are about to expire.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::config::{self, EXPIRY_NOTICE};
use crate::http::Access;
use strandline_clock::Clock;
use strandline_model::Timestamp;

/// How often the file is looked at. It may come by a mount that tells nobody of changes, so it is read.
const LOOK: Duration = Duration::from_secs(2);

/// What is told of a file that cannot be used: anyone may probe, so it names nothing.
const PROBLEM: &str = "reloading the configuration failed; the previous access rules stay in effect";

/// Follows the file, where there is one, until `stop`.
pub(super) async fn follow(
    file: Option<PathBuf>,
    access: Arc<Access>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let (mut last, mut spoken) = (None, BTreeSet::new());
    loop {
        if let Some(path) = file.clone() {
            let text = tokio::task::spawn_blocking(move || read(&path)).await;
            let text = text.unwrap_or_else(|error| Err(error.to_string()));
            if last.as_ref() != Some(&text) {
                take(&text, file.as_deref().unwrap_or(Path::new("")), &access);
                last = Some(text);
            }
        }
        speak_of_ends(&access, clock.now(), &mut spoken);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    config::text_of(path).map_err(|error| error.to_string())
}

/// Goes by what the file says now, or by what it said before where that cannot be used.
fn take(text: &Result<String, String>, path: &Path, access: &Access) {
    let parsed = text.as_ref().map_err(Clone::clone);
    let parsed = parsed.and_then(|text| config::parse_access(text, path).map_err(|error| error.to_string()));
    match parsed {
        Ok(config) => {
            let before = access.config();
            let config = config::AccessConfig { allow_anonymous_read: before.allow_anonymous_read, ..config };
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
fn speak_of_ends(access: &Access, now: Timestamp, spoken: &mut BTreeSet<(String, Timestamp, bool)>) {
    for token in access.config().tokens {
        let Some(expires) = token.expires.filter(|expires| *expires <= now.plus(EXPIRY_NOTICE)) else {
            continue;
        };
        let expired = expires <= now;
        if !spoken.insert((token.name.clone(), expires, expired)) {
            continue;
        }
        let name = token.name;
        match expired {
            true => tracing::warn!(token = name, %expires, "a token has expired; its requests are rejected"),
            false => tracing::warn!(token = name, %expires, "a token expires soon"),
        }
    }
}
