//! One cluster that means harm beside one that is sound: the sound one is recorded as if it were alone, the other
//! shows as a gap that says why, and memory stays bounded.

use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::hostile::{Hostile, Manner};
use crate::server::{Result, Server, items};

const RESOURCES: &str = "/environments/shop.web.production/resources?limit=500";

/// More memory than the program may ever have taken.
const MEMORY_MAX: u64 = 400 << 20;

pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A sound cluster `good`, a hostile cluster `bad`, and the program that watches both.
struct Beside {
    good: ApiServer,
    bad: Hostile,
    server: Server,
    _folder: tempfile::TempDir,
}

impl Beside {
    async fn start(manner: Manner, everywhere: bool) -> Result<Self> {
        let good = ApiServer::start("good", builtin_kinds()).await?;
        let bad = Hostile::start(manner, everywhere).await?;
        good.apply(pod("before"));
        let folder = tempfile::tempdir()?;
        let config = format!(
            "clusters:\n  - name: bad\n    url: {}\n  - name: good\n    url: {}\nenvironments:\n  - project: shop/web\n    \
             name: production\n    cluster: good\n    namespace: shop\n",
            bad.url(),
            good.url()
        );
        let server = Server::start(folder.path(), &config).await?;
        server.until(RESOURCES, |list| items(list).count() == 1).await?;
        Ok(Beside { good, bad, server, _folder: folder })
    }

    /// Once the bad cluster has done harm, a change of the good one still arrives.
    async fn the_good_goes_on(&self) -> Result<()> {
        while self.bad.harmed() == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        self.good.apply(pod("after"));
        self.server.until(RESOURCES, |list| items(list).count() == 2).await?;
        Ok(())
    }

    /// The bad cluster is not watched, and a message says so with this word in it.
    async fn the_bad_is_a_gap(&self, reason: &str, word: &str) -> Result<()> {
        let told = |answer: &Value| {
            let bad = items(answer).find(|cluster| cluster["id"] == "bad").cloned().unwrap_or_default();
            let gaps = bad["gaps"].as_array().cloned().unwrap_or_default();
            let says = |gap: &Value| gap["message"].as_str().is_some_and(|message| message.contains(word));
            bad["watched"] == false && gaps.iter().any(|gap| gap["reason"] == reason && says(gap))
        };
        self.server.until("/clusters", told).await?;
        Ok(())
    }

    async fn the_bad_is_watched(&self) -> Result<()> {
        let told = |answer: &Value| {
            items(answer).any(|cluster| cluster["id"] == "bad" && cluster["watched"] == true)
        };
        self.server.until("/clusters", told).await?;
        Ok(())
    }

    async fn end(self) -> Result<()> {
        let peak = self.server.peak_memory()?;
        assert!(peak < MEMORY_MAX, "{} MB", peak >> 20);
        self.server.stop().await
    }
}

/// The good goes on, the bad is a gap, and both end well.
async fn survives(manner: Manner, everywhere: bool, reason: &str, word: &str) -> Result<()> {
    let beside = Beside::start(manner, everywhere).await?;
    beside.the_good_goes_on().await?;
    beside.the_bad_is_a_gap(reason, word).await?;
    beside.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_never_end_harm_nobody_else() -> Result<()> {
    let beside = Beside::start(Manner::NewPages, false).await?;
    beside.the_good_goes_on().await?;
    // Long enough for whoever gathers pages to have gathered many.
    while beside.bad.harmed() < 50 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    beside.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_never_ends_is_a_gap() -> Result<()> {
    survives(Manner::NewPages, false, "listing", "first list").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_repeats_itself_is_a_gap() -> Result<()> {
    survives(Manner::SamePages, false, "invalid", "list").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_one_huge_object_is_a_gap() -> Result<()> {
    survives(Manner::LongList, false, "invalid", "more than").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_with_one_huge_line_is_a_gap() -> Result<()> {
    survives(Manner::LongWatch, false, "invalid", "more than").await
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_no_lists_are_gaps() -> Result<()> {
    for (kind, text) in [
        ("application/json", "{\"metadata\": {\"resourceVersion\": "),
        ("application/json", ""),
        ("application/json", "[]"),
        ("application/json", "{\"kind\": \"PodList\", \"items\": []}"),
        ("text/html", "<html>please sign in</html>"),
    ] {
        println!("{kind} {text}");
        survives(Manner::Says(kind, text), false, "invalid", "").await?;
        survives(Manner::Says(kind, text), true, "invalid", "").await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_never_answered_is_a_gap() -> Result<()> {
    survives(Manner::Silent, false, "unreachable", "answer").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_never_answers_is_a_gap() -> Result<()> {
    survives(Manner::Silent, true, "unreachable", "answer").await
}

/// The real API server has a certificate of its own making, which nobody vouches for.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_nobody_vouches_for_is_a_gap() -> Result<()> {
    if skip_without_control_plane("a_certificate_that_nobody_vouches_for_is_a_gap") {
        return Ok(());
    }
    let (plane, folder) = (ControlPlane::start().await?, tempfile::tempdir()?);
    let trusted = std::fs::read_to_string(plane.kubeconfig_path())?;
    let (before, after) = trusted.split_once(", certificate-authority: ").ok_or("it names an authority")?;
    let (_, rest) = after.split_once('}').ok_or("it ends")?;
    let distrusted = folder.path().join("distrusted");
    std::fs::write(&distrusted, format!("{before}}}{rest}"))?;
    let config = format!(
        "clusters:\n  - name: bad\n    kubeconfig: {}\n  - name: good\n    kubeconfig: {}\n",
        distrusted.display(),
        plane.kubeconfig_path().display()
    );
    let server = Server::start(folder.path(), &config).await?;
    let told = |answer: &Value, cluster: &str| {
        let found = items(answer).find(|found| found["id"] == cluster).cloned().unwrap_or_default();
        (found["watched"] == true, found["gaps"].to_string())
    };
    server.until("/clusters", |answer| told(answer, "good").0).await?;
    let answer = server.until("/clusters", |answer| told(answer, "bad").1.contains("certificate")).await?;
    assert!(!told(&answer, "bad").0, "{answer:#}");
    server.stop().await?;
    plane.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_refuses_is_a_gap_until_it_no_longer_does() -> Result<()> {
    for (status, reason) in
        [(429, "unreachable"), (401, "unauthorized"), (403, "forbidden"), (500, "unreachable")]
    {
        println!("{status}");
        let beside = Beside::start(Manner::Refuses(status), false).await?;
        beside.the_good_goes_on().await?;
        beside.the_bad_is_a_gap(reason, "not now").await?;
        beside.bad.set(Manner::Good);
        beside.the_bad_is_watched().await?;
        beside.end().await?;
    }
    Ok(())
}
