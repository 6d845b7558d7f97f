//! Environments folded into groups, one after the other, in no order.

use std::cmp::Reverse;

use foldhash::HashMap;

use crate::overview::interner::Interner;
use crate::overview::keys::{Grouping, Key};
use crate::overview::shortlist::Shortlist;
use crate::standings::Standing;
use strandline_model::{EnvironmentId, Health, HealthCounts, Timestamp, attention};
use strandline_protocol::{Overview, OverviewCounts, OverviewEnvironment, OverviewGroup};

/// One environment as a caller sees it.
pub(super) struct Row<'a> {
    pub(super) of: &'a Standing,
    /// Whether the caller may see what it holds; if not, it has no health here and no resources.
    pub(super) readable: bool,
    pub(super) health: Option<Health>,
    pub(super) since: Timestamp,
    pub(super) resources: HealthCounts,
    /// The view's number of the newest deployment to it, where the order asks for it.
    pub(super) deployment: Option<i64>,
}

/// Groups as they grow. Texts are copied only into what is told in the end: most groups are not.
pub(super) struct Fold<'a> {
    first: Groups<'a>,
    /// Other groupings of the same environments.
    others: Vec<Groups<'a>>,
    totals: OverviewCounts,
    texts: Interner<'a>,
    /// Those to be shown one by one, where any are.
    shortlist: Option<Shortlist<'a>>,
    /// All whose health is known, by the view's numbers, where that is asked for.
    readable: Option<Vec<i64>>,
}

/// The groups of one grouping.
struct Groups<'a> {
    grouping: Grouping,
    /// The place of each group among all, by its key: a map of the groups themselves would move them as it grows.
    places: HashMap<Key, usize>,
    groups: Vec<Group<'a>>,
    /// Those of one environment, which are filled again for each.
    keys: Vec<Key>,
}

/// What a fold amounts to.
pub(super) struct Folded {
    pub(super) overview: Overview,
    /// By the other groupings, in their order.
    pub(super) others: Vec<Overview>,
    pub(super) chosen: Vec<Chosen>,
    /// The place in the order at which the next page begins.
    pub(super) next: Option<Vec<String>>,
    pub(super) readable: Vec<i64>,
}

/// An environment to be shown by itself.
pub(super) struct Chosen {
    pub(super) number: i64,
    pub(super) keys: Vec<Vec<String>>,
}

struct Group<'a> {
    key: Key,
    counts: OverviewCounts,
    /// What needs attention, in order.
    attention: Vec<Ill<'a>>,
}

/// An environment that needs attention.
struct Ill<'a> {
    of: &'a Standing,
    health: Health,
    since: Timestamp,
}

impl<'a> Fold<'a> {
    pub(super) fn new(
        (first, others): (Grouping, Vec<Grouping>),
        shortlist: Option<Shortlist<'a>>,
        with_numbers: bool,
    ) -> Self {
        Fold {
            first: Groups::new(first),
            others: others.into_iter().map(Groups::new).collect(),
            totals: OverviewCounts::default(),
            texts: Interner::default(),
            shortlist,
            readable: with_numbers.then(Vec::new),
        }
    }

    /// Takes in one environment.
    pub(super) fn take(&mut self, row: &Row<'a>) {
        row.count(&mut self.totals);
        self.first.take(row, &mut self.texts);
        for groups in &mut self.others {
            groups.take(row, &mut self.texts);
        }
        if let Some(shortlist) = &mut self.shortlist {
            shortlist.take(row, &self.first.keys);
        }
        if let Some(readable) = self.readable.as_mut().filter(|_| row.readable) {
            readable.push(row.of.number);
        }
    }

    /// What it amounts to, with at most `limit` groups, and of other groupings as many as are told at most.
    pub(super) fn finish(self, limit: usize) -> Folded {
        let Fold { first, others, totals, texts, shortlist, readable } = self;
        let overview = first.finish(limit, totals, &texts);
        let others = others.into_iter().map(|groups| groups.finish(Overview::LIMIT, totals, &texts));
        let others = others.collect();
        let (chosen, next) = shortlist.map(Shortlist::finish).unwrap_or_default();
        let chosen = chosen.into_iter().map(|(number, keys)| {
            let keys = keys.iter().map(|key| texts.texts(key.numbers())).collect();
            Chosen { number, keys }
        });
        let (chosen, readable) = (chosen.collect(), readable.unwrap_or_default());
        Folded { overview, others, chosen, next, readable }
    }
}

impl<'a> Groups<'a> {
    fn new(grouping: Grouping) -> Self {
        Groups { grouping, places: HashMap::default(), groups: Vec::new(), keys: Vec::new() }
    }

    fn take(&mut self, row: &Row<'a>, texts: &mut Interner<'a>) {
        self.grouping.keys((row.of, row.health), texts, &mut self.keys);
        for key in &self.keys {
            let place = *self.places.entry(*key).or_insert_with(|| {
                let counts = OverviewCounts::default();
                self.groups.push(Group { key: *key, counts, attention: Vec::new() });
                self.groups.len() - 1
            });
            self.groups[place].take(row);
        }
    }

    fn finish(self, limit: usize, totals: OverviewCounts, texts: &Interner<'_>) -> Overview {
        let mut groups = self.groups;
        let in_order = |one: &Group<'_>, other: &Group<'_>| {
            let urgency = |group: &Group<'_>| attention(group.counts.health);
            let texts = || texts.compare(one.key.numbers(), other.key.numbers());
            urgency(one).cmp(&urgency(other)).then_with(texts)
        };
        let left_out = groups.len().saturating_sub(limit);
        if left_out > 0 {
            groups.select_nth_unstable_by(limit, in_order);
            groups.truncate(limit);
        }
        groups.sort_unstable_by(in_order);
        let groups = groups.into_iter().map(|group| OverviewGroup {
            keys: texts.texts(group.key.numbers()),
            counts: group.counts,
            attention: group.attention.iter().map(Ill::told).collect(),
        });
        let groups = groups.collect();
        Overview {
            group_by: self.grouping.by,
            groups,
            groups_left_out: u64::try_from(left_out).unwrap_or(u64::MAX),
            totals,
            trend: None,
            environments: None,
            warnings: Vec::new(),
        }
    }
}

impl Row<'_> {
    fn count(&self, counts: &mut OverviewCounts) {
        match self.readable {
            true => counts.count(self.health, self.resources),
            false => counts.deny(),
        }
    }
}

impl<'a> Group<'a> {
    fn take(&mut self, row: &Row<'a>) {
        row.count(&mut self.counts);
        let Row { health: Some(health), since, of, .. } = *row else { return };
        if !health.needs_attention() {
            return;
        }
        let one = Ill { of, health, since };
        let place = self.attention.partition_point(|other| other.place() < one.place());
        if place < Overview::ATTENTION {
            self.attention.insert(place, one);
            self.attention.truncate(Overview::ATTENTION);
        }
    }
}

impl Ill<'_> {
    /// What is worst comes first, then what came to need attention last.
    fn place(&self) -> (impl Ord, Reverse<Timestamp>, &str) {
        (attention(Some(self.health)), Reverse(self.since), &self.of.id)
    }

    fn told(&self) -> OverviewEnvironment {
        let Ill { of, health, since } = *self;
        let (project, name) = (of.project.to_string(), of.name.to_string());
        OverviewEnvironment { id: EnvironmentId::new(&*of.id), project, name, health, since }
    }
}
