//! Places for connections: ordinary ones, of which an address has a share, and a few more for probes and metrics.
//!
//! Whoever connects is accepted, so that a probe is never behind callers that stay away. Where no ordinary place is left,
//! the oldest connection of the reserve makes room: a probe asks at once, and who does not has no business there.
//!
//! Why: docs/decisions/0020-one-caller-cannot-take-the-server.md.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
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
    ordinary: usize,
    by: HashMap<IpAddr, usize>,
    /// The oldest first.
    reserved: VecDeque<(u64, CancellationToken)>,
    refused: u64,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    kind: Kind,
    /// Says that the connection is to end.
    pub(super) cut: CancellationToken,
}

#[derive(Debug)]
enum Kind {
    Ordinary(IpAddr),
    Reserved(u64),
}

impl Place {
    /// Whether only probes and metrics are answered there.
    pub(super) fn is_reserved(&self) -> bool {
        matches!(self.kind, Kind::Reserved(_))
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
        let of_peer = state.by.get(&peer).copied().unwrap_or(0);
        let kind = if state.ordinary < state.all && of_peer < state.each {
            state.ordinary += 1;
            state.by.insert(peer, of_peer + 1);
            Kind::Ordinary(peer)
        } else {
            state.refused += 1;
            while state.reserved.len() >= state.reserve
                && let Some((_, oldest)) = state.reserved.pop_front()
            {
                oldest.cancel();
            }
            let number = state.refused;
            state.reserved.push_back((number, cut.clone()));
            Kind::Reserved(number)
        };
        Place { places: self.clone(), kind, cut }
    }

    /// Connections with an ordinary place, in reserve, and how many found no ordinary one.
    pub(super) fn counts(&self) -> (usize, usize, u64) {
        let state = self.lock();
        (state.ordinary, state.reserved.len(), state.refused)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.lock();
        match self.kind {
            Kind::Ordinary(peer) => {
                state.ordinary -= 1;
                let left = state.by.get(&peer).copied().unwrap_or(0).saturating_sub(1);
                match left {
                    0 => _ = state.by.remove(&peer),
                    left => _ = state.by.insert(peer, left),
                }
            }
            Kind::Reserved(number) => state.reserved.retain(|(one, _)| *one != number),
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
}
