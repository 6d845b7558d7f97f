//! Browsers: who they are by the cookie of their session, and how they log in and out.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::Authenticator;
use super::issuer::Issuer;
use super::known::Known;
use super::login::{Attempt, LOGIN_COOKIE, LoginConfig, LoginFailure, SESSION_COOKIE, cookie};
use super::session::{Sessions, random};
use crate::http::caller::Caller;
use crate::http::context::Context;
use strandline_model::Timestamp;

/// Logins that are being completed at a time: each asks the issuer.
const COMPLETED_AT_A_TIME: usize = 8;

/// The sessions of browsers.
#[derive(Debug)]
pub(super) struct Browsers {
    sessions: Sessions,
    completing: Semaphore,
}

impl Default for Browsers {
    fn default() -> Self {
        Browsers { sessions: Sessions::default(), completing: Semaphore::new(COMPLETED_AT_A_TIME) }
    }
}

impl Browsers {
    /// Whose session the cookie of a request is.
    pub(super) fn caller(&self, context: &Context, now: Timestamp) -> Option<Arc<Caller>> {
        self.sessions.caller(cookie(&context.headers, SESSION_COOKIE)?, now)
    }

    /// Ends the sessions that come from an entry of the configuration that is there no more, or is another.
    pub(super) fn keep_of(&self, before: &Known, now: &Known) {
        let same = |issuer: &&Arc<Issuer>| before.issuers.iter().any(|one| one.config == issuer.config);
        let names: Vec<_> =
            now.issuers.iter().filter(same).map(|issuer| issuer.config.name.as_str()).collect();
        self.sessions.keep_of(&names);
    }
}

/// A login that began: what the browser keeps, and where it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Begun {
    /// The value of the cookie.
    pub cookie: String,
    /// The address of the issuer.
    pub url: String,
}

impl Authenticator {
    fn of_login(&self) -> Option<(Arc<Issuer>, LoginConfig)> {
        let known = self.known();
        known.issuers.iter().find_map(|issuer| Some((Arc::clone(issuer), issuer.config.login.clone()?)))
    }

    /// The name of the issuer at which browsers log in; none where they do not.
    pub fn login_name(&self) -> Option<String> {
        self.of_login().map(|(issuer, _)| issuer.config.name.clone())
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.browsers.sessions.count(self.clock.now())
    }

    /// Begins a login.
    ///
    /// # Errors
    /// When there is no login, or nothing is known of the issuer yet.
    pub fn begin_login(&self) -> Result<Begun, LoginFailure> {
        let (issuer, login) = self.of_login().ok_or(LoginFailure::Unavailable)?;
        let value = random().map_err(|_| LoginFailure::Unavailable)?;
        let url = issuer.authorization_url(&login, &Attempt(&value))?;
        Ok(Begun { cookie: value, url })
    }

    /// Completes a login with what the browser brought back; the id of its session.
    ///
    /// # Errors
    /// When it is not the login that this browser began, or the issuer does not confirm it.
    pub async fn complete_login(
        &self,
        context: &Context,
        state: &str,
        code: &str,
    ) -> Result<String, LoginFailure> {
        let (issuer, login) = self.of_login().ok_or(LoginFailure::Unavailable)?;
        let value = cookie(&context.headers, LOGIN_COOKIE).ok_or(LoginFailure::Stale)?;
        let attempt = Attempt(value);
        // Both are digests, so how long this takes reveals nothing of the value.
        if attempt.state() != state {
            return Err(LoginFailure::Stale);
        }
        let _completing = self.browsers.completing.try_acquire().map_err(|_| LoginFailure::Unavailable)?;
        let now = self.clock.now();
        let (caller, refresh) = issuer.redeem(&login, &attempt, code, &self.fetch, now).await?;
        // Who logs in again leaves nothing behind.
        self.log_out(context).await;
        tracing::info!(target: "audit", caller = caller.name, user = caller.user, trace_id = context.trace.as_str(), "login");
        let id = self.browsers.sessions.begin(caller, &issuer.config.name, refresh, now);
        id.map_err(|_| LoginFailure::Unavailable)
    }

    /// Renews the session of a request where it is time to.
    pub(super) async fn renew_session(&self, context: &Context) {
        let (Some(id), now) = (cookie(&context.headers, SESSION_COOKIE), self.clock.now()) else { return };
        let Some((name, refresh)) = self.browsers.sessions.due(id, now) else { return };
        let found = self.of_login().filter(|(issuer, _)| issuer.config.name == name);
        let Some((issuer, login)) = found else { return };
        match issuer.renew(&login, &refresh, &self.fetch, now).await {
            Ok((caller, Some(refresh))) => self.browsers.sessions.renew(id, caller, refresh, now),
            Ok((_, None)) => {}
            // While it cannot be asked, everybody is who they were, for a time.
            Err(LoginFailure::Unavailable) => tracing::warn!(issuer = name, "renewing a session failed"),
            Err(failure) => {
                tracing::info!(issuer = name, ?failure, "a session ended: the issuer does not renew it");
                self.browsers.sessions.end(id);
            }
        }
    }

    /// Ends the session of a request, here and where it comes from.
    pub async fn log_out(&self, context: &Context) {
        let Some(id) = cookie(&context.headers, SESSION_COOKIE) else { return };
        let Some((name, Some(refresh))) = self.browsers.sessions.end(id) else { return };
        let found = self.of_login().filter(|(issuer, _)| issuer.config.name == name);
        let Some((issuer, login)) = found else { return };
        if let Err(error) = issuer.revoke(&login, &refresh, &self.fetch).await {
            tracing::warn!(issuer = name, error, "revoking the refresh token of a session failed");
        }
    }
}
