//! Deployments, as CI jobs report them.

mod authorization;
mod numbers;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::authorization::authorization;
use self::numbers::free_id;
pub(super) use self::numbers::{find, projects_of};
use super::authority::Authority;
use super::decision::Decided;
use super::environments::{self, check_name};
use super::error::{CatalogCode, CatalogError};
use super::input::{self, AgentRef, JobRef, ProjectRef, UnknownFields, UserRef};
use strandline_log::{Catalog, CatalogChange, LogError};
use strandline_model::{
    AgentId, CatalogFact, DeploymentId, DeploymentJob, DeploymentSpec, DeploymentStatus, EnvironmentSpec,
    EnvironmentState, Timestamp,
};

/// A deployment, as a job reports it; GitLab's answer to `GET /projects/:id/deployments/:deployment_id` with a `project`
/// will do.
#[derive(Clone, Debug, Deserialize)]
pub struct DeploymentInput {
    /// GitLab's number of it; without one it gets one of ours.
    #[serde(default)]
    id: Option<u64>,
    /// The project whose job deploys.
    project: ProjectRef,
    /// Where to: a name in that project, or an environment of another one.
    environment: EnvironmentRef,
    #[serde(default = "created")]
    status: DeploymentStatus,
    #[serde(rename = "ref", default)]
    reference: Option<String>,
    #[serde(default)]
    tag: bool,
    /// Whether the ref is protected.
    #[serde(default)]
    ref_protected: bool,
    #[serde(default)]
    sha: Option<String>,
    #[serde(default, alias = "deployable")]
    job: Option<JobRef>,
    #[serde(default)]
    user: Option<UserRef>,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    finished_at: Option<Timestamp>,
    /// What `environment:kubernetes` of the job says.
    #[serde(default)]
    kubernetes: Option<Kubernetes>,
    /// CI/CD variables of the job: read by the rules of the agent, and not kept.
    #[serde(default)]
    variables: BTreeMap<String, String>,
    #[serde(flatten)]
    rest: UnknownFields,
}

fn created() -> DeploymentStatus {
    DeploymentStatus::Created
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "`environment` must be a name, or an object with `name` and `project`")]
enum EnvironmentRef {
    Name(String),
    Object { name: String, project: Option<ProjectRef> },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kubernetes {
    agent: AgentRef,
    #[serde(default)]
    namespace: Option<String>,
}

/// The status of a deployment now.
#[derive(Clone, Debug, Deserialize)]
pub struct StatusInput {
    status: DeploymentStatus,
    #[serde(default)]
    finished_at: Option<Timestamp>,
    #[serde(flatten)]
    rest: UnknownFields,
}

/// What became of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deployed {
    /// As it is recorded.
    #[serde(flatten)]
    pub spec: DeploymentSpec,
    /// Whether the environment came to be with it, as in GitLab.
    pub environment_created: bool,
}

const KNOWN: [&str; 14] = [
    "id",
    "project",
    "environment",
    "status",
    "ref",
    "tag",
    "ref_protected",
    "sha",
    "job",
    "user",
    "created_at",
    "finished_at",
    "kubernetes",
    "variables",
];

/// Members of GitLab's answers that we have no use for.
const PASSED: [&str; 6] =
    ["iid", "updated_at", "pending_approval_count", "approvals", "approval_summary", "deployable"];

/// An input that makes sense by itself.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    input: DeploymentInput,
    project: String,
    environment_project: String,
    environment: String,
    agent: Option<AgentId>,
    namespace: String,
}

impl DeploymentInput {
    /// Full path of the project whose job deploys.
    pub fn project(&self) -> &str {
        self.project.path()
    }

    /// Full path of the project of the environment, where that is another one.
    pub fn environment_project(&self) -> Option<&str> {
        match &self.environment {
            EnvironmentRef::Name(_) => None,
            EnvironmentRef::Object { project, .. } => project.as_ref().map(ProjectRef::path),
        }
    }

    /// The name of the environment.
    pub fn environment_name(&self) -> &str {
        match &self.environment {
            EnvironmentRef::Name(name) | EnvironmentRef::Object { name, .. } => name,
        }
    }

    /// The agent that the job asks for, if it asks for one that there can be.
    pub fn agent(&self) -> Option<AgentId> {
        self.kubernetes.as_ref()?.agent.id("kubernetes.agent", self.project()).ok()
    }

    /// Whether it says that its ref is protected.
    pub fn claims_protected_ref(&self) -> bool {
        self.ref_protected
    }

    /// What is odd about it.
    pub(super) fn warnings(&self) -> Vec<String> {
        input::unread(&self.rest, &KNOWN, &PASSED)
    }

    pub(super) fn check(self) -> Result<Checked, CatalogError> {
        let project = input::project_path("project", self.project.path())?;
        let (environment, of) = match &self.environment {
            EnvironmentRef::Name(name) => (name.clone(), None),
            EnvironmentRef::Object { name, project } => (name.clone(), project.as_ref()),
        };
        check_name(&environment)?;
        let environment_project = match of {
            Some(of) => input::project_path("environment.project", of.path())?,
            None => project.clone(),
        };
        let texts = [
            ("ref", self.reference.as_deref()),
            ("sha", self.sha.as_deref()),
            ("job", self.job.as_ref().and_then(JobRef::name)),
            ("user", self.user.as_ref().map(UserRef::name)),
        ];
        for (field, text) in texts {
            text.map_or(Ok(()), |text| input::bounded(field, text))?;
        }
        self.id.map_or(Ok(()), |id| input::numbered("id", id))?;
        let (mut agent, mut namespace) = (None, String::new());
        if let Some(kubernetes) = &self.kubernetes {
            agent = Some(kubernetes.agent.id("kubernetes.agent", &project)?);
            namespace = kubernetes.namespace.clone().unwrap_or_default();
            input::check_namespace("kubernetes.namespace", &namespace)?;
        }
        Ok(Checked { input: self, project, environment_project, environment, agent, namespace })
    }
}

impl StatusInput {
    /// What is odd about it.
    pub(super) fn warnings(&self) -> Vec<String> {
        input::unread(&self.rest, &["status", "finished_at"], &[])
    }

    pub(super) fn check(self) -> Result<(DeploymentStatus, Option<Timestamp>), CatalogError> {
        Ok((self.status, self.finished_at))
    }
}

pub(super) fn put(
    catalog: &mut Catalog<'_, '_>,
    (authority, sees_agent): (Authority, bool),
    checked: &Checked,
) -> Result<Decided<Deployed>, LogError> {
    let checked = &as_declared(catalog, checked)?;
    let (environment, created) = match environment(catalog, checked)? {
        Ok(found) => found,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let (agent, authorization) = match authorization(catalog, (authority, sees_agent), checked, &environment)?
    {
        Ok(listed) => listed,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let id = match checked.input.id {
        Some(id) => DeploymentId(id),
        None => free_id(catalog, &checked.project)?,
    };
    let current = find(catalog, &checked.project, id)?;
    let spec = DeploymentSpec { agent, authorization, ..spec(checked, id, &environment) };
    if let Some(refusal) = current.as_ref().and_then(|current| refused(current, &spec)) {
        return Ok(Err(refusal));
    }
    let mut changes = Vec::new();
    if created {
        changes.push(CatalogChange::Declare(CatalogFact::from(environment)));
    }
    changes.push(CatalogChange::Declare(CatalogFact::Deployment(Box::new(spec.clone()))));
    Ok(Ok((changes, Deployed { spec, environment_created: created }, current.is_none())))
}

/// The same with the paths of projects as these were first declared.
fn as_declared(catalog: &mut Catalog<'_, '_>, checked: &Checked) -> Result<Checked, LogError> {
    let mut checked = checked.clone();
    for project in [&mut checked.project, &mut checked.environment_project] {
        *project = catalog.project_path(project)?;
    }
    if let Some(agent) = &mut checked.agent {
        *agent = catalog.agent_id(agent)?;
    }
    Ok(checked)
}

fn spec(checked: &Checked, id: DeploymentId, environment: &EnvironmentSpec) -> DeploymentSpec {
    let input = &checked.input;
    let job = input
        .job
        .as_ref()
        .map(|job| DeploymentJob { id: job.id(), name: job.name().unwrap_or_default().to_owned() });
    DeploymentSpec {
        id,
        environment: environment.id.clone(),
        project: checked.project.clone(),
        status: input.status,
        reference: input.reference.clone().unwrap_or_default(),
        tag: input.tag,
        sha: input.sha.clone().unwrap_or_default(),
        job,
        user: input.user.as_ref().map_or_else(String::new, |user| user.name().to_owned()),
        created_at: input.created_at,
        finished_at: input.finished_at,
        agent: None,
        authorization: None,
    }
}

/// The environment that is deployed to, and whether it comes to be with this deployment.
fn environment(
    catalog: &mut Catalog<'_, '_>,
    checked: &Checked,
) -> Result<Result<(EnvironmentSpec, bool), CatalogError>, LogError> {
    let (project, name) = (&checked.environment_project, &checked.environment);
    let Some((_, spec)) = environments::named(catalog, project, name)? else {
        let created = environments::create(catalog, None, project, name)?;
        return Ok(created.map(|spec| (spec, true)));
    };
    if spec.state == EnvironmentState::Stopped {
        let message = format!("the environment `{}` is stopped", spec.id);
        let error = CatalogError::new(CatalogCode::EnvironmentStopped, message);
        let hint = format!(
            "make it available first: PUT /api/v1/environments/{} {{\"state\": \"available\"}}",
            spec.id
        );
        return Ok(Err(error.hint(hint)));
    }
    Ok(Ok((spec, false)))
}

/// Why one state of a deployment cannot follow another: what has ended stays as it is.
fn refused(current: &DeploymentSpec, next: &DeploymentSpec) -> Option<CatalogError> {
    let ended = |message: String| CatalogError::new(CatalogCode::DeploymentEnded, message);
    if current.environment != next.environment {
        let message = format!(
            "deployment {} of the project belongs to the environment `{}`",
            current.id, current.environment
        );
        return Some(ended(message).hint("omit the `id` to get a new one"));
    }
    if current.status.is_final() && current.status != next.status {
        return Some(ended(format!("deployment {} has finished: {}", current.id, current.status)));
    }
    None
}

pub(super) fn set_status(
    catalog: &mut Catalog<'_, '_>,
    project: &str,
    id: DeploymentId,
    status: DeploymentStatus,
    finished_at: Option<Timestamp>,
) -> Result<Decided<Deployed>, LogError> {
    let project = &catalog.project_path(project)?;
    let Some(current) = find(catalog, project, id)? else {
        let message = format!("no deployment `{id}`");
        return Ok(Err(CatalogError::new(CatalogCode::Unknown, message)));
    };
    let next = DeploymentSpec { status, finished_at: finished_at.or(current.finished_at), ..current.clone() };
    if let Some(refusal) = refused(&current, &next) {
        return Ok(Err(refusal));
    }
    let stopped = environments::find(catalog, &current.environment)?
        .is_some_and(|(_, environment)| environment.state == EnvironmentState::Stopped);
    if stopped && status == DeploymentStatus::Running {
        let message = format!("the environment `{}` is stopped", current.environment);
        return Ok(Err(CatalogError::new(CatalogCode::EnvironmentStopped, message)));
    }
    let changes = vec![CatalogChange::Declare(CatalogFact::Deployment(Box::new(next.clone())))];
    Ok(Ok((changes, Deployed { spec: next, environment_created: false }, false)))
}
