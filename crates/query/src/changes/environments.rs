//! The environments of a list across environments: all that a filter lets through, or each when something of it is met.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::error::Result;
use crate::question::Context;
use crate::row_filter::{FilteredRow, Part, RowFilter};
use crate::scope::{ResolvedScope, reads, sees};
use strandline_model::{EnvironmentFilter, EnvironmentId, Offset};
use strandline_protocol::FeedEnvironment;
use strandline_sqlite::column::{self, VIEW};

/// Of fewer than this part of all environments, each is read by itself.
const PART: usize = 8;

/// Environments at the moment, from `$from`, as far as a scope may do so much with them.
macro_rules! select {
    ($from:expr, $may:expr) => {
        concat!(
            "SELECT e.id, e.name_id, e.project, e.name, e.tier, e.region, e.state, e.labels, e.targets FROM ",
            $from,
            " WHERE e.from_offset <= :at AND e.to_offset > :at AND ",
            $may
        )
    };
}

/// Statements for one environment, for all, and for all of a scope.
struct Statements {
    one: &'static str,
    all: &'static str,
    of_scope: &'static str,
}

macro_rules! statements {
    ($audiences:literal, $may:expr) => {
        Statements {
            one: select!("(SELECT :id AS id) one CROSS JOIN environment e ON e.id = one.id", $may),
            all: select!("environment e", $may),
            of_scope: select!(
                concat!(
                    "temp.",
                    $audiences,
                    " s CROSS JOIN environment_audience a INDEXED BY environment_audience_by_audience
                        ON a.audience = s.audience AND a.to_offset > :at AND a.from_offset <= :at
                    CROSS JOIN environment e ON e.id = a.environment_id"
                ),
                $may
            ),
        }
    };
}

const READ: Statements = statements!("sight_reads", reads!());
const SEEN: Statements = statements!("sight_sees", sees!());

/// The environments of a feed, by the view's numbers.
pub(crate) struct Selection<'a> {
    view: &'a Connection,
    at: Offset,
    scope: &'a ResolvedScope,
    filter: &'a EnvironmentFilter,
    statements: &'static Statements,
    known: HashMap<i64, Option<FeedEnvironment>>,
    /// Whether all that there are are known.
    is_complete: bool,
}

impl<'a> Selection<'a> {
    /// Of what a caller reads at the moment what a filter lets through. All are looked up at once where they are a part.
    pub(crate) fn new(q: &Context<'a>, filter: &'a EnvironmentFilter) -> Result<Self> {
        Self::of(q, filter, &READ)
    }

    /// The same of what a caller sees, be it without what it holds.
    pub(crate) fn seen(q: &Context<'a>, filter: &'a EnvironmentFilter) -> Result<Self> {
        Self::of(q, filter, &SEEN)
    }

    fn of(q: &Context<'a>, filter: &'a EnvironmentFilter, statements: &'static Statements) -> Result<Self> {
        let (known, is_complete) = (HashMap::new(), false);
        let (view, at, scope) = (q.view, q.moment.offset, q.scope);
        let mut selection = Selection { view, at, scope, filter, statements, known, is_complete };
        let whole = EnvironmentFilter { states: filter.states.clone(), ..EnvironmentFilter::default() };
        if *filter != whole || !q.scope.is_everything() {
            selection.complete()?;
        }
        Ok(selection)
    }

    /// One of them alone, by the view's number.
    pub(crate) fn only(q: &Context<'a>, filter: &'a EnvironmentFilter, number: i64) -> Result<Self> {
        let (view, at, scope, known) = (q.view, q.moment.offset, q.scope, HashMap::new());
        let (statements, is_complete) = (&READ, false);
        let mut selection = Selection { view, at, scope, filter, statements, known, is_complete };
        selection.get(number)?;
        selection.is_complete = true;
        Ok(selection)
    }

    /// Looks up all.
    pub(crate) fn complete(&mut self) -> Result<()> {
        if self.is_complete {
            return Ok(());
        }
        let Statements { all, of_scope, .. } = self.statements;
        let sql = if self.scope.is_everything() { all } else { of_scope };
        let mut statement = self.view.prepare_cached(sql)?;
        let mut rows =
            statement.query(named_params! { ":at": self.at.as_i64(), ":scope": self.scope.as_sql() })?;
        let filter = RowFilter::new(self.filter);
        while let Some(row) = rows.next()? {
            if let Some(environment) = matching(&filter, self.filter, row)? {
                self.known.insert(row.get(0)?, Some(environment));
            }
        }
        self.is_complete = true;
        Ok(())
    }

    /// Whether there are so few of all that it is worth while to read each by itself. What others have costs a scope nothing,
    /// so that it always is for one.
    pub(crate) fn is_few(&self) -> Result<bool> {
        let Some(count) = self.is_complete.then(|| self.known.values().flatten().count()) else {
            return Ok(false);
        };
        if !self.scope.is_everything() {
            return Ok(true);
        }
        let sql = "SELECT count(*) FROM environment_name";
        let all: i64 = self.view.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(count.saturating_mul(PART) <= usize::try_from(all).unwrap_or(usize::MAX))
    }

    /// The numbers of all, as JSON, where they are known.
    pub(crate) fn numbers(&self) -> Option<String> {
        if !self.is_complete {
            return None;
        }
        let mut numbers: Vec<i64> =
            self.known.iter().filter(|(_, known)| known.is_some()).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        Some(serde_json::json!(numbers).to_string())
    }

    /// An environment; none where it is not among them.
    pub(crate) fn get(&mut self, number: i64) -> Result<Option<&FeedEnvironment>> {
        if !self.is_complete && !self.known.contains_key(&number) {
            let mut statement = self.view.prepare_cached(self.statements.one)?;
            let params = named_params! {
                ":id": number, ":at": self.at.as_i64(), ":scope": self.scope.as_sql(),
            };
            let filter = RowFilter::new(self.filter);
            let found = statement.query_row(params, |row| matching(&filter, self.filter, row)).optional()?;
            self.known.insert(number, found.flatten());
        }
        Ok(self.known.get(&number).and_then(Option::as_ref))
    }
}

fn matching(
    filter: &RowFilter<'_>,
    of: &EnvironmentFilter,
    row: &Row<'_>,
) -> rusqlite::Result<Option<FeedEnvironment>> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
    let tier = VIEW.get_at(row, 4, "environment.tier")?;
    let state = VIEW.get_at(row, 6, "environment.state")?;
    let region = text(5)?;
    let plain = (of.tiers.is_empty() || of.tiers.contains(&tier))
        && (of.states.is_empty() || of.states.contains(&state))
        && (of.regions.is_empty() || of.regions.iter().any(|one| one == region));
    let candidate = FilteredRow {
        project: text(2)?,
        name: text(3)?,
        labels: Part::Json(text(7)?),
        targets: Part::Json(text(8)?),
    };
    if !plain || !filter.matches(&candidate).map_err(|error| column::unreadable(7, error))? {
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
