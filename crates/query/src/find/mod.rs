//! Search over everything that has a name, by words that people type.
//!
//! Names are compared one by one, in what belongs to the scope and nothing else: so that no order, no cut and no time
//! depends on what others have, and any part of a name is found. What is found is compared with the scope and the moment once
//! more, the best first, until there is enough.
//!
//! Why: docs/decisions/0035-search-scans-packed-lines.md.

mod catalog;
mod images;
mod lines;
mod near;
mod rank;
mod terms;

use std::cell::OnceCell;

use rusqlite::Connection;
use serde::Serialize;

use self::lines::Blocks;
pub use self::terms::SearchTerms;

use crate::concerns::Concerns;
use crate::error::Result;
use crate::kept::Kept;
use crate::moment::Moment;
use crate::question::{Context, Question};
use crate::scope::ResolvedScope;
use crate::standings::SeenStandings;
use strandline_protocol::{Answer, SearchResults, SearchType};

/// The best of everything whose name holds some words, by groups.
#[derive(Clone, Debug, Serialize)]
pub struct Search {
    /// What names are to hold.
    pub terms: SearchTerms,
    /// Which groups; empty for all.
    pub types: Vec<SearchType>,
    /// How many of each group at most.
    pub limit: usize,
}

impl Search {
    /// How many of each group are found unless more are asked for.
    pub const DEFAULT: usize = 5;
    /// The most of each group.
    pub const MAX: usize = 100;

    /// The question with these parts.
    pub fn new(terms: SearchTerms, types: &[SearchType], limit: usize) -> Self {
        Search { terms, types: types.to_vec(), limit: limit.clamp(1, Search::MAX) }
    }
}

impl Question for Search {
    const NAME: &'static str = "find";
    type Answer = Answer<SearchResults>;

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, log, moment, scope, kept, .. } = context;
        let finder = self.terms.finder();
        let once = Once::default();
        let place = Place { view, kept, moment: &moment, scope, limit: self.limit, once: &once };
        let is_wanted = |of: SearchType| self.types.is_empty() || self.types.contains(&of);
        let mut found = SearchResults { query: self.terms.to_string(), ..SearchResults::default() };
        if is_wanted(SearchType::Environments) {
            found.environments = Some(catalog::environments(&place, &finder)?);
        }
        if is_wanted(SearchType::Projects) {
            found.projects = Some(catalog::projects(&place, &finder)?);
        }
        if is_wanted(SearchType::Clusters) {
            found.clusters = Some(catalog::clusters(&place, &finder)?);
        }
        if is_wanted(SearchType::Resources) {
            found.resources = Some(lines::resources(&place, log, &finder)?);
        }
        if is_wanted(SearchType::Images) {
            found.images = Some(images::images(&place, &finder)?);
        }
        if is_wanted(SearchType::Deployments) {
            found.deployments = Some(lines::deployments(&place, &finder)?);
        }
        if found.is_empty() {
            found.warnings = near::unknown(&place, log, &finder, &found)?;
        }
        Ok(Answer { value: found, metadata: moment.snapshot(view, scope, &Concerns::Everything)? })
    }
}

/// Where is searched, and how much of it is shown.
struct Place<'a> {
    view: &'a Connection,
    kept: &'a Kept,
    moment: &'a Moment,
    scope: &'a ResolvedScope,
    limit: usize,
    once: &'a Once,
}

/// What several groups of a search look at, from when the first of them does.
#[derive(Default)]
struct Once {
    /// The scope's resources.
    own_resources: OnceCell<Option<Blocks>>,
    standings: OnceCell<SeenStandings>,
}

impl Place<'_> {
    /// The environments that are seen.
    fn standings(&self) -> Result<&SeenStandings> {
        let Place { view, kept, moment, scope, once: Once { standings, .. }, .. } = self;
        if let Some(known) = standings.get() {
            return Ok(known);
        }
        let read = kept.standings.of(view, moment, scope)?;
        Ok(standings.get_or_init(|| read))
    }
}
