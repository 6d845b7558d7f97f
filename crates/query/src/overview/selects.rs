//! Which selections have something in them for a caller.

use crate::error::Result;
use crate::question::{Context, Question};
use crate::standings::Sieve;
use serde::Serialize;
use strandline_model::EnvironmentFilter;

/// Which of these filters would take an environment that the caller sees, whatever its state and health. For who sees
/// everything, all do.
#[derive(Clone, Debug, Serialize)]
pub struct WhichSelect {
    /// The filters.
    pub filters: Vec<EnvironmentFilter>,
}

impl Question for WhichSelect {
    const NAME: &'static str = "which_select";
    /// In their order.
    type Answer = Vec<bool>;

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, ref moment, scope, .. } = context;
        if scope.is_everything() {
            return Ok(vec![true; self.filters.len()]);
        }
        let seen = context.kept.standings.of(view, moment, scope)?;
        let selects = |filter: &EnvironmentFilter| {
            let whatever = EnvironmentFilter { states: Vec::new(), ..filter.clone() };
            let sieve = Sieve::new(&whatever);
            for one in seen.iter() {
                if sieve.takes(one)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        self.filters.iter().map(selects).collect()
    }
}
