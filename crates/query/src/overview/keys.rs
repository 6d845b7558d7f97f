//! In which groups an environment stands.

use std::borrow::Cow;

use crate::overview::interner::Interner;
use crate::row_filter::{Aim, Part, below};
use strandline_model::{EnvironmentFilter, GroupBy, Health, Labels};

/// What of an environment decides in which groups it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'r> {
    pub(super) tier: &'r str,
    pub(super) region: &'r str,
    pub(super) state: &'r str,
    pub(super) project: &'r str,
    pub(super) labels: Part<'r, Labels>,
    pub(super) targets: Part<'r, [Aim]>,
    /// As it shows; none also where the caller may not know it.
    pub(super) health: Option<Health>,
}

/// By what environments stand together.
pub(super) struct Grouping {
    /// At least one.
    pub(super) by: Vec<GroupBy>,
    /// The groups that are asked for, in the form in which paths are compared.
    groups: Vec<String>,
}

/// The keys of one environment, which are filled again for each.
#[derive(Default)]
pub(super) struct Keys {
    /// One key after the other, so that none is allocated by itself.
    parts: Vec<u32>,
    width: usize,
}

impl Keys {
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.parts.chunks_exact(self.width.max(1))
    }

    /// Adds a key that is not there yet.
    fn add(&mut self, parts: impl Iterator<Item = u32>) {
        let end = self.parts.len();
        self.parts.extend(parts);
        let (before, key) = self.parts.split_at(end);
        if before.chunks_exact(self.width.max(1)).any(|other| other == key) {
            self.parts.truncate(end);
        }
    }
}

impl Grouping {
    /// By these, or else by region.
    pub(super) fn new(by: &[GroupBy], filter: &EnvironmentFilter) -> Self {
        let by = if by.is_empty() { &[GroupBy::Region][..] } else { by };
        Grouping { by: by.to_vec(), groups: filter.groups.iter().map(|group| group.folded()).collect() }
    }

    /// Whether it looks at targets, of which an environment may have several.
    fn reads_targets(&self) -> bool {
        self.by.iter().any(|by| matches!(by, GroupBy::Cluster | GroupBy::Agent))
    }

    /// Whether it looks at labels.
    fn reads_labels(&self) -> bool {
        self.by.iter().any(|by| matches!(by, GroupBy::Label(_)))
    }

    /// Finds the keys of all groups in which an environment stands, each once: one, or one for each place of its targets.
    /// A cluster and an agent in one key are those of one target.
    pub(super) fn keys(
        &self,
        facts: &Facts<'_>,
        texts: &mut Interner,
        keys: &mut Keys,
    ) -> serde_json::Result<()> {
        let labels = if self.reads_labels() { facts.labels.read()? } else { Cow::default() };
        let targets = if self.reads_targets() { facts.targets.read()? } else { Cow::default() };
        keys.parts.clear();
        keys.width = self.by.len();
        let mut key = |target: Option<&Aim>| {
            keys.add(self.by.iter().map(|by| self.key(by, facts, &labels, target, texts)));
        };
        if targets.is_empty() {
            key(None);
        } else {
            targets.iter().for_each(|target| key(Some(target)));
        }
        Ok(())
    }

    fn key(
        &self,
        by: &GroupBy,
        facts: &Facts<'_>,
        labels: &Labels,
        target: Option<&Aim>,
        texts: &mut Interner,
    ) -> u32 {
        match by {
            GroupBy::Tier => texts.number(facts.tier),
            GroupBy::Region => texts.number(facts.region),
            GroupBy::State => texts.number(facts.state),
            GroupBy::Project => texts.number(facts.project),
            GroupBy::Group => texts.number(&self.group(facts.project)),
            GroupBy::Health => texts.number(facts.health.map_or("", Health::as_str)),
            GroupBy::Label(name) => texts.number(labels.get(name).map_or("", String::as_str)),
            GroupBy::Cluster => texts.number(target.map_or("", |target| &target.cluster)),
            GroupBy::Agent => match target.and_then(|target| target.agent.as_ref()) {
                Some(agent) => texts.number(&agent.to_string()),
                None => texts.number(""),
            },
        }
    }

    /// The path down to the level below the longest of the groups asked for, in lower case, since paths have no case.
    pub(super) fn group(&self, project: &str) -> String {
        let mut path = project.to_lowercase();
        let asked = self.groups.iter().filter(|group| below(&path, group).is_some());
        let above = asked.map(|group| group.len() + 1).max().unwrap_or(0);
        let end = path.get(above..).and_then(|rest| rest.find('/')).map(|at| above + at);
        path.truncate(end.unwrap_or(path.len()));
        path
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_the_level_below_the_group_that_is_asked_for() {
        for (asked, project, expected) in [
            (&[][..], "Shop/pay/api", "shop"),
            (&[], "alone", "alone"),
            (&["shop"], "shop/pay/api", "shop/pay"),
            (&["shop"], "shop/web", "shop/web"),
            (&["shop", "Shop/pay"], "shop/pay/api/x", "shop/pay/api"),
            (&["shop/web"], "shop/web", "shop/web"),
        ] {
            let groups = asked.iter().map(|group| group.parse().unwrap()).collect();
            let filter = EnvironmentFilter { groups, ..EnvironmentFilter::default() };
            assert_eq!(Grouping::new(&[], &filter).group(project), expected, "{project} below {asked:?}");
        }
    }
}
