//! An agent's configuration file that goes wrong while the server runs.

use serde_json::{Value, json};

use super::diagrams::PUSH;
use super::world::World;
use crate::server::Result;

const FILE: &str = "checkouts/operation/agent-management/.gitlab/agents/production/config.yaml";
const AGENT: &str = "/agents/operation%2Fagent-management%3Aproduction";

/// What it said before holds on, also over kill -9, and what is wrong is told until it is mended.
pub(super) async fn a_broken_file_leaves_the_last_good_one(world: &mut World) -> Result<()> {
    let good = std::fs::read_to_string(world.file(FILE))?;
    let before = world.server.ask(AGENT).await?;
    assert_eq!((&before["configuration"], &before["problem"]), (&json!(good), &json!("")));

    let broken = good.replace("default_namespace:", "default_namespaces:");
    assert_ne!(good, broken);
    std::fs::write(world.file(FILE), &broken)?;
    let told = world.server.until(AGENT, |agent| agent["problem"] != "").await?;
    let line = broken.lines().position(|line| line.contains("default_namespaces")).unwrap_or(0) + 1;
    let problem = told["problem"].as_str().unwrap_or_default();
    assert!(problem.contains(&format!("config.yaml:{line}:")), "{problem}");
    // What is wrong has its place; of the file itself nothing is repeated.
    assert!(problem.contains("unknown key") && !problem.contains("default_namespaces"), "{problem}");
    world.server.kill_and_restart().await?;
    let held = world.server.until(AGENT, |agent| agent["problem"] == told["problem"]).await?;
    assert_eq!(held["configuration"], before["configuration"]);
    world.deploy(PUSH).await?;
    let path = "/environments/development.deployment.production-frontend";
    world.server.until(path, |found| found["targets"][0]["namespace"] == "production").await?;

    std::fs::write(world.file(FILE), format!("{good}# mended\n"))?;
    let mended = |agent: &Value| {
        agent["problem"] == ""
            && agent["configuration"].as_str().is_some_and(|text| text.ends_with("# mended\n"))
    };
    world.server.until(AGENT, mended).await?;
    Ok(())
}
