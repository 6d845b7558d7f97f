//! What filters of environments can be chosen from.

use std::collections::{BTreeSet, HashSet};

use crate::error::Result;
use crate::overview::keys::Grouping;
use crate::question::{Context, Question};
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

fn values(context: &Context<'_>, limit: usize) -> Result<FilterValues> {
    let Context { view, moment, scope, .. } = context;
    let top = Grouping::new(&[], &EnvironmentFilter::default());
    let (mut regions, mut groups) = (BTreeSet::new(), BTreeSet::new());
    let in_use = EnvironmentFilter::IN_USE.map(|state| state.as_str());
    let seen = context.kept.standings.of(view, moment, scope)?;
    // Thousands of environments are of few projects.
    let mut known = HashSet::new();
    for one in seen.iter().filter(|one| in_use.contains(&&*one.state)) {
        if known.insert((&*one.region, &*one.project)) {
            if !one.region.is_empty() && !regions.contains(&*one.region) {
                regions.insert(one.region.to_string());
            }
            groups.insert(top.group(&one.project));
        }
    }
    let first = |names: BTreeSet<String>| names.into_iter().take(limit).collect();
    let clusters = first(words::clusters_looked_at(view, moment, scope)?);
    Ok(FilterValues { regions: first(regions), groups: first(groups), clusters })
}
