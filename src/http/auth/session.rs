//! Sessions of browsers, in memory: a restart ends them, and nothing of them is ever on a disk.
//!
//! A browser holds a random id, and the server its hash with who it is. The id is made when a login succeeds and never before, so
//! nobody can have somebody else log in under an id of theirs.
//!
//! Why: docs/decisions/0033-sessions-live-in-memory.md.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;

use super::config::TokenHash;
use crate::http::caller::Caller;
use strandline_model::Timestamp;

/// How long a session lasts at most.
pub(super) const LONGEST: Duration = Duration::from_secs(12 * 3600);

/// How long it lasts without a request.
const IDLE: Duration = Duration::from_secs(3600);

/// How long it lasts where the issuer gives nothing to renew it with.
const UNRENEWED: Duration = Duration::from_secs(3600);

/// After so long the issuer is asked again who somebody is and what they may do.
const RENEW: Duration = Duration::from_secs(300);

/// For so long after that they are who they were, while the issuer cannot be reached.
const GRACE: Duration = Duration::from_secs(900);

/// How often it is tried again then.
const RETRY: Duration = Duration::from_secs(30);

/// Sessions there are at most; the one that was used least recently makes room for the next.
const SESSIONS_MAX: usize = 10_000;

/// A text that no log may have.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The sessions there are.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<TokenHash, Session>>);

#[derive(Debug)]
struct Session {
    caller: Arc<Caller>,
    /// Which entry of the configuration it comes from.
    issuer: String,
    began: Timestamp,
    used: Timestamp,
    renewed: Timestamp,
    tried: Timestamp,
    /// With what it is renewed.
    refresh: Option<Secret>,
}

impl Session {
    fn is_over(&self, now: Timestamp) -> bool {
        let unrenewed = if self.refresh.is_some() { RENEW + GRACE } else { UNRENEWED };
        self.began.plus(LONGEST) <= now || self.used.plus(IDLE) <= now || self.renewed.plus(unrenewed) <= now
    }
}

/// 256 random bits, as text.
pub(super) fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<TokenHash, Session>> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session of somebody; the id that their browser is to send.
    pub(super) fn begin(
        &self,
        caller: Caller,
        issuer: &str,
        refresh: Option<Secret>,
        now: Timestamp,
    ) -> Result<String, getrandom::Error> {
        let id = random()?;
        let mut sessions = self.lock();
        if sessions.len() >= SESSIONS_MAX {
            sessions.retain(|_, session| !session.is_over(now));
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used).map(|(hash, _)| *hash);
            if sessions.len() >= SESSIONS_MAX
                && let Some(oldest) = oldest
            {
                sessions.remove(&oldest);
            }
        }
        let caller = Caller { expires: Some(now.plus(LONGEST)), ..caller };
        let (caller, issuer) = (Arc::new(caller), issuer.to_owned());
        let session = Session { caller, issuer, began: now, used: now, renewed: now, tried: now, refresh };
        sessions.insert(TokenHash::of(&id), session);
        Ok(id)
    }

    /// Whose session an id is, if it is one that is not over.
    pub(super) fn caller(&self, id: &str, now: Timestamp) -> Option<Arc<Caller>> {
        let hash = TokenHash::of(id);
        let mut sessions = self.lock();
        let session = sessions.get_mut(&hash)?;
        if session.is_over(now) {
            sessions.remove(&hash);
            return None;
        }
        session.used = now;
        Some(Arc::clone(&session.caller))
    }

    /// With what a session is to be renewed now, if it is; whoever gets it does so, and nobody else for a while.
    pub(super) fn due(&self, id: &str, now: Timestamp) -> Option<(String, Secret)> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(&TokenHash::of(id)).filter(|session| !session.is_over(now))?;
        let refresh = session.refresh.clone()?;
        if session.renewed.plus(RENEW) > now || session.tried.plus(RETRY) > now {
            return None;
        }
        session.tried = now;
        Some((session.issuer.clone(), refresh))
    }

    /// Renews a session with what the issuer says now; another person's token ends it.
    pub(super) fn renew(&self, id: &str, caller: Caller, refresh: Secret, now: Timestamp) {
        let hash = TokenHash::of(id);
        let mut sessions = self.lock();
        let Some(session) = sessions.get_mut(&hash) else { return };
        if session.caller.name != caller.name {
            sessions.remove(&hash);
            return;
        }
        let caller = Caller { expires: session.caller.expires, ..caller };
        (session.caller, session.refresh, session.renewed) = (Arc::new(caller), Some(refresh), now);
    }

    /// Ends a session; with what it would have been renewed, and where.
    pub(super) fn end(&self, id: &str) -> Option<(String, Option<Secret>)> {
        let session = self.lock().remove(&TokenHash::of(id))?;
        Some((session.issuer, session.refresh))
    }

    /// Ends all of an entry of the configuration that is there no more, or is another.
    pub(super) fn keep_of(&self, issuers: &[&str]) {
        self.lock().retain(|_, session| issuers.contains(&session.issuer.as_str()));
    }

    /// How many there are.
    pub(super) fn count(&self, now: Timestamp) -> usize {
        self.lock().values().filter(|session| !session.is_over(now)).count()
    }
}
