//! Pages in a real browser: the flows of `tests/browser` against a running server, by Playwright.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use strandline_clock::{Clock as _, SystemClock};
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::checkout::root;
use crate::not_run::not_run;
use crate::server::{Result, Server, items};

/// How long the browser may take for all flows; a bound on hanging.
const PATIENCE: Duration = Duration::from_secs(1200);

/// What it is called: without windows it starts and draws in half the time.
const PROGRAMS: [&str; 2] = ["chromium-headless-shell", "chromium"];

/// How often what a live page shows becomes something else.
const PULSE: Duration = Duration::from_secs(2);

/// What a hostile image has its kubelet say.
const HOSTILE: &str =
    "back-off <img src=x onerror=alert(1)> \"'><script>alert(1)</script> {{at}} restarting failed container";

/// A browser, and what drives it.
pub(crate) struct Browser {
    program: PathBuf,
    playwright: PathBuf,
}

impl Browser {
    /// The browser of this machine, if it has one; else this says that the test was not run.
    pub(crate) fn find(test: &str) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = |name| std::env::split_paths(&path).map(move |folder| folder.join(name));
        let program = PROGRAMS.iter().flat_map(on_path).find(|one| one.is_file());
        let playwright =
            std::env::var_os("STRANDLINE_PLAYWRIGHT").map(PathBuf::from).filter(|folder| folder.is_dir());
        let why = match (program, playwright) {
            (Some(program), Some(playwright)) => return Some(Browser { program, playwright }),
            (None, _) => "chromium-headless-shell is not installed",
            (_, None) => "STRANDLINE_PLAYWRIGHT names no folder; run tests/browser/fetch",
        };
        not_run(test, why, "STRANDLINE_REQUIRE_BROWSER");
        None
    }

    /// Plays all flows of a folder of `tests/browser`, or those that `STRANDLINE_FLOWS` names, against a server.
    pub(crate) async fn play(&self, folder: &str, url: &str, scenario: &Value) -> Result<()> {
        let modules = self.playwright.join("node_modules");
        let flows = std::env::var("STRANDLINE_FLOWS").unwrap_or_default();
        let output = Command::new("node")
            .arg(modules.join("@playwright/test/cli.js"))
            .args(["test", "--config", "playwright.config.js"])
            // Those that are named may all be of the other folder.
            .args((!flows.is_empty()).then_some("--pass-with-no-tests"))
            .args(flows.split_whitespace())
            .current_dir(root().join("tests/browser"))
            .env("NODE_PATH", &modules)
            .env("STRANDLINE_URL", url)
            .env("STRANDLINE_FOLDER", folder)
            .env("STRANDLINE_CHROMIUM", &self.program)
            .env("STRANDLINE_SCENARIO", scenario.to_string())
            .env("STRANDLINE_BROWSER_OUTPUT", std::env::temp_dir().join("strandline-browser").join(folder))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(PATIENCE, output).await??;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            return Err(format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)).into());
        }
        println!("{said}");
        Ok(())
    }
}

fn pod(namespace: &str, name: &str, round: u64, waiting: bool) -> Value {
    let state = match waiting {
        true => json!({"waiting": {"reason": "CrashLoopBackOff", "message": HOSTILE}}),
        false => json!({"running": {"startedAt": "2026-11-20T12:00:00Z"}}),
    };
    let ready = if waiting { "False" } else { "True" };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": {"round": round.to_string()}},
        "spec": {"containers": [{"name": "web", "image": format!("example.com/web:{}", round.min(2)),
            "env": [{"name": "SETTINGS", "valueFrom": {"configMapKeyRef": {"name": "lost", "key": "a"}}}]}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"name": "web", "image": "example.com/web:1", "ready": !waiting,
                "restartCount": round, "state": state}]},
    })
}

/// What a hostile kubelet reports now of the Pod that is ill.
fn event(uid: &str) -> Value {
    let now = SystemClock.now().to_string();
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "ill.1", "namespace": "shop"}, "type": "Warning",
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "ill", "uid": uid},
        "reason": "BackOff", "message": HOSTILE, "count": 3, "source": {"component": "kubelet <b>1</b>"},
        "lastTimestamp": now,
    })
}

/// Records that a deployment to the environment ended.
async fn deploy(server: &Server, id: u64, reference: &str, status: &str) -> Result<()> {
    let spec = json!({
        "id": id, "project": "shop/web", "environment": "production", "status": "running", "ref": reference,
        "sha": "0123456789abcdef", "user": "alice", "job": "deploy <b>web</b>",
    });
    let (code, answer) = server.send("POST", "/deployments", "", &spec).await?;
    if code != 201 {
        return Err(format!("the deployment is not recorded: {code} {answer}").into());
    }
    let (code, answer) =
        server.send("PUT", &format!("/deployments/{id}"), "", &json!({"status": status})).await?;
    if code == 200 { Ok(()) } else { Err(format!("its end is not recorded: {code} {answer}").into()) }
}

/// Declares an agent that lets one project deploy.
async fn declare_agent(server: &Server) -> Result<()> {
    let configuration = "ci_access:\n  projects:\n    - id: shop/web\n      default_namespace: shop\n";
    let spec = json!({"cluster": "one", "configuration": configuration});
    let (code, answer) = server.send("PUT", "/agents/shop%2Fagents%3Aone", "", &spec).await?;
    if code / 100 == 2 { Ok(()) } else { Err(format!("the agent is not declared: {code} {answer}").into()) }
}

/// Lets a Pod fail and recover until the task ends.
async fn keep_changing(simulated: Arc<ApiServer>) {
    for round in 1.. {
        simulated.apply(pod("pulse", "heart", round, round % 2 == 0));
        tokio::time::sleep(PULSE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_work_in_a_browser() -> Result<()> {
    let Some(browser) = Browser::find("pages_work_in_a_browser") else { return Ok(()) };
    let simulated = Arc::new(ApiServer::start("one", builtin_kinds()).await?);
    let folder = tempfile::tempdir()?;
    let config = format!(
        "clusters:\n  - name: one\n    url: {}\nenvironments:\n  - {{project: shop/web, name: production, \
         cluster: one, namespace: shop}}\n  - {{project: shop/pulse, name: production, cluster: one, \
         namespace: pulse}}\n",
        simulated.url()
    );
    simulated.apply(pod("shop", "well", 0, false));
    simulated.apply(pod("pulse", "heart", 0, false));
    let server = Server::start(folder.path(), &config).await?;
    server
        .until("/environments/shop.web.production/resources?kind=Pod", |list| items(list).count() > 0)
        .await?;
    declare_agent(&server).await?;
    deploy(&server, 1, "v1", "success").await?;
    for round in 1..5 {
        if round == 4 {
            deploy(&server, 2, "v2", "failed").await?;
        }
        simulated.apply(pod("shop", "ill", round, round % 2 == 0));
        let shows = |list: &Value| {
            items(list).any(|one| one["name"] == "ill" && (one["health"] == "Degraded") == (round % 2 == 0))
        };
        server.until("/environments/shop.web.production/resources?kind=Pod", shows).await?;
    }
    server.until("/environments/shop.web.production", |one| one["health"]["state"] == "Degraded").await?;
    let list = server.ask("/environments/shop.web.production/resources?kind=Pod").await?;
    let ill =
        items(&list).find(|one| one["name"] == "ill").and_then(|one| one["id"].as_str()).ok_or("no pod")?;
    let offset = list["metadata"]["offset"].as_u64().ok_or("no offset")?;
    simulated.apply(event(ill));
    server.until("/events?reason=BackOff", |list| items(list).count() > 0).await?;
    let scenario = json!({
        "environment": "shop.web.production", "pulse": "shop.pulse.production", "resource": ill,
        "before": offset - 1, "deployment": 2,
    });
    let changing = tokio::spawn(keep_changing(Arc::clone(&simulated)));
    let played = browser.play("flows", server.url(), &scenario).await;
    changing.abort();
    played?;
    server.stop().await
}
