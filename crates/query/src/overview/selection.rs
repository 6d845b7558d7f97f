//! The environments of a selection, folded.

use crate::error::Result;
use crate::overview::fold::{Fold, Row};
use crate::standings::{SeenStandings, Shown, Sieve, Standing};
use strandline_model::{EnvironmentFilter, HealthCounts, Timestamp};

/// Takes in the environments of a selection that are seen, as they show at a time.
pub(super) fn take<'a>(
    fold: &mut Fold<'a>,
    (seen, clock): (&'a SeenStandings, Timestamp),
    filter: &EnvironmentFilter,
    deployed: &mut impl FnMut(i64) -> rusqlite::Result<Option<i64>>,
) -> Result<()> {
    let sieve = Sieve::new(filter);
    for one in seen.iter() {
        let mut row = row(one, seen.may_read(one), clock);
        let is_so = |health| filter.healths.contains(&health);
        if (filter.healths.is_empty() || row.health.is_some_and(is_so)) && sieve.takes(one)? {
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
