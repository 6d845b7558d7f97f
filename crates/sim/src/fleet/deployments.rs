//! What CI jobs report about their deployments.

use super::Fate;
use super::catalog;
use super::world::{Site, World};
use strandline_model::{
    AgentDeployment, Authorization, DeploymentId, DeploymentJob, DeploymentSpec, DeploymentStatus,
    EnvironmentId,
};

/// Who starts pipelines.
const PEOPLE: [&str; 6] = ["amara", "bjorn", "chiyo", "daniel", "elena", "farid"];

impl World {
    /// A job has deployed a version to a site; what does not come up makes the job fail.
    pub(super) fn deployed(&mut self, site: &Site, version: &str, fate: Fate) {
        let location = &site.location;
        self.last_deployment += 1;
        let number = self.last_deployment;
        let agent = catalog::agent(&location.cluster);
        let hash = blake3::hash(format!("{} {version}", location.project.path).as_bytes());
        // One pipeline deploys a version to all clusters.
        let person = usize::from(hash.as_bytes()[0]) % PEOPLE.len();
        let released = !version.contains('-');
        self.new_deployments.push(DeploymentSpec {
            id: DeploymentId(number),
            environment: EnvironmentId::of(location.project.path, &location.environment),
            project: location.project.path.to_owned(),
            status: if fate == Fate::Good { DeploymentStatus::Success } else { DeploymentStatus::Failed },
            reference: if released { format!("v{version}") } else { "main".to_owned() },
            tag: released,
            sha: hash.to_hex().chars().take(40).collect(),
            job: Some(DeploymentJob { id: Some(number * 7), name: format!("deploy-{}", location.cluster) }),
            user: PEOPLE[person].to_owned(),
            created_at: Some(self.now),
            finished_at: Some(self.now),
            agent: Some(AgentDeployment {
                only_labelled: false,
                agent: agent.clone(),
                kubernetes_namespace: location.namespace.clone(),
            }),
            authorization: Some(Authorization {
                unverified: Vec::new(),
                agent,
                allowed: true,
                rule: None,
                entry: format!("group {}", location.project.path.split('/').next().unwrap_or_default()),
                namespace: location.namespace.clone(),
                roles: serde_json::Value::Null,
                reason: "no_rules".to_owned(),
                message: "the entry has no rules".to_owned(),
            }),
        });
    }
}
