//! The environments of one page, picked while all are counted.

use crate::overview::fold::Row;
use crate::overview::keys::Key;
use serde::Serialize;
use strandline_model::attention;
use strandline_syntax::keywords;

/// In which order environments are shown one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum OverviewOrder {
    /// What needs attention most, then what came to need it last.
    #[default]
    Attention,
    /// By project and name.
    Name,
    /// What changed its health last.
    Since,
    /// What was deployed to last.
    Deployed,
}

keywords!(
    OverviewOrder, "order", Exact,
    Attention => "attention",
    Name => "name",
    Since => "since",
    Deployed => "deployed",
);

/// A place in an order, of owned texts or of those of a row.
type Place<T> = ([i64; 2], [T; 3]);

/// An environment by its number, with the keys of its groups.
type Picked = (i64, Vec<Key>);

/// The first environments in an order after a place.
pub(super) struct Shortlist<'a> {
    order: OverviewOrder,
    after: Option<Place<String>>,
    limit: usize,
    /// Ordered, and one more than the limit where there are more.
    picked: Vec<(Place<&'a str>, Picked)>,
}

impl<'a> Shortlist<'a> {
    /// Of at most so many, after the place of a page token, which is empty on the first page.
    pub(super) fn new(order: OverviewOrder, after: &[String], limit: usize) -> Self {
        let after = match after {
            [first, second, texts @ ..] => {
                let number = |text: &String| text.parse().unwrap_or(i64::MIN);
                let text = |part: usize| texts.get(part).cloned().unwrap_or_default();
                Some(([number(first), number(second)], [text(0), text(1), text(2)]))
            }
            _ => None,
        };
        Shortlist { order, after, limit, picked: Vec::new() }
    }

    /// Takes in one environment with the keys of its groups.
    pub(super) fn take(&mut self, row: &Row<'a>, keys: &[Key]) {
        let place = self.place(row);
        if self.after.as_ref().is_some_and(|after| borrowed(after) >= place) {
            return;
        }
        if self.picked.len() > self.limit && self.picked.last().is_some_and(|(last, _)| *last < place) {
            return;
        }
        let at = self.picked.partition_point(|(other, _)| *other < place);
        self.picked.insert(at, (place, (row.of.number, keys.to_vec())));
        self.picked.truncate(self.limit + 1);
    }

    fn place(&self, row: &Row<'a>) -> Place<&'a str> {
        let (id, project, name) = (&*row.of.id, &*row.of.project, &*row.of.name);
        // What the caller may not look into has no time that could be compared.
        let newest = if row.readable { row.since.as_micros().saturating_neg() } else { i64::MAX };
        match self.order {
            OverviewOrder::Attention => ([i64::from(attention(row.health)), newest], [id, "", ""]),
            OverviewOrder::Name => ([0, 0], [project, name, id]),
            OverviewOrder::Since => ([0, newest], [id, "", ""]),
            OverviewOrder::Deployed => {
                ([0, row.deployment.map_or(i64::MAX, i64::saturating_neg)], [id, "", ""])
            }
        }
    }

    /// The environments in their order, and the place after which the next page begins.
    pub(super) fn finish(mut self) -> (Vec<Picked>, Option<Vec<String>>) {
        let more = self.picked.len() > self.limit;
        self.picked.truncate(self.limit);
        let last = self.picked.last().filter(|_| more).map(|((numbers, texts), _)| {
            numbers
                .iter()
                .map(ToString::to_string)
                .chain(texts.iter().map(|text| (*text).to_owned()))
                .collect()
        });
        (self.picked.into_iter().map(|(_, picked)| picked).collect(), last)
    }
}

fn borrowed((numbers, texts): &Place<String>) -> Place<&str> {
    (*numbers, texts.each_ref().map(String::as_str))
}
