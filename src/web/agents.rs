//! `/agents` and `/agents/{id}`: GitLab's agents, the environments that they serve, and what their configurations decide.

use askama::Template;
use http::StatusCode;

use super::address::same_moment;
use super::clusters;
use super::environments::{self, Table};
use super::field::Field;
use super::live;
use super::prose::Prose;
use super::render::html;
use super::shell::{Shell, reference, within};
use crate::app::{AppState, access};
use crate::format::{grouped, several, visible};
use crate::http::auth;
use crate::http::params::{
    AGENT, CONTINUE, ENVIRONMENT, NAMESPACE, PROJECT_ONE, PROTECTED, Parameter, REF, TAG,
};
use crate::http::problem::{Problem, ProblemCode};
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_gitlab::Decision;
use strandline_model::{AgentId, At, EnvironmentFilter, Timestamp};
use strandline_protocol::{Agent, Answer, Overview, Page, WithWarnings};
use strandline_query::{GetAgent, ListAgents, PageRequest, Scope};
use strandline_syntax::percent_encode;

/// The most agents of one page.
const ROWS_MAX: usize = 100;

/// An agent as a line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AgentRow {
    pub(super) project: String,
    pub(super) name: String,
    pub(super) href: String,
    /// Name and page of its cluster.
    pub(super) cluster: Option<(String, String)>,
    pub(super) environments: String,
    /// Whether its configuration as it stands cannot be read.
    pub(super) is_wrong: bool,
    /// What is wrong or odd about its configuration.
    pub(super) said: String,
}

impl AgentRow {
    pub(super) fn new(shell: &Shell, agent: &Agent) -> Self {
        let warnings = (!agent.warnings.is_empty()).then(|| several(agent.warnings.len(), "warning"));
        let said =
            if agent.problem.is_empty() { warnings.unwrap_or_default() } else { agent.problem.clone() };
        AgentRow {
            project: visible(&agent.project).into_owned(),
            name: visible(&agent.name).into_owned(),
            href: href(shell, &agent.id),
            cluster: cluster(shell, agent),
            environments: grouped(agent.environments.len() as u64),
            is_wrong: !agent.problem.is_empty(),
            said: visible(&said).into_owned(),
        }
    }
}

fn cluster(shell: &Shell, agent: &Agent) -> Option<(String, String)> {
    let named = || (visible(&agent.cluster).into_owned(), clusters::href(shell, &agent.cluster));
    (!agent.cluster.is_empty()).then(named)
}

/// The page of an agent.
pub(super) fn href(shell: &Shell, id: &AgentId) -> String {
    shell.href(&format!("/agents/{}", percent_encode(&id.to_string())), &[])
}

/// The agents in sight; as many as one answer of the API holds.
pub(super) async fn all(state: &AppState, scope: &Scope, at: At) -> Result<Vec<Agent>, Problem> {
    let whole = PageRequest { limit: PageRequest::MAX, after: None };
    Ok(state.queries.ask(scope, at, ListAgents::new(&whole)).await?.items)
}

#[derive(Template)]
#[template(path = "agents.html")]
struct AgentsPage {
    shell: Shell,
    agents: Vec<AgentRow>,
    next: Option<String>,
    json: String,
}

/// All agents.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    let page = PageRequest { limit: ROWS_MAX, after: read.text(CONTINUE) };
    read.finish()?;
    let found = state.queries.ask(&auth::scope(&request)?, at, ListAgents::new(&page)).await?;
    html(StatusCode::OK, &list_view(&request, &found, state.clock.now()))
}

fn list_view(request: &Request, found: &Page<Agent>, now: Timestamp) -> AgentsPage {
    let snapshot = &found.metadata.snapshot;
    let shell = Shell::new("Agents", request, snapshot, now).live(&live::rarely(), snapshot);
    let next = found.metadata.next.as_deref();
    AgentsPage {
        agents: found.items.iter().map(|agent| AgentRow::new(&shell, agent)).collect(),
        next: next.map(|token| format!("/agents{}", request.query.with(&[(CONTINUE, Some(token))]))),
        json: format!("/api/v1/agents{}", shell.keep),
        shell,
    }
}

/// What an agent decides of a job that was described in the form.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Verdict {
    is_allowed: bool,
    message: Prose,
    /// Name and value of what follows from it.
    facts: Vec<(&'static str, String)>,
    warnings: Vec<String>,
}

#[derive(Template)]
#[template(path = "agent.html")]
struct AgentPage {
    shell: Shell,
    name: String,
    project: (String, String),
    cluster: Option<(String, String)>,
    source: &'static str,
    problem: String,
    warnings: Vec<String>,
    /// None where it is not the caller's to read.
    configuration: Option<String>,
    table: Table,
    all: String,
    fields: Vec<Field>,
    /// The form's boxes: name, label, and whether it is ticked.
    boxes: Vec<(&'static str, &'static str, bool)>,
    verdict: Option<Verdict>,
    /// Why it is not answered whether the job may deploy.
    refused: Option<Prose>,
    json: String,
}

/// What was found of an agent.
struct AgentData {
    agent: Answer<Agent>,
    overview: Overview,
    /// What it decides of a job, where one is described.
    decision: Option<Result<WithWarnings<Decision>, String>>,
}

/// One agent.
pub(super) async fn one(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    let job = read.text(PROJECT_ONE).map(|_| access::job(&mut read));
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, access::agent_id(&request)?);
    let agent = state.queries.ask(&scope, at, GetAgent::new(&id)).await?;
    let then = same_moment(at, &agent.metadata);
    let filter = EnvironmentFilter { agents: vec![id.clone()], ..EnvironmentFilter::default() };
    let overview = state.queries.ask(&scope, then, environments::question(filter)).await?.value;
    let decision = match job.transpose()? {
        None => None,
        Some(job) => match access::decision(&state, &request, then, id, job).await {
            Ok(found) => Some(Ok(found.value)),
            Err(problem) if problem.code == ProblemCode::Forbidden => Some(Err(problem.detail)),
            Err(problem) => return Err(problem),
        },
    };
    let found = AgentData { agent, overview, decision };
    html(StatusCode::OK, &view(&request, &found, state.clock.now()))
}

fn view(request: &Request, found: &AgentData, now: Timestamp) -> AgentPage {
    let (agent, snapshot) = (&found.agent.value, &found.agent.metadata);
    let shown = |text: &str| visible(text).into_owned();
    let filter = EnvironmentFilter { agents: vec![agent.id.clone()], ..EnvironmentFilter::default() };
    let filter = live::followed(filter, found.overview.totals.total);
    let shell = Shell::new(&format!("Agent {}", agent.id), request, snapshot, now).live(&filter, snapshot);
    let now = reference(request, snapshot, now);
    let field = |label, parameter, example| {
        let field = Field::new(request, parameter, label, example);
        Field { value: shown(&field.value), ..field }
    };
    let ticked = |parameter: Parameter| request.query.one(parameter) == Some("true");
    let decision = found.decision.as_ref();
    AgentPage {
        name: shown(&agent.name),
        project: (shown(&agent.project), super::projects::href(&shell, &agent.project)),
        cluster: cluster(&shell, agent),
        source: agent.source.as_str(),
        problem: shown(&agent.problem),
        warnings: agent.warnings.iter().map(|warning| shown(warning)).collect(),
        configuration: agent.configuration.as_ref().filter(|text| !text.is_empty()).map(|text| lines(text)),
        table: Table::new(&shell, &found.overview, now),
        all: within(&shell, AGENT, &agent.id.to_string()),
        fields: vec![
            field("Project of the job", PROJECT_ONE, "shop/web"),
            field("Environment", ENVIRONMENT, "production"),
            field("Branch or tag", REF, "main"),
            field("Namespace", NAMESPACE, "shop-production"),
        ],
        boxes: vec![
            (TAG.name, "it is a tag", ticked(TAG)),
            (PROTECTED.name, "it is protected", ticked(PROTECTED)),
        ],
        verdict: decision.and_then(|decided| decided.as_ref().ok()).map(verdict),
        refused: decision.and_then(|decided| decided.as_ref().err()).map(|detail| Prose::new(detail)),
        json: shell.href(&format!("/api/v1/agents/{}", percent_encode(&agent.id.to_string())), &[]),
        shell,
    }
}

/// A text of several lines, in which nothing steers the page.
fn lines(text: &str) -> String {
    text.lines().map(|line| visible(line).into_owned() + "\n").collect()
}

fn verdict(decided: &WithWarnings<Decision>) -> Verdict {
    let decision = &decided.value;
    let shown = |text: &str| visible(text).into_owned();
    let entry = decision.entry.as_ref().map(|entry| match entry.id.as_str() {
        "" => entry.kind.as_str().to_owned(),
        id => format!("{} {id}, entry {}", entry.kind.as_str(), entry.block),
    });
    let list = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
    let facts = [
        ("Namespace", decision.namespace.clone()),
        ("Decided by", entry),
        ("Rule", decision.rule.map(|rule| rule.to_string())),
        ("Reason", Some(decision.reason.as_str().to_owned())),
        ("Roles", (!decision.roles.is_null()).then(|| decision.roles.to_string())),
        ("Unset variables", list(&decision.unset)),
        ("Taken from the form without verification", list(&decision.unverified)),
    ];
    Verdict {
        is_allowed: decision.allowed,
        message: Prose::new(&decision.message),
        facts: facts.into_iter().filter_map(|(name, value)| Some((name, shown(&value?)))).collect(),
        warnings: decided.warnings.iter().map(|warning| shown(warning)).collect(),
    }
}

/// The list and the page of an agent at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(
    (list, one): (&Request, &Request),
    agent: Agent,
    overview: Overview,
    decision: Option<Result<WithWarnings<Decision>, String>>,
) -> [String; 2] {
    use crate::format::tests::{NOON, snapshot};
    use strandline_protocol::PageMetadata;
    let metadata = PageMetadata::new(snapshot(), Some("token".into()));
    let page = Page { items: vec![agent.clone()], metadata };
    let list = super::tests::text(&list_view(list, &page, NOON));
    let found = AgentData { agent: Answer { value: agent, metadata: snapshot() }, overview, decision };
    [list, super::tests::text(&view(one, &found, NOON))]
}
