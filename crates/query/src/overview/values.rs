//! What filters of environments can be chosen from.

use std::collections::BTreeSet;

use rusqlite::{Connection, named_params};

use crate::error::Result;
use crate::moment::Moment;
use crate::overview::in_sight;
use crate::overview::keys::Grouping;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, one_of, sees};
use crate::words;
use serde::Serialize;
use strandline_model::{EnvironmentFilter, Tier};

/// Regions, groups and clusters of all environments in use that the caller sees.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ListFilterValues {
    /// The most of each.
    pub limit: usize,
}

/// What filters of environments can be chosen from, each in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterValues {
    /// Regions that environments have.
    pub regions: Vec<String>,
    /// Groups at the top, in lower case.
    pub groups: Vec<String>,
    /// Clusters that are declared and in which the caller may see something.
    pub clusters: Vec<String>,
}

impl Question for ListFilterValues {
    const NAME: &'static str = "filter_values";
    type Answer = FilterValues;

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, .. } = context;
        values(view, &moment, scope, self.limit)
    }
}

/// An index has all of it; a scope begins with the environments that it sees.
macro_rules! select {
    ($from:expr) => {
        concat!(
            "SELECT DISTINCT e.region, e.project FROM ",
            $from,
            " WHERE e.tier IN (SELECT value FROM json_each(:tiers)) AND e.to_offset > :at AND e.from_offset <= :at
                AND e.state IN (SELECT value FROM json_each(:states)) AND ",
            sees!()
        )
    };
}

const OF_ALL: &str = select!("environment e INDEXED BY environment_by_tier");
const OF_SCOPE: &str = select!(in_sight!());

fn values(view: &Connection, moment: &Moment, scope: &ResolvedScope, limit: usize) -> Result<FilterValues> {
    let sql = if scope.is_everything() { OF_ALL } else { OF_SCOPE };
    let mut statement = view.prepare_cached(sql)?;
    let mut rows = statement.query(named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
        ":tiers": one_of(&Tier::ALL, |tier| tier.as_str()),
        ":states": one_of(&EnvironmentFilter::IN_USE, |state| state.as_str()),
    })?;
    let top = Grouping::new(&[], &EnvironmentFilter::default());
    let (mut regions, mut groups) = (BTreeSet::new(), BTreeSet::new());
    while let Some(row) = rows.next()? {
        let (region, project) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        if !region.is_empty() && !regions.contains(region) {
            regions.insert(region.to_owned());
        }
        groups.insert(top.group(project));
    }
    let first = |names: BTreeSet<String>| names.into_iter().take(limit).collect();
    let clusters = first(words::clusters_looked_at(view, moment, scope)?);
    Ok(FilterValues { regions: first(regions), groups: first(groups), clusters })
}
