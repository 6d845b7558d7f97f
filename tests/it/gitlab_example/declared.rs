//! The environment that a cluster declares by itself.

use serde_json::{Value, json};

use super::world::{World, kinds};
use crate::server::{Result, ids};

const ID: &str = "my-team.project.production";

const DEFINITIONS: [&str; 2] = [
    include_str!("../../../api/crds/gitlabdeployments.yaml"),
    include_str!("../../../api/crds/gitlabmonitorings.yaml"),
];

/// It appears with the resource, holds what is in its namespace, and goes with the resource; its past stays.
pub(super) async fn a_cluster_declares_an_environment(world: &World) -> Result<()> {
    let plane = world.cluster("prod-eu");
    for definition in DEFINITIONS {
        plane.apply(definition).await?;
    }
    let definitions = ["gitlabdeployments", "gitlabmonitorings"]
        .map(|plural| format!("{plural}.gitlabdeploymentcontroller.gitlab.com"));
    plane.until_established(&definitions).await?;
    plane.apply(&std::fs::read_to_string(world.file("manifests/my-compute-environment.yaml"))?).await?;
    plane.kubectl(&["create", "namespace", "my-compute-environment"]).await?;
    let create = ["create", "deployment", "compute", "--image=example.com/compute:1", "--replicas=2"];
    plane.kubectl(&[&create[..], &["-n", "my-compute-environment"]].concat()).await?;

    let path = format!("/environments/{ID}");
    let environment = world.server.until(&path, |found| found["id"] == ID).await?;
    let declared = &environment["declared_by"][0];
    assert_eq!((&declared["source"], &declared["cluster"]), (&json!("cluster"), &json!("prod-eu")));
    assert_eq!(
        (&declared["kind"], &declared["name"]),
        (&json!("GitLabDeployment"), &json!("my-compute-environment"))
    );
    assert_eq!((&environment["tier"], &environment["region"]), (&json!("production"), &json!("eu")));
    // Its project is told of afterwards.
    let project = json!({"id": 301, "labels": {"team": "data"}});
    let (status, answer) = world.send("PUT", "/projects/my-team%2Fproject", "", &project).await?;
    assert_eq!(status, 201, "{answer}");
    world.server.until(&path, |found| found["labels"]["team"] == "data").await?;
    let full = |answer: &Value| {
        let found = kinds(answer);
        found.get("Deployment") == Some(&1) && found.get("Pod") == Some(&2)
    };
    let held = world.server.until(&format!("{path}/resources"), full).await?;
    let before = held["metadata"]["offset"].as_u64().ok_or("no offset")?;

    plane.kubectl(&["delete", "gitlabdeployment", "my-compute-environment"]).await?;
    let gone = |answer: &Value| !ids(answer).contains(&ID);
    world.server.until("/environments?limit=500", gone).await?;
    assert!(world.server.ask(&path).await.is_err());
    let then = world.server.ask(&format!("{path}?at={before}")).await?;
    assert_eq!(then["declared_by"], environment["declared_by"]);
    Ok(())
}
