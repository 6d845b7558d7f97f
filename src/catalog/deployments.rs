//! Deployments, as CI jobs report them.

mod numbers;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::numbers::free_id;
pub(super) use self::numbers::{find, projects_of};
use super::agents;
use super::authority::{self, Authority};
use super::decision::Decided;
use super::environments::{self, check_name};
use super::error::{CatalogCode, CatalogError};
use super::input::{self, AgentRef, JobRef, ProjectRef, UnknownFields, UserRef};
use strandline_gitlab::{Decision, Job, Reason, decide, known_agent_config};
use strandline_log::{Catalog, CatalogChange, LogError};
use strandline_model::{
    AgentDeployment, AgentId, AgentSpec, Authorization, CatalogFact, CatalogKind, DeploymentId,
    DeploymentJob, DeploymentSpec, DeploymentStatus, EnvironmentSpec, EnvironmentState, Timestamp,
};
use strandline_syntax::diagnostics::closest;

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
    authority: Authority,
    checked: &Checked,
) -> Result<Decided<Deployed>, LogError> {
    let (environment, created) = match environment(catalog, checked)? {
        Ok(found) => found,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let (agent, authorization) = match authorization(catalog, authority, checked, &environment)? {
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

type Authorized = (Option<AgentDeployment>, Option<Authorization>);

/// Whether the job may use the agent that it asks for; agent and namespace are recorded only if it may (seed 002).
fn authorization(
    catalog: &mut Catalog<'_, '_>,
    authority: Authority,
    checked: &Checked,
    environment: &EnvironmentSpec,
) -> Result<Result<Authorized, CatalogError>, LogError> {
    let Some(id) = &checked.agent else { return Ok(Ok((None, None))) };
    let Some(agent) = agents::find(catalog, id)? else {
        return Ok(Err(unknown_agent(id, near(catalog, id, checked, environment)?)));
    };
    let wanted = Some(&checked.namespace).filter(|namespace| !namespace.is_empty());
    let mut decision = match decision(catalog, &agent, checked, environment, wanted)? {
        Ok(decision) => decision,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let settings = &environment.settings.kubernetes_namespace;
    if decision.allowed && decision.namespace.is_none() && !settings.is_empty() {
        // What nobody else names is the settings' to name, as if the job had asked for it.
        decision = match self::decision(catalog, &agent, checked, environment, Some(settings))? {
            Ok(decision) => decision,
            Err(refusal) => return Ok(Err(refusal)),
        };
    }
    let namespace = decision.namespace.clone();
    let mut recorded = None;
    if let Some(namespace) = namespace.as_ref().filter(|_| decision.allowed) {
        let only_labelled = authority.only_labelled(catalog, environment, id, namespace)?;
        let (agent, kubernetes_namespace) = (id.clone(), namespace.clone());
        recorded = Some(AgentDeployment { agent, kubernetes_namespace, only_labelled });
    }
    let mut message = decision.message;
    if decision.allowed && recorded.is_none() {
        message.push_str("; no namespace is set, so its target is not recorded");
    }
    let authorization = Authorization {
        agent: id.clone(),
        allowed: decision.allowed,
        rule: decision.rule,
        entry: decision
            .entry
            .map(|entry| format!("{} {}", entry.kind.as_str(), entry.id).trim_end().to_owned())
            .unwrap_or_default(),
        namespace: namespace.unwrap_or_default(),
        roles: decision.roles,
        reason: decision.reason.as_str().to_owned(),
        message,
        unverified: decision.unverified,
    };
    Ok(Ok((recorded, Some(authorization))))
}

/// What the agent's configuration says of the job.
fn decision(
    catalog: &mut Catalog<'_, '_>,
    agent: &AgentSpec,
    checked: &Checked,
    environment: &EnvironmentSpec,
    namespace: Option<&String>,
) -> Result<Result<Decision, CatalogError>, LogError> {
    let read = match known_agent_config(&agent.configuration) {
        Ok(read) => read,
        Err(error) => {
            let message = format!("the configuration of the agent `{}` cannot be read: {error}", agent.id);
            return Ok(Err(CatalogError::invalid("kubernetes.agent", message)));
        }
    };
    let input = &checked.input;
    let mut job = Job {
        ref_name: input.reference.clone(),
        tag: input.tag,
        protected: input.ref_protected,
        namespace: namespace.cloned(),
        ..authority::job(catalog, &checked.project, environment)?
    };
    // What is known of the job takes precedence over what its variables say, which users can set.
    let known = job.all_variables();
    job.variables = input.variables.clone();
    job.variables.retain(|name, _| !known.contains_key(name));
    Ok(Ok(decide(&read.config, agent.id.project(), &job)))
}

/// The agent that may have been meant, where it is one that says anything of the job's project: of others, those who may
/// write of the project need not know.
fn near(
    catalog: &mut Catalog<'_, '_>,
    id: &AgentId,
    checked: &Checked,
    environment: &EnvironmentSpec,
) -> Result<Option<AgentId>, LogError> {
    let names = catalog.names(CatalogKind::Agent)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some(near) = closest(&id.to_string(), &names).and_then(|near| near.parse().ok()) else {
        return Ok(None);
    };
    let Some(agent) = agents::find(catalog, &near)? else { return Ok(None) };
    let decided = decision(catalog, &agent, checked, environment, None)?;
    Ok(decided.is_ok_and(|decision| decision.reason != Reason::NotListed).then_some(near))
}

fn unknown_agent(id: &AgentId, near: Option<AgentId>) -> CatalogError {
    let error = CatalogError {
        field: "kubernetes.agent".to_owned(),
        ..CatalogError::new(CatalogCode::UnknownAgent, format!("no agent `{id}`"))
    };
    match near {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("add it to the configuration, or PUT /api/v1/agents/{id}"),
    }
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
