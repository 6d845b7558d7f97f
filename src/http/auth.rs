//! Authenticates callers by their tokens: those of the configuration, by their hash, and those that an issuer signed.

mod browsers;
mod claims;
mod config;
mod issuer;
mod jws;
mod known;
mod login;
mod proxy;
mod report;
mod reviewer;
mod service_accounts;
mod session;
#[cfg(test)]
pub(crate) mod tests;
mod wrong;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::answer_cache::AnswerCache;
use super::caller::Caller;
use super::context::Context;
use super::credentials::{Presented, presented};
use super::outgoing;
use super::problem::{Problem, ProblemCode};
use super::request::Request;
use browsers::Browsers;
use claims::Refused;
use futures_util::FutureExt;
use issuer::{Issuer, JwtRefusal};
use jws::Unverified;
use known::Known;
use report::token_report;
use reviewer::{Reviewer, reviewer_of};
use strandline_clock::Clock;
use strandline_model::Timestamp;
use strandline_protocol::{LoginMethods, OidcLogin, TokensReport};
use strandline_query::{Scope, Stamp};
use strandline_sqlite::Asker;
use wrong::{Verdict, WrongTokens};

pub use browsers::Begun;
pub use claims::{JobRules, Mapping, UserRules};
pub use issuer::{CommandLineLogin, Fetch, IssuerConfig, REFRESH, is_trustworthy};
pub use jws::Algorithm;
pub use login::{
    CALLBACK, ClientSecret, LOGIN_COOKIE, LoginConfig, LoginFailure, SESSION_COOKIE, TO_COOKIE, cookie,
    local_path,
};

pub use proxy::{Network, ProxyConfig};
pub use reviewer::{Review, ReviewCounts, ReviewToken};
pub use service_accounts::{AccountGrant, ReviewConfig};

pub use config::{AccessConfig, EXPIRY_NOTICE, LocalAccess, TOKEN_PREFIX, TokenConfig, TokenHash};

/// Authenticates requests; the router does so before it reads anything else of them.
pub trait Gate {
    /// Gets what is needed to authenticate the caller of a request and is not there yet, such as the key that signed a token.
    ///
    /// # Errors
    /// When somebody else decides who the caller is, and cannot be asked.
    fn prepare(&self, _context: &Context) -> impl Future<Output = Result<(), Problem>> + Send {
        std::future::ready(Ok(()))
    }

    /// The caller of a request.
    ///
    /// # Errors
    /// When the caller is not authenticated.
    fn caller(&self, context: &Context) -> Result<Arc<Caller>, Problem>;

    /// Counts a write against the rate limit of its caller.
    ///
    /// # Errors
    /// `write_rate_exceeded`.
    fn count_write(&self, _caller: &Caller) -> Result<(), Problem> {
        Ok(())
    }

    /// Reads the clock, once for all that a request asks.
    fn now(&self) -> Timestamp;

    /// The same on behalf of somebody, who gets a share of it where it is shared, and for whom it is this time.
    fn serving(self, _asker: &Asker, _now: Timestamp) -> Self
    where
        Self: Sized,
    {
        self
    }

    /// The answers that may be given again, with the stamp that they have to have; none where none are kept.
    fn answers(&self, _now: Timestamp) -> Option<(AnswerCache, Stamp)> {
        None
    }

    /// Whether reads are audited.
    fn audits_reads(&self) -> bool {
        false
    }
}

/// The tokens that are known, and whether only this machine can reach the server.
pub struct Authenticator {
    loopback: bool,
    clock: Arc<dyn Clock>,
    since: Timestamp,
    known: RwLock<Arc<Known>>,
    wrong: WrongTokens,
    problem: Mutex<Option<&'static str>>,
    fetch: Fetch,
    review: ReviewToken,
    browsers: Browsers,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator").field("loopback", &self.loopback).finish_non_exhaustive()
    }
}

impl Authenticator {
    /// By this configuration; `loopback` says that the server listens on a loopback address.
    pub fn new(config: AccessConfig, loopback: bool, clock: Arc<dyn Clock>) -> Self {
        let (since, known) = (clock.now(), RwLock::new(Arc::new(Known::new(config, loopback, None))));
        Authenticator {
            loopback,
            clock,
            since,
            known,
            wrong: WrongTokens::default(),
            problem: Mutex::default(),
            fetch: Arc::new(|request| outgoing::send(request).boxed()),
            review: Arc::new(|_| std::future::ready(Err("there is no way to a cluster".to_owned())).boxed()),
            browsers: Browsers::default(),
        }
    }

    /// The same, which has clusters review tokens in this way.
    #[must_use]
    pub fn with_reviews(self, review: ReviewToken) -> Self {
        Authenticator { review, ..self }
    }

    /// The same, which gets the keys of issuers in this way.
    #[cfg(test)]
    pub(crate) fn with_fetch(self, fetch: Fetch) -> Self {
        Authenticator { fetch, ..self }
    }

    /// Replaces the configuration. Tokens that are in both keep their counts; where there were tokens,
    /// everybody goes on needing one, should there be none left.
    pub fn replace(&self, config: AccessConfig) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = Arc::clone(&known);
        *known = Arc::new(Known::new(config, self.loopback, Some(&*before)));
        self.browsers.keep_of(&before, &known);
        drop(known);
        self.report_problem(None);
    }

    /// The configuration in use.
    pub fn config(&self) -> AccessConfig {
        self.known().config.clone()
    }

    /// Why the configuration could not be read again, or that it could; what was known before goes on.
    pub fn report_problem(&self, problem: Option<&'static str>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// Why the configuration could not be read again.
    pub fn problem(&self) -> Option<&'static str> {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many wrong tokens were refused, and how many were asked to wait.
    pub fn wrong_tokens(&self) -> (u64, u64) {
        self.wrong.counts()
    }

    /// The tokens and how they were used.
    pub fn report(&self) -> TokensReport {
        let (known, now) = (self.known(), self.clock.now());
        let items = known.config.tokens.iter().filter_map(|config| {
            let token = known.find(config.hash)?;
            Some(token_report(config, token.used(), token.has_expired(now)))
        });
        TokensReport { items: items.collect(), since: self.since, problem: self.problem().map(str::to_owned) }
    }

    /// How the command line logs in, which whoever reaches the server may know.
    pub fn login_methods(&self) -> LoginMethods {
        let of_command_line = |issuer: &Arc<Issuer>| {
            let login = issuer.config.command_line.as_ref()?;
            let scopes = ["openid".to_owned()].into_iter().chain(login.scopes.iter().cloned());
            Some(OidcLogin {
                issuer: issuer.config.issuer.clone(),
                client_id: login.client_id.clone(),
                scopes: scopes.collect(),
                redirect_port: login.redirect_port,
            })
        };
        LoginMethods { oidc: self.known().issuers.iter().find_map(of_command_line) }
    }

    /// Fetches the keys of all issuers.
    pub async fn refresh_issuers(&self) {
        for issuer in &self.known().issuers {
            issuer.refresh(&self.fetch, self.clock.now()).await;
        }
    }

    /// Issuers whose keys could not be fetched the last time.
    pub fn issuer_problems(&self) -> Vec<String> {
        let known = self.known();
        let failed = known.issuers.iter().filter(|issuer| issuer.problem().is_some());
        failed.map(|issuer| issuer.config.name.clone()).collect()
    }

    /// Clusters that review tokens, each with whether the last review succeeded, and how many there were.
    pub fn reviews(&self) -> Vec<(String, bool, ReviewCounts)> {
        let known = self.known();
        let of =
            |reviewer: &Arc<Reviewer>| (reviewer.config.cluster.clone(), reviewer.is_up(), reviewer.counts());
        known.reviewers.iter().map(of).collect()
    }

    /// Who holds a signed token; none where it is none of an issuer or a cluster of ours.
    ///
    /// Several entries may have one issuer, and the first that takes a token decides; else what is said is said by the one
    /// that came closest.
    fn holder(known: &Known, text: &str, now: Timestamp) -> Option<Result<Arc<Caller>, JwtRefusal>> {
        let token = Unverified::read(text)?;
        match reviewer_of(&known.reviewers, &token) {
            Some(Ok(reviewer)) => return Some(reviewer.caller(text, &token, now)),
            Some(Err(Refused::Because(reason))) => return Some(Err(JwtRefusal::Unproved(reason))),
            Some(Err(refused)) => return Some(Err(JwtRefusal::Refused(refused))),
            None => {}
        }
        let mut refusal = None;
        for issuer in of_token(known, &token) {
            match issuer.caller(&token, now) {
                Ok(caller) => return Some(Ok(Arc::new(caller))),
                Err(JwtRefusal::Unknown) => {}
                Err(other) => refusal = Some(other),
            }
        }
        refusal.map(Err)
    }

    /// Refuses a token that an issuer of ours signed, or may have.
    fn refuse_signed(&self, context: &Context, refusal: JwtRefusal, now: Timestamp) -> Problem {
        let peer = context.peer.map(|peer| peer.to_string());
        let trace_id = context.trace.as_str();
        match refusal {
            JwtRefusal::Unknown => self.refuse(context, now),
            JwtRefusal::Unproved(reason) => {
                let problem = self.refuse(context, now);
                let counted = problem.code != ProblemCode::Unauthorized;
                let detail = format!("the token is refused: {reason}");
                if counted { problem } else { Problem { detail, ..problem } }
            }
            JwtRefusal::Undecided => {
                let detail = "the cluster has not reviewed the token yet; retry";
                Problem::new(ProblemCode::TokenReviewUnavailable, detail)
            }
            JwtRefusal::NoKeys => {
                let detail =
                    "the signing keys of the token's issuer cannot be fetched at present; retry later";
                Problem::new(ProblemCode::Overloaded, detail)
            }
            JwtRefusal::Refused(Refused::Expired(expires)) => {
                tracing::debug!(peer, trace_id, "a signed token has expired");
                let detail = format!("the token expired at {expires}; request a new one");
                Problem::new(ProblemCode::TokenExpired, detail)
            }
            JwtRefusal::Refused(Refused::Because(reason)) => {
                // The answer says why; whoever has an account at the issuer could fill the log.
                tracing::debug!(peer, trace_id, reason, "a signed token is refused");
                Problem::new(ProblemCode::Unauthorized, format!("the token is refused: {reason}"))
            }
        }
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Refuses an unknown token.
    fn refuse(&self, context: &Context, now: Timestamp) -> Problem {
        let peer = context.peer.map(|peer| peer.to_string());
        let trace_id = context.trace.as_str();
        match self.wrong.count(context.peer.map(|peer| peer.ip()), now) {
            Verdict::Refuse => {
                tracing::warn!(peer, trace_id, "unknown token presented");
                Problem::new(ProblemCode::Unauthorized, "unknown token")
            }
            Verdict::Wait { wait, first } => {
                // One line for all: thousands of unknown tokens must not fill the log.
                if first {
                    let seconds = wait.as_secs();
                    tracing::warn!(
                        peer,
                        trace_id,
                        seconds,
                        "too many unknown tokens; further ones are not logged"
                    );
                }
                let detail = format!(
                    "too many unknown tokens from this address; retry in {} s with a valid token",
                    wait.as_secs()
                );
                Problem::new(ProblemCode::TooManyWrongTokens, detail).retry_after(wait)
            }
        }
    }
}

/// The issuers of which a token may be.
fn of_token<'k>(known: &'k Known, token: &Unverified<'_>) -> impl Iterator<Item = &'k Arc<Issuer>> {
    let issuer = token.issuer();
    known.issuers.iter().filter(move |one| Some(&one.config.issuer) == issuer.as_ref())
}

impl Gate for Authenticator {
    async fn prepare(&self, context: &Context) -> Result<(), Problem> {
        let known = self.known();
        if known.issuers.is_empty() && known.reviewers.is_empty() {
            return Ok(());
        }
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
        for issuer in of_token(&known, &token) {
            issuer.prepare(&token, &self.fetch, self.clock.now()).await;
        }
        Ok(())
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The one place that authenticates.
    ///
    /// Without configured tokens it is somebody on this machine where only that can reach the server. Once there are tokens,
    /// who presents one is who it says, and who presents none is refused, unless the configuration lets this machine in.
    ///
    /// # Errors
    /// `unauthorized` without a token where one is needed, and with one that is not known; `token_expired`;
    /// `too_many_wrong_tokens`; `token_review_unavailable`.
    fn caller(&self, context: &Context) -> Result<Arc<Caller>, Problem> {
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

    fn audits_reads(&self) -> bool {
        self.known().config.audit_reads
    }
}

/// What the caller of a request may see.
pub fn scope(request: &Request) -> Result<Scope, Problem> {
    Ok(scope_of(&request.caller))
}

/// The one place where callers become scopes.
fn scope_of(caller: &Caller) -> Scope {
    if caller.everything {
        return Scope::everything();
    }
    Scope::members(caller.member.clone())
}
