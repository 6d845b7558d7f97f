//! Authenticates callers by their tokens: those of the configuration, by their hash, and those that an issuer signed.

mod access_reviews;
mod browsers;
mod claims;
mod config;
mod gate;
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
use super::outgoing;
use super::problem::{Problem, ProblemCode};
use super::request::Request;
use access_reviews::{AccessReviews, Ways};
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

pub use super::subject::{Permission, Subject, SubjectRules};
pub use access_reviews::{AccessQuestion, AccessReviewCounts, ListNamespaces, NAMESPACES_MAX, ReviewAccess};
pub use browsers::Begun;
pub use claims::{JobRules, Mapping, SubjectClaims, UserRules};
pub use issuer::{CommandLineLogin, Fetch, IssuerConfig, REFRESH, is_trustworthy};
pub use jws::Algorithm;
pub use login::{
    CALLBACK, ClientSecret, LOGIN_COOKIE, LoginConfig, LoginFailure, SESSION_COOKIE, TO_COOKIE, cookie,
    local_path,
};

pub use proxy::{Network, ProxyConfig, SubjectHeaders};
pub use reviewer::{Review, ReviewCounts, ReviewToken};
pub use service_accounts::{AccountGrant, ReviewConfig};

pub use config::{AccessConfig, EXPIRY_NOTICE, LocalAccess, TOKEN_PREFIX, TokenConfig, TokenHash};

/// Authenticates requests; the router does so before it reads anything else of them.
pub trait Gate {
    /// The caller of a request. Whoever decides who that is, or what they may read, is asked where it is not known.
    ///
    /// # Errors
    /// When the caller is not authenticated, and when somebody else decides that and cannot be asked.
    fn caller(&self, context: &Context) -> impl Future<Output = Result<Arc<Caller>, Problem>> + Send;

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
    access_reviews: AccessReviews,
    ways: Ways,
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
        let no_way = || std::future::ready(Err("there is no way to a cluster".to_owned()));
        let ways = Ways {
            review: Arc::new(move |_| no_way().boxed()),
            list: Arc::new(|_, _| std::future::ready(Ok(Vec::new())).boxed()),
            clock: Arc::clone(&clock),
        };
        Authenticator {
            loopback,
            clock,
            since,
            known,
            wrong: WrongTokens::default(),
            problem: Mutex::default(),
            fetch: Arc::new(|request| outgoing::send(request).boxed()),
            review: Arc::new(|_| std::future::ready(Err("there is no way to a cluster".to_owned())).boxed()),
            access_reviews: AccessReviews::default(),
            ways,
            browsers: Browsers::default(),
        }
    }

    /// The same, which has clusters review tokens in this way.
    #[must_use]
    pub fn with_reviews(self, review: ReviewToken) -> Self {
        Authenticator { review, ..self }
    }

    /// The same, which has clusters say in this way who may read in them, and knows in this one where environments look.
    #[must_use]
    pub fn with_access_reviews(self, review: ReviewAccess, list: ListNamespaces) -> Self {
        let ways = Ways { review, list, ..self.ways };
        Authenticator { ways, ..self }
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
        self.access_reviews.keep(&known.config.asked_clusters());
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

    /// Clusters that are asked who may read in them, each with whether it answered the last time, and how often it was asked.
    pub fn access_reviews(&self) -> Vec<(String, bool, AccessReviewCounts)> {
        let known = self.known();
        let of = |cluster: &str| {
            let (up, counts) = self.access_reviews.report(cluster);
            (cluster.to_owned(), up, counts)
        };
        known.config.asked_clusters().into_iter().map(of).collect()
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
        for issuer in gate::of_token(known, &token) {
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

/// What the caller of a request may see.
pub fn scope(request: &Request) -> Result<Scope, Problem> {
    Ok(scope_of(&request.caller))
}

/// The one place where callers become scopes.
fn scope_of(caller: &Caller) -> Scope {
    if caller.everything {
        return Scope::everything();
    }
    Scope::members(caller.member.clone()).with_places(caller.places.clone())
}
