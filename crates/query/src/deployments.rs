//! Deployments: those to an environment or of a project, and one by its number.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde::Serialize;

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::{DeploymentFilter, PageRequest};
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, one_of, sees};
use crate::words::Words;
use crate::{environments, groups};
use strandline_model::{DeploymentId, EnvironmentId};
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
            "SELECT d.spec, d.observed_at, d.id FROM ",
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
            AND d.id < :before ORDER BY d.id DESC LIMIT :limit"
        )
    };
}

/// The newest first, so that a page is read no further than it goes …
pub(super) const OF_ALL: &str = list_deployments!("deployment d");
/// … those to one environment …
pub(super) const OF_ENVIRONMENT: &str = list_deployments!(
    "(SELECT DISTINCT id FROM deployment WHERE environment_id = :environment) held CROSS JOIN deployment d ON d.id = held.id"
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

fn list(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    filter: &DeploymentFilter,
    start: &Start,
) -> Result<(Page<Deployment>, Vec<String>)> {
    let environment = match &filter.environment {
        Some(id) => Some(environments::seen(view, moment, scope, id)?.number),
        None => None,
    };
    let sql = match environment {
        Some(_) => OF_ENVIRONMENT,
        None if scope.is_narrow() => OF_SCOPE,
        None => OF_ALL,
    };
    let mut statement = view.prepare_cached(sql)?;
    let before = start.after(0).parse().unwrap_or(i64::MAX);
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
        ":environment": environment,
        ":projects": projects(view, moment, scope, &filter.projects)?,
        ":statuses": one_of(&filter.statuses, |status| status.as_str()),
        ":before": before, ":limit": start.rows(),
    };
    let rows = statement.query_map(params, |row| Ok((row.get::<_, i64>("id")?, from_row(row)?)))?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let next = start.finish(moment.offset, &mut rows, |(id, _)| vec![id.to_string()]);
    let cursors = rows.iter().map(|(id, _)| start.token(moment.offset, &[id.to_string()])).collect();
    let items: Vec<_> = rows.into_iter().map(|(_, item)| item).collect();
    let snapshot = moment.snapshot(view, scope, &Concerns::Everything)?;
    let unknown = || Words::of_deployments(filter).unknown(view, moment, scope);
    Ok((start.page(items, (snapshot, next), unknown)?, cursors))
}

/// The projects that patterns stand for, for `json_each`: names as they are, which an index leads to, and of patterns the
/// projects in sight. NULL where there is no pattern.
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
    if globs.iter().any(Glob::is_wild) {
        let known = groups::paths(view, moment, scope)?;
        paths.extend(known.into_iter().filter(|path| globs.iter().any(|glob| glob.matches_path(path))));
    }
    Ok(Some(serde_json::json!(paths).to_string()))
}

/// How many of the deployments to an environment are in sight, whatever a page holds of them.
fn count(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    of: &EnvironmentId,
    filter: &DeploymentFilter,
) -> Result<u64> {
    let environment = environments::seen(view, moment, scope, of)?.number;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":environment": environment,
        ":projects": projects(view, moment, scope, &filter.projects)?,
        ":statuses": one_of(&filter.statuses, |status| status.as_str()),
        // SQLite's way to say that there is no limit.
        ":before": i64::MAX, ":limit": -1,
    };
    let sql = format!("SELECT count(*) FROM ({OF_ENVIRONMENT})");
    Ok(view.prepare_cached(&sql)?.query_row(params, |row| row.get::<_, i64>(0))?.cast_unsigned())
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
    let mut statement = view.prepare_cached(select_deployments!(
        "AND d.id IN (SELECT id FROM deployment_name WHERE number = :number AND (:project IS NULL OR project = :project))
        ORDER BY d.project LIMIT 10"
    ))?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":number": id.0.cast_signed(),
        ":project": project,
    };
    let mut found = statement.query_map(params, from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
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
    /// [`QueryError::NotFound`] when the environment of the filter did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, start, .. } = context;
        Ok(list(view, &moment, scope, &self.filter, &start)?.0)
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
        let Context { view, moment, scope, start, .. } = context;
        list(view, &moment, scope, &self.0.filter, &start)
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
        let Context { view, moment, scope, .. } = context;
        count(view, &moment, scope, &self.environment, &self.filter)
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
