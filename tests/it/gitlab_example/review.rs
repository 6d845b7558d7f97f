//! Review apps: what a stopped one leaves in the cluster, and that the lines that are told clean it up.

use serde_json::{Value, json};

use super::diagrams::MULTI;
use super::world::{Deploy, TOKENS, World};
use super::{KINDS, holds_one_application};
use crate::server::Result;

const LOGIN: Deploy<'_> = Deploy { environment: "review/login", suffix: "-login", ..MULTI };
const SEARCH: Deploy<'_> = Deploy { environment: "review/search", suffix: "-search", ..MULTI };

fn id(app: Deploy<'_>) -> String {
    format!("development.frontend.{}", app.environment.replace('/', "."))
}

/// Waits until a review app holds what it was deployed with.
async fn holds(world: &World, app: Deploy<'_>) -> Result<u64> {
    let name = format!("{}{}", app.what, app.suffix);
    holds_one_application(world, &id(app), ("prod-us", "review-apps", &name)).await
}

/// Two review apps in one namespace: the first to go leaves the other in peace, the last takes the namespace with it.
pub(super) async fn what_is_left_behind_can_be_cleaned_up(world: &World) -> Result<()> {
    for app in [LOGIN, SEARCH] {
        world.deploy(app).await?;
        holds(world, app).await?;
    }
    let in_use = holds(world, LOGIN).await?;

    let left = stop(world, LOGIN).await?;
    let line = left["namespaces"][0]["kubectl"].as_str().unwrap_or_default();
    assert_eq!(left["namespaces"][0]["shared"], true, "{left}");
    assert!(line.contains("app.gitlab.com/environment_slug="), "{line}");
    world.run(line).await?;
    gone(world, LOGIN).await?;
    holds(world, SEARCH).await?;
    let then = world.server.ask(&format!("/environments/{}/resources?at={in_use}", id(LOGIN))).await?;
    assert_eq!(then["items"].as_array().map(Vec::len), Some(6), "what it held stays known");
    let refused = world.deploy(LOGIN).await;
    let refused = refused.err().ok_or("a stopped environment was deployed to")?.to_string();
    assert!(refused.contains("environment_stopped"), "{refused}");

    let left = stop(world, SEARCH).await?;
    assert_eq!(left["namespaces"][0]["shared"], false, "{left}");
    let line = left["namespaces"][0]["kubectl"].as_str().unwrap_or_default();
    assert_eq!(line, "kubectl --context prod-us delete namespace review-apps");
    world.run(line).await?;
    gone(world, SEARCH).await?;
    let there = world.cluster("prod-us").kubectl(&["get", KINDS, "-n", "review-apps", "-o", "name"]).await?;
    assert_eq!(there.trim(), "");
    Ok(())
}

/// Stops a review app, and tells what that leaves behind.
async fn stop(world: &World, app: Deploy<'_>) -> Result<Value> {
    let path = format!("/environments/{}", id(app));
    let stopped = world.send("POST", &format!("{path}/stop"), TOKENS[0], &json!({})).await?;
    assert_eq!((stopped.0, &stopped.1["state"]), (200, &json!("stopped")), "{}", stopped.1);
    let empty = |answer: &Value| answer["items"].as_array().is_some_and(Vec::is_empty);
    world.server.until(&format!("{path}/resources"), empty).await?;
    let left = world.server.ask(&format!("{path}/left-behind")).await?;
    assert_eq!((&left["resources"], &left["namespaces"][0]["namespace"]), (&json!(6), &json!("review-apps")));
    Ok(left)
}

/// Nothing of a review app is left.
async fn gone(world: &World, app: Deploy<'_>) -> Result<()> {
    let path = format!("/environments/{}/left-behind", id(app));
    world.server.until(&path, |left| left["resources"] == 0 && left["namespaces"] == json!([])).await?;
    Ok(())
}
