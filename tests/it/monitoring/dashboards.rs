//! The dashboards for Grafana: they are whole, and every expression in them returns data from a real Prometheus.

use std::collections::BTreeSet;

use serde_json::Value;
use strandline_model::Kind;
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use super::prometheus::{Prometheus, skip_without_prometheus};
use super::{RULES, TOKEN, config};
use crate::bad_input::pod;
use crate::checkout::{files, read, root};
use crate::server::{Result, Server, run};

const FOLDER: &str = "deploy/chart/strandline/files/dashboards";

/// What has no data in a test, and why.
const WITHOUT_DATA: [(&str, &str); 1] =
    [("strandline_data_disk_full_in_seconds", "there is no forecast in the first ten minutes")];

/// Every dashboard with its name.
fn dashboards() -> Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for path in files(&root().join(FOLDER)) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        found.push((name.clone(), serde_json::from_str(&read(&format!("{FOLDER}/{name}")))?));
    }
    Ok(found)
}

/// Every expression of a dashboard with the title of its panel.
fn expressions(dashboard: &Value) -> Vec<(String, String)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for panel in list(&dashboard["panels"]) {
        let title = panel["title"].as_str().unwrap_or_default().to_owned();
        for target in list(&panel["targets"]) {
            found.push((title.clone(), target["expr"].as_str().unwrap_or_default().to_owned()));
        }
    }
    for annotation in list(&dashboard["annotations"]["list"]) {
        found.push(("annotation".to_owned(), annotation["expr"].as_str().unwrap_or_default().to_owned()));
    }
    found
}

/// An expression with its variables as Grafana fills them in where everything is chosen.
fn filled(expression: &str) -> String {
    let mut text = expression.replace("$__rate_interval", "10s");
    for variable in ["job", "instance", "cluster", "tier", "region"] {
        text = text.replace(&format!("${variable}"), ".*");
    }
    text
}

#[test]
fn dashboards_are_whole() -> Result<()> {
    let (mut uids, all) = (BTreeSet::new(), dashboards()?);
    assert_eq!(all.len(), 4);
    for (name, dashboard) in all {
        let uid = dashboard["uid"].as_str().unwrap_or_default().to_owned();
        assert!(uid.starts_with("strandline-") && uids.insert(uid), "{name}");
        let panels = dashboard["panels"].as_array().cloned().unwrap_or_default();
        let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
        assert_eq!(ids.len(), panels.len(), "{name}: panels share an id");
        for panel in &panels {
            assert!(!panel["targets"].as_array().is_none_or(Vec::is_empty), "{name}: {panel}");
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{name}: a fixed data source");
        }
        for (title, expression) in expressions(&dashboard) {
            assert!(
                !filled(&expression).contains('$'),
                "{name}: {title}: {expression} has an unknown variable"
            );
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_expression_of_the_dashboards_returns_data() -> Result<()> {
    if skip_without_prometheus("every_expression_of_the_dashboards_returns_data") {
        return Ok(());
    }
    let (folder, monitoring) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    let mut failing = pod("web-0", 0);
    failing["status"] = serde_json::json!({"phase": "Running", "containerStatuses": [
        {"name": "web", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}]});
    simulated.apply(failing);
    simulated.faults().refuse(Some(Kind::new("apps", "Deployment")), 403);
    let mut server = Server::start(folder.path(), &config(&simulated, "2099-01-01")).await?;
    let prometheus = Prometheus::start(monitoring.path(), server.url(), TOKEN, &read(RULES)).await?;
    run(&["backup"], &[("--data", &server.data()), ("--to", &monitoring.path().join("backup"))]).await?;
    server.cli_as(&["get", "environments"], TOKEN).await?;
    prometheus.until("process_start_time_seconds", |series| !series.is_empty()).await?;
    server.kill_and_restart().await?;
    server.cli_as(&["get", "environments"], TOKEN).await?;
    for (name, dashboard) in dashboards()? {
        for (title, expression) in expressions(&dashboard) {
            if WITHOUT_DATA.iter().any(|(metric, _)| expression.starts_with(&format!("min({metric}"))) {
                continue;
            }
            let found = prometheus.until(&filled(&expression), |series| !series.is_empty()).await;
            found.map_err(|error| format!("{name}: {title}: {error}"))?;
        }
    }
    server.stop().await
}
