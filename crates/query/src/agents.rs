//! Agents as the catalog declares them, and what they serve.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::PageRequest;
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, sees};
use serde::Serialize;
use strandline_model::{AgentId, EnvironmentId};
use strandline_protocol::{Agent, Answer, Page, PageMetadata};
use strandline_sqlite::column::{Json, VIEW};

/// The most environments that are told of one agent.
const ENVIRONMENTS_MAX: i64 = 1000;

macro_rules! select_agents {
    ($tail:literal) => {
        concat!(
            "SELECT a.id, a.number, a.cluster, a.configuration, a.problem, a.source, a.warnings,
                :scope IS NULL OR substr(a.id, 1, instr(a.id, ':') - 1) IN (SELECT path FROM temp.sight_path) AS own
            FROM agent a
            WHERE a.from_offset <= :at AND a.to_offset > :at AND (own
                OR EXISTS (SELECT 1 FROM audience_agent g CROSS JOIN environment_audience e
                        INDEXED BY environment_audience_by_audience ON e.audience = g.audience
                    WHERE g.agent = a.id AND e.from_offset <= :at AND e.to_offset > :at AND ",
            sees!(),
            ")) ",
            $tail
        )
    };
}

/// An agent, and whether its own project is the caller's: only then is its configuration theirs to read.
fn from_row(row: &Row<'_>, whole: bool) -> rusqlite::Result<Agent> {
    let id: AgentId = VIEW.get(row, "agent.id")?;
    let own: bool = row.get("own")?;
    let configuration: String = row.get("configuration")?;
    Ok(Agent {
        name: id.name().to_owned(),
        project: id.project().to_owned(),
        number: row.get::<_, Option<i64>>("number")?.map(i64::cast_unsigned),
        cluster: row.get("cluster")?,
        environments: Vec::new(),
        problem: if own { row.get("problem")? } else { String::new() },
        warnings: if own { VIEW.get::<Json<_>>(row, "agent.warnings")?.0 } else { Vec::new() },
        configuration: (own && whole).then_some(configuration),
        source: VIEW.get(row, "agent.source")?,
        id,
    })
}

/// The environments that an agent serves.
fn environments(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    agent: &Agent,
) -> Result<Vec<EnvironmentId>> {
    let sql = concat!(
        "SELECT of.name_id FROM audience_agent g CROSS JOIN environment_audience e
            INDEXED BY environment_audience_by_audience ON e.audience = g.audience
        CROSS JOIN environment of ON of.id = e.environment_id AND of.from_offset =
            (SELECT max(from_offset) FROM environment WHERE id = e.environment_id AND from_offset <= :at)
        WHERE g.agent = :agent AND e.from_offset <= :at AND e.to_offset > :at AND ",
        sees!(),
        " ORDER BY of.project, of.name LIMIT :limit"
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":agent": agent.id.to_string(), ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
        ":limit": ENVIRONMENTS_MAX,
    };
    let rows = statement.query_map(params, |row| row.get::<_, String>(0).map(EnvironmentId::new))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The agents in sight.
pub(super) fn ids(view: &Connection, moment: &Moment, scope: &ResolvedScope) -> Result<BTreeSet<String>> {
    let mut statement = view.prepare_cached(select_agents!(""))?;
    let params = named_params! { ":at": moment.offset.as_i64(), ":scope": scope.as_sql() };
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn list(view: &Connection, moment: &Moment, scope: &ResolvedScope, start: &Start) -> Result<Page<Agent>> {
    let sql = select_agents!("AND a.id > :id ORDER BY a.id LIMIT :limit");
    let mut items = {
        let mut statement = view.prepare_cached(sql)?;
        let params = named_params! {
            ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":id": start.after(0), ":limit": start.rows(),
        };
        let rows = statement.query_map(params, |row| from_row(row, false))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()?
    };
    let next = start.finish(moment.offset, &mut items, |item| vec![item.id.to_string()]);
    for item in &mut items {
        item.environments = environments(view, moment, scope, item)?;
    }
    let snapshot = moment.snapshot(view, scope, &Concerns::Everything)?;
    Ok(Page { items, metadata: PageMetadata::new(snapshot, next) })
}

fn get(view: &Connection, moment: &Moment, scope: &ResolvedScope, id: &AgentId) -> Result<Answer<Agent>> {
    let found = {
        let mut statement = view.prepare_cached(select_agents!("AND a.id = :id"))?;
        let params = named_params! {
            ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":id": id.to_string(),
        };
        statement.query_row(params, |row| from_row(row, true)).optional()?
    };
    let mut value = found.ok_or_else(|| QueryError::not_found("agent", id))?;
    value.environments = environments(view, moment, scope, &value)?;
    Ok(Answer { value, metadata: moment.snapshot(view, scope, &Concerns::Everything)? })
}

/// Agents, by name.
#[derive(Clone, Debug, Serialize)]
pub struct ListAgents {
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListAgents {
    /// The question with these parts.
    pub fn new(page: &PageRequest) -> Self {
        ListAgents { page: page.clone() }
    }
}

impl Question for ListAgents {
    const NAME: &'static str = "agents";
    type Answer = Page<Agent>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, start, .. } = context;
        list(view, &moment, scope, &start)
    }
}

/// One agent with its configuration, which only members of its own project read.
#[derive(Clone, Debug, Serialize)]
pub struct GetAgent {
    /// The agent.
    pub agent: AgentId,
}

impl GetAgent {
    /// The question with these parts.
    pub fn new(agent: &AgentId) -> Self {
        GetAgent { agent: agent.clone() }
    }
}

impl Question for GetAgent {
    const NAME: &'static str = "agent";
    type Answer = Answer<Agent>;

    /// # Errors
    /// [`QueryError::NotFound`] when it did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, .. } = context;
        get(view, &moment, scope, &self.agent)
    }
}
