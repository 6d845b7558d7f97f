//! Why an environment may show less than people expect.

use crate::error::QueryError;
use strandline_model::{AgentId, EnvironmentState, Health, Labels, label_pairs};
use strandline_protocol::{Environment, EnvironmentAccess, EnvironmentWarning};

/// Where people read what to do when an environment holds nothing: a page of this server.
const RESOURCES_HELP: &str = "/help/troubleshooting#no-resources";

/// The warnings of an environment.
pub(super) fn of(environment: &Environment) -> Vec<EnvironmentWarning> {
    let warning = |code: &str, message: String, labels: Labels| EnvironmentWarning {
        code: code.to_owned(),
        message,
        labels,
    };
    if environment.access == EnvironmentAccess::Denied {
        let denied = QueryError::AgentDenied { environment: environment.id.clone() };
        return vec![warning("no_agent_access", denied.to_string(), Labels::new())];
    }
    if environment.state == EnvironmentState::Stopped {
        return Vec::new();
    }
    if environment.targets.is_empty() {
        let message = match agent(environment) {
            Some(agent) => {
                let message = format!(
                    "It is not known to which cluster the agent `{agent}` connects; give the agent a `cluster`."
                );
                return vec![warning("agent_without_cluster", message, Labels::new())];
            }
            None => {
                "It is not known where the resources are: no deployment through an agent ended well yet, and \
                     neither targets nor an agent are declared."
            }
        };
        return vec![warning("no_target", message.to_owned(), Labels::new())];
    }
    if environment.health.counts.total() > 0 {
        return Vec::new();
    }
    // Nothing that it holds is Unknown, so it is itself: nobody looked.
    if environment.health.state == Some(Health::Unknown) {
        let message = "Nothing is known of its resources: not all of its clusters are being watched.";
        return vec![warning("not_watched", message.to_owned(), Labels::new())];
    }
    // The first sentences stand in GitLab's blueprint (seed 002).
    let labels: Labels = environment.targets.iter().flat_map(|target| target.labels.clone()).collect();
    let named = label_pairs(&labels).join(", ");
    let looked_for = if named.is_empty() { "whatever is in the namespace" } else { &named };
    let message = format!(
        "There are no resources found for the environment. Do resources have GitLab preserved labels? See \
         {RESOURCES_HELP}. It was looked for: {looked_for}."
    );
    vec![warning("no_resources", message, labels)]
}

/// The agent through which an environment that looks nowhere would be found.
fn agent(environment: &Environment) -> Option<AgentId> {
    let deployed = environment.last_deployment.as_ref().and_then(|last| last.spec.agent.clone());
    deployed.map(|deployed| deployed.agent).or_else(|| environment.settings.cluster_agent.clone())
}
