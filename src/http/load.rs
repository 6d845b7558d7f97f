//! What answering takes at the moment, in all and for each who asks, and the most that it may.
//!
//! Bytes of requests and of answers are counted from when they are there until the caller has taken the answer, so what is
//! counted is what callers can make the server hold.
//!
//! Why: docs/decisions/0020-one-caller-cannot-take-the-server.md.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::caller::Caller;
use super::places::{Places, neighbourhood};
use super::problem::{Problem, ProblemCode};
use strandline_sqlite::Asker;

/// The most that may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadLimits {
    /// Requests of one who asks.
    pub requests_each: usize,
    /// Streams of all.
    pub streams: usize,
    /// Streams of one who asks.
    pub streams_each: usize,
    /// Bytes of all.
    pub bytes: usize,
    /// Bytes of one who asks.
    pub bytes_each: usize,
    /// Connections of all, beside those in reserve.
    pub connections: usize,
    /// Connections of one address.
    pub connections_each: usize,
    /// Connections beyond these, which get probes and metrics; the oldest makes room for the next.
    pub reserve: usize,
}

impl Default for LoadLimits {
    fn default() -> Self {
        LoadLimits {
            requests_each: 64,
            streams: 768,
            streams_each: 32,
            bytes: 128 * 1024 * 1024,
            bytes_each: 64 * 1024 * 1024,
            connections: 1024,
            connections_each: 512,
            reserve: 64,
        }
    }
}

/// What is under way now; clones share it.
#[derive(Clone, Debug)]
pub struct Load {
    limits: LoadLimits,
    requests: Arc<Mutex<Requests>>,
    pub(super) places: Places,
}

#[derive(Debug, Default)]
struct Requests {
    bytes: usize,
    streams: usize,
    streams_refused: u64,
    by: HashMap<Asker, Share>,
}

/// What one who asks has under way.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    requests: usize,
    streams: usize,
    bytes: usize,
}

/// What is under way, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadCounts {
    /// Requests that were let in and whose answers were not taken yet.
    pub requests: usize,
    /// Streams that are open.
    pub streams: usize,
    /// Bytes of these and of their answers.
    pub bytes: usize,
    /// Connections that may ask for everything.
    pub connections: usize,
    /// Connections that get probes and metrics only.
    pub reserve: usize,
    /// Connections that came when there was no place but in the reserve, since the start.
    pub connections_refused: u64,
    /// Streams that were refused because too many are open, since the start.
    pub streams_refused: u64,
}

impl Default for Load {
    fn default() -> Self {
        Load::new(LoadLimits::default())
    }
}

impl Load {
    /// With these limits.
    pub fn new(limits: LoadLimits) -> Self {
        let places = Places::new(limits.connections, limits.connections_each, limits.reserve);
        Load { limits, requests: Arc::default(), places }
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        // Plain numbers; nothing that can panic runs under this lock.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much it is.
    pub fn counts(&self) -> LoadCounts {
        let (connections, reserve, connections_refused) = self.places.counts();
        let held = self.lock();
        let requests = held.by.values().map(|share| share.requests).sum();
        let Requests { streams, streams_refused, bytes, .. } = *held;
        LoadCounts { requests, streams, bytes, connections, reserve, connections_refused, streams_refused }
    }
}

/// What one request takes; clones share it, and with the last of them it is given back. Without a [`Load`] it is not
/// counted, and neither is what nobody was let in for, such as a probe.
#[derive(Clone, Debug, Default)]
pub struct Account(Option<Arc<Opened>>);

#[derive(Debug)]
struct Opened {
    load: Load,
    taken: Mutex<Option<Taken>>,
}

#[derive(Debug)]
struct Taken {
    asker: Asker,
    is_stream: bool,
    bytes: usize,
}

impl Account {
    pub(super) fn of(load: &Load) -> Self {
        Account(Some(Arc::new(Opened { load: load.clone(), taken: Mutex::default() })))
    }

    /// Lets a request of somebody in.
    ///
    /// # Errors
    /// `too_many_requests` when they have as many under way as one may have.
    pub(super) fn enter(&self, asker: &Asker) -> Result<(), Problem> {
        let Some(opened) = &self.0 else { return Ok(()) };
        let most = opened.load.limits.requests_each;
        let mut requests = opened.load.lock();
        let share = requests.by.get(asker).copied().unwrap_or_default();
        if share.requests >= most {
            let detail = format!("you have reached the limit of {most} concurrent requests; retry later");
            return Err(Problem::new(ProblemCode::TooManyRequests, detail));
        }
        requests.by.insert(Arc::clone(asker), Share { requests: share.requests + 1, ..share });
        *opened.lock() = Some(Taken { asker: Arc::clone(asker), is_stream: false, bytes: 0 });
        Ok(())
    }

    /// Goes on as a stream, which lasts: it counts among the streams and no longer among the requests under way.
    ///
    /// # Errors
    /// `too_many_requests` when who asks has as many open as one may have, and `overloaded` when all have.
    pub fn become_stream(&self) -> Result<(), Problem> {
        let Some(opened) = &self.0 else { return Ok(()) };
        let limits = opened.load.limits;
        let mut requests = opened.load.lock();
        let mut taken = opened.lock();
        let Some(taken) = taken.as_mut().filter(|taken| !taken.is_stream) else { return Ok(()) };
        let open = requests.by.get(&taken.asker).map_or(0, |share| share.streams);
        requests.streams_refused +=
            u64::from(open >= limits.streams_each || requests.streams >= limits.streams);
        if open >= limits.streams_each {
            let detail = format!("you have reached the limit of {} open streams", limits.streams_each);
            return Err(Problem::new(ProblemCode::TooManyRequests, detail));
        }
        if requests.streams >= limits.streams {
            let detail = format!("the limit of {} open streams is reached; retry later", limits.streams);
            return Err(Problem::new(ProblemCode::Overloaded, detail));
        }
        requests.streams += 1;
        taken.is_stream = true;
        if let Some(share) = requests.by.get_mut(&taken.asker) {
            share.requests -= 1;
            share.streams += 1;
        }
        Ok(())
    }

    /// Counts bytes that the server has to hold for the request.
    ///
    /// # Errors
    /// `too_many_requests` when who asks has taken as many as one may, and `overloaded` when all have. The bytes of a
    /// single request always fit, if nothing else is there.
    pub(super) fn take(&self, bytes: usize) -> Result<(), Problem> {
        let Some(opened) = &self.0 else { return Ok(()) };
        let mut requests = opened.load.lock();
        let mut taken = opened.lock();
        let Some(taken) = taken.as_mut() else { return Ok(()) };
        let limits = opened.load.limits;
        let fits = |there: usize, most: usize| there == taken.bytes || there + bytes <= most;
        let share = requests.by.get(&taken.asker).copied().unwrap_or_default();
        if !fits(share.bytes, limits.bytes_each) {
            let detail = "your concurrent requests and responses have reached the size limit; retry later";
            return Err(Problem::new(ProblemCode::TooManyRequests, detail));
        }
        if !fits(requests.bytes, limits.bytes) {
            let detail = "concurrent requests have reached the memory limit; retry later";
            return Err(Problem::new(ProblemCode::Overloaded, detail));
        }
        requests.add(taken, bytes);
        Ok(())
    }

    /// Counts bytes without refusing them, for what is small, or cannot be taken back.
    pub(super) fn add(&self, bytes: usize) {
        let Some(opened) = &self.0 else { return };
        let mut requests = opened.load.lock();
        if let Some(taken) = opened.lock().as_mut() {
            requests.add(taken, bytes);
        }
    }
}

impl Requests {
    fn add(&mut self, taken: &mut Taken, bytes: usize) {
        self.bytes += bytes;
        taken.bytes += bytes;
        if let Some(share) = self.by.get_mut(&taken.asker) {
            share.bytes += bytes;
        }
    }
}

impl Opened {
    fn lock(&self) -> MutexGuard<'_, Option<Taken>> {
        // As above.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let Some(taken) = self.lock().take() else { return };
        let mut requests = self.load.lock();
        requests.bytes -= taken.bytes;
        requests.streams -= usize::from(taken.is_stream);
        let Some(share) = requests.by.get_mut(&taken.asker) else { return };
        share.requests -= usize::from(!taken.is_stream);
        share.streams -= usize::from(taken.is_stream);
        share.bytes -= taken.bytes;
        if share.requests + share.streams == 0 {
            requests.by.remove(&taken.asker);
        }
    }
}

/// Whose share a request takes: that of a token, or where there is none that of everybody at one address.
pub(super) fn asker(caller: &Caller, peer: Option<IpAddr>) -> Asker {
    let nameless = caller.name.starts_with('(');
    match peer.filter(|_| nameless) {
        Some(peer) => format!("{} {}", caller.name, neighbourhood(peer)).into(),
        None => caller.name.as_str().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(requests_each: usize, bytes: usize, bytes_each: usize) -> Load {
        Load::new(LoadLimits { requests_each, bytes, bytes_each, ..LoadLimits::default() })
    }

    fn entered(load: &Load, asker: &str) -> Result<Account, ProblemCode> {
        let account = Account::of(load);
        account.enter(&asker.into()).map_err(|problem| problem.code)?;
        Ok(account)
    }

    #[test]
    fn one_who_asks_for_much_is_refused_and_others_are_not() {
        let load = load(2, 100, 60);
        let take = |account: &Account, bytes| account.take(bytes).map_err(|problem| problem.code);
        let first = entered(&load, "much").expect("let in");
        let second = entered(&load, "much").expect("let in");
        assert_eq!(entered(&load, "much").err(), Some(ProblemCode::TooManyRequests));
        let other = entered(&load, "other").expect("let in");
        assert_eq!(take(&first, 50), Ok(()));
        assert_eq!(take(&second, 11), Err(ProblemCode::TooManyRequests), "the share of one is 60");
        assert_eq!(take(&other, 51), Err(ProblemCode::Overloaded), "and of all 100");
        assert_eq!(take(&other, 50), Ok(()));
        assert_eq!(load.counts().bytes, 100);
        drop((first, second));
        assert_eq!((load.counts().bytes, load.counts().requests), (50, 1));
        drop(other.clone());
        assert_eq!(load.counts().requests, 1, "it lasts as long as anything of it");
        drop(other);
        assert_eq!(load.counts(), LoadCounts::default());
        assert!(load.lock().by.is_empty(), "nothing is kept of who is gone");
    }

    #[test]
    fn a_stream_leaves_the_requests_and_has_limits_of_its_own() {
        let limits = LoadLimits { requests_each: 1, streams: 3, streams_each: 2, ..LoadLimits::default() };
        let load = Load::new(limits);
        let stream = |asker: &str| {
            let account = entered(&load, asker)?;
            account.become_stream().map_err(|problem| problem.code)?;
            Ok::<_, ProblemCode>(account)
        };
        let open = [stream("much").expect("a stream"), stream("much").expect("a stream")];
        assert_eq!(open[0].become_stream().map_err(|problem| problem.code), Ok(()), "it is one already");
        assert_eq!(stream("much").err(), Some(ProblemCode::TooManyRequests));
        let request = entered(&load, "much").expect("a request beside its streams");
        let other = stream("other").expect("a stream");
        assert_eq!(stream("third").err(), Some(ProblemCode::Overloaded));
        assert_eq!((load.counts().streams, load.counts().requests), (3, 1));
        drop((open, request, other));
        assert_eq!(load.counts(), LoadCounts { streams_refused: 2, ..LoadCounts::default() });
        assert!(load.lock().by.is_empty(), "nothing is kept of who is gone");
    }

    #[test]
    fn a_single_request_may_be_larger_than_all_of_them_together() {
        let load = load(2, 100, 60);
        let large = entered(&load, "one").expect("let in");
        assert!(large.take(30).is_ok() && large.take(1000).is_ok());
        let next = entered(&load, "one").expect("let in");
        assert_eq!(next.take(1).map_err(|problem| problem.code), Err(ProblemCode::TooManyRequests));
    }

    #[test]
    fn who_has_no_token_shares_with_their_neighbours() {
        let peer = |text: &str| text.parse::<IpAddr>().ok();
        let anyone = Caller::anyone();
        assert_eq!(asker(&anyone, peer("10.0.0.1")), asker(&anyone, peer("::ffff:10.0.0.1")));
        assert_ne!(asker(&anyone, peer("10.0.0.1")), asker(&anyone, peer("10.0.0.2")));
        assert_eq!(asker(&anyone, peer("2001:db8::1")), asker(&anyone, peer("2001:db8::2")));
        assert_ne!(asker(&anyone, peer("2001:db8:0:1::1")), asker(&anyone, peer("2001:db8:0:2::1")));
        assert_eq!(asker(&anyone, peer("127.0.0.1")), asker(&anyone, peer("::1")));
        let token = Caller { name: "ci".into(), ..anyone };
        assert_eq!(asker(&token, peer("10.0.0.1")), asker(&token, peer("10.0.0.2")));
    }
}
