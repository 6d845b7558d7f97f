//! The offsets that changes of one log have in another.

use strandline_model::{ClockMark, InexactTimes, Offset};

/// The offsets that changes of one log have in another.
#[derive(Debug, Default)]
pub(super) struct MovedOffsets {
    /// Pairs of offsets from which on both go up alike.
    pairs: Vec<(u64, u64)>,
}

impl MovedOffsets {
    /// Records that a change of the one log has this offset in the other.
    pub(super) fn note(&mut self, from: Offset, to: Offset) {
        debug_assert!(
            self.pairs.last().is_none_or(|(old, new)| *old < from.get() && *new < to.get()),
            "offsets of both logs go up"
        );
        let goes_on = self.pairs.last().is_some_and(|(old, new)| from.get() - old == to.get() - new);
        if !goes_on {
            self.pairs.push((from.get(), to.get()));
        }
    }

    /// The new offset of a change, or else of the first after it.
    fn moved_offset(&self, offset: Offset) -> Offset {
        let behind = self.pairs.partition_point(|(old, _)| *old <= offset.get());
        let before = behind.checked_sub(1).and_then(|last| self.pairs.get(last));
        let moved = before.map(|(old, new)| new + (offset.get() - old));
        // Between two pairs some changes are missing in the other log.
        let next = self.pairs.get(behind).map(|(_, new)| *new);
        Offset::new(match (moved, next) {
            (Some(moved), Some(next)) => moved.min(next),
            (moved, next) => moved.or(next).unwrap_or(offset.get()),
        })
    }

    /// A mark of the one log, at this offset, as it has to be written into the other at that one.
    pub(super) fn moved(&self, mark: &ClockMark, from: Offset, to: Offset) -> ClockMark {
        let moved = |offset: Offset| if offset == from { to } else { self.moved_offset(offset).min(to) };
        let inexact = mark.inexact.map(|inexact| InexactTimes {
            from: moved(inexact.from),
            to: moved(inexact.to),
            ..inexact
        });
        ClockMark { inexact, ..mark.clone() }
    }
}
