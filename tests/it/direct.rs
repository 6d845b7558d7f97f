//! Data directories that commands read without a server.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::json;
use strandline_clock::{Clock, SystemClock};
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::not_run::left_out;
use crate::server::{PROGRAM, Result, Server, items, run};

/// Every command that reads, each for one offset, from which it has the same bytes whoever answers.
const COMMANDS: &[&str] = &[
    "get environments",
    "get environments --limit 1 -o wide",
    "get environment shop.web.production -o yaml",
    "get pods -e shop.web.production -o json",
    "get deploy/web -n shop -o yaml",
    "get projects -o json",
    "get groups",
    "get agents",
    "get deployments -o wide",
    "get clusters -o name",
    "find pods/* --gone any",
    "search web",
    "images **/web",
    "overview --group-by region",
    "tree shop.web.production",
    "why shop.web.production",
    "onset shop.web.production",
    "changes --since 1h -o json",
    "timeline shop.web.production --since 1h",
    "health shop.web.production --since 1h",
    "history deploy/web -n shop",
    "diff shop.web.production shop.web.staging",
    "events shop.web.production",
    "events",
    "edges deploy/web -n shop",
    "coverage -o json",
    "left-behind shop.web.production",
];

/// Those of the configuration, by name.
const ENVIRONMENTS: &str = "environment/shop.web.production\nenvironment/shop.web.staging\n";

fn object(kind: &str, name: &str, more: &serde_json::Value) -> serde_json::Value {
    let version = if ["Deployment", "ReplicaSet"].contains(&kind) { "apps/v1" } else { "v1" };
    let mut object = json!({"apiVersion": version, "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}")}});
    for part in ["spec", "status", "metadata", "involvedObject", "type", "reason", "message", "lastTimestamp"]
    {
        match (&more[part], part) {
            (serde_json::Value::Null, _) => {}
            (given, "metadata") => object[part]["ownerReferences"] = given["ownerReferences"].clone(),
            (given, _) => object[part] = given.clone(),
        }
    }
    object
}

/// A server that has recorded a cluster, and the newest offset of its record.
async fn recorded(folder: &Path) -> Result<(ApiServer, Server, String)> {
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    cluster.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
    let owned = |kind: &str, name: &str| json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": format!("uid-{name}"), "controller": true}]});
    let containers = json!([{"name": "web", "image": "example.com/web:1"}]);
    let template = json!({"spec": {"containers": containers}});
    cluster.apply(object("Deployment", "web", &json!({"spec": {"replicas": 1, "template": template}})));
    cluster.apply(object(
        "ReplicaSet",
        "web-1",
        &json!({"metadata": owned("Deployment", "web"), "spec": {"replicas": 1}}),
    ));
    let waiting = json!({"phase": "Pending", "containerStatuses": [{"name": "web", "ready": false, "restartCount": 7,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "it crashes"}}}]});
    let pod = json!({"metadata": owned("ReplicaSet", "web-1"), "spec": {"containers": containers}, "status": waiting});
    cluster.apply(object("Pod", "web-1-a", &pod));
    let now = SystemClock.now().to_string();
    let warning = json!({"type": "Warning", "reason": "BackOff", "message": "restarting", "lastTimestamp": now,
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-1-a", "uid": "uid-web-1-a"}});
    cluster.apply(object("Event", "web-1-a.1", &warning));
    let config = format!(
        "clusters: [{{name: one, url: \"{}\"}}]\n\
         environments:\n\
         - {{project: shop/web, name: production, cluster: one, namespace: shop}}\n\
         - {{project: shop/web, name: staging, cluster: one, namespace: elsewhere}}\n",
        cluster.url()
    );
    let server = Server::start(folder, &config).await?;
    server.until("/environments/shop.web.production/resources", |list| items(list).count() == 3).await?;
    server.until("/environments/shop.web.production/events", |list| items(list).count() == 1).await?;
    let spec = json!({"id": 7, "project": "shop/web", "environment": "production", "status": "success", "ref": "v1",
        "sha": "0123456789abcdef", "user": "alice"});
    let (code, answer) = server.send("POST", "/deployments", "", &spec).await?;
    assert_eq!(code, 201, "{answer}");
    let list = server.until("/deployments", |list| items(list).count() == 1).await?;
    Ok((cluster, server, list["metadata"]["offset"].to_string()))
}

/// Runs a command against a data directory.
async fn direct(command: &str, data: &Path) -> Result<Output> {
    let words = command.split(' ');
    let command = Command::new(PROGRAM)
        .args(words)
        .arg("--data")
        .arg(data)
        // None of these is asked, or sent anywhere.
        .env("STRANDLINE_SERVER", "http://127.0.0.1:1")
        .env("STRANDLINE_TOKEN", "sl_canary")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output();
    Ok(command.await?)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command says that fails.
async fn refused(command: &str, data: &Path) -> Result<String> {
    let output = direct(command, data).await?;
    assert!(!output.status.success() && output.stdout.is_empty(), "{command}: {}", text(&output.stdout));
    Ok(text(&output.stderr))
}

/// A file: its path, its bytes, its mode, and when it was changed.
type Kept = (PathBuf, Vec<u8>, u32, std::time::SystemTime);

/// Every file of a folder.
fn files(folder: &Path) -> Result<Vec<Kept>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let (path, entry) = (entry.as_ref().map_err(|error| error.to_string())?.path(), entry?);
        let about = entry.metadata()?;
        files.push((path.clone(), std::fs::read(path)?, about.permissions().mode(), about.modified()?));
    }
    files.sort();
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir(to)?;
    for (path, bytes, ..) in files(from)? {
        std::fs::write(to.join(path.file_name().unwrap_or_default()), bytes)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_answers_every_command_as_its_server_does() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (cluster, mut server, offset) = recorded(folder.path()).await?;
    let data = server.data();
    let mut expected = Vec::new();
    for command in COMMANDS {
        let command = format!("{command} --at {offset}");
        let words: Vec<&str> = command.split(' ').collect();
        expected.push((server.cli(&words).await.map_err(|error| format!("{command}: {error}"))?, command));
    }
    let empty: Vec<_> =
        expected.iter().filter(|(printed, _)| printed.is_empty()).map(|(_, command)| command).collect();
    assert!(empty.len() < 4, "there is something to answer: {empty:?}");
    // Beside the server, which goes on recording meanwhile.
    for (round, (printed, command)) in expected.iter().enumerate() {
        cluster.apply(object("Pod", &format!("more-{round}"), &json!({})));
        let output = direct(command, &data).await?;
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), *printed, "{command} beside the server");
        assert!(!text(&output.stderr).contains("note: "), "{}", text(&output.stderr));
    }
    let all = expected.len() + 3;
    server
        .until("/environments/shop.web.production/resources?limit=500", |list| items(list).count() == all)
        .await?;

    // What a server leaves that was killed, and what one leaves that has stopped.
    server.kill().await?;
    answers_alike(&expected, &data).await?;
    server.start_again().await?;
    server.stop().await?;
    answers_alike(&expected, &data).await
}

/// A directory that no server uses answers these commands with these texts, says where its record ends, and stays as it is.
async fn answers_alike(expected: &[(String, String)], data: &Path) -> Result<()> {
    let before = files(data)?;
    for (printed, command) in expected {
        let output = direct(command, data).await?;
        let said = text(&output.stderr);
        assert_eq!(text(&output.stdout), *printed, "{command}: {said}");
        assert_eq!(said.matches("note: no server uses").count(), 1, "{command}: {said}");
        assert!(!said.contains("answers lack"), "{command}: {said}");
    }
    assert!(files(data)? == before, "nothing is written there");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_is_read_where_nothing_can_be_written() -> Result<()> {
    let inside = |data: &Path| {
        let mut sandbox = Command::new("bwrap");
        sandbox.args(["--dev-bind", "/", "/", "--ro-bind"]).arg(data).arg(data).stdin(Stdio::null());
        sandbox
    };
    let folder = tempfile::tempdir()?;
    if !inside(folder.path()).arg("true").output().await.is_ok_and(|output| output.status.success()) {
        let test = "a_data_directory_is_read_where_nothing_can_be_written";
        left_out(test, "bwrap is missing or may mount nothing; install bubblewrap");
        return Ok(());
    }
    let (_cluster, mut server, _) = recorded(folder.path()).await?;
    let data = server.data();
    server.kill().await?;
    let list = || async {
        let mut command = inside(&data);
        command.arg(PROGRAM).args(["get", "environments", "-o", "name", "--data"]).arg(&data);
        let output = command.output().await?;
        assert_eq!(text(&output.stdout), ENVIRONMENTS, "{}", text(&output.stderr));
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    };
    list().await?;
    server.start_again().await?;
    server.stop().await?;
    list().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_directly_is_refused_with_what_mends_it() -> Result<()> {
    const LIST: &str = "get environments -o name";
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name);
    std::fs::create_dir(place("empty"))?;
    std::fs::write(place("file"), "")?;
    for name in ["nowhere", "empty", "file"] {
        let said = refused(LIST, &place(name)).await?;
        assert!(said.contains("is not a data directory") && said.contains("hint: "), "{said}");
    }
    assert!(files(&place("empty"))?.is_empty());

    let (cluster, mut server, _) = recorded(folder.path()).await?;
    let data = server.data();
    run(&["backup"], &[("--data", &data), ("--to", &place("backup"))]).await?;
    server.kill().await?;
    copy(&data, &place("incomplete"))?;
    std::fs::remove_file(place("incomplete/log.db-shm"))?;
    let said = refused(LIST, &place("incomplete")).await?;
    assert!(said.contains("it is an incomplete copy") && said.contains("strandline backup"), "{said}");
    assert!(!place("incomplete/log.db-shm").exists());
    server.start_again().await?;
    cluster.apply(object("Pod", "later", &json!({})));
    let resources = "/environments/shop.web.production/resources";
    server.until(resources, |list| items(list).count() == 4).await?;
    server.stop().await?;

    // A log of an earlier format is not migrated.
    std::fs::create_dir(place("earlier"))?;
    crate::kept_log::unpack(&place("earlier"))?;
    let earlier = place("earlier/data");
    let before = files(&earlier)?;
    let said = refused(LIST, &earlier).await?;
    assert!(said.contains("of an older version") && said.contains("which migrates it"), "{said}");
    assert!(files(&earlier)? == before);

    // A backup is the log alone: its view is built by the command that the error names.
    run(&["restore"], &[("--from", &place("backup")), ("--data", &place("restored"))]).await?;
    let (restored, old) = (place("restored"), place("old"));
    let before = files(&restored)?;
    let said = refused(LIST, &restored).await?;
    let mended = format!("strandline rebuild --data {}", restored.display());
    assert!(said.contains("no view.db") && said.contains(&mended), "{said}");
    assert!(files(&restored)? == before, "nothing is built without being asked");
    run(&["rebuild"], &[("--data", &restored)]).await?;
    let output = direct(LIST, &restored).await?;
    assert_eq!(text(&output.stdout), ENVIRONMENTS, "{}", text(&output.stderr));

    // The number in SQLite's header by which a view tells the version that built it.
    copy(&restored, &old)?;
    let mut view = std::fs::read(old.join("view.db"))?;
    view[60..64].copy_from_slice(&7_u32.to_be_bytes());
    std::fs::write(old.join("view.db"), view)?;
    let said = refused(LIST, &old).await?;
    assert!(said.contains("another version") && said.contains("strandline rebuild --data"), "{said}");

    // Damage in the view shows on reading, and so does what mends it.
    let damaged = place("damaged");
    copy(&restored, &damaged)?;
    let mut view = std::fs::read(damaged.join("view.db"))?;
    view[4_096 * 2..].fill(0x5a);
    std::fs::write(damaged.join("view.db"), view)?;
    let said = refused(LIST, &damaged).await?;
    assert!(said.contains(&format!("strandline rebuild --data {}", damaged.display())), "{said}");

    // A view that lacks the newest changes says so.
    let behind = place("behind");
    copy(&restored, &behind)?;
    for name in ["log.db", "log.head"] {
        std::fs::copy(data.join(name), behind.join(name))?;
    }
    let output = direct("get environments", &behind).await?;
    let said = text(&output.stderr);
    assert!(
        output.status.success()
            && said.contains("answers lack its last ")
            && said.contains("strandline rebuild"),
        "{said}"
    );
    run(&["rebuild"], &[("--data", &behind)]).await?;
    let said = text(&direct("get environments", &behind).await?.stderr);
    assert!(said.contains("its record ends at") && !said.contains("answers lack"), "{said}");

    // What a server is needed for.
    for (command, why) in [
        ("get environments --watch", "cannot be used with"),
        ("get environments --server http://127.0.0.1:1", "cannot be used with"),
        ("get environments --context prod", "cannot be used with"),
        ("get environments --token sl_1", "cannot be used with"),
        ("open shop.web.production", "pages are served by a server"),
        ("wait shop.web.production --for=health=Healthy", "unexpected argument"),
        ("forget --cluster one --kind pod", "unexpected argument"),
        ("relist", "unexpected argument"),
        ("login", "unexpected argument"),
    ] {
        let output = direct(command, &behind).await?;
        let said = text(&output.stderr);
        assert!(
            output.status.code() == Some(2) && said.contains(why) && said.contains("--data"),
            "{command}: {said}"
        );
    }
    let said = refused("get environment nope", &behind).await?;
    assert!(said.contains("nope"), "{said}");
    Ok(())
}
