//! Environments folded into groups, one after the other, in no order.

use std::cmp::Reverse;

use foldhash::HashMap;

use crate::overview::interner::Interner;
use crate::overview::keys::{Facts, Grouping, Keys};
use crate::overview::shortlist::Shortlist;
use strandline_model::{EnvironmentId, Health, HealthCounts, Timestamp, attention};
use strandline_protocol::{Overview, OverviewCounts, OverviewEnvironment, OverviewGroup};

/// One environment as a caller sees it.
pub(super) struct Row<'r> {
    /// The view's number of it.
    pub(super) number: i64,
    pub(super) id: &'r str,
    pub(super) project: &'r str,
    pub(super) name: &'r str,
    /// Whether the caller may see what it holds; if not, it has no health here and no resources.
    pub(super) readable: bool,
    pub(super) health: Option<Health>,
    pub(super) since: Timestamp,
    pub(super) resources: HealthCounts,
    /// The view's number of the newest deployment to it, where the order asks for it.
    pub(super) deployment: Option<i64>,
}

/// Groups as they grow.
pub(super) struct Fold {
    first: Groups,
    /// Other groupings of the same environments.
    others: Vec<Groups>,
    totals: OverviewCounts,
    texts: Interner,
    /// Those to be shown one by one, where any are.
    shortlist: Option<Shortlist>,
    /// All whose health is known, by the view's numbers, where that is asked for.
    readable: Option<Vec<i64>>,
}

/// The groups of one grouping.
struct Groups {
    grouping: Grouping,
    /// The place of each group among all, by its key: a map of the groups themselves would move them as it grows.
    places: HashMap<Vec<u32>, usize>,
    groups: Vec<Group>,
    /// Those of one environment.
    keys: Keys,
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

#[derive(Default)]
struct Group {
    counts: OverviewCounts,
    /// What needs attention, in order.
    attention: Vec<OverviewEnvironment>,
}

impl Fold {
    pub(super) fn new(
        (first, others): (Grouping, Vec<Grouping>),
        shortlist: Option<Shortlist>,
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
    pub(super) fn take(&mut self, facts: &Facts<'_>, row: &Row<'_>) -> serde_json::Result<()> {
        row.count(&mut self.totals);
        self.first.take(facts, row, &mut self.texts)?;
        for groups in &mut self.others {
            groups.take(facts, row, &mut self.texts)?;
        }
        if let Some(shortlist) = &mut self.shortlist {
            shortlist.take(row, &self.first.keys);
        }
        if let Some(readable) = self.readable.as_mut().filter(|_| row.readable) {
            readable.push(row.number);
        }
        Ok(())
    }

    /// What it amounts to, with at most `limit` groups, and of other groupings as many as are told at most.
    pub(super) fn finish(self, limit: usize) -> Folded {
        let Fold { first, others, totals, texts, shortlist, readable } = self;
        let overview = first.finish(limit, totals, &texts);
        let others = others.into_iter().map(|groups| groups.finish(Overview::LIMIT, totals, &texts));
        let others = others.collect();
        let (chosen, next) = shortlist.map(Shortlist::finish).unwrap_or_default();
        let chosen = chosen
            .into_iter()
            .map(|(number, keys)| Chosen { number, keys: keys.iter().map(|key| texts.texts(key)).collect() });
        let (chosen, readable) = (chosen.collect(), readable.unwrap_or_default());
        Folded { overview, others, chosen, next, readable }
    }
}

impl Groups {
    fn new(grouping: Grouping) -> Self {
        Groups { grouping, places: HashMap::default(), groups: Vec::new(), keys: Keys::default() }
    }

    fn take(&mut self, facts: &Facts<'_>, row: &Row<'_>, texts: &mut Interner) -> serde_json::Result<()> {
        self.grouping.keys(facts, texts, &mut self.keys)?;
        for key in self.keys.iter() {
            // Nearly always the group is there, and its key need not be copied.
            let place = match self.places.get(key) {
                Some(place) => *place,
                None => {
                    self.places.insert(key.to_vec(), self.groups.len());
                    self.groups.push(Group::default());
                    self.groups.len() - 1
                }
            };
            self.groups[place].take(row);
        }
        Ok(())
    }

    fn finish(self, limit: usize, totals: OverviewCounts, texts: &Interner) -> Overview {
        let mut all = self.groups;
        let with_key = |(key, place): (Vec<u32>, usize)| (key, std::mem::take(&mut all[place]));
        let mut groups: Vec<_> = self.places.into_iter().map(with_key).collect();
        let in_order = |(a, one): &(Vec<u32>, Group), (b, other): &(Vec<u32>, Group)| {
            let urgency = |group: &Group| attention(group.counts.health);
            urgency(one).cmp(&urgency(other)).then_with(|| texts.compare(a, b))
        };
        let left_out = groups.len().saturating_sub(limit);
        if left_out > 0 {
            groups.select_nth_unstable_by(limit, in_order);
            groups.truncate(limit);
        }
        groups.sort_unstable_by(in_order);
        let groups = groups.into_iter().map(|(keys, group)| OverviewGroup {
            keys: texts.texts(&keys),
            counts: group.counts,
            attention: group.attention,
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

impl Group {
    fn take(&mut self, row: &Row<'_>) {
        row.count(&mut self.counts);
        let Row { health: Some(health), since, id, project, name, .. } = *row else { return };
        if !health.needs_attention() {
            return;
        }
        let before = |held: &OverviewEnvironment| {
            let ours = (attention(Some(health)), Reverse(since), id);
            (attention(Some(held.health)), Reverse(held.since), held.id.as_str()) < ours
        };
        let place = self.attention.partition_point(before);
        if place < Overview::ATTENTION {
            let (project, name) = (project.to_owned(), name.to_owned());
            let one = OverviewEnvironment { id: EnvironmentId::new(id), project, name, health, since };
            self.attention.insert(place, one);
            self.attention.truncate(Overview::ATTENTION);
        }
    }
}
