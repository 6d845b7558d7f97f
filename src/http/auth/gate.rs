//! How a request is authenticated.

use std::sync::Arc;

use super::config::TokenHash;
use super::issuer::Issuer;
use super::jws::Unverified;
use super::known::Known;
use super::reviewer::{self, reviewer_of};
use super::{Authenticator, Gate};
use crate::http::caller::Caller;
use crate::http::context::Context;
use crate::http::credentials::{Presented, presented};
use crate::http::problem::{Problem, ProblemCode};
use strandline_model::Timestamp;

impl Gate for Authenticator {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn caller(&self, context: &Context) -> Result<Arc<Caller>, Problem> {
        let known = self.known();
        if !known.issuers.is_empty() || !known.reviewers.is_empty() {
            self.prepare(&known, context).await?;
        }
        let caller = self.authenticated(context)?;
        let Some(subject) = &caller.subject else { return Ok(caller) };
        let places = self.access_reviews.places(subject, &self.ways).await;
        Ok(Arc::new(Caller { places, ..(*caller).clone() }))
    }

    fn audits_reads(&self) -> bool {
        self.known().config.audit_reads
    }
}

impl Authenticator {
    /// Gets what is needed to authenticate the caller and is not there yet, such as the key that signed a token.
    async fn prepare(&self, known: &Known, context: &Context) -> Result<(), Problem> {
        let text = match presented(&context.headers) {
            Presented::Token(token) => token,
            Presented::Nothing => {
                self.renew_session(context).await;
                return Ok(());
            }
            Presented::Unreadable => return Ok(()),
        };
        let Some(token) = Unverified::read(&text) else { return Ok(()) };
        if let Some(reviewer) = reviewer_of(&known.reviewers, &token) {
            let Ok(reviewer) = reviewer else { return Ok(()) };
            let (peer, review) = (context.peer.map(|peer| peer.ip()), &self.review);
            let clock = &*self.clock;
            let presented = reviewer::Presented { token: &text, read: &token, peer, review, clock };
            return reviewer.prepare(&presented).await;
        }
        for issuer in of_token(known, &token) {
            issuer.prepare(&token, &self.fetch, self.clock.now()).await;
        }
        Ok(())
    }

    /// The one place that authenticates, by what is known; what the caller may read by the word of clusters is not in it.
    ///
    /// Without configured tokens it is somebody on this machine where only that can reach the server. Once there are tokens,
    /// who presents one is who it says, and who presents none is refused, unless the configuration lets this machine in.
    ///
    /// # Errors
    /// `unauthorized` without a token where one is needed, and with one that is not known; `token_expired`;
    /// `too_many_wrong_tokens`; `token_review_unavailable`.
    pub fn authenticated(&self, context: &Context) -> Result<Arc<Caller>, Problem> {
        let known = self.known();
        let token = match presented(&context.headers) {
            Presented::Token(token) if known.guarded => Some(token),
            Presented::Unreadable if known.guarded => None,
            presented => {
                let unnamed = presented == Presented::Nothing && known.guarded;
                if let Some(proxy) = known.config.proxy.as_ref().filter(|_| unnamed) {
                    match proxy.caller(context) {
                        Ok(Some(caller)) => return Ok(Arc::new(caller)),
                        Ok(None) => {}
                        Err(reason) => return Err(Problem::new(ProblemCode::Unauthorized, reason)),
                    }
                }
                if let Some(caller) =
                    unnamed.then(|| self.browsers.caller(context, self.clock.now())).flatten()
                {
                    return Ok(caller);
                }
                let detail = "this request needs a token; send it as `Authorization: Bearer`, or as the password of Basic authentication";
                let can_log_in = known.issuers.iter().any(|issuer| issuer.config.login.is_some());
                let refused = || Problem { can_log_in, ..Problem::new(ProblemCode::Unauthorized, detail) };
                return known.without.clone().ok_or_else(refused);
            }
        };
        let now = self.clock.now();
        let found = token.as_ref().and_then(|token| known.find(TokenHash::of(token)));
        let Some(token) = found else {
            let holder = token.as_ref().and_then(|token| Authenticator::holder(&known, token, now));
            return match holder {
                Some(Ok(caller)) => Ok(caller),
                Some(Err(refusal)) => Err(self.refuse_signed(context, refusal, now)),
                None => Err(self.refuse(context, now)),
            };
        };
        let name = token.caller.name.as_str();
        if let Some(expires) = token.expires.filter(|_| token.has_expired(now)) {
            let peer = context.peer.map(|peer| peer.to_string());
            tracing::warn!(peer, trace_id = context.trace.as_str(), token = name, "a token has expired");
            let detail = format!("the token `{name}` expired at {expires}; request a new one");
            return Err(Problem::new(ProblemCode::TokenExpired, detail));
        }
        token.use_it(now, context.peer.map(|peer| peer.ip()));
        Ok(Arc::clone(&token.caller))
    }
}

/// The issuers of which a token may be.
pub(super) fn of_token<'k>(
    known: &'k Known,
    token: &Unverified<'_>,
) -> impl Iterator<Item = &'k Arc<Issuer>> {
    let issuer = token.issuer();
    known.issuers.iter().filter(move |one| Some(&one.config.issuer) == issuer.as_ref())
}
