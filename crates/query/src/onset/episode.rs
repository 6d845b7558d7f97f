//! When the present or last time of a health began.

use crate::series::Mark;
use strandline_model::{Health, Timestamp};

/// A time of one health, from its first mark to the one that ended it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Episode {
    /// The place of its first mark.
    pub(super) first: usize,
    pub(super) until: Option<Timestamp>,
    /// What was known before it, and until when at least.
    pub(super) before: Option<Health>,
    pub(super) not_before: Timestamp,
}

/// The last time of a health; `blind` tells whether something was not being watched between two moments. A time of
/// which nothing was known is not taken for its end, where it went on as it had been.
///
/// None where it never was so, or was so when it was first seen.
pub(super) fn find(
    marks: &[Mark],
    health: Health,
    blind: impl Fn(Timestamp, Timestamp) -> bool,
) -> Option<Episode> {
    let last = marks.iter().rposition(|mark| mark.health == Some(health))?;
    let unseen = |place: usize| {
        marks.get(place).zip(marks.get(place + 1)).is_some_and(|(mark, next)| {
            mark.health == Some(Health::Unknown) && health != Health::Unknown && blind(mark.time, next.time)
        })
    };
    let mut first = last;
    while first >= 2 && unseen(first - 1) && marks[first - 2].health == Some(health) {
        first -= 2;
    }
    let mark = &marks[first];
    // What is not known at the end of a gap began somewhere in it.
    let known = if first >= 1 && unseen(first - 1) { first - 1 } else { first };
    let before = known.checked_sub(1).and_then(|before| marks.get(before))?;
    let not_before = if known == first { mark.time } else { marks[known].time };
    let until = marks.get(last + 1).map(|next| next.time);
    Some(Episode { first, until, before: before.health, not_before })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Option<Health> = Some(Health::Healthy);
    const BAD: Option<Health> = Some(Health::Degraded);
    const BLIND: Option<Health> = Some(Health::Unknown);

    /// The spell of Degraded among marks a second apart: its first mark, its end, what was before and until when.
    fn found(healths: &[Option<Health>], seen: bool) -> Option<(usize, Option<i64>, Option<Health>, i64)> {
        let mark = |(place, health): (usize, &Option<Health>)| Mark {
            offset: place as i64 + 1,
            time: Timestamp::from_micros(place as i64 * 1_000_000),
            health: *health,
            reason: String::new(),
            message: String::new(),
            rule_set: String::new(),
        };
        let marks: Vec<_> = healths.iter().enumerate().map(mark).collect();
        let spell = find(&marks, Health::Degraded, |_, _| !seen)?;
        let seconds = |time: Timestamp| time.as_micros() / 1_000_000;
        Some((spell.first, spell.until.map(seconds), spell.before, seconds(spell.not_before)))
    }

    #[test]
    fn the_last_time_of_a_health_is_found() {
        assert_eq!(found(&[GOOD, BAD], true), Some((1, None, GOOD, 1)));
        assert_eq!(found(&[GOOD, BAD, GOOD, BAD, GOOD], true), Some((3, Some(4), GOOD, 3)));
        assert_eq!(found(&[None, BAD], true), Some((1, None, None, 1)));
    }

    #[test]
    fn what_was_so_from_the_first_or_never_has_no_onset() {
        for healths in [&[][..], &[GOOD][..], &[BAD][..], &[BAD, GOOD][..], &[BLIND, BAD][..]] {
            assert_eq!(found(healths, false), None, "{healths:?}");
        }
    }

    #[test]
    fn a_gap_does_not_end_what_goes_on_and_hides_when_it_began() {
        assert_eq!(found(&[GOOD, BAD, BLIND, BAD], false), Some((1, None, GOOD, 1)));
        assert_eq!(found(&[GOOD, BLIND, BAD], false), Some((2, None, GOOD, 1)));
        assert_eq!(found(&[GOOD, BLIND, BAD, BLIND, BAD], false), Some((2, None, GOOD, 1)));
        assert_eq!(found(&[GOOD, BLIND, BAD], true), Some((2, None, BLIND, 2)), "judged Unknown, not unseen");
    }
}
