//! Deployments: those to an environment or of a project, and one by its number.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, ToSql, named_params};
use serde::Serialize;

use crate::changes::Selection;
use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::{DeploymentFilter, PageRequest};
use crate::moment::Moment;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, one_of, sees};
use crate::spans::Span;
use crate::words::Words;
use crate::{environments, groups, spans};
use strandline_model::{DeploymentId, EnvironmentFilter, EnvironmentId, Timestamp};
use strandline_protocol::{Answer, Deployment, Page};
use strandline_sqlite::column::{Json, VIEW};
use strandline_syntax::Glob;

/// A caller sees a deployment who sees its environment, and members of the project whose job deploys.
macro_rules! select_deployments {
    ($tail:literal) => {
        select_deployments!("deployment d", $tail)
    };
    ($from:literal, $tail:literal) => {
        concat!(
            "SELECT d.spec, d.observed_at, d.id, d.environment_id, d.user, d.\"ref\" FROM ",
            $from,
            " WHERE d.from_offset <= :at AND d.to_offset > :at AND (:scope IS NULL
                OR d.project IN (SELECT path FROM temp.sight_path)
                OR EXISTS (SELECT 1 FROM environment_audience e WHERE e.environment_id = d.environment_id
                    AND e.from_offset <= :at AND e.to_offset > :at AND ",
            sees!(),
            ")) ",
            $tail
        )
    };
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Deployment> {
    let Json(spec) = VIEW.get(row, "deployment.spec")?;
    Ok(Deployment { spec, observed_at: row.get("observed_at")? })
}

macro_rules! list_deployments {
    ($from:literal) => {
        select_deployments!(
            $from,
            "AND (:projects IS NULL OR d.project IN (SELECT value FROM json_each(:projects)))
            AND (:statuses IS NULL OR d.status IN (SELECT value FROM json_each(:statuses)))
            AND (:environment IS NULL OR d.environment_id = :environment)
            AND (:since IS NULL OR d.status_at >= :since) AND (:until IS NULL OR d.status_at <= :until)
            AND d.id >= :first AND d.id < :before ORDER BY d.id DESC"
        )
    };
}

/// The newest first, so that a page is read no further than it goes …
pub(super) const OF_ALL: &str = list_deployments!("deployment d");
/// … those to one environment …
pub(super) const OF_ENVIRONMENT: &str = list_deployments!(
    "(SELECT DISTINCT id FROM deployment WHERE environment_id = :environment) held CROSS JOIN deployment d ON d.id = held.id"
);
/// … those to some environments …
pub(super) const OF_ENVIRONMENTS: &str = list_deployments!(
    "(SELECT DISTINCT d.id FROM json_each(:environments) i CROSS JOIN deployment d INDEXED BY deployment_by_environment
            ON d.environment_id = i.value AND d.id >= :first AND d.id < :before) held
    CROSS JOIN deployment d ON d.id = held.id"
);
/// … and those to the environments that a scope sees, with those of its projects.
pub(super) const OF_SCOPE: &str = list_deployments!(
    "(SELECT d.id FROM temp.sight_sees s CROSS JOIN environment_audience e INDEXED BY environment_audience_by_audience
            ON e.audience = s.audience AND e.to_offset > :at AND e.from_offset <= :at
        CROSS JOIN deployment d INDEXED BY deployment_by_environment ON d.environment_id = e.environment_id
    UNION SELECT d.id FROM temp.sight_path p CROSS JOIN deployment d INDEXED BY deployment_by_project
            ON d.project = p.path) held
    CROSS JOIN deployment d ON d.id = held.id"
);

/// The first number of what has taken a status since then; numbers are in the order in which deployments were first recorded,
/// so that what is before need not be read.
const FIRST: &str =
    "SELECT coalesce(min(id), 0) FROM deployment INDEXED BY deployment_by_time WHERE status_at >= :since";

/// Times between which a status was taken, where that is asked for; of a later page those of the first.
type Between = (Option<i64>, Option<i64>);

fn between(q: &Context<'_>, filter: &DeploymentFilter) -> Result<Between> {
    let kept = |part: usize| q.start.after(part).parse().ok();
    if filter.since.is_none() && filter.until.is_none() {
        return Ok((None, None));
    }
    if !q.start.after(0).is_empty() {
        return Ok((kept(1), kept(2)));
    }
    let Span { since, until } = spans::of(q.view, q.log, &q.moment, filter.since, filter.until)?;
    Ok((filter.since.map(|_| since.as_micros()), Some(until.as_micros())))
}

/// What is read of deployments, the newest first, so many at most.
fn rows<T>(
    q: &Context<'_>,
    filter: &DeploymentFilter,
    (since, until): Between,
    limit: Option<usize>,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let Context { view, moment, scope, start, .. } = q;
    let environment = match &filter.environment {
        Some(id) => Some(environments::seen(view, moment, scope, id)?.number),
        None => None,
    };
    let is_selected = filter.environments != EnvironmentFilter::default();
    let mut selection = is_selected.then(|| Selection::seen(q, &filter.environments)).transpose()?;
    let few = match &selection {
        Some(selection) if selection.is_few()? => selection.numbers(),
        _ => None,
    };
    let sql = match (environment, &few) {
        (Some(_), _) => OF_ENVIRONMENT,
        (None, Some(_)) => OF_ENVIRONMENTS,
        (None, None) if scope.is_narrow() => OF_SCOPE,
        (None, None) => OF_ALL,
    };
    let first: i64 = match since.filter(|_| scope.is_everything()) {
        Some(since) => view.prepare_cached(FIRST)?.query_row([since], |row| row.get(0))?,
        None => 0,
    };
    let (at, scope_in_sql) = (moment.offset.as_i64(), scope.as_sql());
    let before: i64 = start.after(0).parse().unwrap_or(i64::MAX);
    let before = if limit.is_some() { before } else { i64::MAX };
    let projects = projects(view, moment, scope, &filter.projects)?;
    let statuses = one_of(&filter.statuses, |status| status.as_str());
    let mut params: Vec<(&str, &dyn ToSql)> = vec![
        (":at", &at),
        (":scope", &scope_in_sql),
        (":environment", &environment),
        (":projects", &projects),
        (":statuses", &statuses),
        (":since", &since),
        (":until", &until),
        (":first", &first),
        (":before", &before),
    ];
    if environment.is_none() && few.is_some() {
        params.push((":environments", &few));
    }
    let mut statement = view.prepare_cached(sql)?;
    let (mut rows, mut found) = (statement.query(params.as_slice())?, Vec::new());
    while limit.is_none_or(|limit| found.len() < limit)
        && let Some(row) = rows.next()?
    {
        let passes = |globs: &[Glob], column: &str| {
            let text = row.get_ref(column)?.as_str()?;
            Ok::<_, rusqlite::Error>(globs.is_empty() || globs.iter().any(|glob| glob.matches(text)))
        };
        if !passes(&filter.by, "user")? || !passes(&filter.refs, "ref")? {
            continue;
        }
        if let Some(selection) = &mut selection
            && selection.get(row.get("environment_id")?)?.is_none()
        {
            continue;
        }
        found.push(read(row)?);
    }
    Ok(found)
}

fn list(q: &Context<'_>, filter: &DeploymentFilter) -> Result<(Page<Deployment>, Vec<String>)> {
    let Context { view, moment, scope, start, .. } = q;
    let between = between(q, filter)?;
    let limit = usize::try_from(start.rows()).unwrap_or(usize::MAX);
    let read = |row: &Row<'_>| Ok((row.get("id")?, from_row(row)?));
    let mut rows: Vec<(i64, Deployment)> = rows(q, filter, between, Some(limit), read)?;
    let place = |id: &i64| {
        let [since, until] = [between.0, between.1].map(|time| time.map(|time| time.to_string()));
        vec![id.to_string(), since.unwrap_or_default(), until.unwrap_or_default()]
    };
    let next = start.finish(moment.offset, &mut rows, |(id, _)| place(id));
    let cursors = rows.iter().map(|(id, _)| start.token(moment.offset, &place(id))).collect();
    let items: Vec<_> = rows.into_iter().map(|(_, item)| item).collect();
    let snapshot = match between {
        (Some(since), _) => {
            moment.snapshot_over(view, scope, &Concerns::Everything, Timestamp::from_micros(since))?
        }
        _ => moment.snapshot(view, scope, &Concerns::Everything)?,
    };
    let unknown = |found| Words::of_deployments(filter).unknown(view, moment, scope, found);
    Ok((start.page(items, (snapshot, next), unknown)?, cursors))
}

/// The projects that patterns stand for, for `json_each`: names, which an index leads to, as they are written and as they are
/// declared, and of patterns the projects in sight. NULL where there is no pattern.
fn projects(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    globs: &[Glob],
) -> Result<Option<String>> {
    if globs.is_empty() {
        return Ok(None);
    }
    let mut paths: BTreeSet<String> = globs.iter().filter_map(Glob::name).collect();
    let known = match globs.iter().any(Glob::is_wild) {
        true => groups::paths(view, moment, scope)?,
        false => groups::declared_paths(view, moment, scope)?,
    };
    paths.extend(known.into_iter().filter(|path| globs.iter().any(|glob| glob.matches_path(path))));
    Ok(Some(serde_json::json!(paths).to_string()))
}

/// A deployment by the view's number; none where it is not in sight.
pub(super) fn with_number(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    number: i64,
) -> Result<Option<Deployment>> {
    let mut statement = view.prepare_cached(select_deployments!("AND d.id = :id"))?;
    let params = named_params! { ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":id": number };
    Ok(statement.query_row(params, from_row).optional()?)
}

fn get(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    id: DeploymentId,
    project: Option<&str>,
) -> Result<Answer<Deployment>> {
    // Of projects that differ in their case alone, as old logs may have them, the one that is written just so is meant.
    let mut statement = view.prepare_cached(select_deployments!(
        "AND d.id IN (SELECT id FROM deployment_name WHERE number = :number
            AND (:project IS NULL OR project = :project COLLATE NOCASE))
        ORDER BY d.project LIMIT 10"
    ))?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":number": id.0.cast_signed(),
        ":project": project,
    };
    let mut found = statement.query_map(params, from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
    if found.iter().any(|one| Some(one.spec.project.as_str()) == project) {
        found.retain(|one| Some(one.spec.project.as_str()) == project);
    }
    if found.len() > 1 {
        let projects = found.into_iter().map(|one| one.spec.project).collect();
        return Err(QueryError::AmbiguousDeployment { id, projects });
    }
    let value = found.pop().ok_or_else(|| QueryError::not_found("deployment", id))?;
    Ok(Answer { value, metadata: moment.snapshot(view, scope, &Concerns::Everything)? })
}

/// Deployments, the newest first.
#[derive(Clone, Debug, Serialize)]
pub struct ListDeployments {
    /// Which deployments.
    pub filter: DeploymentFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListDeployments {
    /// The question with these parts.
    pub fn new(filter: &DeploymentFilter, page: &PageRequest) -> Self {
        ListDeployments { filter: filter.clone(), page: page.clone() }
    }
}

impl Question for ListDeployments {
    const NAME: &'static str = "deployments";
    type Answer = Page<Deployment>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the environment of the filter did not exist at that time,
    /// [`QueryError::FutureOffset`] when the times begin or end after the moment.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        Ok(list(&context, &self.filter)?.0)
    }
}

/// The same list, with the page token after each item, as GraphQL's cursors need them.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct ListDeploymentsWithCursors(pub ListDeployments);

impl Question for ListDeploymentsWithCursors {
    const NAME: &'static str = ListDeployments::NAME;
    type Answer = (Page<Deployment>, Vec<String>);

    fn page(&self) -> Option<&PageRequest> {
        self.0.page()
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        list(&context, &self.0.filter)
    }
}

/// The number of deployments to an environment that match a filter.
#[derive(Clone, Debug, Serialize)]
pub struct CountDeployments {
    /// The environment.
    pub environment: EnvironmentId,
    /// Which of its deployments.
    pub filter: DeploymentFilter,
}

impl CountDeployments {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId, filter: &DeploymentFilter) -> Self {
        CountDeployments { environment: environment.clone(), filter: filter.clone() }
    }
}

impl Question for CountDeployments {
    const NAME: &'static str = "deployment_count";
    type Answer = u64;

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let filter = DeploymentFilter { environment: Some(self.environment.clone()), ..self.filter.clone() };
        Ok(rows(&context, &filter, between(&context, &filter)?, None, |_| Ok(()))?.len() as u64)
    }
}

/// One deployment.
#[derive(Clone, Debug, Serialize)]
pub struct GetDeployment {
    /// Its number.
    pub id: DeploymentId,
    /// Its project, where several have a deployment of that number.
    pub project: Option<String>,
}

impl GetDeployment {
    /// The question with these parts.
    pub fn new(id: DeploymentId, project: Option<&str>) -> Self {
        GetDeployment { id, project: project.map(str::to_owned) }
    }
}

impl Question for GetDeployment {
    const NAME: &'static str = "deployment";
    type Answer = Answer<Deployment>;

    /// # Errors
    /// [`QueryError::NotFound`] when it was not recorded at that time, [`QueryError::AmbiguousDeployment`] when several
    /// visible projects have one of that number and none is named.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, .. } = context;
        get(view, &moment, scope, self.id, self.project.as_deref())
    }
}
