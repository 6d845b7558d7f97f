//! Environments folded into groups, one after the other, in no order.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::overview::interner::Interner;
use crate::overview::keys::{Facts, Grouping};
use strandline_model::{EnvironmentId, Health, HealthCounts, Timestamp, attention};
use strandline_protocol::{Overview, OverviewCounts, OverviewEnvironment, OverviewGroup};

/// What a caller is told of one environment.
pub(super) enum Shown<'r> {
    /// Nothing.
    Denied,
    /// Its health and resources.
    Told {
        health: Option<Health>,
        since: Timestamp,
        resources: HealthCounts,
        id: &'r str,
        project: &'r str,
        name: &'r str,
    },
}

/// Groups as they grow.
pub(super) struct Fold {
    grouping: Grouping,
    totals: OverviewCounts,
    groups: HashMap<Vec<u32>, Group>,
    texts: Interner,
    /// The keys of one environment, kept to be filled again.
    keys: Vec<Vec<u32>>,
}

#[derive(Default)]
struct Group {
    counts: OverviewCounts,
    /// What needs attention, in order.
    attention: Vec<OverviewEnvironment>,
}

impl Fold {
    pub(super) fn new(grouping: Grouping) -> Self {
        Fold {
            grouping,
            totals: OverviewCounts::default(),
            groups: HashMap::new(),
            texts: Interner::default(),
            keys: Vec::new(),
        }
    }

    /// Takes in one environment.
    pub(super) fn take(&mut self, facts: &Facts<'_>, shown: &Shown<'_>) -> serde_json::Result<()> {
        shown.count(&mut self.totals);
        self.keys.clear();
        self.grouping.keys(facts, &mut self.texts, &mut self.keys)?;
        for key in &self.keys {
            // Nearly always the group is there, and its key need not be copied.
            match self.groups.get_mut(key) {
                Some(group) => group.take(shown),
                None => self.groups.entry(key.clone()).or_default().take(shown),
            }
        }
        Ok(())
    }

    /// What it amounts to, with at most `limit` groups.
    pub(super) fn finish(self, limit: usize) -> Overview {
        let told = |(keys, group): (Vec<u32>, Group)| OverviewGroup {
            keys: keys.into_iter().map(|number| self.texts.text(number)).collect(),
            counts: group.counts,
            attention: group.attention,
        };
        let mut groups: Vec<_> = self.groups.into_iter().map(told).collect();
        groups.sort_by(|a, b| {
            let urgency = |group: &OverviewGroup| attention(group.counts.health);
            urgency(a).cmp(&urgency(b)).then_with(|| a.keys.cmp(&b.keys))
        });
        let left_out = groups.len().saturating_sub(limit);
        groups.truncate(limit);
        Overview {
            group_by: self.grouping.by,
            groups,
            groups_left_out: u64::try_from(left_out).unwrap_or(u64::MAX),
            totals: self.totals,
            warnings: Vec::new(),
        }
    }
}

impl Shown<'_> {
    fn count(&self, counts: &mut OverviewCounts) {
        match self {
            Shown::Denied => counts.deny(),
            Shown::Told { health, resources, .. } => counts.count(*health, *resources),
        }
    }
}

impl Group {
    fn take(&mut self, shown: &Shown<'_>) {
        shown.count(&mut self.counts);
        let Shown::Told { health: Some(health), since, id, project, name, .. } = *shown else { return };
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
