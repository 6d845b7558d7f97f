//! The worked example of examples/gitlab, walked on two real control planes with its own files: each diagram of GitLab's
//! blueprint "View and manage resources deployed by GitLab Agent for Kubernetes", and what goes wrong on the way.

mod agents;
mod declared;
mod diagrams;
mod jobs;
mod review;
mod world;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::control_plane::harness::skip_without_control_plane;
use crate::server::{Result, items};
use world::{World, kinds};

/// One deployed application: what its manifest holds and what controllers make of that.
const GROUP: [(&str, usize); 5] =
    [("Deployment", 1), ("EndpointSlice", 1), ("Pod", 2), ("ReplicaSet", 1), ("Service", 1)];

/// Kinds in a namespace of the example.
const KINDS: &str = "deployments.apps,replicasets.apps,pods,services,endpointslices.discovery.k8s.io";

#[tokio::test(flavor = "multi_thread")]
async fn the_worked_example_shows_each_diagram_of_the_blueprint() -> Result<()> {
    if skip_without_control_plane("the_worked_example_shows_each_diagram_of_the_blueprint") {
        return Ok(());
    }
    let mut world = World::start().await?;
    diagrams::one_project_with_two_environments(&world).await?;
    diagrams::without_labels_nothing_is_found(&world).await?;
    diagrams::push_based(&world).await?;
    diagrams::what_is_not_authorised_moves_nothing(&world).await?;
    diagrams::another_namespace_moves_the_group(&world).await?;
    diagrams::multi_project(&mut world).await?;
    diagrams::production_of_the_organization(&world).await?;
    diagrams::who_sees_what(&world).await?;
    review::what_is_left_behind_can_be_cleaned_up(&world).await?;
    declared::a_cluster_declares_an_environment(&world).await?;
    agents::a_broken_file_leaves_the_last_good_one(&mut world).await?;

    let before = answers(&world).await?;
    world.server.kill_and_restart().await?;
    assert_same(&before, &answers_at(&world, before[0].1["metadata"]["offset"].as_u64()).await?);
    let world = world.rebuild().await?;
    assert_same(&before, &answers_at(&world, before[0].1["metadata"]["offset"].as_u64()).await?);
    world.stop().await
}

/// Waits until an environment holds one application and nothing else, and that is what is in the cluster; tells the
/// offset of the answer.
async fn holds_one_application(
    world: &World,
    environment: &str,
    (cluster, namespace, name): (&str, &str, &str),
) -> Result<u64> {
    let path = format!("/environments/{environment}/resources?limit=500");
    let whole = |answer: &Value| kinds(answer) == GROUP.map(|(kind, count)| (kind.to_owned(), count)).into();
    let answer = world.server.until(&path, whole).await?;
    let told: BTreeSet<&str> = items(&answer).filter_map(|item| item["id"].as_str()).collect();
    let list = world.cluster(cluster).kubectl(&["get", KINDS, "-n", namespace, "-o", "json"]).await?;
    let list: Value = serde_json::from_str(&list)?;
    let named = |object: &&Value| {
        let named = object["metadata"]["name"].as_str().unwrap_or_default();
        named == name || named.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
    };
    let there = items(&list).filter(named).filter_map(|object| object["metadata"]["uid"].as_str()).collect();
    assert_eq!(told, there, "{environment}");
    for item in items(&answer) {
        assert_eq!((&item["cluster"], &item["namespace"]), (&cluster.into(), &namespace.into()));
    }
    answer["metadata"]["offset"].as_u64().ok_or_else(|| "no offset".into())
}

/// The edges of an environment's graph, by the kinds at their ends.
async fn edges(world: &World, environment: &str) -> Result<Vec<String>> {
    let graph = world.server.ask(&format!("/environments/{environment}/graph?collapse=none")).await?;
    let list = |name: &str| graph[name].as_array().into_iter().flatten();
    let kind = |id: &Value| {
        list("nodes").find(|node| node["id"] == *id).and_then(|node| node["kind"].as_str()).unwrap_or("?")
    };
    let edge = |edge: &Value| {
        format!("{} {} {}", kind(&edge["from"]), edge["kind"].as_str().unwrap_or("?"), kind(&edge["to"]))
    };
    let mut edges: Vec<String> = list("edges").map(edge).collect();
    edges.sort();
    Ok(edges)
}

/// What is asked before and after a restart.
const QUESTIONS: [&str; 5] =
    ["/environments?limit=500", "/projects", "/agents", "/deployments?limit=500", "/clusters"];

async fn answers(world: &World) -> Result<Vec<(String, Value)>> {
    let offset = world.server.ask("/clusters").await?["metadata"]["offset"].as_u64();
    answers_at(world, offset).await
}

/// All answers at one offset: the lists, and what each environment holds.
async fn answers_at(world: &World, offset: Option<u64>) -> Result<Vec<(String, Value)>> {
    let offset = offset.ok_or("no offset")?;
    let at = |path: &str| format!("{path}{}at={offset}", if path.contains('?') { '&' } else { '?' });
    let mut answers = Vec::new();
    for question in QUESTIONS {
        answers.push((at(question), world.server.ask(&at(question)).await?));
    }
    let ids: Vec<String> =
        items(&answers[0].1).filter_map(|item| Some(item["id"].as_str()?.to_owned())).collect();
    for id in ids {
        for part in ["resources?limit=500", "graph?collapse=none", "left-behind"] {
            let path = at(&format!("/environments/{id}/{part}"));
            let answer = world.server.ask(&path).await?;
            answers.push((path, answer));
        }
    }
    Ok(answers)
}

/// The answers are the same but for how far the log has grown since.
fn assert_same(before: &[(String, Value)], after: &[(String, Value)]) {
    assert_eq!(before.len(), after.len());
    for ((path, before), (_, after)) in before.iter().zip(after) {
        let without = |answer: &Value| {
            let mut answer = answer.clone();
            if let Some(metadata) = answer["metadata"].as_object_mut() {
                metadata.remove("lag_changes");
            }
            answer
        };
        assert_eq!(without(before), without(after), "{path}");
    }
}
