//! The environments of a selection, folded.

use std::collections::HashSet;

use crate::error::Result;
use crate::overview::fold::{Fold, Row};
use crate::row_filter::{FilteredRow, Part, RowFilter};
use crate::standings::{SeenStandings, Shown, Standing};
use strandline_model::{EnvironmentFilter, HealthCounts, Timestamp};
use strandline_sqlite::column::unreadable;
use strandline_syntax::diagnostics::of_json;

/// Takes in the environments of a selection that are seen, as they show at a time.
pub(super) fn take<'a>(
    fold: &mut Fold<'a>,
    (seen, clock): (&'a SeenStandings, Timestamp),
    selection: &Selection<'_>,
    deployed: &mut impl FnMut(i64) -> rusqlite::Result<Option<i64>>,
) -> Result<()> {
    for one in seen.iter() {
        let mut row = row(one, seen.may_read(one), clock);
        if selection.takes(&row).map_err(|error| unreadable(0, of_json(&error)))? {
            row.deployment = deployed(one.number)?;
            fold.take(&row);
        }
    }
    Ok(())
}

/// An environment as it shows at a time; of what may not be read, neither health nor resources.
fn row(of: &Standing, readable: bool, clock: Timestamp) -> Row<'_> {
    let hidden = (Shown { health: None, since: Timestamp::from_micros(0) }, HealthCounts::default());
    let (Shown { health, since }, resources) =
        if readable { (of.shown(clock), of.resources()) } else { hidden };
    Row { of, readable, health, since, resources, deployment: None }
}

/// A filter, ready to be held against what is kept.
pub(super) struct Selection<'f> {
    sieve: &'f RowFilter<'f>,
    regions: HashSet<&'f str>,
    filter: &'f EnvironmentFilter,
}

impl<'f> Selection<'f> {
    pub(super) fn new(filter: &'f EnvironmentFilter, sieve: &'f RowFilter<'f>) -> Self {
        Selection { sieve, regions: filter.regions.iter().map(String::as_str).collect(), filter }
    }

    /// Whether an environment passes.
    fn takes(&self, row: &Row<'_>) -> serde_json::Result<bool> {
        let EnvironmentFilter { tiers, states, healths, .. } = self.filter;
        let of = row.of;
        let passes = (tiers.is_empty() || tiers.iter().any(|tier| *tier.as_str() == *of.tier))
            && (states.is_empty() || states.iter().any(|state| *state.as_str() == *of.state))
            && (self.regions.is_empty() || self.regions.contains(&*of.region))
            && (healths.is_empty() || row.health.is_some_and(|health| healths.contains(&health)));
        let rest = FilteredRow {
            project: &of.project,
            name: &of.name,
            labels: Part::Read(&of.labels),
            targets: Part::Read(&of.targets),
        };
        Ok(passes && self.sieve.matches(&rest)?)
    }
}
