//! What filters of environments can be chosen from.

use std::collections::{BTreeSet, HashSet};

use rusqlite::named_params;

use crate::error::Result;
use crate::overview::in_sight;
use crate::overview::keys::Grouping;
use crate::question::{Context, Question};
use crate::scope::one_of;
use crate::words;
use serde::Serialize;
use strandline_model::EnvironmentFilter;

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
        values(&context, self.limit)
    }
}

/// What the environments in use are named by that a scope sees, where it sees little.
const OF_SCOPE: &str = concat!(
    "SELECT DISTINCT e.region, e.project FROM ",
    in_sight!(),
    " WHERE e.to_offset > :at AND e.state IN (SELECT value FROM json_each(:states))"
);

fn values(context: &Context<'_>, limit: usize) -> Result<FilterValues> {
    let Context { view, moment, scope, .. } = context;
    let top = Grouping::new(&[], &EnvironmentFilter::default());
    let (mut regions, mut groups) = (BTreeSet::new(), BTreeSet::new());
    let mut take = |region: &str, project: &str| {
        if !region.is_empty() && !regions.contains(region) {
            regions.insert(region.to_owned());
        }
        groups.insert(top.group(project));
    };
    if let Some(seen) = context.kept.standings.of(view, moment, scope)? {
        let in_use = EnvironmentFilter::IN_USE.map(|state| state.as_str());
        // Thousands of environments are of few projects.
        let mut known = HashSet::new();
        for one in seen.iter().filter(|one| in_use.contains(&&*one.state)) {
            if known.insert((&*one.region, &*one.project)) {
                take(&one.region, &one.project);
            }
        }
    } else {
        let mut statement = view.prepare_cached(OF_SCOPE)?;
        let mut rows = statement.query(named_params! {
            ":at": moment.offset.as_i64(),
            ":states": one_of(&EnvironmentFilter::IN_USE, |state| state.as_str()),
        })?;
        while let Some(row) = rows.next()? {
            take(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        }
    }
    let first = |names: BTreeSet<String>| names.into_iter().take(limit).collect();
    let clusters = first(words::clusters_looked_at(view, moment, scope)?);
    Ok(FilterValues { regions: first(regions), groups: first(groups), clusters })
}
