//! A span of time in equal parts, and what falls into each.

use crate::series::HealthSeries;
use crate::spans::Span;
use strandline_model::{Happening, Health, Timestamp, attention};
use strandline_protocol::{Bucket, Tally, TimelineGap};

/// A span in equal parts with what is counted in each.
pub(super) struct Axis {
    /// Where each part begins, and where the span ends.
    edges: Vec<Timestamp>,
    tallies: Vec<Tally>,
}

impl Axis {
    /// Parts a span; into fewer than asked for where it is shorter than so many microseconds.
    pub(super) fn new(span: Span, buckets: usize) -> Self {
        let edges = edges(span, buckets);
        let tallies = vec![Tally::default(); edges.len() - 1];
        Axis { edges, tallies }
    }

    /// The whole of it.
    pub(super) fn span(&self) -> Span {
        let end = |edge: Option<&Timestamp>| edge.copied().unwrap_or_default();
        Span { since: end(self.edges.first()), until: end(self.edges.last()) }
    }

    /// In which part a moment lies; both ends belong to the span.
    pub(super) fn place(&self, time: Timestamp) -> Option<usize> {
        let Span { since, until } = self.span();
        if time < since || time > until {
            return None;
        }
        let after = self.edges.partition_point(|edge| *edge <= time);
        Some(after.saturating_sub(1).min(self.tallies.len() - 1))
    }

    /// Counts what happened at a moment; what lies beyond the span is left out.
    pub(super) fn count(&mut self, time: Timestamp, what: Happening) {
        if let Some(tally) = self.place(time).and_then(|place| self.tallies.get_mut(place)) {
            tally.add(what, 1);
        }
    }

    /// Counts what happened somewhere between two moments, if they lie in the same part; else says that it cannot.
    pub(super) fn count_between(
        &mut self,
        from: Timestamp,
        to: Timestamp,
        counts: &[(Happening, u64)],
    ) -> bool {
        let place = self.place(from).filter(|place| self.place(to) == Some(*place));
        let Some(tally) = place.and_then(|place| self.tallies.get_mut(place)) else { return false };
        counts.iter().for_each(|(what, times)| tally.add(*what, *times));
        true
    }

    /// All parts together.
    pub(super) fn totals(&self) -> Tally {
        self.tallies.iter().fold(Tally::default(), |sum, tally| sum.sum(*tally))
    }

    /// The parts, with health and with whether nothing of each was hidden; `seen` are the times in which it was not.
    pub(super) fn buckets(
        &self,
        course: &HealthSeries,
        gaps: &[TimelineGap],
        seen: &[(Timestamp, Timestamp)],
    ) -> Vec<Bucket> {
        let healths = self.healths(course);
        let part = |place: usize| {
            let (from, until) = (self.edges[place], self.edges[place + 1]);
            let open = |gap: &TimelineGap| gap.since < until && gap.until.is_none_or(|end| end > from);
            let told = seen.iter().any(|(start, end)| *start <= from && until <= *end);
            let covered = told && !gaps.iter().any(open);
            Bucket { from, until, tally: self.tallies[place], health: healths[place], covered }
        };
        (0..self.tallies.len()).map(part).collect()
    }

    /// What needs attention most in each part.
    fn healths(&self, course: &HealthSeries) -> Vec<Option<Health>> {
        let mut healths = vec![None; self.tallies.len()];
        let Span { since, until } = self.span();
        for (number, mark) in course.marks.iter().enumerate() {
            let end = course.marks.get(number + 1).map_or(until, |next| next.time);
            // What ends where a part begins is nothing of it, unless it is all there is.
            let last = if end > mark.time { Timestamp::from_micros(end.as_micros() - 1) } else { end };
            let last = if number + 1 == course.marks.len() { until } else { last };
            if mark.health.is_none() || last < since || mark.time > until {
                continue;
            }
            let (Some(first), Some(last)) = (self.place(mark.time.max(since)), self.place(last.min(until)))
            else {
                continue;
            };
            for health in healths.iter_mut().take(last + 1).skip(first) {
                if attention(mark.health) < attention(*health) {
                    *health = mark.health;
                }
            }
        }
        healths
    }
}

/// Where each of so many equal parts of a span begins, and where the last ends; fewer parts where the span is shorter than
/// so many microseconds.
pub(crate) fn edges(span: Span, parts: usize) -> Vec<Timestamp> {
    let (since, until) = (span.since.as_micros(), span.until.as_micros());
    let length = i128::from(until) - i128::from(since);
    let parts = i128::try_from(parts).unwrap_or(1).min(length).max(1);
    let edge = |part: i128| {
        let micros = i128::from(since) + (part * length).div_ceil_of(parts);
        Timestamp::from_micros(i64::try_from(micros).unwrap_or(until))
    };
    (0..=parts).map(edge).collect()
}

trait DivCeil {
    /// This divided by a positive number, rounded up.
    fn div_ceil_of(self, by: Self) -> Self;
}

impl DivCeil for i128 {
    fn div_ceil_of(self, by: i128) -> i128 {
        -(-self).div_euclid(by)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(since: i64, until: i64) -> Span {
        Span { since: Timestamp::from_micros(since), until: Timestamp::from_micros(until) }
    }

    #[test]
    fn a_span_of_no_length_is_one_part() {
        let axis = Axis::new(span(7, 7), 60);
        assert_eq!((axis.tallies.len(), axis.place(Timestamp::from_micros(7))), (1, Some(0)));
        assert_eq!(axis.place(Timestamp::from_micros(8)), None);
    }

    proptest! {
        #[test]
        fn parts_are_equal_and_leave_nothing_out(
            since in -9_000_000_000_000_000_i64..9_000_000_000_000_000,
            length in 0..40_000_000_000_000_i64,
            parts in 1..1000_usize,
            at in 0.0..1.0_f64,
        ) {
            let axis = Axis::new(span(since, since + length), parts);
            let lengths: Vec<_> =
                axis.edges.windows(2).map(|edge| edge[1].as_micros() - edge[0].as_micros()).collect();
            let (least, most) = (lengths.iter().min().copied(), lengths.iter().max().copied());
            prop_assert!(most.unwrap_or(0) - least.unwrap_or(0) <= 1, "{lengths:?}");
            prop_assert_eq!(lengths.iter().sum::<i64>(), length);
            let time = Timestamp::from_micros(since + (length as f64 * at) as i64);
            let place = axis.place(time).unwrap_or(usize::MAX);
            prop_assert!(axis.edges[place] <= time && time <= axis.edges[place + 1]);
            prop_assert!(time < axis.edges[place + 1] || place + 1 == axis.tallies.len());
        }
    }
}
