//! Which environments a request asks for, and how they are grouped: read alike by lists, overviews and pages.

use super::state::AppState;
use crate::http::params::{
    AGENT, BUCKETS, CLUSTERS, CONTINUE, GROUP, GROUP_BY, HEALTH, LABELS, NAME, ORDER, PROJECT, Parameter,
    ParameterReader, REGION, STATE, TIER, VIEW,
};
use crate::http::problem::{Problem, ProblemCode};
use crate::http::request::Request;
use strandline_model::{At, EnvironmentFilter, GroupBy, SavedView};
use strandline_protocol::{Overview, Trend};
use strandline_query::{OverviewRows, PageRequest, Scope, TrendFilter, WhichSelect};
use strandline_syntax::Glob;

/// How many environments are shown one by one.
pub const ENVIRONMENTS: Parameter = Parameter::one("environments");

/// The views of the configuration that select an environment which the caller sees: what they are called and ask for tells of
/// projects and clusters.
///
/// # Errors
/// Where the view cannot be asked.
pub async fn views(state: &AppState, scope: &Scope) -> Result<Vec<SavedView>, Problem> {
    let views = &state.presentation.views;
    if views.is_empty() {
        return Ok(Vec::new());
    }
    let filters = views.iter().map(|view| view.filter.clone()).collect();
    let selects = state.queries.ask(scope, At::Now, WhichSelect { filters }).await?;
    Ok(views.iter().zip(selects).filter(|(_, selects)| *selects).map(|(view, _)| view.clone()).collect())
}

/// The one of these views that a request names; none where it names none.
///
/// # Errors
/// Where there is no such view.
pub fn view<'v>(views: &'v [SavedView], request: &Request) -> Result<Option<&'v SavedView>, Problem> {
    let Some(name) = request.query.one(VIEW) else { return Ok(None) };
    let found = views.iter().find(|view| view.name == name);
    found.map(Some).ok_or_else(|| {
        let names: Vec<_> = views.iter().map(|view| format!("`{}`", view.name)).collect();
        let there = match names.as_slice() {
            [] => "the configuration has no `views` with environments that you see".to_owned(),
            names => format!("use one of {}", names.join(", ")),
        };
        Problem::new(ProblemCode::NotFound, format!("no view `{name}`; {there}"))
    })
}

/// A filter of environments; a parameter goes before what `base` says of the same.
pub fn filter(read: &mut ParameterReader<'_>, base: &EnvironmentFilter) -> EnvironmentFilter {
    EnvironmentFilter { healths: or(read.words(HEALTH), &base.healths), ..environments(read, base) }
}

/// The same where their health is not asked for.
pub fn environments(read: &mut ParameterReader<'_>, base: &EnvironmentFilter) -> EnvironmentFilter {
    EnvironmentFilter {
        search: String::new(),
        tiers: or(read.words(TIER), &base.tiers),
        regions: or(read.texts(REGION), &base.regions),
        projects: or(globs(read, PROJECT), &base.projects),
        groups: or(read.words(GROUP), &base.groups),
        clusters: or(read.texts(CLUSTERS), &base.clusters),
        agents: or(read.words(AGENT), &base.agents),
        states: or(read.words(STATE), &base.states),
        names: or(globs(read, NAME), &base.names),
        healths: base.healths.clone(),
        labels: read.labels(LABELS).unwrap_or_else(|| base.labels.clone()),
    }
}

/// By what environments stand together; what is given goes before `base`.
pub fn group_by(read: &mut ParameterReader<'_>, base: &[GroupBy]) -> Vec<GroupBy> {
    let given = or(read.words(GROUP_BY), base);
    if let Some(conflict) = GroupBy::conflict(&given) {
        read.refuse(GROUP_BY, conflict);
    }
    given
}

/// Over which span health is counted, where that is asked for.
pub fn trend(read: &mut ParameterReader<'_>) -> Option<TrendFilter> {
    let (since, buckets) = (read.since(), read.number(BUCKETS, 1, Trend::BUCKETS));
    let buckets_or_default = buckets.unwrap_or(Trend::BUCKETS_DEFAULT);
    (since.is_some() || buckets.is_some()).then_some(TrendFilter { since, buckets: buckets_or_default })
}

/// Which environments are shown one by one, where any are asked for.
pub fn rows(read: &mut ParameterReader<'_>) -> Option<OverviewRows> {
    let limit = read.number(ENVIRONMENTS, 1, Overview::ENVIRONMENTS);
    let (order, after) = (read.word(ORDER), read.text(CONTINUE));
    let asked = limit.is_some() || order.is_some() || after.is_some();
    let limit = limit.unwrap_or(Overview::ENVIRONMENTS);
    asked.then(|| OverviewRows { order: order.unwrap_or_default(), page: PageRequest { limit, after } })
}

/// Patterns of one parameter.
pub fn globs(read: &mut ParameterReader<'_>, parameter: Parameter) -> Vec<Glob> {
    let given = read.words(parameter);
    if let Some(conflict) = EnvironmentFilter::conflict(&given) {
        read.refuse(parameter, conflict);
    }
    given
}

fn or<T: Clone>(given: Vec<T>, base: &[T]) -> Vec<T> {
    if given.is_empty() { base.to_vec() } else { given }
}
