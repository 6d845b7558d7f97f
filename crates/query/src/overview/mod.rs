//! All environments of a selection, counted in groups.
//!
//! How all of them stand is kept in memory. Of a scope that sees little the view says it, beginning with the environments that
//! it sees. What is left is folded in one pass, which also picks those that are shown one by one; what else is shown of these
//! is asked for each.

mod fold;
mod interner;
mod kept;
mod keys;
mod last_change;
mod moves;
mod shortlist;
mod summary;
mod trend;
mod values;

pub(super) use self::moves::KeptMoves;
#[cfg(test)]
pub(super) use self::moves::{Moves, Said};
pub use self::shortlist::OverviewOrder;
pub use self::values::{FilterValues, ListFilterValues};

use rusqlite::{Row, named_params};

use crate::concerns::Concerns;
use crate::environments::shown;
use crate::error::Result;
use crate::filters::PageRequest;
use crate::overview::fold::{Fold, Folded};
use crate::overview::kept::Selection;
use crate::overview::keys::{Facts, Grouping};
use crate::overview::shortlist::Shortlist;
use crate::question::{Context, Question};
use crate::row_filter::{FilteredRow, Part, RowFilter};
use crate::scope::{one_of, reads, sees};
use crate::words::Words;
use serde::Serialize;
use strandline_model::{At, EnvironmentFilter, GroupBy, HealthCounts, Stored, Tier, Timestamp};
use strandline_protocol::{Answer, Overview, OverviewPage};
use strandline_sqlite::column;
use strandline_sqlite::column::VIEW;
use strandline_syntax::diagnostics::of_json;
use strandline_view::{COUNTS, read_counts_at};

/// All environments of a selection, counted in groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GetOverview {
    /// Of which environments.
    pub filter: EnvironmentFilter,
    /// How they are grouped: at most [`GroupBy::MAX`] levels; by region where empty.
    pub group_by: Vec<GroupBy>,
    /// The most groups in the answer; [`Overview::LIMIT`] where nothing is given.
    pub limit: Option<usize>,
    /// Whether their health over time is asked for.
    pub trend: Option<TrendFilter>,
    /// Whether environments are asked for one by one.
    pub environments: Option<OverviewRows>,
}

/// Over which span health is counted, and in how many equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TrendFilter {
    /// Where the span begins; a day before its end where nothing is said.
    pub since: Option<At>,
    /// Its parts.
    pub buckets: usize,
}

/// Which environments are shown one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OverviewRows {
    /// In which order.
    pub order: OverviewOrder,
    /// Which page; at most [`Overview::ENVIRONMENTS`] on one.
    #[serde(skip)]
    pub page: PageRequest,
}

/// An overview, and how the same environments stand in other groups, all of it in one pass.
#[derive(Clone, Debug, Serialize)]
pub struct GetOverviews {
    /// The overview.
    pub first: GetOverview,
    /// By what else they are grouped; the answer has at most [`Overview::LIMIT`] groups of each.
    pub also_by: Vec<Vec<GroupBy>>,
}

impl Question for GetOverviews {
    const NAME: &'static str = GetOverview::NAME;
    type Answer = (Answer<Overview>, Vec<Overview>);

    fn page(&self) -> Option<&PageRequest> {
        self.first.page()
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        get(context, (&self.first, &self.also_by))
    }
}

impl Question for GetOverview {
    const NAME: &'static str = "overview";
    type Answer = Answer<Overview>;

    fn page(&self) -> Option<&PageRequest> {
        self.environments.as_ref().map(|rows| &rows.page)
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        get(context, (self, &[])).map(|(overview, _)| overview)
    }
}

/// The environments `e` that a scope sees at `:at`, from its audiences on.
macro_rules! in_sight {
    () => {
        "temp.sight_sees s CROSS JOIN environment_audience a INDEXED BY environment_audience_by_audience
            ON a.audience = s.audience AND a.to_offset > :at AND a.from_offset <= :at
        CROSS JOIN environment e ON e.id = a.environment_id AND e.from_offset =
            (SELECT max(from_offset) FROM environment WHERE id = a.environment_id AND from_offset <= :at)"
    };
}

pub(super) use in_sight;

/// The environments of a selection that a scope sees, with their health.
const OF_SCOPE: &str = concat!(
    "SELECT e.tier, e.region, e.state, e.project, e.name, e.name_id, e.labels, e.targets, ",
    reads!(),
    ", ",
    shown!("grace_state", "state"),
    ", ",
    shown!("grace_since", "since"),
    ", h.healthy, h.suspended, h.progressing, h.missing, h.degraded, h.unknown, h.no_health, e.id
    FROM ",
    in_sight!(),
    " CROSS JOIN stretch_health h
    WHERE e.tier IN (SELECT value FROM json_each(:tiers)) AND e.to_offset > :at AND e.from_offset <= :at
      AND (:regions IS NULL OR e.region IN (SELECT value FROM json_each(:regions)))
      AND (:states IS NULL OR e.state IN (SELECT value FROM json_each(:states)))
      AND h.stretch = (SELECT max(from_offset) FROM stretch WHERE from_offset <= :at)
      AND h.environment_id = e.id AND h.from_offset <= :at AND h.to_offset > :at
      AND (:healths IS NULL OR ",
    shown!("grace_state", "state"),
    " IN (SELECT value FROM json_each(:healths))) AND ",
    sees!()
);

/// The number of the newest deployment to an environment.
const NEWEST_DEPLOYMENT: &str = "SELECT max(id) FROM deployment INDEXED BY deployment_by_environment
    WHERE environment_id = ?1 AND from_offset <= ?2";

/// The overview of a selection, and the same by other groupings.
fn get(
    mut context: Context<'_>,
    (question, also_by): (&GetOverview, &[Vec<GroupBy>]),
) -> Result<(Answer<Overview>, Vec<Overview>)> {
    let Folded { overview: mut value, others, chosen, next, readable } =
        folded(&context, (question, also_by))?;
    let since = question.trend.and_then(|trend| trend.since);
    let span = crate::series::span(context.log, &context.moment, since)?;
    if let Some(TrendFilter { buckets, .. }) = question.trend {
        value.trend = Some(trend::trend(&mut context, &readable, (span, buckets))?);
    }
    let Context { view, log, ref moment, scope, ref start, .. } = context;
    if value.totals.total == 0 {
        value.warnings = Words::of_environments(&question.filter).unknown(view, moment, scope)?;
    }
    if question.environments.is_some() {
        let items = summary::summaries(view, log, moment, scope, span, chosen)?;
        let next = next.map(|place| start.token(moment.offset, &place));
        value.environments = Some(OverviewPage { items, next });
    }
    let metadata = moment.snapshot(view, scope, &Concerns::Everything)?;
    Ok((Answer { value, metadata }, others))
}

/// The groups of a selection with their counts alone.
pub(super) fn counts(context: &Context<'_>, question: &GetOverview) -> Result<Overview> {
    folded(context, (question, &[])).map(|folded| folded.overview)
}

/// All environments of the selection in one pass.
fn folded(context: &Context<'_>, (question, also_by): (&GetOverview, &[Vec<GroupBy>])) -> Result<Folded> {
    let Context { view, moment, scope, start, .. } = context;
    let filter = &question.filter;
    let (sieve, grouping) = (RowFilter::new(filter), Grouping::new(&question.group_by, filter));
    let others: Vec<_> = also_by.iter().map(|by| Grouping::new(by, filter)).collect();
    let order = question.environments.as_ref().map(|rows| rows.order);
    let shortlist =
        order.map(|order| Shortlist::new(order, &start.after, start.limit().min(Overview::ENVIRONMENTS)));
    let mut fold = Fold::new((grouping, others), shortlist, question.trend.is_some());
    let mut deployments = match order {
        Some(OverviewOrder::Deployed) => Some(view.prepare_cached(NEWEST_DEPLOYMENT)?),
        _ => None,
    };
    let mut deployed = |environment: i64| match &mut deployments {
        Some(statement) => statement.query_row([environment, moment.offset.as_i64()], |row| row.get(0)),
        None => Ok(None),
    };
    match context.kept.standings.of(view, moment, scope)? {
        Some(seen) => {
            let seen = (&seen, moment.clock());
            kept::take(&mut fold, seen, &Selection::new(filter, &sieve), &mut deployed)?;
        }
        None => read(&mut fold, context, (filter, &sieve), &mut deployed)?,
    }
    Ok(fold.finish(question.limit.unwrap_or(Overview::LIMIT)))
}

/// Takes in what the view says of the environments that a scope sees.
fn read(
    fold: &mut Fold,
    Context { view, moment, scope, .. }: &Context<'_>,
    (filter, sieve): (&EnvironmentFilter, &RowFilter<'_>),
    deployed: &mut impl FnMut(i64) -> rusqlite::Result<Option<i64>>,
) -> Result<()> {
    // All tiers are named where none is, so that the same plan holds.
    let tiers = if filter.tiers.is_empty() { &Tier::ALL[..] } else { &filter.tiers };
    let mut statement = view.prepare_cached(OF_SCOPE)?;
    let mut rows = statement.query(named_params! {
        ":at": moment.offset.as_i64(),
        ":clock": moment.clock().as_micros(),
        ":scope": scope.as_sql(),
        ":tiers": one_of(tiers, |tier| tier.as_str()),
        ":regions": one_of(&filter.regions, String::as_str),
        ":states": one_of(&filter.states, |state| state.as_str()),
        ":healths": one_of(&filter.healths, |health| health.number()),
    })?;
    while let Some(row) = rows.next()? {
        take(fold, sieve, row, deployed)?;
    }
    Ok(())
}

/// Labels or targets of the view that are no JSON.
fn unreadable(error: serde_json::Error) -> rusqlite::Error {
    column::unreadable(6, of_json(&error))
}

/// Takes in one row, if the rest of the filter lets it through.
fn take(
    fold: &mut Fold,
    sieve: &RowFilter<'_>,
    row: &Row<'_>,
    deployed: &mut impl FnMut(i64) -> rusqlite::Result<Option<i64>>,
) -> Result<()> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
    let (project, name) = (text(3)?, text(4)?);
    let (labels, targets) = (Part::Json(text(6)?), Part::Json(text(7)?));
    if !sieve.matches(&FilteredRow { project, name, labels, targets }).map_err(unreadable)? {
        return Ok(());
    }
    let health = VIEW.get_at(row, 9, "stretch_health.state")?;
    let facts = Facts { tier: text(0)?, region: text(1)?, state: text(2)?, project, labels, targets, health };
    let (readable, number) = (row.get(8)?, row.get(18)?);
    let (since, resources) = match readable {
        true => (row.get(10)?, read_counts_at(row, 11, &COUNTS)?),
        false => (0, HealthCounts::default()),
    };
    let since = Timestamp::from_micros(since);
    let (id, deployment) = (text(5)?, deployed(number)?);
    let row = fold::Row { number, id, project, name, readable, health, since, resources, deployment };
    Ok(fold.take(&facts, &row).map_err(unreadable)?)
}
