//! The parts of a filter of environments that no index helps with, held against rows before a page is cut.
//!
//! What an index helps with (tier, region, state, health, scope) is in the SQL. Everything else is compared here, by lists
//! and overviews alike, so that a page is cut after the whole filter.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use strandline_model::{AgentId, EnvironmentFilter, Labels};
use strandline_syntax::fold_case;

/// A filter, ready to be held against rows.
pub(super) struct RowFilter<'a> {
    filter: &'a EnvironmentFilter,
    /// The groups in the form in which paths are compared.
    groups: Vec<String>,
}

/// What of a row it looks at.
pub(super) struct FilteredRow<'r> {
    pub(super) project: &'r str,
    pub(super) name: &'r str,
    pub(super) labels: Part<'r, Labels>,
    pub(super) targets: Part<'r, [Aim]>,
}

/// What of a target decides about an environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub(super) struct Aim {
    pub(super) cluster: String,
    #[serde(default)]
    pub(super) agent: Option<AgentId>,
}

/// A part of a row that few questions look at: JSON of the view, or what was read of it before.
#[derive(Debug)]
pub(super) enum Part<'r, T: ?Sized> {
    Json(&'r str),
    Read(&'r T),
}

impl<'r, T: ToOwned + ?Sized> Part<'r, T>
where
    T::Owned: DeserializeOwned,
{
    pub(super) fn read(&self) -> serde_json::Result<Cow<'r, T>> {
        Ok(match self {
            Part::Json(text) => Cow::Owned(serde_json::from_str(text)?),
            Part::Read(value) => Cow::Borrowed(*value),
        })
    }
}

impl<T: ?Sized> Clone for Part<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Part<'_, T> {}

impl<'a> RowFilter<'a> {
    pub(super) fn new(filter: &'a EnvironmentFilter) -> Self {
        RowFilter { filter, groups: filter.groups.iter().map(|group| group.folded()).collect() }
    }

    /// Whether it looks at targets.
    fn reads_targets(&self) -> bool {
        !self.filter.clusters.is_empty() || !self.filter.agents.is_empty()
    }

    /// Whether it looks at labels.
    fn reads_labels(&self) -> bool {
        !self.filter.labels.is_empty()
    }

    /// Whether an environment passes; what is cheap is asked first.
    pub(super) fn matches(&self, row: &FilteredRow<'_>) -> serde_json::Result<bool> {
        let EnvironmentFilter { projects, names, search, .. } = self.filter;
        let passes = (projects.is_empty() || projects.iter().any(|glob| glob.matches_path(row.project)))
            && (names.is_empty() || names.iter().any(|glob| glob.matches(row.name)))
            && (search.is_empty() || fold_case(row.name).contains(&fold_case(search)))
            && (self.groups.is_empty() || self.in_group(row.project));
        Ok(passes && self.labelled(row.labels)? && self.aimed(row.targets)?)
    }

    fn in_group(&self, project: &str) -> bool {
        let path = project.to_lowercase();
        self.groups.iter().any(|group| below(&path, group).is_some())
    }

    fn labelled(&self, labels: Part<'_, Labels>) -> serde_json::Result<bool> {
        if !self.reads_labels() {
            return Ok(true);
        }
        let labels = labels.read()?;
        Ok(self.filter.labels.matches(|name| labels.get(name).map(String::as_str)))
    }

    fn aimed(&self, targets: Part<'_, [Aim]>) -> serde_json::Result<bool> {
        if !self.reads_targets() {
            return Ok(true);
        }
        let EnvironmentFilter { clusters, agents, .. } = self.filter;
        let targets = targets.read()?;
        let into = |target: &Aim| clusters.contains(&target.cluster);
        let by = |target: &Aim| target.agent.as_ref().is_some_and(|agent| agents.contains(agent));
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
        let labels = Part::Json(r#"{"team":"pay","pci":""}"#);
        let row = FilteredRow { project, name, labels, targets: Part::Json(targets) };
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
