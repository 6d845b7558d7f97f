//! What goes wrong before or beside the work itself: each a clear message and exit code, and nothing lost.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::server::{PROGRAM, Result, Server, get, items};

/// Runs `serve` until it ends by itself; tells its exit code and what it printed.
pub(crate) async fn refused(folder: &Path, config: &str, listen: &str) -> Result<(i32, String)> {
    std::fs::write(folder.join("config.yaml"), config)?;
    let run = Command::new(PROGRAM)
        .args(["serve", "--listen", listen, "--config"])
        .arg(folder.join("config.yaml"))
        .arg("--data")
        .arg(folder.join("data"))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(60), run).await??;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.code().unwrap_or(-1), printed))
}

/// One simulated cluster with one Pod.
pub(crate) async fn cluster() -> Result<ApiServer> {
    let server = ApiServer::start("one", builtin_kinds()).await?;
    server.apply(pod("web-0", 0));
    Ok(server)
}

pub(crate) fn pod(name: &str, round: usize) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "annotations": {"round": round.to_string()}},
        "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

pub(crate) fn config(server: &ApiServer) -> String {
    format!(
        "clusters:\n  - name: one\n    url: {}\nenvironments:\n  - project: shop/web\n    name: production\n    \
         cluster: one\n    namespace: shop\n",
        server.url()
    )
}

pub(crate) const RESOURCES: &str = "/environments/shop.web.production/resources";

pub(crate) async fn wait_for_pod(server: &Server) -> Result<()> {
    server.until(RESOURCES, |list| items(list).count() == 1).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_named_with_its_line() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = "clusters:\n  - name: one\n    url: http://127.0.0.1:1\n    regoin: eu\n";
    let (code, printed) = refused(folder.path(), config, "127.0.0.1:0").await?;
    assert_eq!(code, 2, "{printed}");
    assert!(printed.contains("config.yaml:4:5: unknown key"), "{printed}");
    assert!(printed.contains("hint: ") && printed.contains("region"), "{printed}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_context_is_a_gap_that_names_those_there_are() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, simulated.kubeconfig())?;
    let config = format!(
        "clusters:\n  - name: one\n    kubeconfig: {}\n    context: elsewhere\n",
        kubeconfig.display()
    );
    let server = Server::start(folder.path(), &config).await?;
    let told = |answer: &serde_json::Value| {
        let gap = &answer["items"][0]["gaps"][0];
        let names = |text: &str| gap["message"].as_str().is_some_and(|message| message.contains(text));
        gap["reason"] == "credentials" && names("`elsewhere`") && names("it has one")
    };
    server.until("/clusters", told).await?;
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_cannot_be_read_are_a_gap_of_their_cluster_until_they_can() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let kubeconfig = folder.path().join("kubeconfig");
    let wrong_certificate = format!(
        "{{clusters: [{{name: c, cluster: {{server: \"{}\", certificate-authority-data: \"!\"}}}}], \
         users: [], contexts: [{{name: c, context: {{cluster: c, user: \"\"}}}}], current-context: c}}",
        simulated.url().replace("http:", "https:")
    );
    let config = format!(
        "clusters:\n  - name: bad\n    kubeconfig: {}\n  - name: good\n    url: {}\n",
        kubeconfig.display(),
        simulated.url()
    );
    let server = Server::start(folder.path(), &config).await?;
    let cluster = |answer: &serde_json::Value, name: &str| {
        let items = answer["items"].as_array().cloned().unwrap_or_default();
        items.into_iter().find(|cluster| cluster["id"] == name).unwrap_or_default()
    };
    let gap = |answer: &serde_json::Value| {
        let gap = &cluster(answer, "bad")["gaps"][0];
        let named = gap["message"].as_str().is_some_and(|said| said.contains(&*kubeconfig.to_string_lossy()));
        gap["reason"] == "credentials" && named
    };
    server.until("/clusters", gap).await?;
    server.until("/clusters", |answer| cluster(answer, "good")["watched"] == true).await?;
    for text in ["clusters: [", &wrong_certificate] {
        std::fs::write(&kubeconfig, text)?;
        let answer = server.until("/clusters", gap).await?;
        assert_eq!(cluster(&answer, "good")["watched"], true, "{answer:#}");
    }
    std::fs::write(&kubeconfig, simulated.kubeconfig())?;
    server.until("/clusters", |answer| cluster(answer, "bad")["watched"] == true).await?;
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_cluster_is_a_gap_and_no_reason_to_stop() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = "clusters:\n  - name: gone\n    url: http://127.0.0.1:1\n";
    let server = Server::start(folder.path(), config).await?;
    let unreachable = |answer: &serde_json::Value| {
        let cluster = &answer["items"][0];
        cluster["watched"] == false && cluster["gaps"][0]["reason"] == "unreachable"
    };
    server.until("/clusters", unreachable).await?;
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_and_a_directory_in_use_are_told() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let (code, printed) = refused(folder.path(), &config(&simulated), &address).await?;
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains(&address) && printed.contains("hint: "), "{printed}");
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    let (code, printed) = refused(folder.path(), &config(&simulated), "127.0.0.1:0").await?;
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("in use by process"), "{printed}");
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_view_is_built_anew_and_a_damaged_log_without_a_view_refused_untouched() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    let before = server.ask(RESOURCES).await?["items"].clone();
    let data = server.data();
    server.stop().await?;

    std::fs::write(data.join("view.db"), vec![0x5a; 64 * 1024])?;
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    assert_eq!(server.ask(RESOURCES).await?["items"], before);
    server.stop().await?;

    std::fs::remove_file(data.join("view.db"))?;
    let mut log = std::fs::read(data.join("log.db"))?;
    let half = log.len() / 2;
    log[half..half + 4096].fill(0x5a);
    std::fs::write(data.join("log.db"), &log)?;
    let (code, printed) = refused(folder.path(), &config(&simulated), "127.0.0.1:0").await?;
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("damaged") || printed.contains("malformed"), "{printed}");
    assert!(printed.contains("hint: ") && printed.contains("backup"), "{printed}");
    assert!(std::fs::read(data.join("log.db"))? == log, "the damaged log was left as it was");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_a_newer_version_is_refused() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    let data = server.data();
    server.stop().await?;
    let log = rusqlite::Connection::open(data.join("log.db"))?;
    log.execute_batch("UPDATE refinery_schema_history SET version = 77 WHERE version = 2")?;
    drop(log);
    let (code, printed) = refused(folder.path(), &config(&simulated), "127.0.0.1:0").await?;
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("schema 77") && printed.contains("hint: "), "{printed}");
    Ok(())
}

/// A small disk of its own, mounted for the test.
pub(crate) struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// From here on nothing is writable to it.
    pub(crate) fn seal(&self) -> bool {
        let remount = ["-o", "remount,ro"];
        let done =
            std::process::Command::new("mount").args(remount).arg(self.0).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    }

    pub(crate) fn mount(at: &'a Path) -> Option<Self> {
        let mount = ["-t", "tmpfs", "-o", "size=24m", "tmpfs"];
        let done = std::process::Command::new("mount").args(mount).arg(at).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success()).then_some(SmallDisk(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_makes_watchers_wait_and_loses_nothing() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        eprintln!(
            "NOT RUN: a_full_disk_makes_watchers_wait_and_loses_nothing: a tmpfs cannot be mounted here"
        );
        return Ok(());
    };
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    let filler = folder.path().join("filler");
    // Everything that is left goes to the filler; writing it to the brim fails, as it should.
    let _ = std::fs::write(&filler, vec![7; 25 * 1024 * 1024]);
    let rounds = 400;
    for round in 1..=rounds {
        simulated.apply(pod("web-0", round));
    }
    let url = server.url().to_owned();
    let mut told = None;
    for _ in 0..600 {
        let (status, body) = get(&format!("{url}/readyz")).await?;
        if status == 503 && body.contains("no space left") {
            told = Some(body);
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(told.is_some(), "{}", server.output());
    assert_eq!(items(&server.ask(RESOURCES).await?).count(), 1, "questions are still answered");
    std::fs::remove_file(&filler)?;
    let uid = server.ask(RESOURCES).await?["items"][0]["id"].as_str().unwrap_or_default().to_owned();
    let last = |detail: &serde_json::Value| {
        detail["object"]["metadata"]["annotations"]["round"] == rounds.to_string().as_str()
    };
    server.until(&format!("/resources/{uid}"), last).await?;
    let mut versions = 0;
    let mut path = format!("/resources/{uid}/history?limit=500");
    loop {
        let page = server.ask(&path).await?;
        versions += items(&page).count();
        let Some(next) = page["metadata"]["continue"].as_str() else { break };
        path = format!("/resources/{uid}/history?limit=500&continue={next}");
    }
    assert_eq!(versions, rounds + 1, "every state of the Pod was recorded");
    server.stop().await?;
    drop(disk);
    Ok(())
}
