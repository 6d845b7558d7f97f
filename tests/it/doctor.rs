//! `strandline kinds` and `strandline doctor` as their users run them.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::process::Command;

use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::server::{PROGRAM, Result};

/// How long a granted permission may take to be in force everywhere.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a command on a configuration; its exit code, and what it printed.
pub(crate) async fn run(
    folder: &Path,
    command: &str,
    config: &str,
    more: &[&str],
) -> Result<(i32, String, String)> {
    let path = folder.join("config.yaml");
    std::fs::write(&path, config)?;
    let mut run = Command::new(PROGRAM);
    run.arg(command).arg("--config").arg(path).args(more).stdin(Stdio::null());
    let output = tokio::time::timeout(Duration::from_secs(120), run.kill_on_drop(true).output()).await??;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr)))
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_are_asked_of_the_clusters_themselves() -> Result<()> {
    let (folder, cluster) = (tempfile::tempdir()?, ApiServer::start("one", builtin_kinds()).await?);
    cluster.set_stale("autoscaling", true);
    let config = format!(
        "clusters:\n- {{name: one, url: '{}', exclude: [Secret]}}\n- {{name: gone, url: 'http://127.0.0.1:1'}}\n",
        cluster.url()
    );
    let (code, out, err) = run(folder.path(), "kinds", &config, &["--cluster", "one"]).await?;
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("warning: cluster one, group autoscaling: "), "{err}");
    let row = |kind: &str| out.lines().find(|line| line.contains(kind)).unwrap_or_default().to_owned();
    assert!(row(" Deployment.apps ").contains("Namespaced   yes"), "{out}");
    assert!(row(" Secret ").ends_with("no        excluded by the configuration"), "{out}");
    let (code, out, err) = run(folder.path(), "kinds", &config, &["-o", "json"]).await?;
    assert_eq!(code, 1, "one of the clusters did not tell: {err}");
    let told: Value = serde_json::from_str(&out)?;
    assert!(told["items"].as_array().is_some_and(|items| items.iter().all(|item| item["cluster"] == "one")));
    assert_eq!(told["metadata"]["failed"][1]["cluster"], "gone");
    let (code, _, err) = run(folder.path(), "kinds", &config, &["--cluster", "oen"]).await?;
    assert!(code == 3 && err.contains("configured clusters: one, gone"), "{code} {err}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_problem_is_told_and_counted() -> Result<()> {
    let (folder, cluster) = (tempfile::tempdir()?, ApiServer::start("one", builtin_kinds()).await?);
    let config = format!("clusters: [{{name: one, url: '{}'}}]\n", cluster.url());
    let (code, out, err) = run(folder.path(), "doctor", &config, &[]).await?;
    assert_eq!(code, 0, "{out}{err}");
    assert!(!folder.path().join("strandline-data").exists(), "nothing is made");
    cluster.stop().await;
    let (code, out, err) = run(folder.path(), "doctor", &config, &["-o", "json"]).await?;
    assert!(code == 1 && err.contains("1 problem found"), "{code} {err}");
    let told: Value = serde_json::from_str(&out)?;
    let problem = |check: &&Value| check["result"] == "problem";
    let problem = told["checks"].as_array().and_then(|checks| checks.iter().find(problem)).cloned();
    assert_eq!(problem.unwrap_or_default()["subject"], "cluster one", "{out}");
    let (code, out, _) = run(folder.path(), "doctor", "clusters: [{name: one, urll: x}]\n", &[]).await?;
    assert!(code == 1 && out.contains("config.yaml:1:24: unknown key; hint: did you mean `url`?"), "{out}");
    Ok(())
}

/// A kubeconfig of an account that sees Pods of one namespace and nothing else.
async fn narrow_kubeconfig(plane: &ControlPlane) -> Result<String> {
    for command in [
        "create namespace shop",
        "create namespace tools",
        "create serviceaccount watcher -n tools",
        "create role pods -n shop --verb=get,list,watch --resource=pods",
        "create rolebinding pods -n shop --role=pods --serviceaccount=tools:watcher",
    ] {
        plane.kubectl(&command.split(' ').collect::<Vec<_>>()).await?;
    }
    let path = plane.kubeconfig_of(&[("watcher", "tools")]).await?;
    Ok(path.display().to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_doctor_asks_for_is_what_is_missing() -> Result<()> {
    if skip_without_control_plane("what_doctor_asks_for_is_what_is_missing") {
        return Ok(());
    }
    let (plane, folder) = (ControlPlane::start().await?, tempfile::tempdir()?);
    let kubeconfig = narrow_kubeconfig(&plane).await?;
    let config = format!(
        "kubeconfig: {kubeconfig}\nclusters:\n- name: one\n  watchers: [{{namespaces: [shop]}}, {{context: watcher}}]\n"
    );
    let (code, yaml, told) = run(folder.path(), "doctor", &config, &["--rbac"]).await?;
    assert_eq!(code, 1, "{told}{yaml}");
    let problems: Vec<_> = told.lines().filter(|line| line.starts_with("problem")).collect();
    assert_eq!(problems.len(), 2, "{told}");
    let account = "system:serviceaccount:tools:watcher lacks permission for";
    assert!(problems.iter().all(|problem| problem.contains(account)), "{told}");
    assert!(problems[0].contains("in namespace shop") && !problems[0].contains(" Pod,"), "{told}");
    assert!(problems[1].contains(" Pod,") && problems[1].contains(" Node,"), "{told}");
    plane.apply(&yaml).await?;
    let deadline = Instant::now() + PATIENCE;
    let told = loop {
        let (code, out, err) = run(folder.path(), "doctor", &config, &[]).await?;
        if code == 0 {
            break out;
        }
        assert!(Instant::now() < deadline, "{out}{err}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let all = "all watched kinds can be listed and watched";
    assert_eq!(told.lines().filter(|line| line.contains(all)).count(), 2, "{told}");
    plane.stop().await
}
