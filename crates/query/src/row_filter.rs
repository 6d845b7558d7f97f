//! The parts of a filter of environments that no index helps with, held against rows before a page is cut.
//!
//! What an index helps with (tier, region, state, health, scope) is in the SQL. Everything else is compared here, by lists
//! and overviews alike, so that a page is cut after the whole filter.

use strandline_model::{EnvironmentFilter, Labels, Target};

/// A filter, ready to be held against rows.
pub(super) struct RowFilter<'a> {
    filter: &'a EnvironmentFilter,
    /// The groups in the form in which paths are compared.
    groups: Vec<String>,
}

/// What of a row it looks at; labels and targets as JSON.
pub(super) struct FilteredRow<'r> {
    pub(super) project: &'r str,
    pub(super) name: &'r str,
    pub(super) labels: &'r str,
    pub(super) targets: &'r str,
}

impl<'a> RowFilter<'a> {
    pub(super) fn new(filter: &'a EnvironmentFilter) -> Self {
        RowFilter { filter, groups: filter.groups.iter().map(|group| group.folded()).collect() }
    }

    /// Whether it looks at targets.
    pub(super) fn reads_targets(&self) -> bool {
        !self.filter.clusters.is_empty() || !self.filter.agents.is_empty()
    }

    /// Whether it looks at labels.
    pub(super) fn reads_labels(&self) -> bool {
        !self.filter.labels.is_empty()
    }

    /// Whether an environment passes; what is cheap is asked first.
    pub(super) fn matches(&self, row: &FilteredRow<'_>) -> serde_json::Result<bool> {
        let EnvironmentFilter { projects, names, search, .. } = self.filter;
        let passes = (projects.is_empty() || projects.iter().any(|glob| glob.matches_path(row.project)))
            && (names.is_empty() || names.iter().any(|glob| glob.matches(row.name)))
            && (search.is_empty() || row.name.to_lowercase().contains(&search.to_lowercase()))
            && (self.groups.is_empty() || self.in_group(row.project));
        Ok(passes && self.labelled(row.labels)? && self.aimed(row.targets)?)
    }

    fn in_group(&self, project: &str) -> bool {
        let path = project.to_lowercase();
        self.groups.iter().any(|group| below(&path, group).is_some())
    }

    fn labelled(&self, labels: &str) -> serde_json::Result<bool> {
        if !self.reads_labels() {
            return Ok(true);
        }
        let labels: Labels = serde_json::from_str(labels)?;
        Ok(self.filter.labels.matches(|name| labels.get(name).map(String::as_str)))
    }

    fn aimed(&self, targets: &str) -> serde_json::Result<bool> {
        if !self.reads_targets() {
            return Ok(true);
        }
        let EnvironmentFilter { clusters, agents, .. } = self.filter;
        let targets: Vec<Target> = serde_json::from_str(targets)?;
        let into = |target: &Target| clusters.contains(&target.cluster);
        let by = |target: &Target| target.agent.as_ref().is_some_and(|agent| agents.contains(agent));
        Ok((clusters.is_empty() || targets.iter().any(into)) && (agents.is_empty() || targets.iter().any(by)))
    }
}

/// What of a path lies below a group, empty where it is the group itself; both in the form in which paths are compared.
pub(super) fn below<'p>(path: &'p str, group: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(group)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn matches(filter: &EnvironmentFilter, project: &str, name: &str) -> bool {
        let targets = r#"[{"cluster":"eu","namespace":"a","labels":{},"agent":"shop/agents:one"},
            {"cluster":"us","namespace":"b","labels":{},"agent":null}]"#;
        let row = FilteredRow { project, name, labels: r#"{"team":"pay","pci":""}"#, targets };
        RowFilter::new(filter).matches(&row).unwrap()
    }

    #[test]
    fn a_group_holds_what_is_below_it_at_any_depth() {
        let groups = vec!["Shop".parse().unwrap(), "ops/tools".parse().unwrap()];
        let filter = EnvironmentFilter { groups, ..EnvironmentFilter::default() };
        for (project, expected) in [
            ("shop/web", true),
            ("SHOP/a/b", true),
            ("shop", true),
            ("shopping/web", false),
            ("ops/tools/ci", true),
            ("ops/other", false),
            ("other/shop/web", false),
        ] {
            assert_eq!(matches(&filter, project, "production"), expected, "{project}");
        }
    }

    #[test]
    fn every_part_has_to_fit_by_one_of_its_values() {
        let any = EnvironmentFilter::default;
        let cases = [
            (any(), true),
            (EnvironmentFilter { clusters: vec!["us".into(), "x".into()], ..any() }, true),
            (EnvironmentFilter { clusters: vec!["u".into()], ..any() }, false),
            (EnvironmentFilter { agents: vec!["shop/agents:one".parse().unwrap()], ..any() }, true),
            (EnvironmentFilter { agents: vec!["shop/agents:two".parse().unwrap()], ..any() }, false),
            (EnvironmentFilter { labels: "team in (pay),pci".parse().unwrap(), ..any() }, true),
            (EnvironmentFilter { labels: "!pci".parse().unwrap(), ..any() }, false),
            (EnvironmentFilter { projects: vec!["SHOP/w*".parse().unwrap()], ..any() }, true),
            (EnvironmentFilter { names: vec!["Production".parse().unwrap()], ..any() }, false),
            (
                EnvironmentFilter {
                    names: vec!["prod*".parse().unwrap()],
                    clusters: vec!["x".into()],
                    ..any()
                },
                false,
            ),
        ];
        for (filter, expected) in cases {
            assert_eq!(matches(&filter, "shop/web", "production"), expected, "{filter:?}");
        }
    }
}
