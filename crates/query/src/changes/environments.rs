//! The environments of a list across environments: all that a filter lets through, or each when something of it is met.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::error::Result;
use crate::question::Context;
use crate::row_filter::{FilteredRow, Part};
use crate::scope::{ResolvedScope, reads, sees};
use crate::standings::{SeenStandings, Sieve, Standing};
use strandline_model::{EnvironmentFilter, EnvironmentId, EnvironmentState, Offset, Tier};
use strandline_protocol::FeedEnvironment;
use strandline_sqlite::column::{self, VIEW};

/// Of fewer than this part of all environments, each is read by itself.
const PART: usize = 8;

/// An environment at the moment, as far as a scope may do so much with it.
macro_rules! select {
    ($may:expr) => {
        concat!(
            "SELECT e.id, e.name_id, e.project, e.name, e.tier, e.region, e.state, e.labels, e.targets
            FROM environment e WHERE e.id = :id AND e.from_offset <= :at AND e.to_offset > :at AND ",
            $may
        )
    };
}

const READ: &str = select!(reads!());
const SEEN: &str = select!(sees!());

/// The environments of a feed, by the view's numbers.
pub(crate) struct Selection<'a> {
    view: &'a Connection,
    at: Offset,
    scope: &'a ResolvedScope,
    filter: &'a EnvironmentFilter,
    sieve: Sieve<'a>,
    one: &'static str,
    /// Those that were asked for.
    known: HashMap<i64, Option<FeedEnvironment>>,
    /// The numbers of all, ascending, where it is not each that is there.
    chosen: Option<Vec<i64>>,
}

impl<'a> Selection<'a> {
    /// Of what a caller reads at the moment what a filter lets through. All are looked up at once where they are a part.
    pub(crate) fn new(q: &Context<'a>, filter: &'a EnvironmentFilter) -> Result<Self> {
        Self::of(q, filter, READ).choose(q, |seen, one| seen.may_read(one))
    }

    /// The same of what a caller sees, be it without what it holds.
    pub(crate) fn seen(q: &Context<'a>, filter: &'a EnvironmentFilter) -> Result<Self> {
        Self::of(q, filter, SEEN).choose(q, |_, _| true)
    }

    /// One of them alone, by the view's number.
    pub(crate) fn only(q: &Context<'a>, filter: &'a EnvironmentFilter, number: i64) -> Result<Self> {
        let mut selection = Self::of(q, filter, READ);
        let found = selection.get(number)?.is_some();
        selection.chosen = Some(Vec::from_iter(found.then_some(number)));
        Ok(selection)
    }

    fn of(q: &Context<'a>, filter: &'a EnvironmentFilter, one: &'static str) -> Self {
        let (view, at, scope) = (q.view, q.moment.offset, q.scope);
        let sieve = Sieve::new(filter);
        Selection { view, at, scope, filter, sieve, one, known: HashMap::new(), chosen: None }
    }

    /// The same with the numbers of all that pass, where these are not everything.
    fn choose(self, q: &Context<'_>, may: fn(&SeenStandings, &Standing) -> bool) -> Result<Self> {
        let whole = EnvironmentFilter { states: self.filter.states.clone(), ..EnvironmentFilter::default() };
        if *self.filter == whole && self.scope.is_everything() {
            return Ok(self);
        }
        let (seen, mut chosen) = (q.kept.standings.of(q.view, &q.moment, q.scope)?, Vec::new());
        for one in seen.iter().filter(|one| may(&seen, one)) {
            if self.sieve.takes(one)? {
                chosen.push(one.number);
            }
        }
        debug_assert!(chosen.is_sorted(), "it is searched by number");
        Ok(Selection { chosen: Some(chosen), ..self })
    }

    /// Whether there are so few of all that it is worth while to read each by itself. What others have costs a scope nothing,
    /// so that it always is for one.
    pub(crate) fn is_few(&self) -> Result<bool> {
        let Some(chosen) = &self.chosen else { return Ok(false) };
        if !self.scope.is_everything() {
            return Ok(true);
        }
        let sql = "SELECT count(*) FROM environment_name";
        let all: i64 = self.view.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(chosen.len().saturating_mul(PART) <= usize::try_from(all).unwrap_or(usize::MAX))
    }

    /// The numbers of all, as JSON, where they are known.
    pub(crate) fn numbers(&self) -> Option<String> {
        self.chosen.as_ref().map(|chosen| serde_json::json!(chosen).to_string())
    }

    /// An environment; none where it is not among them.
    pub(crate) fn get(&mut self, number: i64) -> Result<Option<&FeedEnvironment>> {
        if self.chosen.as_ref().is_some_and(|chosen| chosen.binary_search(&number).is_err()) {
            return Ok(None);
        }
        let known = match self.known.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let mut statement = self.view.prepare_cached(self.one)?;
                let params = named_params! {
                    ":id": number, ":at": self.at.as_i64(), ":scope": self.scope.as_sql(),
                };
                let found = statement.query_row(params, |row| matching(&self.sieve, row)).optional()?;
                unknown.insert(found.flatten())
            }
        };
        Ok(known.as_ref())
    }
}

fn matching(sieve: &Sieve<'_>, row: &Row<'_>) -> rusqlite::Result<Option<FeedEnvironment>> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
    let tier: Tier = VIEW.get_at(row, 4, "environment.tier")?;
    let state: EnvironmentState = VIEW.get_at(row, 6, "environment.state")?;
    let region = text(5)?;
    let rest = FilteredRow {
        project: text(2)?,
        name: text(3)?,
        labels: Part::Json(text(7)?),
        targets: Part::Json(text(8)?),
    };
    let passes = sieve.passes([tier.as_str(), state.as_str(), region], &rest);
    if !passes.map_err(|error| column::unreadable(7, error))? {
        return Ok(None);
    }
    Ok(Some(FeedEnvironment {
        id: EnvironmentId::new(text(1)?),
        project: text(2)?.to_owned(),
        name: text(3)?.to_owned(),
        tier,
        region: region.to_owned(),
    }))
}
