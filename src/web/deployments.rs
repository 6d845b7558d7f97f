//! The newest deployments to an environment, as its page shows them, and what a stopped one left behind.

use super::links;
use super::shell::{Shell, Time};
use crate::app::LinkTemplate;
use crate::format::{deployment_time, revision, visible};
use crate::http::params::PROJECT_ONE;
use strandline_model::{DeploymentSpec, DeploymentStatus, Timestamp};
use strandline_protocol::{Deployment, LeftBehind};
use strandline_query::PageRequest;

/// How many a page shows.
const NEWEST: usize = 5;

/// The newest ones.
pub(super) fn newest() -> PageRequest {
    PageRequest { limit: NEWEST, after: None }
}

/// A deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) id: u64,
    pub(super) href: String,
    pub(super) status: &'static str,
    /// The class of colours that its status has.
    pub(super) class: &'static str,
    /// Branch or tag, and the beginning of the commit.
    pub(super) what: String,
    /// The job and who began it, with the project where that is another one.
    pub(super) who: String,
    /// Through which agent and into which namespace; empty where neither is recorded.
    pub(super) place: String,
    /// Why the agent did not let it; empty where it did, or was not asked.
    pub(super) refused: String,
    pub(super) when: Time,
    /// Name and address of what is elsewhere, such as the job and the commit.
    pub(super) links: Vec<(String, String)>,
}

/// Deployments to an environment of `project`.
pub(super) fn lines(
    shell: &Shell,
    deployments: &[Deployment],
    project: &str,
    templates: &[LinkTemplate],
    now: Timestamp,
) -> Vec<Line> {
    deployments.iter().map(|deployment| line(shell, deployment, project, templates, now)).collect()
}

fn line(
    shell: &Shell,
    deployment: &Deployment,
    project: &str,
    templates: &[LinkTemplate],
    now: Timestamp,
) -> Line {
    let spec = &deployment.spec;
    let shown = |text: &str| visible(text).into_owned();
    let refused = spec.authorization.as_ref().filter(|told| !told.allowed).map(|told| told.message.as_str());
    let place =
        spec.agent.as_ref().map(|agent| format!("{} through {}", agent.kubernetes_namespace, agent.agent));
    Line {
        id: spec.id.0,
        href: href(shell, spec),
        status: spec.status.as_str(),
        class: class(spec.status),
        what: shown(&revision(spec)),
        who: shown(&who(spec, project)),
        place: shown(&place.unwrap_or_default()),
        refused: shown(refused.unwrap_or_default()),
        when: Time::new(deployment_time(deployment), now),
        links: links::of_deployment(templates, deployment),
    }
}

/// The page of a deployment.
pub(super) fn href(shell: &Shell, spec: &DeploymentSpec) -> String {
    shell.href(&format!("/deployments/{}", spec.id.0), &[(PROJECT_ONE, &spec.project)])
}

pub(super) const fn class(status: DeploymentStatus) -> &'static str {
    match status {
        DeploymentStatus::Success => "healthy",
        DeploymentStatus::Failed => "degraded",
        DeploymentStatus::Running => "progressing",
        DeploymentStatus::Created | DeploymentStatus::Blocked => "suspended",
        DeploymentStatus::Canceled | DeploymentStatus::Skipped => "none",
    }
}

fn who(spec: &DeploymentSpec, project: &str) -> String {
    let job = spec.job.as_ref().map(|job| job.name.clone()).filter(|name| !name.is_empty());
    let of = (spec.project != project).then(|| format!("of {}", spec.project));
    let by = (!spec.user.is_empty()).then(|| format!("by {}", spec.user));
    [job, of, by].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What a stopped environment left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) resources: u64,
    pub(super) namespaces: Vec<LeftPlace>,
}

/// A namespace in which something is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftPlace {
    pub(super) name: String,
    pub(super) resources: u64,
    pub(super) kubectl: String,
}

/// None where nothing is left.
pub(super) fn left(found: &LeftBehind) -> Option<Left> {
    let shown = |text: &str| visible(text).into_owned();
    let place = |left: &strandline_protocol::LeftNamespace| LeftPlace {
        name: shown(&format!("{} in {}", left.namespace, left.cluster)),
        resources: left.resources,
        kubectl: shown(&left.kubectl),
    };
    (found.resources > 0).then(|| Left {
        resources: found.resources,
        namespaces: found.namespaces.iter().map(place).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::NOON;
    use strandline_model::{
        AgentDeployment, AgentId, Authorization, DeploymentId, DeploymentJob, EnvironmentId,
    };

    #[test]
    fn who_deployed_what_is_told_and_nothing_of_it_can_hide() {
        let agent = AgentId::new("ops/deploy", "production");
        let spec = DeploymentSpec {
            id: DeploymentId(7),
            environment: EnvironmentId::new("shop.web.production"),
            project: "ops/deploy".into(),
            status: DeploymentStatus::Success,
            reference: "main\u{202e}".into(),
            tag: false,
            sha: "0123456789abcdef".into(),
            job: Some(DeploymentJob { id: None, name: "deploy".into() }),
            user: "alice".into(),
            created_at: None,
            finished_at: None,
            agent: Some(AgentDeployment {
                agent: agent.clone(),
                kubernetes_namespace: "shop".into(),
                only_labelled: false,
            }),
            authorization: None,
        };
        let told = |spec: &DeploymentSpec, project: &str| {
            let deployment = Deployment { spec: spec.clone(), observed_at: NOON };
            let template = LinkTemplate::parse(
                "Commit",
                "https://git/{project}/-/commit/{sha}",
                crate::app::OF_DEPLOYMENT,
            );
            lines(
                &Shell::bare(""),
                &[deployment],
                project,
                &template.ok().into_iter().collect::<Vec<_>>(),
                NOON,
            )
            .remove(0)
        };
        let line = told(&spec, "shop/web");
        assert_eq!((line.status, line.class), ("success", "healthy"));
        assert_eq!(
            line.links,
            [("Commit".to_owned(), "https://git/ops/deploy/-/commit/0123456789abcdef".to_owned())]
        );
        assert!(line.what.ends_with("01234567") && !line.what.contains('\u{202e}'), "{}", line.what);
        assert_eq!(line.who, "deploy of ops/deploy by alice");
        assert_eq!(line.place, "shop through ops/deploy:production");
        assert_eq!(told(&spec, "ops/deploy").who, "deploy by alice");
        let refusal = Authorization {
            unverified: Vec::new(),
            agent,
            allowed: false,
            rule: Some(2),
            entry: String::new(),
            namespace: String::new(),
            roles: serde_json::Value::Null,
            reason: "rule_never".into(),
            message: "rule 2 says never".into(),
        };
        let refused = DeploymentSpec { agent: None, authorization: Some(refusal), ..spec };
        let line = told(&refused, "shop/web");
        assert_eq!((line.place.as_str(), line.refused.as_str()), ("", "rule 2 says never"));
    }
}
