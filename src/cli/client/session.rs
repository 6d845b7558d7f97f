//! The login that a client presents, renewed before it expires.
//!
//! Providers take each refresh token once. So one command at a time renews a login, under the lock of the file, and whoever waited
//! for the lock takes what the one before wrote.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::Mutex;

use super::token::bearer;
use crate::cli::args::TokenText;
use crate::cli::contexts::{self, Locked, OidcTokens};
use crate::cli::error::{CliError, Exit};
use crate::cli::oidc::{OidcError, Provider};
use crate::cli::stderr::note;
use strandline_clock::{Clock, SystemClock};
use strandline_model::Timestamp;

/// So long before it expires a login is renewed.
const AHEAD: Duration = Duration::from_secs(60);

/// How often that is tried while the login still holds.
const RETRY: Duration = Duration::from_secs(15);

/// The login of a context.
#[derive(Debug)]
pub(super) struct Session {
    context: String,
    ca_file: Option<PathBuf>,
    state: Mutex<State>,
    /// Whether it is renewed; not by a command that is given up after a time, which could lose what the provider gives it.
    renewed: bool,
}

#[derive(Debug)]
struct State {
    tokens: OidcTokens,
    tried: Option<Timestamp>,
}

impl Session {
    pub(super) fn new(context: String, tokens: OidcTokens, ca_file: Option<PathBuf>) -> Self {
        Session { context, ca_file, state: Mutex::new(State { tokens, tried: None }), renewed: true }
    }

    pub(super) fn unrenewed(self) -> Self {
        Session { renewed: false, ..self }
    }

    /// The header to send now.
    pub(super) async fn header(&self) -> Result<Option<HeaderValue>, CliError> {
        let mut state = self.state.lock().await;
        let now = SystemClock.now();
        let due = state.tokens.expires <= now.plus(AHEAD);
        if due && self.renewed && state.tried.is_none_or(|tried| tried.plus(RETRY) <= now) {
            state.tried = Some(now);
            match self.renew(now).await {
                Ok(tokens) => state.tokens = tokens,
                // It holds a little longer, and so does the hope.
                Err(error) if state.tokens.expires > now => note!("{}", error.lines()),
                Err(error) => return Err(error),
            }
        }
        Ok(bearer(&state.tokens.id_token))
    }

    /// The tokens of the context by now: those that another command has got meanwhile, or else new ones.
    async fn renew(&self, now: Timestamp) -> Result<OidcTokens, CliError> {
        let what = || format!("renewing the login of context `{}`", self.context);
        let again = |why: &str| {
            CliError::new(what(), why)
                .hint(format!("log in again: strandline login --context {}", self.context))
                .exit(Exit::Usage)
        };
        let locked = Locked::acquire(&contexts::required_path()?).await?;
        let mut all = locked.read()?;
        let found = all.contexts.iter_mut().find(|context| context.name == self.context);
        let Some(tokens) = found.and_then(|context| context.oidc.as_mut()) else {
            return Err(again("another command has logged out"));
        };
        if tokens.expires > now.plus(AHEAD) {
            return Ok(tokens.clone());
        }
        let Some(refresh) = tokens.refresh_token.clone() else {
            return Err(again("it has expired, and the provider gave nothing to renew it with"));
        };
        let renewed = refreshed(tokens, &refresh, self.ca_file.clone()).await;
        let renewed = renewed.map_err(|error| match error {
            OidcError::Refused(word) => again(&format!("the provider refuses it: {word}")),
            OidcError::Unreachable(why) => CliError::new(what(), why),
            OidcError::Wrong(why) => again(why),
        })?;
        tokens.clone_from(&renewed);
        if let Err(error) = locked.write(&all) {
            // The provider takes the old refresh token no more.
            note!("{}", error.hint("this command goes on; afterwards log in again").lines());
        }
        Ok(renewed)
    }
}

async fn refreshed(
    tokens: &OidcTokens,
    refresh: &TokenText,
    ca_file: Option<PathBuf>,
) -> Result<OidcTokens, OidcError> {
    let provider = Provider::discover(&tokens.issuer, &tokens.client_id, ca_file).await?;
    provider.refresh(tokens, refresh).await
}
