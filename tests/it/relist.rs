//! What a person has compared or says is gone, from the command line to the answers.

use std::time::Duration;

use serde_json::{Value, json};
use strandline_clock::{Clock, SystemClock};
use strandline_sim::api_server::{ApiServer, Fault, builtin_kinds};

use crate::server::{Result, Server, get, has_gap, items};

const PODS: &str = "/resources?kind=Pod&namespace=shop";

fn config(server: &ApiServer) -> String {
    format!("clusters: [{{name: one, url: \"{}\"}}]\n", server.url())
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}, "spec": {}})
}

fn names(answer: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = items(answer).filter_map(|item| item["name"].as_str()).collect();
    names.sort_unstable();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_kept_to_itself_is_found_when_somebody_asks() -> Result<()> {
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    simulated.set_bookmark_interval(Duration::from_millis(200));
    for name in ["a", "b", "c"] {
        simulated.apply(pod(name));
    }
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    server.until(PODS, |answer| names(answer) == ["a", "b", "c"]).await?;
    let told = server.cli(&["relist", "--cluster", "one", "--kind", "Pod"]).await?;
    assert_eq!(told, "1 kinds compared: 0 differences found\n");

    simulated.faults().next(Fault::LostDelete, 1);
    simulated.delete("", "Pod", "shop", "b");
    let moment = SystemClock.now();
    let told = server.cli(&["relist", "--cluster", "one", "--kind", "Pod"]).await?;
    assert!(told.starts_with("1 kinds compared: 1 differences found and recorded"), "{told}");
    server.until(PODS, |answer| names(answer) == ["a", "c"]).await?;
    // The time of the deletion lies in the gap that was found only now.
    let then = server.ask(&format!("{PODS}&at={moment}")).await?;
    assert!(has_gap(&then, "Pod", "missed"), "{}", then["metadata"]);
    let coverage = server.ask("/coverage?kind=Pod").await?;
    assert_eq!(items(&coverage).next().map(|item| &item["state"]), Some(&json!("watched")), "{coverage}");
    let metrics = get(&format!("{}/metrics", server.url())).await?.1;
    assert!(metrics.lines().any(|line| line.contains("missed") && line.ends_with(" 1")), "{metrics}");

    let refused = server.cli(&["relist", "--cluster", "two"]).await;
    let refused = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("strandline coverage"), "{refused}");
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_says_is_gone_ends_and_is_still_there_before() -> Result<()> {
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    for name in ["a", "b"] {
        simulated.apply(pod(name));
    }
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    let before = server.until(PODS, |answer| names(answer) == ["a", "b"]).await?;
    let offset = before["metadata"]["offset"].as_u64().ok_or("no offset")?;

    let forget = ["forget", "--cluster", "one", "--kind", "pod", "--namespace", "shop", "--name", "a"];
    let refused = server.cli(&forget).await;
    let refused = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("watched"), "{refused}");
    let would = server.cli(&[&forget[..], &["--force", "--dry-run"]].concat()).await?;
    assert!(would.starts_with("shop/a ") && would.ends_with("would be marked as deleted\n"), "{would}");
    assert_eq!(names(&server.ask(PODS).await?), ["a", "b"], "a dry run ends nothing");
    let ended = server.cli(&[&forget[..], &["--force"]].concat()).await?;
    assert!(ended.ends_with("1 resources and 0 gaps of Pod marked as deleted\n"), "{ended}");
    server.until(PODS, |answer| names(answer) == ["b"]).await?;
    assert_eq!(names(&server.ask(&format!("{PODS}&at={offset}")).await?), ["a", "b"]);

    // It is there after all, as the next comparison shows.
    simulated.set_bookmark_interval(Duration::from_millis(200));
    server.cli(&["relist", "--cluster", "one", "--kind", "Pod"]).await?;
    server.until(PODS, |answer| names(answer) == ["a", "b"]).await?;
    server.stop().await
}
