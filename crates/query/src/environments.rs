//! Environments and their health.

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::concerns::Concerns;
use crate::error::{QueryError, Result, gone_after};
use crate::filters::PageRequest;
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::row_filter::{FilteredRow, Part, RowFilter};
use crate::scope::{ResolvedScope, one_of, reads, sees};
use crate::words::Words;
use crate::{EnvironmentFilter, warnings};
use serde::Serialize;
use strandline_model::{EnvironmentId, Health, HealthCounts, Offset, Stored, Timestamp};
use strandline_protocol::{Answer, Deployment, Environment, EnvironmentAccess, EnvironmentHealth, Page};
use strandline_sqlite::column;
use strandline_sqlite::column::{Json, VIEW};
use strandline_view::{COUNTS, read_counts_at};

/// What an environment shows at `:clock`: within the grace time of Progressing, what it showed before. Of what the
/// caller may not read, nothing is shown since the environment came to be.
macro_rules! shown {
    ($grace:literal, $state:literal) => {
        shown!($grace, $state, "NULL")
    };
    ($grace:literal, $state:literal, $hidden:literal) => {
        concat!(
            "CASE WHEN NOT ",
            reads!(),
            " THEN ",
            $hidden,
            " WHEN h.grace_until > :clock THEN h.",
            $grace,
            " ELSE h.",
            $state,
            " END"
        )
    };
}

pub(super) use shown;

/// The row of health `h` of an environment `e` that holds at `:at`.
macro_rules! health_at {
    () => {
        "h.stretch = (SELECT max(from_offset) FROM stretch WHERE from_offset <= :at) AND h.environment_id = e.id
            AND h.from_offset = (SELECT max(from_offset) FROM stretch_health WHERE environment_id = e.id
                AND stretch = (SELECT max(from_offset) FROM stretch WHERE from_offset <= :at) AND from_offset <= :at)"
    };
}

pub(super) use health_at;

macro_rules! select_environments {
    ($tail:expr) => {
        select_environments!("environment e", $tail)
    };
    ($from:literal, $tail:expr) => {
        concat!(
            "SELECT e.id, e.name_id, e.project, e.name, e.slug, e.tier, e.region, e.targets, ",
            shown!("grace_state", "state"),
            ", ",
            shown!(
                "grace_since",
                "since",
                "(SELECT min(observed_at) FROM environment_health WHERE environment_id = e.id)"
            ),
            ", CASE WHEN h.state IS NOT h.known THEN h.known END, s.name, ",
            reads!(),
            ", e.state, e.labels, e.settings, e.declared_by, d.spec, d.observed_at, h.healthy, h.suspended,
                h.progressing, h.missing, h.degraded, h.unknown, h.no_health
            FROM ",
            $from,
            " CROSS JOIN stretch_health h ON ",
            health_at!(),
            " JOIN rule_set s ON s.id = h.rule_set_id
            LEFT JOIN deployment d ON d.id = e.deployment AND d.from_offset <= :at AND d.to_offset > :at
            WHERE e.from_offset <= :at AND e.to_offset > :at AND ",
            sees!(),
            $tail
        )
    };
}

/// The columns of what filters read before anything else.
const TARGETS: usize = 7;
const LABELS: usize = 14;

/// An environment with what only queries need to know of it.
pub(super) struct Found {
    /// The view's number of it.
    pub(super) number: i64,
    pub(super) environment: Environment,
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Found> {
    let readable: bool = row.get(12)?;
    let deployment = match row.get::<_, Option<String>>(17)? {
        Some(_) => Some(Deployment {
            spec: VIEW.get_at::<Json<_>>(row, 17, "deployment.body")?.0,
            observed_at: Timestamp::from_micros(row.get(18)?),
        }),
        None => None,
    };
    let mut environment = Environment {
        id: EnvironmentId::new(row.get::<_, String>(1)?),
        project: row.get(2)?,
        name: row.get(3)?,
        slug: row.get(4)?,
        tier: VIEW.get_at(row, 5, "environment.tier")?,
        region: row.get(6)?,
        state: VIEW.get_at(row, 13, "environment.state")?,
        labels: VIEW.get_at::<Json<_>>(row, LABELS, "environment.labels")?.0,
        settings: VIEW.get_at::<Json<_>>(row, 15, "environment.settings")?.0,
        declared_by: VIEW.get_at::<Json<_>>(row, 16, "environment.declared_by")?.0,
        targets: VIEW.get_at::<Json<_>>(row, TARGETS, "environment.targets")?.0,
        last_deployment: deployment,
        access: if readable { EnvironmentAccess::Granted } else { EnvironmentAccess::Denied },
        health: health(row, readable)?,
        warnings: Vec::new(),
    };
    environment.warnings = warnings::of(&environment);
    Ok(Found { number: row.get(0)?, environment })
}

fn health(row: &Row<'_>, readable: bool) -> rusqlite::Result<EnvironmentHealth> {
    let known: Option<Health> = VIEW.get_at(row, 10, "stretch_health.known")?;
    Ok(EnvironmentHealth {
        state: VIEW.get_at(row, 8, "stretch_health.state")?,
        since: Timestamp::from_micros(row.get(9)?),
        last_known: known.filter(|_| readable),
        counts: if readable { read_counts_at(row, 19, &COUNTS)? } else { HealthCounts::default() },
        rule_set: row.get(11)?,
    })
}

macro_rules! list_environments {
    ($from:literal, $project:literal) => {
        select_environments!(
            $from,
            concat!(
                " AND (:tiers IS NULL OR e.tier IN (SELECT value FROM json_each(:tiers)))
                  AND (:regions IS NULL OR e.region IN (SELECT value FROM json_each(:regions)))
                  AND (:states IS NULL OR e.state IN (SELECT value FROM json_each(:states)))
                  AND (:healths IS NULL OR ",
                shown!("grace_state", "state"),
                " IN (SELECT value FROM json_each(:healths)))
                  AND (",
                $project,
                ", e.name, e.name_id) > (:project, :name, :id) ORDER BY ",
                $project,
                ", e.name, e.name_id"
            )
        )
    };
}

/// By project and name, so that a page is read no further than it goes: of all, or of the projects that a scope sees
/// something of.
pub(super) const OF_ALL: &str = list_environments!("environment e", "e.project");
pub(super) const OF_SCOPE: &str = list_environments!(
    "temp.sight_project p CROSS JOIN environment e INDEXED BY environment_by_project ON e.project = p.path",
    "p.path"
);

/// A page of environments, by project and name.
pub(super) fn list(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    filter: &EnvironmentFilter,
    start: &Start,
) -> Result<Page<Environment>> {
    let sql = if scope.is_everything() { OF_ALL } else { OF_SCOPE };
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":clock": moment.clock().as_micros(), ":scope": scope.as_sql(),
        ":tiers": one_of(&filter.tiers, |tier| tier.as_str()),
        ":regions": one_of(&filter.regions, String::as_str),
        ":states": one_of(&filter.states, |state| state.as_str()),
        ":healths": one_of(&filter.healths, |health| health.number()),
        ":project": start.after(0), ":name": start.after(1), ":id": start.after(2),
    };
    let (sieve, mut items) = (RowFilter::new(filter), Vec::new());
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        if matches(&sieve, row)? {
            items.push(from_row(row)?.environment);
        }
        if i64::try_from(items.len()).is_ok_and(|read| read >= start.rows()) {
            break;
        }
    }
    let next = start.finish(moment.offset, &mut items, place);
    let snapshot = moment.snapshot(view, scope, &Concerns::Everything)?;
    start.page(items, (snapshot, next), |found| {
        Words::of_environments(filter).unknown(view, moment, scope, found)
    })
}

/// Where in the list an environment stands.
pub(super) fn place(item: &Environment) -> Vec<String> {
    vec![item.project.clone(), item.name.clone(), item.id.as_str().to_owned()]
}

/// Whether a row passes what of a filter no index helps with.
fn matches(sieve: &RowFilter<'_>, row: &Row<'_>) -> rusqlite::Result<bool> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
    let candidate = FilteredRow {
        project: text(2)?,
        name: text(3)?,
        labels: Part::Json(text(LABELS)?),
        targets: Part::Json(text(TARGETS)?),
    };
    sieve.matches(&candidate).map_err(|error| column::unreadable(LABELS, error))
}

/// Environments by the view's numbers, in no order.
pub(super) fn with_numbers(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    numbers: &[i64],
) -> Result<Vec<Found>> {
    let mut statement = view.prepare_cached(select_environments!(
        "json_each(:numbers) chosen CROSS JOIN environment e ON e.id = chosen.value",
        ""
    ))?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":clock": moment.clock().as_micros(), ":scope": scope.as_sql(),
        ":numbers": serde_json::json!(numbers).to_string(),
    };
    Ok(statement.query_map(params, from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// One environment, be it that the caller may not read what it holds.
pub(super) fn seen(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    id: &EnvironmentId,
) -> Result<Found> {
    let mut statement = view.prepare_cached(select_environments!(" AND e.name_id = :id"))?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":clock": moment.clock().as_micros(), ":scope": scope.as_sql(),
        ":id": id.as_str(),
    };
    let found = statement.query_row(params, from_row).optional()?;
    match found {
        Some(found) => Ok(found),
        None => {
            let gone = gone(view, moment, scope, id)?.map(gone_after);
            Err(QueryError::gone("environment", id, gone))
        }
    }
}

/// The view's number of an environment that is there, or was.
pub(super) fn number(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    id: &EnvironmentId,
) -> Result<i64> {
    match seen(view, moment, scope, id) {
        Ok(found) => Ok(found.number),
        Err(QueryError::NotFound { gone: Some(_), .. }) => {
            let sql = "SELECT id FROM environment_name WHERE name_id = ?1";
            Ok(view.prepare_cached(sql)?.query_row([id.as_str()], |row| row.get(0))?)
        }
        Err(error) => Err(error),
    }
}

/// The last offset at which an environment was there that is not any more, as far as the caller saw it.
pub(super) fn gone(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    id: &EnvironmentId,
) -> Result<Option<Offset>> {
    let sql = concat!(
        "SELECT max(e.to_offset) - 1 FROM environment_name n JOIN environment_audience e ON e.environment_id = n.id
        WHERE n.name_id = :id AND e.to_offset <= :at AND e.from_offset < e.to_offset AND ",
        sees!()
    );
    let params = named_params! {
        ":id": id.as_str(), ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
    };
    let last: Option<i64> = view.prepare_cached(sql)?.query_row(params, |row| row.get(0))?;
    Ok(last.map(Offset::from_i64))
}

/// One environment of which the caller may read what it holds, and the view's number of it.
pub(super) fn find(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    id: &EnvironmentId,
) -> Result<(i64, Environment)> {
    let Found { number, environment, .. } = seen(view, moment, scope, id)?;
    match environment.access {
        EnvironmentAccess::Granted => Ok((number, environment)),
        EnvironmentAccess::Denied => Err(QueryError::AgentDenied { environment: id.clone() }),
    }
}

/// One environment.
pub(super) fn get(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    id: &EnvironmentId,
) -> Result<Answer<Environment>> {
    let Found { number, environment, .. } = seen(view, moment, scope, id)?;
    let metadata = moment.snapshot(view, scope, &Concerns::Environment(number))?;
    Ok(Answer { value: environment, metadata })
}

/// One environment.
#[derive(Clone, Debug, Serialize)]
pub struct GetEnvironment {
    /// The environment.
    pub environment: EnvironmentId,
}

impl GetEnvironment {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId) -> Self {
        GetEnvironment { environment: environment.clone() }
    }
}

impl Question for GetEnvironment {
    const NAME: &'static str = "environment";
    type Answer = Answer<Environment>;

    fn is_short(&self) -> bool {
        true
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, .. } = context;
        get(view, &moment, scope, &self.environment)
    }
}

/// Environments, ordered by project and name.
#[derive(Clone, Debug, Serialize)]
pub struct ListEnvironments {
    /// Which environments.
    pub filter: EnvironmentFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListEnvironments {
    /// The question with these parts.
    pub fn new(filter: &EnvironmentFilter, page: &PageRequest) -> Self {
        ListEnvironments { filter: filter.clone(), page: page.clone() }
    }
}

impl Question for ListEnvironments {
    const NAME: &'static str = "environments";
    type Answer = Page<Environment>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    fn is_short(&self) -> bool {
        self.page.limit <= PageRequest::DEFAULT
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, start, .. } = context;
        list(view, &moment, scope, &self.filter, &start)
    }
}

/// The same list, with the page token after each item, as GraphQL's cursors need them.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct ListEnvironmentsWithCursors(pub ListEnvironments);

impl Question for ListEnvironmentsWithCursors {
    const NAME: &'static str = ListEnvironments::NAME;
    type Answer = (Page<Environment>, Vec<String>);

    fn page(&self) -> Option<&PageRequest> {
        self.0.page()
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, start, .. } = context;
        let page = list(view, &moment, scope, &self.0.filter, &start)?;
        let cursor = |item| start.token(moment.offset, &place(item));
        let cursors = page.items.iter().map(cursor).collect();
        Ok((page, cursors))
    }
}
