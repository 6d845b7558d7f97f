//! Slows down who presents wrong tokens.
//!
//! No number of attempts finds 256 random bits; what is slowed is the noise that attempts make, and whoever tries tokens
//! that leaked elsewhere. Only wrong tokens count, and a right one is taken whatever came from its address before, so
//! that nobody shuts out those who share an address with them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use strandline_model::Timestamp;

/// Wrong tokens of an address within a minute that are answered with 401; others are answered with 429.
pub(super) const WRONG_MAX: u32 = 10;

/// Addresses that are counted one by one; what more there are share a count.
pub(super) const ADDRESSES_MAX: usize = 4096;

/// How long wrong tokens count, and how long who sent too many is asked to wait the first time.
const MINUTE: Duration = Duration::from_secs(60);

/// How often the wait doubles at most: it ends at sixteen minutes.
const DOUBLINGS_MAX: u32 = 4;

/// What came of wrong tokens.
#[derive(Debug, Default)]
pub(super) struct WrongTokens {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    by_address: HashMap<IpAddr, Count>,
    /// Of the addresses for which there was no room, and of connections without one.
    others: Count,
    refused: u64,
    slowed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    until: Timestamp,
    wrong: u32,
    /// How often in a row there were too many.
    doublings: u32,
}

/// What to do about a wrong token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Refuse it.
    Refuse,
    /// Ask to wait that long; `first` where it did not have to wait before.
    Wait { wait: Duration, first: bool },
}

impl WrongTokens {
    /// Counts a wrong token that came from there now.
    pub(super) fn count(&self, address: Option<IpAddr>, now: Timestamp) -> Verdict {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let count = table.of(address.map(network), now);
        let verdict = count.one_more(now);
        match verdict {
            Verdict::Refuse => table.refused += 1,
            Verdict::Wait { .. } => table.slowed += 1,
        }
        verdict
    }

    /// How many were refused, and how many were asked to wait.
    pub(super) fn counts(&self) -> (u64, u64) {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        (table.refused, table.slowed)
    }

    #[cfg(test)]
    pub(super) fn addresses(&self) -> usize {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).by_address.len()
    }
}

impl Table {
    fn of(&mut self, address: Option<IpAddr>, now: Timestamp) -> &mut Count {
        let Some(address) = address else { return &mut self.others };
        if self.by_address.len() >= ADDRESSES_MAX && !self.by_address.contains_key(&address) {
            self.by_address.retain(|_, count| count.remembered_until() > now);
            if self.by_address.len() >= ADDRESSES_MAX {
                return &mut self.others;
            }
        }
        self.by_address.entry(address).or_default()
    }
}

impl Count {
    /// After a wait an address is remembered for another minute: who goes on then waits for twice as long.
    fn remembered_until(self) -> Timestamp {
        self.until.plus(MINUTE)
    }

    fn one_more(&mut self, now: Timestamp) -> Verdict {
        let waited = self.wrong > WRONG_MAX;
        if now >= self.until {
            let goes_on = waited && now < self.remembered_until();
            let doublings = if goes_on { (self.doublings + 1).min(DOUBLINGS_MAX) } else { 0 };
            *self = Count { until: now.plus(MINUTE), wrong: 0, doublings };
        }
        self.wrong = self.wrong.saturating_add(1);
        if self.wrong <= WRONG_MAX {
            return Verdict::Refuse;
        }
        let first = self.wrong == WRONG_MAX + 1;
        if first {
            self.until = now.plus(MINUTE * (1 << self.doublings));
        }
        Verdict::Wait { wait: self.until.since(now), first }
    }
}

/// What one client has at its disposal: an IPv4 address, or the 64 bits that end an IPv6 address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(1_000_000 + seconds))
    }

    fn v4(number: u32) -> Option<IpAddr> {
        Some(IpAddr::V4(number.into()))
    }

    /// Sends as many as are refused; the wait that the next one is given, in seconds.
    fn exhaust(wrong: &WrongTokens, address: Option<IpAddr>, seconds: u64) -> u64 {
        for number in 0..WRONG_MAX {
            assert_eq!(wrong.count(address, at(seconds)), Verdict::Refuse, "{number}");
        }
        match wrong.count(address, at(seconds)) {
            Verdict::Wait { wait, first: true } => wait.as_secs(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_sends_too_many_waits_and_longer_each_time_who_does_not_stop() {
        let wrong = WrongTokens::default();
        assert_eq!(exhaust(&wrong, v4(1), 0), 60);
        assert_eq!(
            wrong.count(v4(1), at(20)),
            Verdict::Wait { wait: Duration::from_secs(40), first: false },
            "the wait does not begin anew"
        );
        assert_eq!(wrong.count(v4(2), at(20)), Verdict::Refuse, "another address");
        let mut now = 60;
        for wait in [120, 240, 480, 960, 960] {
            assert_eq!(exhaust(&wrong, v4(1), now), wait);
            now += wait;
        }
        assert_eq!(exhaust(&wrong, v4(1), now + 60), 60, "who stopped for a minute begins anew");
        assert_eq!(wrong.counts().1, 8);
    }

    #[test]
    fn few_in_each_minute_are_only_refused() {
        let wrong = WrongTokens::default();
        for minute in 0..10 {
            for _ in 0..WRONG_MAX {
                assert_eq!(wrong.count(v4(1), at(minute * 60)), Verdict::Refuse);
            }
        }
    }

    #[test]
    fn the_table_is_bounded_and_those_without_room_share_a_count() {
        let wrong = WrongTokens::default();
        for number in 0..50_000 {
            wrong.count(v4(number), at(0));
        }
        assert_eq!(wrong.addresses(), ADDRESSES_MAX);
        assert!(matches!(wrong.count(v4(60_000), at(1)), Verdict::Wait { .. }), "shared with the others");
        assert_eq!(wrong.count(v4(0), at(1)), Verdict::Refuse, "counted by itself");
        assert_eq!(wrong.count(v4(60_000), at(200)), Verdict::Refuse, "there is room again");
        assert_eq!(wrong.addresses(), 1);
        // An address of IPv6 is one of as many as its owner likes.
        let wrong = WrongTokens::default();
        for number in 0..100_u128 {
            wrong.count(Some(IpAddr::V6((0x2001_0db8_u128 << 96 | number).into())), at(0));
            wrong.count(Some(IpAddr::V6((0xffff_u128 << 32 | 0x7f00_0001).into())), at(0));
            wrong.count(Some(IpAddr::V4(0x7f00_0001.into())), at(0));
        }
        assert_eq!(wrong.addresses(), 2);
    }
}
