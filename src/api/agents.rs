//! `/api/v1/agents`, and what their configurations decide.

use serde::Serialize;

use super::params::{ENVIRONMENT, GROUP, NAMESPACE, PROJECT_ONE, PROTECTED, REF, Reader, TAG, VAR};
use super::problem::{ParameterError, Problem};
use super::request::Request;
use super::respond::{self, Response};
use super::{ApiState, auth, catalog};
use crate::access::{Decision, Job, JobEnvironment, Variables, decide, read_agent_config};
use crate::query::{Answer, Scope};

/// Agents.
pub(super) async fn list(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    read.finish()?;
    respond::page(&request, &state.queries.agents(&auth::scope(&request)?, at, &page).await?)
}

/// One agent.
pub(super) async fn one(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let id = catalog::agent_id(&request)?;
    respond::json(&request, &state.queries.agent(&auth::scope(&request)?, at, &id).await?)
}

/// What was decided, with what is odd about the configuration that decided.
#[derive(Serialize)]
struct Allowed {
    #[serde(flatten)]
    decision: Decision,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// Whether a job may deploy with an agent: what `strandline access check` tells of a file.
pub(super) async fn allowed(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, job) = (read.at(), job(&mut read));
    read.finish()?;
    let (job, id) = (job?, catalog::agent_id(&request)?);
    // Who sees the agent learns what it decides, and only its own project what is written in its configuration.
    state.queries.agent(&auth::scope(&request)?, at, &id).await?;
    let found = state.queries.agent(&Scope::everything(), at, &id).await?;
    let text = found.value.configuration.unwrap_or_default();
    let configuration = read_agent_config(&text).map_err(Problem::internal)?;
    let warnings = configuration.warnings.iter().map(ToString::to_string).collect();
    let value = Allowed { decision: decide(&configuration.config, id.project(), &job), warnings };
    respond::json(&request, &Answer { value, metadata: found.metadata })
}

fn job(read: &mut Reader<'_>) -> Result<Job, Problem> {
    let Some(project) = read.text(PROJECT_ONE) else {
        let detail = "is required: the full path of the job's project".to_owned();
        return Err(Problem::parameters(vec![ParameterError { parameter: "project".into(), detail }]));
    };
    let mut variables = Variables::new();
    for given in read.all(VAR) {
        let Some((name, value)) = given.split_once('=') else {
            let detail = format!("`{given}` is not a variable; write it as NAME=value");
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
