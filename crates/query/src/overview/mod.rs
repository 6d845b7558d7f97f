//! All environments of a selection, counted in groups.
//!
//! How they stand is kept in memory, or read where a scope sees few. They are folded in one pass, which also picks those that
//! are shown one by one; what else is shown of these is asked for each.

mod fold;
mod interner;
mod keys;
mod last_change;
mod moves;
mod selection;
mod selects;
mod shortlist;
mod summary;
mod trend;
mod values;

pub(super) use self::moves::KeptMoves;
#[cfg(test)]
pub(super) use self::moves::{Moves, Said};
pub use self::selects::WhichSelect;
pub use self::shortlist::OverviewOrder;
pub use self::values::{FilterValues, ListFilterValues};

use crate::concerns::Concerns;
use crate::error::Result;
use crate::filters::PageRequest;
use crate::overview::fold::{Fold, Folded};
use crate::overview::keys::Grouping;
use crate::overview::shortlist::Shortlist;
use crate::question::{Context, Question};
use crate::spans;
use crate::words::Words;
use serde::Serialize;
use strandline_model::{At, EnvironmentFilter, GroupBy};
use strandline_protocol::{Answer, Overview, OverviewPage};

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
    let span = spans::of(context.view, context.log, &context.moment, since, None)?;
    if let Some(TrendFilter { buckets, .. }) = question.trend {
        value.trend = Some(trend::trend(&mut context, &readable, (span, buckets))?);
    }
    let Context { view, log, ref moment, scope, ref start, .. } = context;
    let found = value.totals.total > 0;
    value.warnings = Words::of_environments(&question.filter).unknown(view, moment, scope, found)?;
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
    let grouping = Grouping::new(&question.group_by, filter);
    let others: Vec<_> = also_by.iter().map(|by| Grouping::new(by, filter)).collect();
    let order = question.environments.as_ref().map(|rows| rows.order);
    let shortlist =
        order.map(|order| Shortlist::new(order, &start.after, start.limit().min(Overview::ENVIRONMENTS)));
    let seen = context.kept.standings.of(view, moment, scope)?;
    let mut fold = Fold::new((grouping, others), shortlist, question.trend.is_some());
    let mut deployments = match order {
        Some(OverviewOrder::Deployed) => Some(view.prepare_cached(NEWEST_DEPLOYMENT)?),
        _ => None,
    };
    let mut deployed = |environment: i64| match &mut deployments {
        Some(statement) => statement.query_row([environment, moment.offset.as_i64()], |row| row.get(0)),
        None => Ok(None),
    };
    let seen = (&seen, moment.clock());
    selection::take(&mut fold, seen, filter, &mut deployed)?;
    Ok(fold.finish(question.limit.unwrap_or(Overview::LIMIT)))
}
