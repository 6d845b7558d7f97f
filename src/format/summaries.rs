//! Environments of an overview at noon, for tests.

use super::tests::{NOON, environment, resource};
use strandline_model::{DeploymentId, DeploymentSpec, DeploymentStatus, Health, Offset};
use strandline_protocol::{
    Deployment, Environment, EnvironmentCause, EnvironmentChange, EnvironmentSummary, EnvironmentVersion,
    StripPart,
};

/// A deployment to an environment of `shop/web`.
pub(crate) fn deployment(of: &Environment) -> Deployment {
    let spec = DeploymentSpec {
        id: DeploymentId(7),
        environment: of.id.clone(),
        project: of.project.clone(),
        status: DeploymentStatus::Failed,
        reference: "v2.40.0".into(),
        tag: true,
        sha: "e0df993b0123".into(),
        job: None,
        user: "chiyo".into(),
        created_at: None,
        finished_at: Some(NOON.minus(std::time::Duration::from_secs(840))),
        agent: None,
        authorization: None,
    };
    Deployment { spec, observed_at: NOON }
}

/// What an overview by region shows of an environment; without what it need not have.
pub(crate) fn bare_summary(of: Environment) -> EnvironmentSummary {
    EnvironmentSummary {
        id: of.id,
        project: of.project,
        name: of.name,
        tier: of.tier,
        clusters: of.targets.into_iter().map(|target| target.cluster).collect(),
        keys: vec![vec![of.region.clone()]],
        region: of.region,
        access: of.access,
        health: of.health.state,
        last_known: of.health.last_known,
        since: of.health.since,
        resources: of.health.counts,
        version: None,
        last_deployment: None,
        last_change: None,
        cause: None,
        strip: vec![],
    }
}

/// The same with all that it can have.
pub(crate) fn full_summary(of: Environment) -> EnvironmentSummary {
    let pod = resource("Pod", "web-0", Some(Health::Degraded));
    let cause = EnvironmentCause {
        id: pod.id,
        key: pod.key,
        health: pod.health,
        reason: "CrashLoopBackOff".into(),
        message: "back-off 5m0s restarting failed container".into(),
        since: NOON,
        alike: 12,
        of: 36,
        roots: 2,
    };
    let web = resource("Deployment", "web", Some(Health::Degraded));
    let change = EnvironmentChange {
        id: web.id,
        key: web.key,
        what: "changed".into(),
        by: "kubectl-edit".into(),
        offset: Offset::new(40),
        observed_at: NOON.minus(std::time::Duration::from_secs(7200)),
    };
    let tags = vec!["2.40.0".to_owned(), "2.33.0".to_owned()];
    let version = EnvironmentVersion { repository: "registry.example.com/shop/web".into(), tags, others: 1 };
    let part = |hours: u64, health| StripPart {
        from: NOON.minus(std::time::Duration::from_secs(3600 * hours)),
        health,
    };
    let parts = vec![part(30, Some(Health::Healthy)), part(3, None), part(2, of.health.state)];
    EnvironmentSummary {
        last_known: of.health.last_known.or(Some(Health::Healthy)),
        version: Some(version),
        last_deployment: Some(deployment(&of)),
        last_change: Some(change),
        cause: Some(cause),
        strip: parts,
        ..bare_summary(of)
    }
}

/// An environment of `shop/web` that is Degraded.
pub(crate) fn degraded() -> EnvironmentSummary {
    full_summary(environment("shop/web", "eu", Some(Health::Degraded)))
}
