//! What the configuration of an agent decides of a job: read from a request and asked alike by REST and pages.

use super::state::AppState;
use crate::http::auth;
use crate::http::params::{
    ENVIRONMENT, GROUP, NAMESPACE, PROJECT_ONE, PROTECTED, ParameterReader, REF, TAG, VAR,
};
use crate::http::problem::{ParameterError, Problem, ProblemCode};
use crate::http::request::Request;
use strandline_gitlab::{
    AgentConfigError, Decision, Job, JobEnvironment, Variables, decide, known_agent_config,
};
use strandline_model::{AgentId, At};
use strandline_protocol::{Answer, WithWarnings};
use strandline_query::{GetAgent, Scope};
use strandline_syntax::diagnostics::Mistake;

/// The agent that an address names.
///
/// # Errors
/// Where no agent could be called so.
pub fn agent_id(request: &Request) -> Result<AgentId, Problem> {
    request.argument(0).parse().map_err(|message: String| Problem::new(ProblemCode::NotFound, message))
}

/// Whether a job may deploy with an agent.
///
/// # Errors
/// Where the caller does not see the agent, or asks for a job of another project than their own.
pub async fn decision(
    state: &AppState,
    request: &Request,
    at: At,
    id: AgentId,
    job: Job,
) -> Result<Answer<WithWarnings<Decision>>, Problem> {
    // Who sees the agent learns what it decides of their own jobs, and only its own project what is written of others.
    let seen = state.queries.ask(&auth::scope(request)?, at, GetAgent::new(&id)).await?;
    let own = request.caller.has(id.project());
    if !own {
        asks_of_own(request, &job)?;
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
    Ok(Answer { value: WithWarnings { value: decision, warnings }, metadata: seen.metadata })
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

/// The job that a request describes.
///
/// # Errors
/// Without a project, or with a variable that has no value.
pub fn job(read: &mut ParameterReader<'_>) -> Result<Job, Problem> {
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
