//! Whom a caller may name, number and point an environment at: the one place that decides it.
//!
//! Who sees everything may say anything. Who writes of projects only may say what stays among them: ids that begin with
//! their project, agents without clusters, and places that were granted to the project. A place is granted by the
//! configuration of this server (`namespaces` of a project), or by the agent, whose `ci_access` is asked as for a
//! deployment into the namespace. Of a place that is granted only what carries GitLab's two labels of the environment
//! counts, unless the configuration grants it whole.

use std::collections::BTreeMap;

use super::agents;
use super::error::{CatalogCode, CatalogError};
use strandline_gitlab::{Job, JobEnvironment, decide, known_agent_config};
use strandline_log::{Catalog, LogError, Standing};
use strandline_model::{
    AgentId, CatalogFact, CatalogKind, EnvironmentId, EnvironmentSpec, NamespaceGrant, TargetSpec,
};

/// How far the word of a caller goes, who may write of the projects concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// They see everything.
    Everything,
    /// They see what is their projects'.
    Projects,
}

/// How much of a place a project may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Granted {
    /// What carries GitLab's two labels.
    Labelled,
    /// All of it.
    Whole,
}

impl Authority {
    /// That they may give a new environment of a project this id. Any other would be taken from whoever it belongs to.
    pub(super) fn names(self, id: &EnvironmentId, project: &str) -> Result<(), CatalogError> {
        if self == Authority::Everything || id.is_of(project) {
            return Ok(());
        }
        let prefix = EnvironmentId::prefix(project);
        let message =
            format!("the id `{id}` of an environment of the project `{project}` must start with `{prefix}`");
        Err(CatalogError::invalid("id", message).hint("omit the id, or start it with that prefix"))
    }

    /// That they may give a project this number in place of what it has. The number identifies whose resources are whose in
    /// a namespace that is shared, so that nobody chooses their own.
    pub(super) fn numbers(self, current: Option<u64>, number: Option<u64>) -> Result<(), CatalogError> {
        if self == Authority::Everything || current == number {
            return Ok(());
        }
        let message = "only the configuration, or a token with `everything`, may set a project's id, because it decides \
                       which resources belong to the project";
        Err(CatalogError::refused("id", message))
    }

    /// That they may say to which cluster an agent or a target leads. Who could name any cluster would see it all, past
    /// every agent that does not let them in.
    pub(super) fn names_cluster(self, field: &str) -> Result<(), CatalogError> {
        if self == Authority::Everything {
            return Ok(());
        }
        let message =
            "only the configuration, or a token with `everything`, may set clusters; set an agent instead";
        Err(CatalogError::refused(field, message))
    }

    /// Settles what of a place an environment may look at: marks it as one of which only labelled resources count, or
    /// refuses it.
    pub(super) fn settle(
        self,
        catalog: &mut Catalog<'_, '_>,
        environment: &EnvironmentSpec,
        field: &str,
        place: &mut TargetSpec,
    ) -> Result<Result<(), CatalogError>, LogError> {
        if self == Authority::Everything {
            place.only_labelled = false;
            return Ok(Ok(()));
        }
        match granted(catalog, environment, place)? {
            Some(granted) => {
                place.only_labelled = granted == Granted::Labelled;
                Ok(Ok(()))
            }
            None if place.namespace.is_empty() => {
                let message = "only a token with `everything` may use all namespaces; set a namespace";
                Ok(Err(CatalogError::refused(field, message)))
            }
            None => Ok(Err(not_granted(field, environment, place))),
        }
    }

    /// Whether of the namespace of a deployment that an agent authorised only what is labelled counts.
    pub(super) fn only_labelled(
        self,
        catalog: &mut Catalog<'_, '_>,
        environment: &EnvironmentSpec,
        agent: &AgentId,
        namespace: &str,
    ) -> Result<bool, LogError> {
        if self == Authority::Everything {
            return Ok(false);
        }
        let agent = Some(agent.clone());
        let place = TargetSpec { agent, namespace: namespace.to_owned(), ..TargetSpec::default() };
        Ok(by_configuration(catalog, &environment.project, &place)? != Some(Granted::Whole))
    }
}

/// How much of a place an environment's project may look at; none for nothing.
fn granted(
    catalog: &mut Catalog<'_, '_>,
    environment: &EnvironmentSpec,
    place: &TargetSpec,
) -> Result<Option<Granted>, LogError> {
    if place.namespace.is_empty() {
        return Ok(None);
    }
    if let Some(granted) = by_configuration(catalog, &environment.project, place)? {
        return Ok(Some(granted));
    }
    let Some(agent) = &place.agent else { return Ok(None) };
    // Whether there is no such agent, or one that knows nothing of the project, is not the project's to know.
    let Some(agent) = agents::find(catalog, agent)? else { return Ok(None) };
    let Ok(read) = known_agent_config(&agent.configuration) else { return Ok(None) };
    let namespace = Some(place.namespace.clone());
    let job = Job { namespace, ..job(catalog, &environment.project, environment)? };
    let decision = decide(&read.config, agent.id.project(), &job);
    let allowed = decision.allowed && decision.namespace.as_deref() == Some(place.namespace.as_str());
    Ok(allowed.then_some(Granted::Labelled))
}

/// What the configuration of this server grants to a project of a place.
fn by_configuration(
    catalog: &mut Catalog<'_, '_>,
    project: &str,
    place: &TargetSpec,
) -> Result<Option<Granted>, LogError> {
    let Some(Standing { fact: CatalogFact::Project(project), .. }) =
        catalog.get(CatalogKind::Project, project)?
    else {
        return Ok(None);
    };
    let matches = |grant: &&NamespaceGrant| {
        (&grant.cluster, &grant.agent) == (&place.cluster, &place.agent)
            && grant.namespace.matches(&place.namespace)
    };
    let of = |grant: &NamespaceGrant| if grant.whole { Granted::Whole } else { Granted::Labelled };
    Ok(project.namespaces.iter().filter(matches).map(of).max())
}

/// A job of a project that deploys to an environment, of which nothing else is known.
pub(super) fn job(
    catalog: &mut Catalog<'_, '_>,
    project: &str,
    environment: &EnvironmentSpec,
) -> Result<Job, LogError> {
    let default_branch = match catalog.get(CatalogKind::Project, project)? {
        Some(Standing { fact: CatalogFact::Project(project), .. }) => Some(project.default_branch),
        _ => None,
    };
    Ok(Job {
        project: project.to_owned(),
        environment: Some(JobEnvironment {
            name: environment.name.clone(),
            slug: environment.slug.clone(),
            tier: environment.tier.as_str().to_owned(),
        }),
        default_branch: default_branch.filter(|branch| !branch.is_empty()),
        variables: BTreeMap::new(),
        ..Job::default()
    })
}

fn not_granted(field: &str, environment: &EnvironmentSpec, place: &TargetSpec) -> CatalogError {
    let through = match &place.agent {
        Some(agent) => format!("through the agent `{agent}`"),
        None => format!("of the cluster `{}`", place.cluster),
    };
    let message = format!(
        "the namespace `{}` {through} is not granted to the environment `{}` of the project `{}`",
        place.namespace, environment.name, environment.project
    );
    let hint = "grant it in the agent's `ci_access`, or in the project's `namespaces` in the configuration of this server";
    CatalogError::refused(field, message).hint(hint)
}

impl CatalogError {
    /// That a caller may not say this of the catalog.
    pub(super) fn refused(field: &str, message: impl Into<String>) -> Self {
        CatalogError { field: field.to_owned(), ..Self::new(CatalogCode::NotGranted, message) }
    }
}
