//! A view that is built anew while it answers, as its user asks for it.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use crate::server::{Result, Server, get, items};

const RESOURCES: &str = "/environments/shop.web.production/resources?limit=500";

fn pod(n: usize, round: usize) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("web-{n}"), "namespace": "shop"},
        "spec": {"containers": [{"name": "web", "image": format!("example.com/web:{round}")}]},
        "status": {"phase": "Running"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_is_built_anew_while_it_answers_and_follows() -> Result<()> {
    let cluster = Arc::new(ApiServer::start("one", builtin_kinds()).await?);
    let folder = tempfile::tempdir()?;
    let config = format!(
        "clusters: [{{name: one, url: \"{}\"}}]\n\
         environments: [{{project: shop/web, name: production, cluster: one, namespace: shop}}]\n",
        cluster.url()
    );
    let server = Server::start(folder.path(), &config).await?;
    for round in 0..20 {
        for n in 0..100 {
            cluster.apply(pod(n, round));
        }
    }
    server.until(RESOURCES, |list| items(list).count() == 100).await?;
    // It is held open, so that no other file can get its number.
    let former = File::open(server.data().join("view.db"))?;

    // Meanwhile changes come, and every question is answered by one view or the other, none of which goes back.
    let (done, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let asking = {
        let (done, asked, url) =
            (Arc::clone(&done), Arc::clone(&asked), format!("{}/api/v1{RESOURCES}", server.url()));
        let cluster = Arc::clone(&cluster);
        tokio::spawn(async move {
            let mut reached = 0;
            while !done.load(Ordering::Acquire) {
                let round = 100 + asked.fetch_add(1, Ordering::AcqRel);
                cluster.apply(pod(round % 100, round));
                let (status, body) = get(&url).await?;
                assert_eq!(status, 200, "{body}");
                let answer: serde_json::Value = serde_json::from_str(&body)?;
                assert_eq!(items(&answer).count(), 100);
                let offset = answer["metadata"]["offset"].as_u64().unwrap_or(0);
                assert!(offset >= reached, "{offset} after {reached}");
                reached = offset;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        })
    };
    for _ in 0..3 {
        let told = server.cli(&["rebuild", "--server", server.url()]).await?;
        assert!(told.contains("the view is rebuilt"), "{told}");
    }
    done.store(true, Ordering::Release);
    asking.await??;
    assert!(asked.load(Ordering::Acquire) > 0);
    let present = std::fs::metadata(server.data().join("view.db"))?;
    assert_ne!(present.ino(), former.metadata()?.ino(), "another file answers");
    let report = server.ask("/rebuild").await?;
    assert_eq!((report["state"].as_str(), report["serving"].as_bool()), (Some("done"), Some(true)));

    // The new view follows as the old one did.
    cluster.apply(pod(100, 0));
    server.until(RESOURCES, |list| items(list).count() == 101).await?;
    let names: Vec<_> = std::fs::read_dir(server.data())?
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<std::io::Result<_>>()?;
    assert!(!names.iter().any(|name| name.contains("building")), "{names:?}");
    server.stop().await
}
