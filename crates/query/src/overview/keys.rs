//! In which groups an environment stands.

use crate::overview::interner::Interner;
use crate::row_filter::{Aim, below};
use crate::standings::Standing;
use strandline_model::{EnvironmentFilter, GroupBy, Health};

/// By what environments stand together.
pub(super) struct Grouping {
    /// At least one.
    pub(super) by: Vec<GroupBy>,
    /// The groups that are asked for, in the form in which paths are compared.
    groups: Vec<String>,
}

/// By what a group is known: the numbers of its texts, of which a grouping by one has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    numbers: [u32; GroupBy::MAX],
    levels: usize,
}

impl Key {
    pub(super) fn numbers(&self) -> &[u32] {
        self.numbers.get(..self.levels).unwrap_or_default()
    }
}

impl Grouping {
    /// By these, or else by region.
    pub(super) fn new(by: &[GroupBy], filter: &EnvironmentFilter) -> Self {
        let by = if by.is_empty() { &[GroupBy::Region][..] } else { by };
        assert!(by.len() <= GroupBy::MAX, "nothing is grouped at more levels");
        Grouping { by: by.to_vec(), groups: filter.groups.iter().map(|group| group.folded()).collect() }
    }

    /// Whether it looks at targets, of which an environment may have several.
    fn reads_targets(&self) -> bool {
        self.by.iter().any(|by| matches!(by, GroupBy::Cluster | GroupBy::Agent))
    }

    /// Finds the keys of all groups in which an environment stands, each once: one, or one for each place of its targets.
    /// A cluster and an agent in one key are those of one target.
    pub(super) fn keys<'a>(
        &self,
        (of, health): (&'a Standing, Option<Health>),
        texts: &mut Interner<'a>,
        keys: &mut Vec<Key>,
    ) {
        keys.clear();
        let mut add = |target: Option<&'a Aim>| {
            let mut numbers = [0; GroupBy::MAX];
            for (number, by) in numbers.iter_mut().zip(&self.by) {
                *number = self.number(by, (of, health), target, texts);
            }
            let key = Key { numbers, levels: self.by.len() };
            if !keys.contains(&key) {
                keys.push(key);
            }
        };
        match &*of.targets {
            targets @ [_, ..] if self.reads_targets() => targets.iter().for_each(|target| add(Some(target))),
            _ => add(None),
        }
    }

    /// The number of what an environment has of one level.
    fn number<'a>(
        &self,
        by: &GroupBy,
        (of, health): (&'a Standing, Option<Health>),
        target: Option<&'a Aim>,
        texts: &mut Interner<'a>,
    ) -> u32 {
        match by {
            GroupBy::Tier => texts.number(&*of.tier),
            GroupBy::Region => texts.number(&*of.region),
            GroupBy::State => texts.number(&*of.state),
            GroupBy::Project => texts.number(&*of.project),
            GroupBy::Group => texts.number(self.group(&of.project)),
            GroupBy::Health => texts.number(health.map_or("", Health::as_str)),
            GroupBy::Label(name) => texts.number(of.labels.get(name).map_or("", String::as_str)),
            GroupBy::Cluster => texts.number(target.map_or("", |target| &target.cluster)),
            GroupBy::Agent => match target.and_then(|target| target.agent.as_ref()) {
                Some(agent) => texts.number(agent.to_string()),
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
