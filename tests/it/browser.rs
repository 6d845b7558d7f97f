//! Pages in a real browser: axe-core looks at every kind of page at the width of a phone and of a desk, and charts are
//! walked through by keys.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::server::{Result, Server, get, items};

/// What runs in the page that holds all others.
const RUN: &str = include_str!("../browser/run.js");

/// How long the browser may take for all pages; a bound on hanging.
const PATIENCE: Duration = Duration::from_secs(300);

/// A browser and what looks at pages in it.
struct Browser {
    program: PathBuf,
    axe: PathBuf,
}

impl Browser {
    /// The browser of this machine, if it has one; else this says that the test was not run.
    fn find(test: &str) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program =
            std::env::split_paths(&path).map(|folder| folder.join("chromium")).find(|one| one.is_file());
        let axe = std::env::var_os("STRANDLINE_AXE").map(PathBuf::from).filter(|axe| axe.is_file());
        let why = match (program, axe) {
            (Some(program), Some(axe)) => return Some(Browser { program, axe }),
            (None, _) => "chromium is not installed",
            (_, None) => "STRANDLINE_AXE names no file; run tests/browser/fetch",
        };
        let line = format!("NOT RUN: {test}: {why}");
        let required = std::env::var_os("STRANDLINE_REQUIRE_BROWSER").is_some_and(|value| value == "1");
        assert!(!required, "{line}");
        // Not `eprintln!`, which the test runner hides when a test passes.
        let _ = writeln!(std::io::stderr(), "{line}");
        None
    }

    /// What is found of each page at each width.
    async fn look(&self, folder: &Path, pages: &[Value]) -> Result<Vec<Value>> {
        let pages = serde_json::to_string(pages)?.replace("</", "<\\/");
        let whole = format!("<!doctype html><body><script>const pages = {pages};\n{RUN}</script>");
        let index = folder.join("index.html");
        std::fs::write(&index, whole)?;
        let output = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"])
            .args(["--virtual-time-budget=3600000", "--window-size=1500,1000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("file://{}", index.display()))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(PATIENCE, output).await??;
        let document = String::from_utf8_lossy(&output.stdout).into_owned();
        let found = document.split_once("<html>").and_then(|(_, rest)| rest.rsplit_once("</html>"));
        let found = found.map(|(found, _)| found).unwrap_or_default();
        let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let errors = String::from_utf8_lossy(&output.stderr);
        serde_json::from_str(&found).map_err(|error| format!("{error}: {document}\n{errors}").into())
    }

    /// A page that needs nothing but itself and axe-core.
    async fn page(&self, url: &str, path: &str, expected: u16) -> Result<Value> {
        let (status, mut html) = get(&format!("{url}{path}")).await?;
        assert_eq!(status, expected, "{path}: {html}");
        let axe = format!("<script src=\"file://{}\"></script>", self.axe.display());
        for (before, after, around) in [
            ("<link rel=\"stylesheet\" href=\"", "\">", ("<style>", format!("</style>{axe}"))),
            (
                "<script type=\"module\" async blocking=\"render\" src=\"/",
                "\"></script>",
                ("<script type=\"module\">", "</script>".to_owned()),
            ),
        ] {
            while let Some((start, (address, end))) =
                html.split_once(before).and_then(|(start, rest)| Some((start, rest.split_once(after)?)))
            {
                let (_, asset) = get(&format!("{url}/{}", address.trim_start_matches('/'))).await?;
                html = format!("{start}{}{asset}{}{end}", around.0, around.1);
            }
        }
        Ok(json!({"name": path, "html": html}))
    }
}

fn pod(name: &str, round: u64, waiting: Option<&str>) -> Value {
    let state = match waiting {
        Some(reason) => {
            json!({"waiting": {"reason": reason, "message": "back-off 5m0s restarting failed container"}})
        }
        None => json!({"running": {"startedAt": "2026-11-20T12:00:00Z"}}),
    };
    let ready = if waiting.is_some() { "False" } else { "True" };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "annotations": {"round": round.to_string()}},
        "spec": {"containers": [{"name": "web", "image": format!("example.com/web:{}", round.min(2)),
            "env": [{"name": "SETTINGS", "valueFrom": {"configMapKeyRef": {"name": "lost", "key": "a"}}}]}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"name": "web", "image": "example.com/web:1", "ready": waiting.is_none(),
                "restartCount": round, "state": state}]},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_on_any_page_and_a_chart_is_one_tab_stop() -> Result<()> {
    let Some(browser) = Browser::find("axe_finds_nothing_on_any_page_and_a_chart_is_one_tab_stop") else {
        return Ok(());
    };
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    let folder = tempfile::tempdir()?;
    let config = format!(
        "clusters:\n  - name: one\n    url: {}\nenvironments:\n  - project: shop/web\n    name: production\n    \
         cluster: one\n    namespace: shop\n",
        simulated.url()
    );
    simulated.apply(pod("well", 0, None));
    let server = Server::start(folder.path(), &config).await?;
    for round in 1..5 {
        simulated.apply(pod("ill", round, (round % 2 == 0).then_some("CrashLoopBackOff")));
        let shows = |list: &Value| items(list).any(|one| one["name"] == "ill");
        server.until("/environments/shop.web.production/resources?kind=Pod", shows).await?;
    }
    server.until("/environments/shop.web.production", |one| one["health"]["state"] == "Degraded").await?;
    let list = server.ask("/environments/shop.web.production/resources?kind=Pod").await?;
    let ill =
        items(&list).find(|one| one["name"] == "ill").and_then(|one| one["id"].as_str()).ok_or("no pod")?;
    let offset = list["metadata"]["offset"].as_u64().ok_or("no offset")?;
    let before = offset - 1;
    let mut pages = Vec::new();
    for (path, status) in [
        ("/", 200),
        ("/?tier=all&group_by=project", 200),
        ("/?at=someday&health=Sick", 400),
        (&*format!("/?at={before}"), 200),
        ("/environments/shop.web.production", 200),
        ("/environments/shop.web.production?collapse=none", 200),
        (&*format!("/environments/shop.web.production?at={before}"), 200),
        ("/environments/shop.web.production?at=soon", 400),
        ("/environments/shop.web.production/diff", 200),
        (&*format!("/environments/shop.web.production/diff?from={before}&include=metadata,status"), 200),
        (&*format!("/resources/{ill}"), 200),
        (&*format!("/resources/{ill}?at={before}"), 200),
        (&*format!("/resources/{ill}/diff"), 200),
        ("/images", 200),
        ("/images?from=1", 200),
        ("/coverage", 200),
        ("/environments/nothing?at=1", 404),
        ("/nothing", 404),
    ] {
        pages.push(browser.page(server.url(), path, status).await?);
    }
    let axe = browser.axe.display();
    pages.push(json!({"name": "bad", "html": format!("<!doctype html><script src=\"file://{axe}\"></script><img src=x>")}));
    let found = browser.look(folder.path(), &pages).await?;
    assert_eq!(found.len(), 2 * pages.len(), "each page at both widths");
    let mut charts = 0;
    for one in &found {
        if one["name"] == "bad" {
            assert_ne!(one["violations"], json!([]), "what is bad is found");
            continue;
        }
        assert_eq!(one["violations"], json!([]), "{one:#}");
        assert!(
            one["overflow"].as_i64().is_some_and(|overflow| overflow <= 0),
            "wider than the window: {one:#}"
        );
        for chart in one["charts"].as_array().into_iter().flatten() {
            charts += 1;
            assert_eq!((&chart["before"], &chart["after"]), (&json!(1), &json!(1)), "{one:#}");
            assert!(chart["reached"].as_u64() > Some(0) && chart["left"] == false, "{one:#}");
        }
    }
    assert!(charts >= 8, "{charts} charts");
    server.stop().await
}
