//! Places in which environments find their resources, as callers declare them.

use serde::Deserialize;

use super::error::CatalogError;
use super::input::{self, AgentRef, UnknownFields};
use strandline_model::{Inventory, Labels, TargetSpec};

/// The most targets of an environment.
const TARGETS_MAX: usize = 1000;

/// A place as a body gives it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct TargetInput {
    #[serde(default)]
    cluster: Option<String>,
    #[serde(default)]
    agent: Option<AgentRef>,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    labels: Option<Labels>,
    #[serde(default)]
    inventory: Option<Inventory>,
    #[serde(flatten)]
    rest: UnknownFields,
}

const KNOWN: [&str; 5] = ["cluster", "agent", "namespace", "labels", "inventory"];

/// What is odd about targets.
pub(super) fn warnings(targets: &[TargetInput]) -> Vec<String> {
    let of_each = targets.iter().enumerate().flat_map(|(index, target)| {
        let odd = input::unread(&target.rest, &KNOWN, &[]);
        odd.into_iter().map(move |warning| format!("targets[{index}]: {warning}"))
    });
    of_each.collect()
}

/// The targets that are meant; an agent's name alone is one of `project`.
pub(super) fn check(targets: &[TargetInput], project: &str) -> Result<Vec<TargetSpec>, CatalogError> {
    if targets.len() > TARGETS_MAX {
        let message = format!("the environment has {} targets; the limit is {TARGETS_MAX}", targets.len());
        return Err(CatalogError::invalid("targets", message));
    }
    targets
        .iter()
        .enumerate()
        .map(|(index, target)| one(&format!("targets[{index}]"), target, project))
        .collect()
}

fn one(field: &str, target: &TargetInput, project: &str) -> Result<TargetSpec, CatalogError> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (cluster, namespace) = (text(&target.cluster), text(&target.namespace));
    if cluster.is_empty() == target.agent.is_none() {
        return Err(CatalogError::invalid(field, "a target has either a `cluster` or an `agent`"));
    }
    if namespace.is_empty() && target.inventory.is_none() {
        return Err(CatalogError::invalid(field, "a target has a `namespace`, or an `inventory`"));
    }
    input::check_namespace(&format!("{field}.namespace"), &namespace)?;
    input::bounded(&format!("{field}.cluster"), &cluster)?;
    let agent =
        target.agent.as_ref().map(|agent| agent.id(&format!("{field}.agent"), project)).transpose()?;
    let (labels, inventory) = (target.labels.clone(), target.inventory.clone());
    Ok(TargetSpec { cluster, agent, namespace, labels, inventory, only_labelled: false })
}
