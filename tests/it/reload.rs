//! A configuration that changes while the server runs.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use strandline_sim::api_server::ApiServer;

use crate::bad_input::pod;
use crate::server::{Result, Server, get, has_gap, items, names};
use crate::simulated::cluster;

/// A configuration of these clusters, each with an environment that is named as it is.
fn configuration(clusters: &[(&str, &ApiServer)], rest: &str) -> String {
    let of =
        |(name, cluster): &(&str, &ApiServer)| format!("  - {{name: {name}, url: '{}'}}\n", cluster.url());
    let environment = |(name, _): &(&str, &ApiServer)| {
        format!("  - {{project: shop/web, name: {name}, cluster: {name}, namespace: shop}}\n")
    };
    let (listed, environments): (String, String) =
        (clusters.iter().map(of).collect(), clusters.iter().map(environment).collect());
    format!("clusters:\n{listed}environments:\n{environments}{rest}")
}

fn write(folder: &Path, text: &str) -> Result<()> {
    Ok(std::fs::write(folder.join("config.yaml"), text)?)
}

async fn metric(server: &Server, name: &str) -> Result<String> {
    let (_, text) = get(&format!("{}/metrics", server.url())).await?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    line.ok_or_else(|| format!("no {name}").into())
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_and_environments_come_and_go_while_the_server_runs() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (one, two) = (cluster("one").await?, cluster("two").await?);
    let first = configuration(&[("one", &one)], "");
    let server = Server::start(folder.path(), &first).await?;
    server.until("/environments/shop.web.one/resources", |list| names(list) == ["one"]).await?;

    // A second one is recorded from now on, and the first goes on without a gap.
    write(folder.path(), &configuration(&[("one", &one), ("two", &two)], ""))?;
    server.until("/environments/shop.web.two/resources", |list| names(list) == ["two"]).await?;
    server.until_logged("clusters added: two").await?;
    let gaps = server.ask("/coverage?state=gap&cluster=one").await?;
    assert_eq!(items(&gaps).count(), 0, "{gaps:#}");

    // What is no longer recorded is in a gap before it leaves the catalog: nothing that was asked of it stays complete.
    write(folder.path(), &configuration(&[("two", &two)], ""))?;
    server.until_logged("clusters removed: one").await?;
    server.until("/clusters", |list| items(list).all(|cluster| cluster["id"] == "two")).await?;
    let head = server.ask("/clusters").await?["metadata"]["offset"].as_u64().ok_or("an offset")?;
    let mut found = Vec::new();
    for offset in head.saturating_sub(5)..=head {
        let gaps = server.ask(&format!("/coverage?state=gap&cluster=one&at={offset}")).await?;
        found.extend(items(&gaps).map(|gap| (gap["reason"].clone(), gap["message"].clone())));
    }
    let expected = (json!("restarted"), json!("the cluster was removed from the configuration"));
    assert!(found.contains(&expected), "{found:#?}");
    two.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "more", "namespace": "shop"}}));
    server.until("/environments/shop.web.two/resources", |list| names(list) == ["more", "two"]).await?;

    // It comes back, with what happened in between, and the gap ends.
    one.apply(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "missed", "namespace": "shop"}}),
    );
    write(folder.path(), &first)?;
    server.until("/environments/shop.web.one/resources", |list| names(list) == ["missed", "one"]).await?;
    server.until("/coverage?state=gap&cluster=one", |gaps| items(gaps).count() == 0).await?;

    // One that is followed otherwise begins anew.
    write(folder.path(), &first.replace("'}\n", "', exclude: [ConfigMap]}\n"))?;
    server.until_logged("clusters changed: one").await?;
    one.apply(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "newest", "namespace": "shop"}}),
    );
    server
        .until("/environments/shop.web.one/resources", |list| names(list) == ["missed", "newest", "one"])
        .await?;
    server.until("/coverage?state=gap&cluster=one", |gaps| items(gaps).count() == 0).await?;
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_environment_whose_cluster_left_the_configuration_is_unknown_since_then() -> Result<()> {
    let (one, two) = (cluster("one").await?, cluster("two").await?);
    let (both, rest) =
        (configuration(&[("one", &one), ("two", &two)], ""), configuration(&[("two", &two)], ""));
    for stopped in [true, false] {
        let folder = tempfile::tempdir()?;
        let mut server = Server::start(folder.path(), &both).await?;
        let body = json!({"project": "shop/web", "name": "kept", "targets": [{"cluster": "one", "namespace": "shop"}]});
        let (status, declared) = server.send("PUT", "/environments/shop.web.kept", "", &body).await?;
        assert!(status < 300, "{status} {declared:#}");
        let kept = "/environments/shop.web.kept";
        let state = |answer: &Value| answer["health"]["state"].clone();
        one.apply(pod("ready", 1));
        server.until(&format!("{kept}/resources"), |list| names(list) == ["one", "ready"]).await?;
        let before = server
            .until(kept, |answer| {
                state(answer) == "Healthy" && answer["metadata"]["coverage"]["complete"] == true
            })
            .await?;
        if stopped {
            server.kill().await?;
            write(folder.path(), &rest)?;
            server.start_again().await?;
        } else {
            write(folder.path(), &rest)?;
            server.until_logged("clusters removed: one").await?;
        }
        server.until("/clusters", |list| items(list).all(|cluster| cluster["id"] == "two")).await?;
        let after = server.until(kept, |answer| state(answer) == "Unknown").await?;
        for path in
            [kept.to_owned(), format!("{kept}/resources"), format!("{kept}/graph"), format!("{kept}/health")]
        {
            let answer = server.ask(&path).await?;
            assert_eq!(answer["metadata"]["coverage"]["complete"], false, "{path}: {}", answer["metadata"]);
            assert!(has_gap(&answer, "", "restarted"), "{path}: {}", answer["metadata"]);
        }
        // Until then nothing was missing.
        let then = before["metadata"]["offset"].as_u64().ok_or("an offset")?;
        let then = server.ask(&format!("{kept}?at={then}")).await?;
        assert_eq!(state(&then), "Healthy", "{then:#} {after:#}");
        server.stop().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn views_links_differences_and_quotas_change_while_the_server_runs() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let one = cluster("one").await?;
    let text = |rest: &str| configuration(&[("one", &one)], rest);
    let server = Server::start(folder.path(), &text("quotas: {environments: 1}\n")).await?;
    server.until("/environments/shop.web.one/resources", |list| names(list) == ["one"]).await?;
    let declare = |name: &'static str| {
        let server = &server;
        async move {
            let body = json!({"project": "shop/web", "name": name, "targets": [{"cluster": "one", "namespace": "shop"}]});
            server.send("PUT", &format!("/environments/shop.web.{name}"), "", &body).await
        }
    };
    let (status, refused) = declare("two").await?;
    assert_eq!((status, refused["code"].as_str()), (409, Some("quota_exceeded")), "{refused:#}");
    let page = format!("{}/environments/shop.web.one", server.url());
    assert!(!get(&page).await?.1.contains("logs.example.com"));

    write(
        folder.path(),
        &text(
            "views: [{name: production, filter: {tier: [production]}}]\n\
             links: {environments: [{label: Logs, url: 'https://logs.example.com/{namespace}'}]}\n\
             diff: {ignore: [metadata.labels]}\nquotas: {environments: 2}\n",
        ),
    )?;
    server.until_logged("changes=\"views, links, diff, quotas").await?;
    assert_eq!(metric(&server, "strandline_config_restart_required").await?, "0");
    let views = server.ask("/views").await?;
    assert_eq!(names(&views), ["production"]);
    server.ask("/overview?view=production").await?;
    assert!(get(&page).await?.1.contains("https://logs.example.com/shop"));
    let (status, declared) = declare("two").await?;
    assert!(status < 300, "{status} {declared:#}");

    // What changes only where nobody looks is no difference.
    let pod = |noise: &str| {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "one", "namespace": "shop", "labels": {"noise": noise}}})
    };
    let list = server.ask("/environments/shop.web.one/resources").await?;
    let uid = items(&list).find_map(|item| item["id"].as_str()).ok_or("a uid")?.to_owned();
    let before = list["metadata"]["offset"].as_u64().ok_or("an offset")?;
    one.apply(pod("louder"));
    let asked = format!("/resources/{uid}/diff?from={before}");
    let hidden = server.until(&asked, |diff| diff["hidden"]["ignored"].as_u64() > Some(0)).await?;
    assert_eq!(hidden["differences"].as_array().map(Vec::len), Some(0), "{hidden:#}");
    write(folder.path(), &text(""))?;
    server.until_logged("changes=\"views, links, diff, quotas").await?;
    server.until(&asked, |diff| diff["differences"].as_array().map(Vec::len) > Some(0)).await?;
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_taken_whole_or_not_at_all_and_says_what_needs_a_restart() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let one = cluster("one").await?;
    let text = |rest: &str| configuration(&[("one", &one)], rest);
    let server = Server::start(folder.path(), &text("")).await?;
    let resources = "/environments/shop.web.one/resources";
    server.until(resources, |list| names(list) == ["one"]).await?;
    assert_eq!(metric(&server, "strandline_config_restart_required").await?, "0");

    // A mistake anywhere: all stays as it was, and it is said with its place.
    write(folder.path(), &text("retention: {age: 7 elephants}\n"))?;
    server.until_logged("the previous configuration stays in effect").await?;
    server.until_logged("elephants").await?;
    let rejected = "strandline_config_reloads_total{result=\"rejected\"}";
    let begun = Instant::now();
    while metric(&server, rejected).await? == "0" {
        assert!(begun.elapsed() < Duration::from_secs(120), "never rejected: {}", server.output());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    // An editor that empties the file before it writes it ends no recording.
    write(folder.path(), "")?;
    write(folder.path(), &text("retention: {age: 7d}\nhosts: [strandline.example.com]\n"))?;
    server.until_logged("changes=\"retention\"").await?;
    server.until_logged("keys=\"hosts\"").await?;
    assert_eq!(metric(&server, "strandline_config_restart_required").await?, "1");
    assert!(!server.output().contains("clusters removed"), "{}", server.output());

    // Whoever does not want to wait asks.
    server.signal("HUP").await?;
    server.until_logged("SIGHUP: reading the configuration again").await?;
    server.until_logged("changes=\"none\"").await?;
    server.until(resources, |list| names(list) == ["one"]).await?;
    server.stop().await
}
