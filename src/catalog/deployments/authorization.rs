//! Whether a deployment's job may use the agent that it asks for, and what is said where it may not.

use super::Checked;
use crate::catalog::agents;
use crate::catalog::authority::{self, Authority};
use crate::catalog::error::{CatalogCode, CatalogError};
use strandline_gitlab::{Decision, Job, Reason, decide, known_agent_config};
use strandline_log::{Catalog, LogError};
use strandline_model::{AgentDeployment, AgentId, AgentSpec, Authorization, CatalogKind, EnvironmentSpec};
use strandline_syntax::diagnostics::closest;

/// The most agents that are looked into for one that may have been meant.
const NEAR_MAX: usize = 20;

type Authorized = (Option<AgentDeployment>, Option<Authorization>);

/// Whether the job may use the agent that it asks for; agent and namespace are recorded only if it may (seed 002). An agent
/// that the caller does not see and that says nothing of the job's project is as if it were not there.
pub(super) fn authorization(
    catalog: &mut Catalog<'_, '_>,
    (authority, sees_agent): (Authority, bool),
    checked: &Checked,
    environment: &EnvironmentSpec,
) -> Result<Result<Authorized, CatalogError>, LogError> {
    let Some(id) = &checked.agent else { return Ok(Ok((None, None))) };
    let wanted = Some(&checked.namespace).filter(|namespace| !namespace.is_empty());
    let decided = match agents::find(catalog, id)? {
        Some(agent) => Some((decision(catalog, &agent, checked, environment, wanted)?, agent)),
        None => None,
    };
    let (mut decision, agent) = match decided {
        Some((decided, agent)) if sees_agent || is_told(&decided) => match decided {
            Ok(decision) => (decision, agent),
            Err(refusal) => return Ok(Err(refusal)),
        },
        _ => return Ok(Err(unknown_agent(id, near(catalog, id, checked, environment)?))),
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

/// Whether an agent's configuration says anything of a job's project.
fn is_told(decided: &Result<Decision, CatalogError>) -> bool {
    decided.as_ref().is_ok_and(|decision| decision.reason != Reason::NotListed)
}

/// The agent that may have been meant, of those that say anything of the job's project: of others, those who may write of
/// the project need not know, so that they change no answer.
fn near(
    catalog: &mut Catalog<'_, '_>,
    id: &AgentId,
    checked: &Checked,
    environment: &EnvironmentSpec,
) -> Result<Option<AgentId>, LogError> {
    let (meant, names) = (id.to_string(), catalog.names(CatalogKind::Agent)?);
    let mut names: Vec<&str> = names.iter().map(String::as_str).filter(|name| *name != meant).collect();
    for _ in 0..NEAR_MAX {
        let Some(name) = closest(&meant, &names) else { break };
        names.retain(|other| *other != name);
        let Ok(near) = name.parse() else { continue };
        let Some(agent) = agents::find(catalog, &near)? else { continue };
        if is_told(&decision(catalog, &agent, checked, environment, None)?) {
            return Ok(Some(near));
        }
    }
    Ok(None)
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
