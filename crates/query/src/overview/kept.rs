//! Environments that are kept in memory, held against a filter and folded.

use std::collections::HashSet;

use crate::error::Result;
use crate::overview::fold::{Fold, Row};
use crate::overview::keys::Facts;
use crate::overview::unreadable;
use crate::row_filter::{FilteredRow, Part, RowFilter};
use crate::standings::{SeenStandings, Shown, Standing};
use strandline_model::{EnvironmentFilter, HealthCounts, Timestamp};

/// Takes in the environments of a selection that are seen, as they show at a time.
pub(super) fn take(
    fold: &mut Fold,
    (seen, clock): (&SeenStandings, Timestamp),
    selection: &Selection<'_>,
    deployed: &mut impl FnMut(i64) -> rusqlite::Result<Option<i64>>,
) -> Result<()> {
    for one in seen.iter() {
        let mut row = row(one, seen.may_read(one), clock);
        if selection.takes(one, &row).map_err(unreadable)? {
            row.deployment = deployed(one.number)?;
            fold.take(&facts(one, &row), &row).map_err(unreadable)?;
        }
    }
    Ok(())
}

/// An environment as it shows at a time; of what may not be read, neither health nor resources.
fn row(standing: &Standing, readable: bool, clock: Timestamp) -> Row<'_> {
    let hidden = (Shown { health: None, since: Timestamp::from_micros(0) }, HealthCounts::default());
    let (Shown { health, since }, resources) =
        if readable { (standing.shown(clock), standing.resources()) } else { hidden };
    Row {
        number: standing.number,
        id: &standing.id,
        project: &standing.project,
        name: &standing.name,
        readable,
        health,
        since,
        resources,
        deployment: None,
    }
}

/// What decides in which groups it stands.
fn facts<'r>(standing: &'r Standing, row: &Row<'_>) -> Facts<'r> {
    Facts {
        tier: &standing.tier,
        region: &standing.region,
        state: &standing.state,
        project: &standing.project,
        labels: Part::Read(&standing.labels),
        targets: Part::Read(&standing.targets),
        health: row.health,
    }
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

    /// Whether an environment passes, which shows as this row says.
    fn takes(&self, standing: &Standing, row: &Row<'_>) -> serde_json::Result<bool> {
        let EnvironmentFilter { tiers, states, healths, .. } = self.filter;
        let passes = (tiers.is_empty() || tiers.iter().any(|tier| *tier.as_str() == *standing.tier))
            && (states.is_empty() || states.iter().any(|state| *state.as_str() == *standing.state))
            && (self.regions.is_empty() || self.regions.contains(&*standing.region))
            && (healths.is_empty() || row.health.is_some_and(|health| healths.contains(&health)));
        let rest = FilteredRow {
            project: row.project,
            name: row.name,
            labels: Part::Read(&standing.labels),
            targets: Part::Read(&standing.targets),
        };
        Ok(passes && self.sieve.matches(&rest)?)
    }
}
