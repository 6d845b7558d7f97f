//! The program against simulated clusters: faults of the API server, and the demo as a stranger meets it.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use strandline_log::LogReader;
use strandline_model::{Kind, Offset};
use strandline_sim::Port;
use strandline_sim::api_server::{ApiServer, Fault, ServedKind, builtin_kinds};
use strandline_sim::workloads::{SECRET_CANARY, SECRET_CANARY_BASE64};
use tokio::process::Command;

use crate::random::Random;
use crate::server::{PROGRAM, Result, Server, assert_nowhere, get, has_gap, items};

const RESOURCES: &str = "/environments/shop.web.production/resources?limit=500";

fn config(server: &ApiServer) -> String {
    format!(
        "clusters:\n  - name: one\n    url: {}\nenvironments:\n  - project: shop/web\n    name: production\n    \
         cluster: one\n    namespace: shop\n",
        server.url()
    )
}

fn pod(n: u64, round: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("web-{n}"), "namespace": "shop", "annotations": {"round": round.to_string()}},
        "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// What the simulated server holds: name to uid and resource version.
fn truth(server: &ApiServer, group: &str, kind: &str) -> BTreeMap<String, (String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entry = |object: Value| {
        let metadata = &object["metadata"];
        (text(&metadata["name"]), (text(&metadata["uid"]), text(&metadata["resourceVersion"])))
    };
    server.objects(group, kind).into_iter().map(entry).collect()
}

/// What the program holds, in the same shape.
async fn told(server: &Server, kind: &str) -> Result<BTreeMap<String, (String, String)>> {
    let list = server.ask(&format!("{RESOURCES}&kind={kind}")).await?;
    let at = list["metadata"]["offset"].as_u64().unwrap_or(0);
    let mut told = BTreeMap::new();
    for item in items(&list) {
        let (name, uid) =
            (item["name"].as_str().unwrap_or_default(), item["id"].as_str().unwrap_or_default());
        let detail = server.ask(&format!("/resources/{uid}?at={at}")).await?;
        let version = detail["resource_version"].as_str().unwrap_or_default().to_owned();
        told.insert(name.to_owned(), (uid.to_owned(), version));
    }
    Ok(told)
}

async fn until_true(server: &Server, simulated: &ApiServer, group: &str, kind: &str) -> Result<()> {
    let started = Instant::now();
    loop {
        let (told, truth) = (told(server, kind).await, truth(simulated, group, kind));
        match told {
            Ok(told) if told == truth => return Ok(()),
            told if started.elapsed() > Duration::from_secs(90) => {
                return Err(format!("{told:#?}\nis not\n{truth:#?}\n{}", server.output()).into());
            }
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_storm_of_faults_the_view_equals_the_truth() -> Result<()> {
    for seed in [1, 2, 3] {
        println!("seed {seed}");
        let simulated = ApiServer::start("one", builtin_kinds()).await?;
        let folder = tempfile::tempdir()?;
        let server = Server::start(folder.path(), &config(&simulated)).await?;
        simulated.faults().storm(seed, 60);
        let mut random = Random::new(seed);
        for round in 0..400 {
            let n = random.below(12);
            if random.below(4) == 0 {
                simulated.delete("", "Pod", "shop", &format!("web-{n}"));
            } else {
                simulated.apply(pod(n, round));
            }
            if round % 20 == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        simulated.faults().clear();
        // A lost deletion is found by the next list, which a watch that is told "gone" makes at once.
        simulated.faults().next(Fault::GoneInStream, 40);
        simulated.apply(pod(99, 0));
        until_true(&server, &simulated, "", "Pod").await?;
        server.stop().await?;
    }
    Ok(())
}

/// Lists of Pods so far, in pages or as streams.
fn lists_of_pods(server: &ApiServer) -> u64 {
    let requests = server.requests_of("", "Pod");
    requests.lists + requests.streaming_lists
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_resumes_and_a_deletion_missed_meanwhile_is_found() -> Result<()> {
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    let folder = tempfile::tempdir()?;
    for n in 0..5 {
        simulated.apply(pod(n, 0));
    }
    let mut server = Server::start(folder.path(), &config(&simulated)).await?;
    until_true(&server, &simulated, "", "Pod").await?;
    let lists = lists_of_pods(&simulated);
    server.kill().await?;
    simulated.delete("", "Pod", "shop", "web-1");
    simulated.apply(pod(2, 7));
    server.kill_and_restart().await?;
    until_true(&server, &simulated, "", "Pod").await?;
    assert_eq!(lists_of_pods(&simulated), lists, "the restart resumed, without a list");
    server.kill().await?;
    simulated.set_window(1);
    simulated.delete("", "Pod", "shop", "web-3");
    simulated.apply(pod(4, 9));
    simulated.apply(pod(4, 10));
    server.kill_and_restart().await?;
    until_true(&server, &simulated, "", "Pod").await?;
    assert!(lists_of_pods(&simulated) > lists, "what the server no longer knows has to be listed");
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_permission_and_a_vanished_kind_are_gaps_and_no_deletions() -> Result<()> {
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    let folder = tempfile::tempdir()?;
    simulated.add_kind(ServedKind::custom("example.dev", "v1", "Database", "databases"));
    simulated.apply(pod(1, 0));
    simulated.apply(json!({"apiVersion": "example.dev/v1", "kind": "Database",
        "metadata": {"name": "orders", "namespace": "shop"}}));
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    server.until(RESOURCES, |list| items(list).count() == 2).await?;

    simulated.faults().refuse(Some(Kind::new("", "Pod")), 403);
    // What is open stays open; a server that comes back asks for permission again.
    simulated.stop().await;
    simulated.start_again().await?;
    let answer = server.until(RESOURCES, |answer| has_gap(answer, "Pod", "forbidden")).await?;
    assert_eq!(items(&answer).count(), 2, "nothing was deleted");
    server.until("/environments/shop.web.production", |e| e["health"]["state"] == "Unknown").await?;
    simulated.faults().clear();
    simulated.faults().allow(Some(&Kind::new("", "Pod")));
    server.until(RESOURCES, |answer| !has_gap(answer, "Pod", "forbidden")).await?;

    simulated.remove_kind("example.dev", "Database");
    let answer = server.until(RESOURCES, |answer| has_gap(answer, "Database", "not_served")).await?;
    assert_eq!(items(&answer).count(), 2, "nothing was deleted");
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_can_be_used_while_it_records_a_day_and_keeps_no_secret() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kept = Port::free()?;
    let port = kept.address()?.port();
    let output = std::fs::File::create(folder.path().join("output"))?;
    let mut demo = Command::new(PROGRAM)
        .args(["demo", "--seed", "7", "--listen", &format!("127.0.0.1:{port}"), "--data"])
        .arg(folder.path().join("data"))
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .kill_on_drop(true)
        .spawn()?;
    let url = format!("http://127.0.0.1:{port}");
    let started = Instant::now();
    // How many pages there were while the past was still being recorded, and what part of it the last of them told.
    let (mut early, mut done) = (0, String::new());
    while get(&format!("{url}/readyz")).await.map(|(status, _)| status).unwrap_or(0) != 200 {
        let page = get(&format!("{url}/")).await.unwrap_or_default();
        if let Some((_, bar)) = page.1.split_once("<progress value=\"").filter(|_| page.0 == 200) {
            early += 1;
            done = bar.split('"').next().unwrap_or_default().to_owned();
        }
        let printed = std::fs::read_to_string(folder.path().join("output"))?;
        assert!(demo.try_wait()?.is_none(), "the demo ended: {printed}");
        assert!(started.elapsed() < Duration::from_secs(900), "the demo never became ready: {printed}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(
        early > 1 && done.parse::<u64>()? > 0,
        "{early} pages were there before, the last of them at {done}"
    );
    let printed = std::fs::read_to_string(folder.path().join("output"))?;
    let incident = "strandline tree payments.api.production.us-region --at 20";
    assert!(printed.contains(incident) && !printed.contains("150m"), "a moment that stays: {printed}");
    assert!(printed.find("Open ") < printed.find("recorded"), "the address comes first: {printed}");
    let ask = async |path: &str| -> Result<Value> {
        let (status, body) = get(&format!("{url}/api/v1{path}")).await?;
        assert_eq!(status, 200, "{path}: {body}");
        Ok(serde_json::from_str(&body)?)
    };
    let now = ask("/environments?tier=production&limit=500").await?;
    assert!(
        items(&now).count() >= 12
            && items(&now).any(|e| e["region"] == "us")
            && items(&now).any(|e| e["region"] == "eu")
    );
    assert!(items(&now).filter(|e| e["health"]["state"] == "Healthy").count() >= 10, "{now:#}");
    // The incident that every history has: payments/api in the US, about three hours before its end.
    let incident = ask("/environments/payments.api.production.us-region?at=150m").await?;
    assert_eq!(incident["health"]["state"], "Degraded", "{incident:#}");
    let day_ago = ask("/environments?at=23h&limit=1").await?;
    assert_eq!(items(&day_ago).count(), 1);
    let again = ask(&format!("/environments?at={}&limit=1", day_ago["metadata"]["offset"])).await?;
    assert_eq!(day_ago["items"], again["items"]);
    let (status, page) = get(&format!("{url}/")).await?;
    assert!(status == 200 && page.contains("payments/api") && page.contains("<form"), "{page}");
    assert!(!page.contains("<progress"), "all of the past is recorded");
    let announced = page.split("aria-label=\"Announcement\"").nth(1).unwrap_or_default();
    let announced = announced.split("</section>").next().unwrap_or_default();
    let links: Vec<_> =
        announced.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let incidents =
        ["payments.api.production.us-region", "search.indexer.staging", "shop.cart.production.eu-region"];
    assert_eq!(links.len(), incidents.len(), "{announced}");
    for (link, id) in links.iter().zip(incidents) {
        assert!(link.starts_with(&format!("/environments/{id}?at=20")), "{link} holds a moment that stays");
        let (status, page) = get(&format!("{url}{link}")).await?;
        assert!(status == 200 && page.contains("<h2 id=\"why\">Why Degraded"), "{link}: {page}");
    }
    let watches = ask("/coverage").await?;
    let listed = items(&watches)
        .filter_map(|watch| watch["gaps"].as_array())
        .flatten()
        .filter(|gap| gap["reason"] == "listing")
        .inspect(|gap| assert_eq!(gap["since"], gap["until"], "its clock waits for first lists: {gap:#}"));
    assert!(listed.count() > 40, "every kind of four clusters is listed at first: {watches:#}");
    let history = LogReader::open(&folder.path().join("data"))?;
    let first = history.observed_at(Offset::new(1))?.ok_or("the log is empty")?;
    let last = history.observed_at(history.head()?)?.ok_or("the log is empty")?;
    assert!(last.since(first) >= Duration::from_secs(23 * 3600), "from {first} to {last}");
    crate::tasks::try_all(&url).await?;
    demo.kill().await?;
    assert_nowhere(folder.path(), &[SECRET_CANARY, SECRET_CANARY_BASE64])
}
