//! What the times that objects carry prove: up to when all is recorded, and what came late.
//!
//! A watch gives the changes of its kind in order, and an object carries when it was last changed. So an event with that
//! time proves that everything before it has arrived, and how late the event itself is.

use strandline_model::{LATE_BOUND, Timestamp};

/// Judges the events of one batch, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    now: Timestamp,
    before: Option<Timestamp>,
    confirmed: Option<Timestamp>,
    /// Events since `confirmed` of which it is not known when they happened.
    pub(super) undated: bool,
    /// The first event of the batch happened then or later.
    pub(super) earliest: Option<Timestamp>,
    /// Since when changes were recorded late, where an event proves that.
    pub(super) late_since: Option<Timestamp>,
    events: u32,
}

impl Evidence {
    /// Everything that happened before `confirmed` is recorded; `undated` where changes are of which that is not known.
    pub(super) fn new(confirmed: Option<Timestamp>, undated: bool, now: Timestamp) -> Self {
        let before = confirmed;
        Evidence { now, before, confirmed, undated, earliest: None, late_since: None, events: 0 }
    }

    /// Takes the next event, which happened at this time of our clock or later.
    pub(super) fn event(&mut self, at: Option<Timestamp>) {
        // A time that is still to come is of a clock that is wrong, or made up.
        let at = at.filter(|at| *at <= self.now);
        if self.events == 0 {
            self.earliest = self.confirmed.max(at);
        }
        self.events = self.events.saturating_add(1);
        let newer = match (at, self.confirmed) {
            (Some(at), Some(confirmed)) => at > confirmed,
            // Nothing was ever confirmed: a first time proves only what came before it.
            (at, None) => at.is_some(),
            (None, _) => false,
        };
        if !newer {
            self.undated = true;
            return;
        }
        if let (Some(at), Some(before)) = (at, self.before)
            && self.late_since.is_none()
            && at.plus(LATE_BOUND) < self.now
        {
            self.late_since = Some(if self.undated { before } else { at });
        }
        (self.confirmed, self.undated) = (at, false);
    }

    /// Up to when all that happened is recorded once the batch is, where the batch proves more than was known.
    pub(super) fn confirmed(&self) -> Option<Timestamp> {
        self.confirmed.filter(|_| self.confirmed > self.before)
    }

    /// Whether the newest of the events happened just now, so that no more than a moment's changes can be under way.
    pub(super) fn is_recent(&self) -> bool {
        self.confirmed().is_some_and(|confirmed| confirmed.plus(LATE_BOUND) >= self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn judge(confirmed: i64, events: &[Option<i64>]) -> Evidence {
        let mut evidence = Evidence::new(Some(at(confirmed)), false, at(100));
        events.iter().for_each(|event| evidence.event(event.map(at)));
        evidence
    }

    #[test]
    fn an_event_confirms_what_came_before_it_and_proves_its_own_lateness() {
        let cases = [
            // A change of now.
            (90, vec![Some(99)], Some(99), None),
            // One that was under way for long.
            (80, vec![Some(90)], Some(90), Some(90)),
            // What came with it may be older still.
            (80, vec![None, Some(90), Some(99)], Some(99), Some(80)),
            // Late at first, then no longer.
            (80, vec![Some(85), Some(99)], Some(99), Some(85)),
            // Changes that leave the times of an old object as they are prove nothing, nor do objects without times.
            (80, vec![Some(20), Some(80), None], None, None),
            // A clock that is ahead proves nothing.
            (80, vec![Some(101)], None, None),
        ];
        for (confirmed, events, expected, late) in cases {
            let evidence = judge(confirmed, &events);
            assert_eq!(
                (evidence.confirmed(), evidence.late_since),
                (expected.map(at), late.map(at)),
                "{events:?}"
            );
        }
        assert!(judge(80, &[Some(95)]).is_recent() && !judge(80, &[Some(94)]).is_recent());
        assert!(!judge(99, &[Some(99)]).is_recent(), "nothing new is proved");
        assert_eq!(judge(80, &[None, Some(99)]).earliest, Some(at(80)));
        assert_eq!(judge(80, &[Some(99), None]).earliest, Some(at(99)));
    }
}
