//! `/api/v1/agents`, and what their configurations decide.

use super::catalog;
use crate::app::AppState;
use crate::http::auth;
use crate::http::params::{
    ENVIRONMENT, GROUP, NAMESPACE, PROJECT_ONE, PROTECTED, ParameterReader, REF, TAG, VAR,
};
use crate::http::problem::{ParameterError, Problem, ProblemCode};
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_gitlab::{AgentConfigError, Job, JobEnvironment, Variables, decide, known_agent_config};
use strandline_protocol::{Answer, WithWarnings};
use strandline_query::{GetAgent, ListAgents, Scope};
use strandline_syntax::diagnostics::Mistake;

/// Agents.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    respond::page(&request, &state.queries.ask(&auth::scope(&request)?, at, ListAgents::new(&page)).await?)
}

/// One agent.
pub(super) async fn one(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let id = catalog::agent_id(&request)?;
    respond::json(&request, &state.queries.ask(&auth::scope(&request)?, at, GetAgent::new(&id)).await?)
}

/// Whether a job may deploy with an agent: what `strandline access check` tells of a file.
pub(super) async fn allowed(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, job) = (read.at(), job(&mut read));
    read.finish()?;
    let (job, id) = (job?, catalog::agent_id(&request)?);
    // Who sees the agent learns what it decides of their own jobs, and only its own project what is written of others.
    let seen = state.queries.ask(&auth::scope(&request)?, at, GetAgent::new(&id)).await?;
    let own = request.caller.has(id.project());
    if !own {
        asks_of_own(&request, &job)?;
    }
    let found = state.queries.ask(&Scope::everything(), at, GetAgent::new(&id)).await?;
    let text = found.value.configuration.unwrap_or_default();
    // A large file takes a while, which nobody else is to wait for.
    let decided = tokio::task::spawn_blocking(move || {
        let read = known_agent_config(&text)?;
        let decision = decide(&read.config, id.project(), &job);
        Ok::<_, AgentConfigError>((decision, read))
    });
    let (decision, read) = decided.await.map_err(Problem::internal)?.map_err(Problem::internal)?;
    let warnings = read.warnings.iter().filter(|_| own).map(Mistake::with_hint).collect();
    let value = WithWarnings { value: decision, warnings };
    respond::json(&request, &Answer { value, metadata: seen.metadata })
}

/// That the job is one of the caller's projects: what an agent decides of another's is the other's to know. Groups besides
/// those of its path would lead to entries of others, and nothing proves them.
fn asks_of_own(request: &Request, job: &Job) -> Result<(), Problem> {
    let caller = &request.caller;
    if caller.has(&job.project) && job.groups.is_empty() {
        return Ok(());
    }
    let what =
        if job.groups.is_empty() { "jobs of its own projects" } else { "no `group` but those of its path" };
    let detail =
        format!("the agent belongs to another project; the token `{}` may query only {what}", caller.name);
    Err(Problem::new(ProblemCode::Forbidden, detail))
}

fn job(read: &mut ParameterReader<'_>) -> Result<Job, Problem> {
    let Some(project) = read.text(PROJECT_ONE) else {
        let detail = "is required: the full path of the job's project".to_owned();
        return Err(Problem::parameters(vec![ParameterError { parameter: "project".into(), detail }]));
    };
    let mut variables = Variables::new();
    for given in read.all(VAR) {
        let Some((name, value)) = given.split_once('=') else {
            let detail = format!("invalid variable `{given}`; use NAME=value");
            return Err(Problem::parameters(vec![ParameterError { parameter: "var".into(), detail }]));
        };
        variables.insert(name.to_owned(), value.to_owned());
    }
    let job = Job {
        project,
        groups: read.texts(GROUP),
        environment: read.text(ENVIRONMENT).map(JobEnvironment::named),
        ref_name: read.text(REF),
        tag: read.flag(TAG),
        protected: read.flag(PROTECTED),
        default_branch: None,
        variables,
        namespace: read.text(NAMESPACE),
    };
    Ok(job.completed())
}
