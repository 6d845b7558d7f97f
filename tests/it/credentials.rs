//! Clusters that cannot be asked beside one that can: each is told as what it is, and the one goes on being recorded.
//! Once their kubeconfigs are corrected, they are recorded too.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::bad_input::pod;
use crate::server::{PROGRAM, Result, Server, get, items};

/// What keeps each cluster from being asked: its name, the reason of its gap, and what doctor says of it.
const CLUSTERS: [(&str, &str, &str); 5] = [
    ("missing", "credentials", "no connection is configured"),
    ("broken", "credentials", "no connection is configured"),
    ("elsewhere", "credentials", "no connection is configured"),
    ("closed", "unreachable", "it does not answer"),
    ("refusing", "unauthorized", "it does not accept the credentials"),
];

/// A configuration of all of them, each with a kubeconfig of its own, and of a sound one that stands last.
fn config(folder: &Path, sound: &ApiServer, refusing: &ApiServer) -> Result<String> {
    let closed = sound.kubeconfig().replace(&sound.url(), "http://127.0.0.1:1");
    assert!(closed.contains("http://127.0.0.1:1"), "{closed}");
    let files = [
        ("broken", "users: [{name: u, user: {token: canary-token}}]\nclusters: [".to_owned()),
        ("elsewhere", sound.kubeconfig().replace("current-context: ", "current-context: no-")),
        ("closed", closed),
        ("refusing", refusing.kubeconfig()),
        ("sound", sound.kubeconfig()),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(format!("{name}.kubeconfig")), text)?;
    }
    let names = CLUSTERS.iter().map(|(name, ..)| *name).chain(["sound"]);
    let cluster =
        |name| format!("  - name: {name}\n    kubeconfig: {}/{name}.kubeconfig\n", folder.display());
    let environment = "environments:\n  - project: shop/web\n    name: production\n    cluster: sound\n    namespace: shop\n";
    Ok(format!("clusters:\n{}{environment}", names.map(cluster).collect::<String>()))
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_that_cannot_be_asked_are_told_and_keep_no_other_from_being_recorded() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let sound = ApiServer::start("sound", builtin_kinds()).await?;
    let refusing = ApiServer::start("refusing", builtin_kinds()).await?;
    refusing.faults().refuse(None, 401);
    sound.apply(pod("web-0", 0));
    // It is ready: what can be recorded is, and for the rest there are gaps.
    let server = Server::start(folder.path(), &config(folder.path(), &sound, &refusing)?).await?;
    for (name, reason, _) in CLUSTERS {
        let told = |clusters: &Value| {
            let mut of = items(clusters).filter(|cluster| cluster["id"] == name);
            of.any(|cluster| cluster["watched"] == false && cluster["gaps"][0]["reason"] == reason)
        };
        server.until("/clusters", told).await?;
        let gap = |coverage: &Value| {
            items(coverage).any(|watch| watch["state"] == "gap" && watch["reason"] == reason)
        };
        server.until(&format!("/coverage?cluster={name}"), gap).await?;
    }
    let resources = "/environments/shop.web.production/resources";
    server.until(resources, |list| items(list).count() == 1).await?;
    // What happens while all of the others are tried again and again is recorded.
    for round in 1..=3 {
        sound.apply(pod(&format!("web-{round}"), round));
        server.until(resources, |list| items(list).count() == round + 1).await?;
    }
    let (status, ready) = get(&format!("{}/readyz?verbose", server.url())).await?;
    assert_eq!(status, 200, "{ready}");
    for (name, reason, _) in CLUSTERS {
        assert!(ready.lines().any(|line| line.contains(name) && line.contains(reason)), "{name}: {ready}");
    }
    let (_, clusters) = get(&format!("{}/api/v1/clusters", server.url())).await?;
    for leaked in ["canary-token", "failed to parse", "invalid type"] {
        assert!(![&ready, &clusters, &server.output()].iter().any(|text| text.contains(leaked)), "{leaked}");
    }
    let doctor = Command::new(PROGRAM)
        .args(["doctor", "--config"])
        .arg(folder.path().join("config.yaml"))
        .arg("--data")
        .arg(folder.path().join("data"))
        .stdin(Stdio::null())
        .output()
        .await?;
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(doctor.status.code(), Some(1), "{told}");
    for (name, _, said) in CLUSTERS {
        let of = |line: &&str| line.contains("problem") && line.contains(&format!("cluster {name}: "));
        assert!(told.lines().find(of).is_some_and(|line| line.contains(said)), "{name}: {told}");
    }
    assert!(!told.lines().any(|line| line.contains("problem") && line.contains("cluster sound")), "{told}");
    assert!(!told.contains("canary-token"), "{told}");

    // Whoever corrects the files has nothing else to do.
    for (name, ..) in CLUSTERS {
        std::fs::write(folder.path().join(format!("{name}.kubeconfig")), sound.kubeconfig())?;
    }
    let watched = |clusters: &Value| items(clusters).all(|cluster| cluster["watched"] == true);
    server.until("/clusters", watched).await?;
    server.stop().await
}
