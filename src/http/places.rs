//! Places for connections: ordinary ones, of which an address has a share, and a few more for probes and metrics.
//!
//! Whoever connects is accepted, so that a probe is never behind callers that stay away. Where no ordinary place is left, the
//! connection that has done nothing for longest makes room. Where all are busy, the oldest connection of the reserve does: a
//! probe asks at once, and who does not has no business there.
//!
//! Why: docs/decisions/0020-one-caller-cannot-take-the-server.md.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Places, taken and free; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Ordinary places there are.
    all: usize,
    /// Ordinary places that one address may have.
    each: usize,
    /// Places in reserve.
    reserve: usize,
    ordinary: HashMap<u64, Held>,
    by: HashMap<IpAddr, usize>,
    /// The oldest first.
    reserved: VecDeque<(u64, CancellationToken)>,
    refused: u64,
    /// Places that were given away, which numbers them.
    given: u64,
    /// Counts the rests of all connections, so that the longest is that of the lowest number.
    rests: Arc<AtomicU64>,
}

/// An ordinary place that is taken.
#[derive(Debug)]
struct Held {
    peer: IpAddr,
    rest: Rest,
    cut: CancellationToken,
}

/// Whether a connection does nothing, between an answer and the next request; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    /// Which of all rests it is; 0 while the connection is busy.
    number: Arc<AtomicU64>,
    all: Arc<AtomicU64>,
}

impl Rest {
    /// The connection does nothing from now on.
    pub(super) fn begin(&self) {
        let number = self.all.fetch_add(1, Ordering::Relaxed) + 1;
        self.number.store(number, Ordering::Relaxed);
    }

    /// The connection is busy again.
    pub(super) fn end(&self) {
        self.number.store(0, Ordering::Relaxed);
    }

    fn number(&self) -> Option<u64> {
        Some(self.number.load(Ordering::Relaxed)).filter(|number| *number > 0)
    }
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    kind: Kind,
    number: u64,
    /// Tells when the connection does nothing.
    pub(super) rest: Rest,
    /// Says that the connection is to end.
    pub(super) cut: CancellationToken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ordinary,
    Reserved,
}

impl Place {
    /// Whether only probes and metrics are answered there.
    pub(super) fn is_reserved(&self) -> bool {
        self.kind == Kind::Reserved
    }
}

impl Places {
    pub(super) fn new(all: usize, each: usize, reserve: usize) -> Self {
        let reserve = reserve.max(1);
        Places(Arc::new(Mutex::new(State { all, each, reserve, ..State::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for who connects; `abort` ends all of them.
    pub(super) fn take(&self, peer: IpAddr, abort: &CancellationToken) -> Place {
        let (peer, cut) = (neighbourhood(peer), abort.child_token());
        let mut state = self.lock();
        state.given += 1;
        let (number, rest) = (state.given, Rest { all: Arc::clone(&state.rests), ..Rest::default() });
        let kind = if state.has_room(peer) || state.make_room(peer) {
            *state.by.entry(peer).or_default() += 1;
            state.ordinary.insert(number, Held { peer, rest: rest.clone(), cut: cut.clone() });
            Kind::Ordinary
        } else {
            state.refused += 1;
            while state.reserved.len() >= state.reserve
                && let Some((_, oldest)) = state.reserved.pop_front()
            {
                oldest.cancel();
            }
            state.reserved.push_back((number, cut.clone()));
            Kind::Reserved
        };
        Place { places: self.clone(), kind, number, rest, cut }
    }

    /// Connections with an ordinary place, in reserve, and how many found no ordinary one.
    pub(super) fn counts(&self) -> (usize, usize, u64) {
        let state = self.lock();
        (state.ordinary.len(), state.reserved.len(), state.refused)
    }
}

impl State {
    fn of(&self, peer: IpAddr) -> usize {
        self.by.get(&peer).copied().unwrap_or(0)
    }

    fn has_room(&self, peer: IpAddr) -> bool {
        self.ordinary.len() < self.all && self.of(peer) < self.each
    }

    /// Cuts the connection that has done nothing for longest, one of the same address if that has its share already. Says
    /// whether there is one.
    fn make_room(&mut self, peer: IpAddr) -> bool {
        let crowded = self.of(peer) >= self.each;
        let resting = self.ordinary.iter().filter(|(_, held)| !crowded || held.peer == peer);
        let longest = resting.filter_map(|(place, held)| Some((held.rest.number()?, *place))).min();
        let Some(held) = longest.and_then(|(_, place)| self.leave(place)) else { return false };
        held.cut.cancel();
        true
    }

    fn leave(&mut self, place: u64) -> Option<Held> {
        let held = self.ordinary.remove(&place)?;
        match self.of(held.peer).saturating_sub(1) {
            0 => _ = self.by.remove(&held.peer),
            left => _ = self.by.insert(held.peer, left),
        }
        Some(held)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.lock();
        match self.kind {
            // One that made room has left already.
            Kind::Ordinary => _ = state.leave(self.number),
            Kind::Reserved => state.reserved.retain(|(one, _)| *one != self.number),
        }
    }
}

/// The addresses that one caller can have for the asking, as one of them: this machine's own, or a network of IPv6.
pub(super) fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_share_and_the_oldest_in_reserve_makes_room() {
        let (places, abort) = (Places::new(3, 2, 2), CancellationToken::new());
        let take = |last: u8| places.take(Ipv4Addr::new(10, 0, 0, last).into(), &abort);
        let ordinary = [take(1), take(1), take(2)];
        assert!(ordinary.iter().all(|place| !place.is_reserved()));
        let reserved = [take(1), take(3), take(4)];
        assert!(reserved.iter().all(Place::is_reserved), "one has its share, and then all are taken");
        assert_eq!(reserved.each_ref().map(|place| place.cut.is_cancelled()), [true, false, false]);
        assert_eq!(places.counts(), (3, 2, 3));
        drop(ordinary);
        assert!(!take(4).is_reserved());
        drop(reserved);
        assert_eq!(places.counts(), (0, 0, 3));
        assert!(places.lock().by.is_empty(), "nothing is kept of who is gone");
        let last = take(5);
        abort.cancel();
        assert!(last.cut.is_cancelled(), "the end of the server is the end of all");
    }

    #[test]
    fn who_has_done_nothing_for_longest_makes_room() {
        let (places, abort) = (Places::new(4, 3, 1), CancellationToken::new());
        let take = |last: u8| places.take(Ipv4Addr::new(10, 0, 0, last).into(), &abort);
        let held = [take(1), take(1), take(1), take(2)];
        let cut = || held.each_ref().map(|place| place.cut.is_cancelled());
        for place in [3, 1, 0, 2] {
            held[place].rest.begin();
        }
        held[1].rest.end();
        let next = take(1);
        assert!(!next.is_reserved());
        assert_eq!(cut(), [true, false, false, false], "an address takes from its own share");
        let other = take(3);
        assert!(!other.is_reserved());
        assert_eq!(cut(), [true, false, false, true], "another takes from all");
        assert!(!take(3).is_reserved(), "the one that rests still");
        assert_eq!(cut(), [true, false, true, true]);
        let third = take(3);
        assert!(take(3).is_reserved(), "who is busy stays");
        assert_eq!(cut(), [true, false, true, true]);
        assert_eq!(places.counts(), (4, 0, 1));
        drop((held, next, other, third));
        assert_eq!(places.counts(), (0, 0, 1));
        assert!(places.lock().by.is_empty(), "nothing is kept of who is gone");
    }
}
