//! A filter of environments, held against those that are kept.

use std::collections::HashSet;

use super::Standing;
use crate::error::Result;
use crate::row_filter::{FilteredRow, Part, RowFilter};
use strandline_model::EnvironmentFilter;
use strandline_sqlite::column::unreadable;
use strandline_syntax::diagnostics::of_json;

/// All parts of a filter but health, which depends on the clock and on who may read it.
pub(in super::super) struct Sieve<'f> {
    filter: &'f EnvironmentFilter,
    regions: HashSet<&'f str>,
    rest: RowFilter<'f>,
}

impl<'f> Sieve<'f> {
    pub(in super::super) fn new(filter: &'f EnvironmentFilter) -> Self {
        let regions = filter.regions.iter().map(String::as_str).collect();
        Sieve { filter, regions, rest: RowFilter::new(filter) }
    }

    /// Whether an environment passes.
    pub(in super::super) fn takes(&self, one: &Standing) -> Result<bool> {
        let rest = FilteredRow {
            project: &one.project,
            name: &one.name,
            labels: Part::Read(&one.labels),
            targets: Part::Read(&one.targets),
        };
        let passes = self.passes([&one.tier, &one.state, &one.region], &rest);
        Ok(passes.map_err(|error| unreadable(0, of_json(&error)))?)
    }

    /// Whether one of this tier, state and region does; these are asked first.
    pub(in super::super) fn passes(
        &self,
        [tier, state, region]: [&str; 3],
        rest: &FilteredRow<'_>,
    ) -> serde_json::Result<bool> {
        let EnvironmentFilter { tiers, states, .. } = self.filter;
        let passes = (tiers.is_empty() || tiers.iter().any(|one| one.as_str() == tier))
            && (states.is_empty() || states.iter().any(|one| one.as_str() == state))
            && (self.regions.is_empty() || self.regions.contains(region));
        Ok(passes && self.rest.matches(rest)?)
    }
}
