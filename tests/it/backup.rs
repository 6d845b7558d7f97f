//! Backups of a server that is busy, as its user makes and restores them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use crate::server::{Result, Server, items, run};
use crate::transfer::config;

/// Objects that change all the time.
const OBJECTS: usize = 200;

/// What is asked of both servers.
const QUESTIONS: [&str; 5] = [
    "/environments?",
    "/environments/shop.web.production/resources?limit=500&",
    "/environments/shop.web.production/graph?limit=500&",
    "/environments/shop.web.production/health?",
    "/overview?",
];

fn pod(n: usize, round: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("web-{n}"), "namespace": "shop"},
        "spec": {"containers": [{"name": "web", "image": format!("example.com/web:{round}")}]},
        "status": {"phase": if (n + round).is_multiple_of(7) { "Failed" } else { "Running" }}})
}

/// An answer without what tells of now: how far the log has come, and for how long something lasts.
fn at_that_moment(mut answer: Value) -> Value {
    if let Some(metadata) = answer["metadata"].as_object_mut() {
        metadata.retain(|name, _| !name.starts_with("lag") && name != "head");
    }
    answer
}

/// Changes all objects, over and over, until it is told to end.
fn keep_busy(cluster: &Arc<ApiServer>) -> (Arc<AtomicBool>, std::thread::JoinHandle<()>) {
    let (done, cluster) = (Arc::new(AtomicBool::new(false)), Arc::clone(cluster));
    let told = Arc::clone(&done);
    let work = move || {
        for round in 0.. {
            for n in 0..OBJECTS {
                if told.load(Ordering::Acquire) {
                    return;
                }
                cluster.apply(pod(n, round));
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        }
    };
    (done, std::thread::spawn(work))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_busy_server_answers_as_the_server_did() -> Result<()> {
    let cluster = Arc::new(ApiServer::start("one", builtin_kinds()).await?);
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &config(&cluster.url())).await?;
    let (done, busy) = keep_busy(&cluster);
    server.until(QUESTIONS[1], |list| items(list).count() == OBJECTS).await?;
    let mut backups: Vec<(PathBuf, u64)> = Vec::new();
    for n in 0..3 {
        let to = folder.path().join(format!("backup-{n}"));
        let data = server.data();
        let told = run(&["backup", "-o", "json"], &[("--data", &data), ("--to", &to)]).await?;
        let told: Value = serde_json::from_str(&told)?;
        backups.push((to, told["offset"].as_u64().ok_or("an offset")?));
    }
    done.store(true, Ordering::Release);
    busy.join().map_err(|_| "the cluster goes on")?;
    assert!(backups.windows(2).all(|pair| pair[0].1 < pair[1].1), "it was busy meanwhile: {backups:?}");

    for (n, (backup, head)) in backups.iter().enumerate() {
        let other = folder.path().join(format!("restored-{n}"));
        std::fs::create_dir(&other)?;
        run(&["restore"], &[("--from", backup), ("--data", &other.join("data"))]).await?;
        // Nobody answers there, so that nothing is recorded that the first server did not record.
        let restored = Server::start(&other, &config("http://127.0.0.1:9")).await?;
        for question in QUESTIONS {
            let question = format!("{question}at={head}");
            let [was, is] = [server.ask(&question).await?, restored.ask(&question).await?];
            assert_eq!(at_that_moment(is), at_that_moment(was), "{question}");
        }
        restored.stop().await?;
    }
    server.stop().await
}
