//! The page of a deployment: who, what and where to, before and after, and nothing that was reported is more than text.

use super::super::deployment::{Found, rendered};
use super::{HOSTILE, holds, request, sound};
use crate::format::tests::{NOON, environment, environment_changes, snapshot};
use std::time::Duration;
use strandline_model::{
    DeploymentId, DeploymentJob, DeploymentSpec, DeploymentStatus, EnvironmentId, Health,
};
use strandline_protocol::{Answer, Deployment};

/// A deployment in which every text is this.
pub(in crate::web) fn deployment(text: &str) -> Deployment {
    let spec = DeploymentSpec {
        id: DeploymentId(7),
        environment: EnvironmentId::new("shop.web.production"),
        project: text.into(),
        status: DeploymentStatus::Failed,
        reference: text.into(),
        tag: false,
        sha: text.into(),
        job: Some(DeploymentJob { id: None, name: text.into() }),
        user: text.into(),
        created_at: None,
        finished_at: None,
        agent: None,
        authorization: None,
    };
    Deployment { spec, observed_at: NOON }
}

fn found(text: &str) -> Found {
    let (mut earlier, mut later) = (deployment(text), deployment(text));
    (earlier.spec.id, later.spec.id) = (DeploymentId(6), DeploymentId(8));
    let ago = |minutes: u64| NOON.minus(Duration::from_secs(60 * minutes));
    Found {
        deployment: Answer { value: deployment(text), metadata: snapshot() },
        environment: Some(environment("shop.web.production", "production", Some(Health::Degraded))),
        health: vec![
            ("When it began", ago(20), Some(Some(Health::Healthy))),
            ("When it ended", ago(15), Some(Some(Health::Progressing))),
            ("15 minutes later", ago(0), None),
        ],
        difference: Some(environment_changes()),
        near: vec![later, deployment(text), earlier],
    }
}

#[test]
fn a_deployment_names_who_what_and_what_became_of_it() {
    let page = rendered(&request("/deployments/{id}", "project=shop/web&at=1234"), &found("main"));
    sound(&page);
    holds(
        &page,
        &[
            "<span class=\"badge degraded\">failed</span>",
            "<dt>Started by</dt><dd>main</dd>",
            "<dt>Branch</dt><dd>main</dd>",
            "<dt>The one before</dt><dd><a href=\"/deployments/6?at=1234&#38;project=main\">main main by main, failed (#6)</a>",
            "<dt>The one after</dt><dd><a href=\"/deployments/8?at=1234&#38;project=main\">",
            "href=\"/environments/shop.web.production/diff?from=1000&#38;at=1234\">compare both times</a>",
            "Healthy</span>",
            "not recorded",
            "<del>-   web:<mark>1</mark></del>",
        ],
    );
    let lost = Found { difference: None, near: vec![], environment: None, ..found("main") };
    let page = rendered(&request("/deployments/{id}", ""), &lost);
    sound(&page);
    holds(&page, &["older than the retention period"]);
    assert!(!page.contains("The one before"));
}

#[test]
fn nothing_of_a_deployment_is_more_than_text() {
    sound(&rendered(&request("/deployments/{id}", ""), &found(HOSTILE)));
}
