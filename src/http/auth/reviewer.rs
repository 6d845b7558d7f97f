//! A cluster that says whose tokens are: its answers, kept for a short time, and how seldom it is asked.
//!
//! Whoever reaches the server can make up tokens that look like those of the cluster. So what is new is reviewed at a rate that
//! the cluster does not feel, in all and for each address. Tokens that were good a minute ago are reviewed apart from that: no
//! flood of others keeps their holders out.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use lru::LruCache;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::claims::{Refused, is_for};
use super::config::TokenHash;
use super::issuer::JwtRefusal;
use super::jws::Unverified;
use super::service_accounts::{ReviewConfig, ServiceAccount};
use super::session::Secret;
use crate::catalog::Rates;
use crate::http::caller::Caller;
use crate::http::places::neighbourhood;
use crate::http::problem::{Problem, ProblemCode};
use strandline_clock::Clock;
use strandline_model::Timestamp;

/// How long it is taken for granted that a token is good.
const GOOD: Duration = Duration::from_secs(60);

/// How long it is taken for granted that it is not.
const BAD: Duration = Duration::from_secs(30);

/// How much longer what is good lasts for a request that began before.
const SLACK: Duration = Duration::from_secs(5);

/// Tokens of which the cluster's answer is kept, good and bad ones apart; the one that was used least recently makes room.
const KEPT: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");

/// Reviews of new tokens at a time, in all and for an address.
const AT_A_TIME: usize = 8;
const AT_A_TIME_EACH: usize = 2;

/// Reviews of tokens that were good, at a time.
const RENEWALS: usize = 4;

/// New tokens that are reviewed within a minute, in all and for an address.
const PER_MINUTE: u64 = 600;
const PER_MINUTE_EACH: u64 = 60;

/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a cluster that did not answer is left alone.
const PAUSE: Duration = Duration::from_secs(1);

/// What a cluster is asked about a token.
#[derive(Clone, Debug)]
pub struct Review {
    /// The cluster.
    pub cluster: String,
    /// For whom the token has to be.
    pub audience: String,
    token: Secret,
}

impl Review {
    /// The token, which no log may have.
    pub fn token(&self) -> &str {
        &self.token.0
    }
}

/// Asks a cluster for the user name of whoever a token is of: none where it does not know it, and an error where it did not
/// decide.
pub type ReviewToken =
    Arc<dyn Fn(Review) -> BoxFuture<'static, Result<Option<String>, String>> + Send + Sync>;

/// How many reviews there were, by what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewCounts {
    /// The token was good.
    pub accepted: u64,
    /// It was not.
    pub refused: u64,
    /// The cluster did not decide.
    pub failed: u64,
    /// The cluster was not asked, because it is asked too often.
    pub limited: u64,
}

/// A cluster with what it said.
#[derive(Debug)]
pub(super) struct Reviewer {
    pub(super) config: ReviewConfig,
    decided: Mutex<Decided>,
    new: Semaphore,
    renewals: Semaphore,
    each: Mutex<LruCache<IpAddr, Arc<Semaphore>>>,
    rates: Rates,
}

#[derive(Debug)]
struct Decided {
    /// Who presents it, and until when that is taken for granted. One that is over was good the last time.
    good: LruCache<TokenHash, (Arc<Caller>, Timestamp)>,
    bad: LruCache<TokenHash, Timestamp>,
    problem: Option<String>,
    /// Until when the cluster is left alone.
    pause: Timestamp,
    counts: ReviewCounts,
}

/// The cluster whose a token is, by what it says of itself; none where it names no issuer of ours, and an error where it does,
/// and is for nobody or for several.
pub(super) fn reviewer_of<'r>(
    reviewers: &'r [Arc<Reviewer>],
    token: &Unverified<'_>,
) -> Option<Result<&'r Arc<Reviewer>, Refused>> {
    let issuer = token.issuer()?;
    let of_issuer: Vec<_> = reviewers.iter().filter(|reviewer| reviewer.config.issuer == issuer).collect();
    if of_issuer.is_empty() {
        return None;
    }
    let mut for_us = of_issuer.into_iter().filter(|reviewer| is_for(token, &reviewer.config.audience));
    Some(match (for_us.next(), for_us.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Refused::Because("it is for another audience")),
        (Some(_), Some(_)) => Err(Refused::Because("it is for several clusters")),
    })
}

/// A token to be reviewed, and how.
pub(super) struct Presented<'t> {
    pub(super) token: &'t str,
    pub(super) read: &'t Unverified<'t>,
    pub(super) peer: Option<IpAddr>,
    pub(super) review: &'t ReviewToken,
    pub(super) clock: &'t dyn Clock,
}

impl Reviewer {
    pub(super) fn new(config: ReviewConfig) -> Self {
        let decided = Decided {
            good: LruCache::new(KEPT),
            bad: LruCache::new(KEPT),
            problem: None,
            pause: Timestamp::from_micros(0),
            counts: ReviewCounts::default(),
        };
        Reviewer {
            config,
            decided: Mutex::new(decided),
            new: Semaphore::new(AT_A_TIME),
            renewals: Semaphore::new(RENEWALS),
            each: Mutex::new(LruCache::new(KEPT)),
            rates: Rates::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Decided> {
        // Nothing that can panic runs under this lock.
        self.decided.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the cluster decided the last time it was asked.
    pub(super) fn is_up(&self) -> bool {
        self.lock().problem.is_none()
    }

    pub(super) fn counts(&self) -> ReviewCounts {
        self.lock().counts
    }

    /// Who presents a token, by what the cluster said of it.
    pub(super) fn caller(
        &self,
        token: &str,
        read: &Unverified<'_>,
        now: Timestamp,
    ) -> Result<Arc<Caller>, JwtRefusal> {
        self.account(read, now)?;
        let hash = TokenHash::of(token);
        let mut decided = self.lock();
        if let Some((caller, until)) = decided.good.get(&hash)
            && until.plus(SLACK) > now
        {
            return Ok(Arc::clone(caller));
        }
        Err(if decided.is_bad(hash, now) { JwtRefusal::Unknown } else { JwtRefusal::Undecided })
    }

    /// Whose a token says that it is; nothing of it is proved yet.
    fn account(
        &self,
        read: &Unverified<'_>,
        now: Timestamp,
    ) -> Result<(ServiceAccount, Option<Timestamp>), JwtRefusal> {
        let (account, expires) = self.config.account(read, now).map_err(|refused| match refused {
            Refused::Because(reason) => JwtRefusal::Unproved(reason),
            expired @ Refused::Expired(_) => JwtRefusal::Refused(expired),
        })?;
        // Whose tokens are taken is not for everybody to know.
        if self.config.accepts(&account) { Ok((account, expires)) } else { Err(JwtRefusal::Unknown) }
    }

    /// Has the cluster decide about a token unless that is known, or no answer could make it good.
    ///
    /// # Errors
    /// `token_review_unavailable` where the cluster did not decide, and `too_many_requests` or `overloaded` where it was not
    /// asked.
    pub(super) async fn prepare(&self, presented: &Presented<'_>) -> Result<(), Problem> {
        let (hash, now) = (TokenHash::of(presented.token), presented.clock.now());
        let Ok((account, expires)) = self.account(presented.read, now) else { return Ok(()) };
        if self.lock().knows(hash, now) {
            return Ok(());
        }
        let was_good = self.lock().good.contains(&hash);
        let each = self.each_of(presented.peer);
        let turns = if was_good {
            turn(&self.renewals).await.map(|turn| (turn, None))
        } else {
            turns(&each, &self.new).await
        };
        let Some(_turns) = turns else {
            let detail = "too many new tokens are being reviewed; retry later";
            return Err(self.limited(ProblemCode::Overloaded, detail));
        };
        let now = presented.clock.now();
        {
            let decided = self.lock();
            // Somebody else may have asked meanwhile.
            if decided.knows(hash, now) {
                return Ok(());
            }
            if decided.pause > now {
                return Err(unavailable());
            }
        }
        if !was_good {
            self.take_turn(presented.peer)?;
        }
        let review = Review {
            cluster: self.config.cluster.clone(),
            audience: self.config.audience.clone(),
            token: Secret(presented.token.to_owned()),
        };
        let answer = (presented.review)(review).await;
        // What was found is as old as the question.
        self.decide(hash, &account, expires, answer, now)
    }

    fn each_of(&self, peer: Option<IpAddr>) -> Arc<Semaphore> {
        let mut each = self.each.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Semaphore::new(AT_A_TIME_EACH));
        Arc::clone(each.get_or_insert(client(peer), new))
    }

    /// Counts a new token against what an address, and all of them, may have reviewed.
    fn take_turn(&self, peer: Option<IpAddr>) -> Result<(), Problem> {
        if !self.rates.take(&client(peer).to_string(), PER_MINUTE_EACH) {
            let detail = "too many new tokens from this address; retry later";
            return Err(self.limited(ProblemCode::TooManyRequests, detail));
        }
        if !self.rates.take("", PER_MINUTE) {
            return Err(self.limited(ProblemCode::Overloaded, "too many new tokens; retry later"));
        }
        Ok(())
    }

    fn limited(&self, code: ProblemCode, detail: &str) -> Problem {
        self.lock().counts.limited += 1;
        Problem::new(code, detail)
    }

    fn decide(
        &self,
        hash: TokenHash,
        account: &ServiceAccount,
        expires: Option<Timestamp>,
        answer: Result<Option<String>, String>,
        now: Timestamp,
    ) -> Result<(), Problem> {
        let cluster = self.config.cluster.as_str();
        let mut decided = self.lock();
        let username = match answer {
            Ok(username) => username,
            Err(error) => {
                decided.counts.failed += 1;
                decided.pause = now.plus(PAUSE);
                if decided.problem.as_ref() != Some(&error) {
                    tracing::warn!(cluster, error, "reviewing a token failed; its holder is not let in");
                }
                decided.problem = Some(error);
                return Err(unavailable());
            }
        };
        if decided.problem.take().is_some() {
            tracing::info!(cluster, "tokens are reviewed again");
        }
        if username.is_some_and(|username| username == account.user()) {
            let caller = Arc::new(self.config.caller(account, expires));
            decided.counts.accepted += 1;
            decided.bad.pop(&hash);
            decided.good.put(hash, (caller, now.plus(GOOD)));
        } else {
            decided.counts.refused += 1;
            decided.good.pop(&hash);
            decided.bad.put(hash, now.plus(BAD));
        }
        Ok(())
    }
}

impl Decided {
    fn is_bad(&mut self, hash: TokenHash, now: Timestamp) -> bool {
        self.bad.get(&hash).is_some_and(|until| *until > now)
    }

    fn knows(&self, hash: TokenHash, now: Timestamp) -> bool {
        self.good.peek(&hash).is_some_and(|(_, until)| *until > now)
            || self.bad.peek(&hash).is_some_and(|until| *until > now)
    }
}

/// Whose share of the reviews a connection takes.
fn client(peer: Option<IpAddr>) -> IpAddr {
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), neighbourhood)
}

/// A turn, if it comes in time.
async fn turn(turns: &Semaphore) -> Option<SemaphorePermit<'_>> {
    tokio::time::timeout(PATIENCE, turns.acquire()).await.ok()?.ok()
}

/// The turn of an address and then one of those of all, so that no address waits with what others could have.
async fn turns<'t>(
    own: &'t Semaphore,
    all: &'t Semaphore,
) -> Option<(SemaphorePermit<'t>, Option<SemaphorePermit<'t>>)> {
    let own = turn(own).await?;
    Some((turn(all).await?, Some(own)))
}

fn unavailable() -> Problem {
    let detail = "the cluster that reviews the token cannot be asked at present; retry later";
    Problem::new(ProblemCode::TokenReviewUnavailable, detail)
}
