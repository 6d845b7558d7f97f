//! Changes of the catalog: projects, agents, environments and deployments as callers declare them.

use http::StatusCode;
use serde::Serialize;

use crate::app::{AppState, access};
use crate::catalog::{
    AgentInput, CatalogCode, CatalogError, DeploymentInput, EnvironmentInput, Outcome, ProjectInput,
    StatusInput,
};
use crate::http::auth;
use crate::http::params::PROJECT_ONE;
use crate::http::problem::{BodyPosition, Problem, ProblemCode};
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{AgentId, At, CatalogKind, DeploymentId, EnvironmentId};
use strandline_protocol::{Withdrawn, WriteMetadata, Written, WrittenList};
use strandline_query::{GetAgent, GetDeployment, GetEnvironment, QueryError};

/// The most environments in one body.
const ENVIRONMENTS_MAX: usize = 500;

impl From<CatalogError> for Problem {
    fn from(error: CatalogError) -> Self {
        let detail = match &error.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message.clone(),
        };
        let code = match error.code {
            CatalogCode::InvalidValue => return Problem::field(&error.field, detail),
            CatalogCode::NotGranted => {
                let place = BodyPosition { field: error.field.clone(), ..BodyPosition::default() };
                return Problem::new(ProblemCode::NotGranted, format!("{}: {detail}", error.field)).at(place);
            }
            CatalogCode::Unknown => ProblemCode::NotFound,
            CatalogCode::DuplicateProject => ProblemCode::DuplicateProject,
            CatalogCode::UnknownAgent => ProblemCode::UnknownAgent,
            CatalogCode::DuplicateEnvironment => ProblemCode::DuplicateEnvironment,
            CatalogCode::EnvironmentStopped => ProblemCode::EnvironmentStopped,
            CatalogCode::DeploymentEnded => ProblemCode::DeploymentEnded,
            CatalogCode::DeclaredElsewhere => ProblemCode::DeclaredElsewhere,
            CatalogCode::ReadOnly => ProblemCode::LogReadOnly,
            CatalogCode::Busy => ProblemCode::WriteBusy,
            CatalogCode::QuotaExceeded => ProblemCode::QuotaExceeded,
            CatalogCode::TooOften => ProblemCode::WriteRateExceeded,
            CatalogCode::Failed => {
                tracing::error!(cause = error.message, "writing the log failed");
                let detail = "writing the log failed; the server's log has the cause under the trace id";
                return Problem::new(ProblemCode::Storage, detail);
            }
        };
        Problem::new(code, detail)
    }
}

/// The answer to a change.
fn written<T: Serialize>(outcome: Outcome<T>) -> Result<Response, Problem> {
    let status = if outcome.created { StatusCode::CREATED } else { StatusCode::OK };
    respond::uncached_json(status, &of_outcome(outcome))
}

fn of_outcome<T>(outcome: Outcome<T>) -> Written<T> {
    let metadata = WriteMetadata { offset: outcome.offset, warnings: outcome.warnings };
    Written { value: outcome.value, metadata }
}

/// Declares a project.
pub(super) async fn put_project(state: AppState, request: Request) -> Result<Response, Problem> {
    let path = request.argument(0);
    request.caller.require_write_of(path)?;
    let authority = request.caller.authority();
    written(state.catalog.put_project(authority, path, request.json::<ProjectInput>()?).await?)
}

/// Lets go of a project.
pub(super) async fn delete_project(state: AppState, request: Request) -> Result<Response, Problem> {
    request.caller.require_write_of(request.argument(0))?;
    withdrawn(&state, CatalogKind::Project, request.argument(0)).await
}

/// Declares an agent.
pub(super) async fn put_agent(state: AppState, request: Request) -> Result<Response, Problem> {
    let id = access::agent_id(&request)?;
    request.caller.require_write_of(id.project())?;
    let input = request.json::<AgentInput>()?;
    written(state.catalog.put_agent(request.caller.authority(), &id, input).await?)
}

/// Lets go of an agent.
pub(super) async fn delete_agent(state: AppState, request: Request) -> Result<Response, Problem> {
    let id = access::agent_id(&request)?;
    request.caller.require_write_of(id.project())?;
    withdrawn(&state, CatalogKind::Agent, &id.to_string()).await
}

/// Declares an environment.
pub(super) async fn put_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let id = EnvironmentId::new(request.argument(0));
    let input = request.json::<EnvironmentInput>()?;
    if let Some(project) = input.project() {
        request.caller.require_write_of(project)?;
    }
    let owner = state.catalog.owner(&id).await?;
    // One that is out of the caller's sight is as if it were not there: what they may call their own never has its id.
    let owner = match owner {
        Some(owner) => match request.caller.require_write_of(&owner) {
            Ok(()) => Some(owner),
            Err(refusal) if sees(&state, &request, &id).await? => {
                return Err(refusal);
            }
            Err(_) => None,
        },
        None => None,
    };
    let authority = request.caller.authority();
    written(state.catalog.put_environment(authority, Some(&id), owner.as_deref(), input).await?)
}

/// Declares environments of a project: one, or a list as GitLab's `GET /projects/:id/environments` answers.
pub(super) async fn post_environments(state: AppState, request: Request) -> Result<Response, Problem> {
    let (project, authority) = (request.argument(0), request.caller.authority());
    request.caller.require_write_of(project)?;
    if request.body.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| *byte != b'[') {
        let input = of_project(request.json::<EnvironmentInput>()?, project)?;
        return written(state.catalog.put_environment(authority, None, Some(project), input).await?);
    }
    let inputs = request.json::<Vec<EnvironmentInput>>()?;
    if inputs.len() > ENVIRONMENTS_MAX {
        let detail =
            format!("the limit is {ENVIRONMENTS_MAX} environments per request; this has {}", inputs.len());
        return Err(Problem::new(ProblemCode::InvalidBody, detail));
    }
    let told = |index: usize, mut problem: Problem| {
        problem.detail = format!("[{index}]: {}; nothing of the list was saved", problem.detail);
        problem
    };
    let mut checked = Vec::new();
    for (index, input) in inputs.into_iter().enumerate() {
        let input = of_project(input, project);
        checked.push(input.map_err(|problem| told(index, problem))?);
    }
    let put = state.catalog.put_environments(authority, project, checked).await;
    let items = put.map_err(|(index, error)| match index {
        Some(index) => told(index, error.into()),
        None => error.into(),
    })?;
    let items = items.into_iter().map(of_outcome).collect();
    respond::uncached_json(StatusCode::OK, &WrittenList { items })
}

/// That an input speaks of the project under which it was sent.
fn of_project(input: EnvironmentInput, project: &str) -> Result<EnvironmentInput, Problem> {
    match input.project() {
        Some(other) if !other.eq_ignore_ascii_case(project) => {
            Err(Problem::field("project", format!("`{other}` differs from the project in the URL")))
        }
        _ => Ok(input),
    }
}

/// Stops an environment.
pub(super) async fn stop_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let id = EnvironmentId::new(request.argument(0));
    // GitLab's clients may say `force` here; there is nothing that it could change.
    if !request.body.trim_ascii().is_empty() {
        request.json::<serde_json::Map<String, serde_json::Value>>()?;
    }
    require_write_of_owner(&state, &request, &id).await?;
    written(state.catalog.stop_environment(&id).await?)
}

/// Lets go of an environment.
pub(super) async fn delete_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let id = EnvironmentId::new(request.argument(0));
    require_write_of_owner(&state, &request, &id).await?;
    withdrawn(&state, CatalogKind::Environment, id.as_str()).await
}

/// Records a deployment. Who deploys to another project's environment has to be allowed to write of both: the one sees
/// what it deploys to, and the other is moved by it.
pub(super) async fn post_deployment(state: AppState, request: Request) -> Result<Response, Problem> {
    let input = request.json::<DeploymentInput>()?;
    let environment = input.environment_name();
    request.caller.require_deploy_to(input.project(), environment)?;
    if let Some(project) = input.environment_project() {
        request.caller.require_deploy_to(project, environment)?;
    }
    // The token of a job proves whether its ref is protected, and rules of agents rest on that.
    if request.caller.job.as_ref().is_some_and(|job| !job.ref_protected) && input.claims_protected_ref() {
        return Err(Problem::field(
            "ref_protected",
            "the token of the CI job says that its ref is not protected",
        ));
    }
    let sees_agent = match input.agent() {
        Some(agent) => sees_agent(&state, &request, &agent).await?,
        None => true,
    };
    written(state.catalog.deploy((request.caller.authority(), sees_agent), input).await?)
}

/// Records how a deployment stands.
pub(super) async fn put_deployment(state: AppState, request: Request) -> Result<Response, Problem> {
    let read = request.query.reader();
    let project = read.text(PROJECT_ONE);
    read.finish()?;
    let id = deployment_id(&request)?;
    let project = deploying(&state, &request, id, project).await?;
    require_own_deployment(&state, &request, id, &project).await?;
    written(state.catalog.set_deployment_status(&project, id, request.json::<StatusInput>()?).await?)
}

/// The project whose deployment of a number is meant: the one that is named, or the only one that the caller writes of.
async fn deploying(
    state: &AppState,
    request: &Request,
    id: DeploymentId,
    named: Option<String>,
) -> Result<String, Problem> {
    if let Some(project) = named {
        return requires(request, &project).map(|()| project);
    }
    let projects = state.catalog.deployed_by(id).await?;
    let (own, others): (Vec<_>, Vec<_>) =
        projects.into_iter().partition(|project| requires(request, project).is_ok());
    match own.as_slice() {
        [] => {}
        [project] => return Ok(project.clone()),
        _ => return Err(QueryError::AmbiguousDeployment { id, projects: own }.into()),
    }
    let scope = auth::scope(request)?;
    for project in others {
        match state.queries.ask(&scope, At::Now, GetDeployment::new(id, Some(&project))).await {
            Ok(_) => return requires(request, &project).map(|()| project),
            Err(QueryError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Problem::new(ProblemCode::NotFound, format!("no deployment `{id}`")))
}

/// That a caller may write of deployments of a project; of a CI job, of some of them.
fn requires(request: &Request, project: &str) -> Result<(), Problem> {
    let environment = request.caller.job.as_ref().map_or("", |job| job.environment.as_str());
    request.caller.require_deploy_to(project, environment)
}

/// That a CI job speaks of a deployment to its own environment.
async fn require_own_deployment(
    state: &AppState,
    request: &Request,
    id: DeploymentId,
    project: &str,
) -> Result<(), Problem> {
    let Some(job) = &request.caller.job else { return Ok(()) };
    let scope = auth::scope(request)?;
    let found = state.queries.ask(&scope, At::Now, GetDeployment::new(id, Some(project))).await?;
    let own = EnvironmentId::of(project, &job.environment);
    match found.value.spec.environment == own {
        true => Ok(()),
        false => request.caller.require_deploy_to(project, found.value.spec.environment.as_str()),
    }
}

/// The deployment that an address names.
pub(crate) fn deployment_id(request: &Request) -> Result<DeploymentId, Problem> {
    let text = request.argument(0);
    let number = text.parse().ok().filter(|number| i64::try_from(*number).is_ok());
    number
        .map(DeploymentId)
        .ok_or_else(|| Problem::new(ProblemCode::NotFound, format!("invalid deployment id `{text}`")))
}

/// That a caller may write of an environment; what the caller does not see is as if it were not there.
async fn require_write_of_owner(
    state: &AppState,
    request: &Request,
    id: &EnvironmentId,
) -> Result<(), Problem> {
    let owner = state.catalog.owner(id).await?;
    let allowed = match owner {
        Some(owner) => request.caller.require_write_of(&owner),
        None => Err(Problem::new(
            ProblemCode::DeclaredElsewhere,
            format!(
                "the environment `{id}` is declared by a resource of a cluster; change or delete it there"
            ),
        )),
    };
    match allowed {
        Err(refusal) if sees(state, request, id).await? => Err(refusal),
        Err(_) => Err(Problem::new(ProblemCode::NotFound, format!("no environment `{id}`"))),
        Ok(()) => Ok(()),
    }
}

/// Whether a caller sees an environment.
async fn sees(state: &AppState, request: &Request, id: &EnvironmentId) -> Result<bool, Problem> {
    match state.queries.ask(&auth::scope(request)?, At::Now, GetEnvironment::new(id)).await {
        Ok(_) => Ok(true),
        Err(QueryError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether a caller sees an agent. One of a project of theirs they do, also where the view does not hold it yet.
async fn sees_agent(state: &AppState, request: &Request, id: &AgentId) -> Result<bool, Problem> {
    if request.caller.has(id.project()) {
        return Ok(true);
    }
    match state.queries.ask(&auth::scope(request)?, At::Now, GetAgent::new(id)).await {
        Ok(_) => Ok(true),
        Err(QueryError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn withdrawn(state: &AppState, kind: CatalogKind, name: &str) -> Result<Response, Problem> {
    let outcome = state.catalog.withdraw(kind, name).await?;
    let metadata = WriteMetadata { offset: outcome.offset, warnings: Vec::new() };
    respond::uncached_json(StatusCode::OK, &Withdrawn { metadata })
}
