//! Agents, as callers declare them.

use serde::Deserialize;

use super::decision::{Decided, of_api};
use super::error::CatalogError;
use super::given::Given;
use super::input::{self, ProjectRef, UnknownFields};
use strandline_gitlab::known_agent_config;
use strandline_log::{Catalog, CatalogChange, LogError, Standing};
use strandline_model::{AgentId, AgentSpec, CatalogFact, CatalogKind};
use strandline_syntax::diagnostics::Mistake;

/// What is said of an agent; GitLab's answer to `GET /projects/:id/cluster_agents/:agent_id` will do.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct AgentInput {
    /// GitLab's number of it.
    #[serde(default)]
    id: Given<u64>,
    /// The cluster that it connects to, by the name under which it is watched.
    #[serde(default)]
    cluster: Given<String>,
    /// Its configuration file, as YAML.
    #[serde(default)]
    configuration: Given<String>,
    /// Shows nothing that the address does not.
    #[serde(default)]
    config_project: Option<ProjectRef>,
    #[serde(flatten)]
    rest: UnknownFields,
}

const KNOWN: [&str; 3] = ["id", "cluster", "configuration"];
const PASSED: [&str; 5] = ["name", "created_at", "created_by_user_id", "is_receptive", "config_project"];

impl AgentInput {
    /// Whether it says to which cluster the agent connects.
    pub fn names_cluster(&self) -> bool {
        self.cluster.value().is_some_and(|cluster| !cluster.is_empty())
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        input::unread(&self.rest, &KNOWN, &PASSED)
    }

    /// Reads the configuration; returns what is odd about it.
    pub(super) fn check(&self) -> Result<Vec<String>, CatalogError> {
        // Only that it has the form of a project matters.
        let _ = &self.config_project;
        self.id.value().map_or(Ok(()), |id| input::numbered("id", *id))?;
        if let Some(cluster) = self.cluster.value() {
            input::bounded("cluster", cluster)?;
        }
        let Some(configuration) = self.configuration.value() else { return Ok(Vec::new()) };
        match known_agent_config(configuration) {
            Ok(read) => Ok(read
                .warnings
                .iter()
                .map(|warning| format!("configuration:{}", warning.with_hint()))
                .collect()),
            Err(error) => Err(CatalogError::invalid("configuration", join_mistakes(&error.mistakes))),
        }
    }
}

/// Mistakes of a configuration with their places in it, and what to do about them.
fn join_mistakes(mistakes: &[Mistake]) -> String {
    let one = |mistake: &Mistake| {
        let hint = mistake.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("line {}, column {}: {}{hint}", mistake.line, mistake.column, mistake.message)
    };
    mistakes.iter().map(one).collect::<Vec<_>>().join("\n")
}

pub(super) fn put(
    catalog: &mut Catalog<'_, '_>,
    id: &AgentId,
    input: &AgentInput,
) -> Result<Decided<AgentSpec>, LogError> {
    let id = &catalog.agent_id(id)?;
    let name = id.to_string();
    let standing = catalog.get(CatalogKind::Agent, &name)?;
    if let Some(Err(refusal)) = standing.as_ref().map(|current| of_api(current, CatalogKind::Agent, &name)) {
        return Ok(Err(refusal));
    }
    let created = standing.is_none();
    let mut spec = match standing.map(|standing| standing.fact) {
        Some(CatalogFact::Agent(spec)) => *spec,
        _ => AgentSpec::new(id.clone()),
    };
    input.id.put_option(&mut spec.number);
    input.cluster.put(&mut spec.cluster, String::new);
    input.configuration.put(&mut spec.configuration, String::new);
    Ok(Ok((vec![CatalogChange::Declare(CatalogFact::Agent(Box::new(spec.clone())))], spec, created)))
}

/// The agent of this id.
pub(super) fn find(catalog: &mut Catalog<'_, '_>, id: &AgentId) -> Result<Option<AgentSpec>, LogError> {
    Ok(match catalog.get(CatalogKind::Agent, &id.to_string())? {
        Some(Standing { fact: CatalogFact::Agent(spec), .. }) => Some(*spec),
        _ => None,
    })
}
