//! Three incidents of the demo, solved in a browser by clicks alone: the flows of `tests/browser/incidents`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use strandline_model::{DeploymentSpec, DeploymentStatus, Timestamp};
use strandline_sim::Port;
use strandline_sim::fleet::{Fleet, FleetOptions};
use tokio::process::Command;

use crate::browser::Browser;
use crate::server::{PROGRAM, Result, get};

/// The demo that is played: the same each time.
const SEED: u64 = 1;
const UNTIL: &str = "2026-11-20T14:00:00Z";

/// How much of the past there is: enough for three incidents, or for pictures a day of it.
const HOURS: u64 = 3;
const HOURS_OF_PICTURES: u64 = 24;

/// How long the demo may take to be ready; a bound on hanging.
const PATIENCE: Duration = Duration::from_secs(900);

/// Environments that fail, each with what of its objects was changed.
const INCIDENTS: [(&str, &str, &str); 3] = [
    ("crash", "payments.api.production.us-region", "image"),
    ("image", "search.indexer.staging", "image"),
    ("setting", "shop.cart.production.eu-region", "features"),
];

/// What the fleet itself says of who broke what, which no part of the program told.
fn truth(hours: u64) -> Result<Value> {
    let end: Timestamp = UNTIL.parse()?;
    let history = Duration::from_secs(hours * 3600);
    let options =
        FleetOptions { history, opens_with_incident: true, ..FleetOptions::new(SEED, end.minus(history)) };
    let mut fleet = Fleet::new(&options);
    fleet.step(end);
    let (deployments, incidents) = (fleet.take_deployments(), fleet.incidents());
    let mut told = serde_json::Map::new();
    for (name, id, changed) in INCIDENTS {
        let (_, at) = incidents.iter().find(|(one, _)| one.id.as_str() == id).ok_or("no such incident")?;
        // The newest one by then; what came after it took it back.
        let caused = |one: &&DeploymentSpec| {
            one.environment.as_str() == id
                && one.status == DeploymentStatus::Failed
                && one.created_at.is_some_and(|begun| begun <= *at)
        };
        let cause = deployments.iter().rfind(caused).ok_or("no deployment failed")?;
        let text = json!({
            "environment": id, "project": cause.project, "name": id.strip_prefix(&cause.project.replace('/', ".")),
            "at": at.to_the_second().to_string(), "sha": cause.sha, "user": cause.user,
            "reference": cause.reference, "changed": changed,
        });
        told.insert(name.to_owned(), text);
    }
    Ok(Value::Object(told))
}

#[tokio::test(flavor = "multi_thread")]
async fn three_incidents_are_solved_by_clicks_alone() -> Result<()> {
    let Some(browser) = Browser::find("three_incidents_are_solved_by_clicks_alone") else { return Ok(()) };
    let pictures = std::env::var_os("STRANDLINE_PICTURES").is_some_and(|value| value == "write");
    let hours = if pictures { HOURS_OF_PICTURES } else { HOURS };
    let folder = tempfile::tempdir()?;
    let kept = Port::free()?;
    let port = kept.address()?.port();
    let output = std::fs::File::create(folder.path().join("output"))?;
    let mut demo = Command::new(PROGRAM)
        .args(["demo", "--seed", &SEED.to_string(), "--until", UNTIL, "--history", &format!("{hours}h")])
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .kill_on_drop(true)
        .spawn()?;
    let (url, started) = (format!("http://127.0.0.1:{port}"), Instant::now());
    loop {
        let answer = get(&format!("{url}/readyz?verbose")).await;
        if matches!(answer, Ok((200, _))) {
            break;
        }
        let printed = std::fs::read_to_string(folder.path().join("output"))?;
        assert!(demo.try_wait()?.is_none(), "the demo ended: {printed}");
        assert!(started.elapsed() < PATIENCE, "the demo never became ready: {answer:?} {printed}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let played = browser.play("incidents", &url, &truth(hours)?).await;
    let pid = demo.id().ok_or("the demo ended")?;
    Command::new("kill").arg(pid.to_string()).status().await?;
    demo.wait().await?;
    played
}
