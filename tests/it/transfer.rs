//! The log out of one server and into another, and history from before any, by the program as its user runs it.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::server::{PROGRAM, Result, Server, assert_nowhere, items};

const RESOURCES: &str = "/environments/shop.web.production/resources?limit=500";
const CANARY: &str = "canary-5f4dcc3b5aa765d61d8327deb882cf99";

/// More memory than an import, an export or a rebuild may ever take, whatever it reads.
const MEMORY_MAX: u64 = 128 << 20;

/// One cluster at an address, with one environment in it.
pub(crate) fn config(url: &str) -> String {
    format!(
        "clusters: [{{name: one, url: \"{url}\"}}]\n\
         environments: [{{project: shop/web, name: production, cluster: one, namespace: shop}}]\n"
    )
}

fn pod(n: usize, round: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("web-{n}"), "namespace": "shop"},
        "spec": {"containers": [{"name": "web", "image": format!("example.com/web:{round}")}]},
        "status": {"phase": "Running"}})
}

/// Runs the program in a folder; what it printed, or why it failed.
async fn run(folder: &Path, arguments: &str) -> Result<String> {
    let output = Command::new(PROGRAM)
        .args(arguments.split(' '))
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .await?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_a_running_server_is_served_by_another() -> Result<()> {
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &config(&cluster.url())).await?;
    for round in 0..5 {
        for n in 0..20 {
            cluster.apply(pod(n, round));
        }
    }
    server.until(RESOURCES, |list| items(list).count() == 20).await?;
    run(folder.path(), "export --data data -o log.ndjson.zst").await?;
    let again = run(folder.path(), "export --data data -o log.ndjson.zst").await.expect_err("it is there");
    assert!(again.to_string().contains("already exists"), "{again}");
    let refused = run(folder.path(), "import log.ndjson.zst --data data").await.expect_err("it is in use");
    assert!(refused.to_string().contains("in use"), "{refused}");

    let other = folder.path().join("other");
    let told = run(folder.path(), "import log.ndjson.zst --data other/data --summary json").await?;
    let told: Value = serde_json::from_str(&told)?;
    let head = told["head"].as_u64().ok_or("a head")?;
    let second = Server::start(&other, &config(&cluster.url())).await?;
    let question = format!("{RESOURCES}&at={head}");
    let [was, is] = [server.ask(&question).await?, second.ask(&question).await?];
    assert_eq!(is["items"], was["items"]);
    // It lists anew, and between the first server's last word and that list nobody watched.
    let restarted = |gap: &Value| gap["reason"] == "restarted" && gap["until"].is_string();
    let gaps = |answer: &Value| answer["items"][0]["gaps"].as_array().cloned().unwrap_or_default();
    let coverage =
        second.until("/coverage?cluster=one&kind=Pod", |answer| gaps(answer).iter().any(restarted)).await?;
    let gap = gaps(&coverage).into_iter().find(restarted).ok_or("a gap")?;
    assert!(gap["since"].as_str() < gap["until"].as_str(), "{gap:#}");
    second.stop().await?;
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn history_from_before_is_asked_for_like_any_other() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let meta = |name: &str, version: u64| json!({"name": name, "namespace": "shop", "uid": name, "resourceVersion": version.to_string()});
    let list = |items: Vec<Value>| json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let web = |version: u64, image: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta("web", version),
        "spec": {"containers": [{"name": "web", "image": image}]}, "status": {"phase": "Running"}})
    };
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta("s", 2), "data": {"password": CANARY}});
    std::fs::write(folder.path().join("a-2026-01-01T09-00.json"), list(vec![web(1, "web:1"), secret]))?;
    let audit = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse",
        "stage": "ResponseComplete", "verb": "patch", "user": {"username": "alice"}, "userAgent": "kubectl/v1",
        "objectRef": {"resource": "pods", "namespace": "shop", "name": "web", "apiVersion": "v1"},
        "responseStatus": {"code": 200}, "responseObject": web(5, "web:2"), "stageTimestamp": "2026-01-01T10:00:00Z"});
    std::fs::write(folder.path().join("audit.log"), format!("{audit}\n"))?;
    let data = "--cluster one --data server/data";
    let nameless = run(folder.path(), "import a-2026-01-01T09-00.json --data server/data").await;
    assert!(nameless.expect_err("no cluster").to_string().contains("--cluster"));
    run(folder.path(), &format!("import a-2026-01-01T09-00.json {data} --complete")).await?;
    let told = run(folder.path(), &format!("import audit.log {data}")).await?;
    assert!(told.contains("1 changes written") || told.contains("2 changes written"), "{told}");
    let late = run(folder.path(), &format!("import a-2026-01-01T09-00.json {data}")).await;
    assert!(late.expect_err("it is older").to_string().contains("empty"));
    assert_nowhere(&folder.path().join("server"), &[CANARY])?;

    let server = Server::start(&folder.path().join("server"), &config("http://127.0.0.1:9")).await?;
    let history = server.until("/resources/web/history", |answer| items(answer).count() == 2).await;
    // What was there before any environment was declared belonged to none; who sees everything sees it all the same.
    let history = history?;
    assert_eq!(history["items"][0]["changed_by"]["manager"], "alice (kubectl)", "{history:#}");
    assert_eq!(history["items"][0]["observed_at"], "2026-01-01T10:00:00Z");
    server.stop().await
}

/// The most memory that a child of ours has taken, while it runs.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// Runs the program, with as much memory as it may take; tells how much that was. With `end` it is killed as soon as that
/// says so.
async fn watched(folder: &Path, arguments: &str, end: impl Fn() -> bool) -> Result<u64> {
    let mut child = Command::new(PROGRAM)
        .args(arguments.split(' '))
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let pid = child.id().ok_or("it runs")?;
    let mut most = 0;
    loop {
        most = peak(pid).unwrap_or(0).max(most);
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(most) } else { Err(format!("{arguments}: {status}").into()) };
        }
        if end() {
            child.kill().await?;
            return Ok(most);
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

/// How far a view is that is being built.
fn checkpoint(view: &Path) -> Option<i64> {
    let view =
        rusqlite::Connection::open_with_flags(view, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    view.query_row("SELECT \"offset\" FROM checkpoint", [], |row| row.get(0)).ok()
}

/// Audit logs of many changes of large objects, far more than the program may hold at once.
fn write_audit(path: &Path, events: usize) -> Result<()> {
    use std::io::Write;
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut random: u64 = 11;
    for n in 0..events {
        // Texts that pack badly, as certificates and checksums do.
        let noise: String = (0..2800)
            .map(|_| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                format!("{:04x}", random >> 48)
            })
            .collect();
        let name = format!("settings-{}", n % 2000);
        let time = format!("2026-01-01T{:02}:{:02}:{:02}Z", n / 3600, n / 60 % 60, n % 60);
        let event = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse",
            "stage": "ResponseComplete", "verb": "update", "user": {"username": "alice"},
            "objectRef": {"resource": "configmaps", "namespace": "shop", "name": name, "apiVersion": "v1"},
            "responseStatus": {"code": 200}, "stageTimestamp": time,
            "responseObject": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": noise, "round": n.to_string()},
                "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": (n + 1).to_string()}}});
        writeln!(file, "{event}")?;
    }
    Ok(file.flush()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_stays_flat_and_a_killed_build_goes_on() -> Result<()> {
    const EVENTS: usize = 14_000;
    let folder = tempfile::tempdir()?;
    write_audit(&folder.path().join("audit.log"), EVENTS)?;
    let mut peaks = Vec::new();
    // An import that is killed leaves nothing, and can be made again.
    let wal = folder.path().join("data/log.db-wal");
    let grown = || std::fs::metadata(&wal).is_ok_and(|file| file.len() > 8 << 20);
    peaks.push(watched(folder.path(), "import audit.log --cluster one --data data", grown).await?);
    assert_eq!(strandline_log::LogReader::open(&folder.path().join("data"))?.head()?.get(), 0);
    for arguments in [
        "import audit.log --cluster one --data data",
        "export --data data -o log.ndjson.zst",
        "import log.ndjson.zst --data again",
        "backup --data data --to backup",
    ] {
        peaks.push(watched(folder.path(), arguments, || false).await?);
    }
    // A build that is killed over and over comes to its end all the same.
    let building = folder.path().join("again/view.building.db");
    let mut reached = 0;
    for _ in 0..3 {
        let further = || checkpoint(&building).is_some_and(|checkpoint| checkpoint > reached);
        peaks.push(watched(folder.path(), "rebuild --data again", further).await?);
        reached = checkpoint(&building).ok_or("it was killed on its way")?;
    }
    peaks.push(watched(folder.path(), "rebuild --data again", || false).await?);
    let size = std::fs::metadata(folder.path().join("audit.log"))?.len();
    assert!(size > MEMORY_MAX && peaks.iter().all(|peak| *peak < MEMORY_MAX), "{peaks:?} of {size}");
    let told = run(folder.path(), "rebuild --data again").await?;
    assert!(told.contains(&format!("up to offset {} ", EVENTS + 1)), "{told}");
    Ok(())
}
