//! Two real clusters, the example's own files, and a server that follows both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use strandline::http::auth::TokenHash;
use tempfile::TempDir;
use tokio::process::Command;

use crate::control_plane::harness::{ControlPlane, NODE};
use crate::server::{PROGRAM, Result, Server, items};

/// Where the example stands.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/gitlab");

/// The tokens of the example's configuration, in the order of their hashes there.
pub(super) const TOKENS: [&str; 4] = ["sl_ci", "sl_operators", "sl_frontend", "sl_backend"];

/// The clusters, under the names that the example gives them.
pub(super) const CLUSTERS: [&str; 2] = ["prod-us", "prod-eu"];

/// All that the example needs.
pub(super) struct World {
    us: ControlPlane,
    eu: ControlPlane,
    /// The example's files, so that a test may change one, with a kubeconfig and the server's data beside them.
    folder: TempDir,
    pub(super) server: Server,
}

/// One run of deploy.sh, as a job of GitLab sets its variables.
#[derive(Clone, Copy, Default)]
pub(super) struct Deploy<'a> {
    /// The project whose job it is.
    pub(super) project: &'a str,
    pub(super) environment: &'a str,
    /// The project of the environment; empty where it is the job's.
    pub(super) of: &'a str,
    pub(super) agent: &'a str,
    /// The namespace that the job names; empty where the agent's rules say it.
    pub(super) namespace: &'a str,
    pub(super) cluster: &'a str,
    /// The manifest, by its name.
    pub(super) what: &'a str,
    /// The branch; empty for main.
    pub(super) branch: &'a str,
    /// What the names of resources end with.
    pub(super) suffix: &'a str,
}

impl World {
    pub(super) async fn start() -> Result<Self> {
        let (us, eu) = tokio::try_join!(ControlPlane::start(), ControlPlane::start())?;
        let folder = tempfile::tempdir()?;
        copy(Path::new(EXAMPLE), folder.path())?;
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, merged(&[&us, &eu]).await?.to_string())?;
        let server = Server::start(folder.path(), &config(folder.path())?).await?;
        let world = World { us, eu, folder, server };
        let watched = |clusters: &Value| {
            items(clusters).count() == 2 && items(clusters).all(|cluster| cluster["watched"] == true)
        };
        world.server.until("/clusters", watched).await?;
        world.server.until("/agents", |agents| items(agents).count() == 3).await?;
        Ok(world)
    }

    pub(super) async fn stop(self) -> Result<()> {
        self.server.stop().await?;
        self.us.stop().await?;
        self.eu.stop().await
    }

    pub(super) fn cluster(&self, name: &str) -> &ControlPlane {
        if name == "prod-eu" { &self.eu } else { &self.us }
    }

    /// A file of the example, as the server reads it.
    pub(super) fn file(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Ends the server, has the view built anew, and starts the server again.
    pub(super) async fn rebuild(mut self) -> Result<Self> {
        self.server.stop().await?;
        let folder = self.folder.path();
        let mut rebuild = Command::new(PROGRAM);
        rebuild.args(["rebuild", "--config"]).arg(folder.join("config.yaml"));
        rebuild.arg("--data").arg(folder.join("data")).stdin(Stdio::null());
        let output = rebuild.output().await?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.server = Server::start(folder, &config(folder)?).await?;
        Ok(self)
    }

    /// Runs deploy.sh; its errors are errors here.
    pub(super) async fn deploy(&self, job: Deploy<'_>) -> Result<String> {
        let manifest = format!("manifests/{}.yaml", job.what);
        let upstream = job.of.rsplit('/').next().unwrap_or_default();
        let or =
            |given: &str, other: &str| if given.is_empty() { other.to_owned() } else { given.to_owned() };
        let mut sh = self.shell();
        sh.arg("deploy.sh");
        for (name, value) in [
            ("CI_PROJECT_PATH", job.project.to_owned()),
            ("CI_COMMIT_REF_NAME", or(job.branch, "main")),
            ("CI_COMMIT_SHA", "8f2a1d3c".into()),
            ("CI_JOB_ID", "4711".into()),
            ("CI_JOB_NAME", format!("deploy-{}", job.what)),
            ("GITLAB_USER_LOGIN", "alice".into()),
            ("ENVIRONMENT", job.environment.to_owned()),
            ("ENVIRONMENT_PROJECT", or(job.of, job.project)),
            ("AGENT", job.agent.to_owned()),
            ("KUBE_NAMESPACE", job.namespace.to_owned()),
            ("CONTEXT", job.cluster.to_owned()),
            ("MANIFEST", manifest),
            ("SUFFIX", job.suffix.to_owned()),
            ("UPSTREAM_PROJECT_PATH", job.of.to_owned()),
            ("UPSTREAM_PROJECT_NAME", upstream.to_owned()),
            ("STRANDLINE_TOKEN", TOKENS[0].into()),
        ] {
            sh.env(name, value);
        }
        printed(sh).await
    }

    /// Runs a line of shell with kubectl at hand, as somebody would who was told to.
    pub(super) async fn run(&self, line: &str) -> Result<String> {
        let mut sh = self.shell();
        sh.args(["-c", line]);
        printed(sh).await
    }

    fn shell(&self) -> Command {
        let assets = ControlPlane::assets().unwrap_or_default();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut sh = Command::new("sh");
        sh.current_dir(self.folder.path()).env_clear().stdin(Stdio::null()).kill_on_drop(true);
        sh.env("PATH", format!("{}:{path}", assets.display()));
        sh.env("HOME", self.folder.path()).env("KUBECONFIG", self.file("kubeconfig"));
        sh.env("STRANDLINE_SERVER", self.server.url());
        sh
    }

    /// Sends a request below `/api/v1`, with a token unless that is empty: status and answer.
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &Value,
    ) -> Result<(u16, Value)> {
        self.server.send(method, path, token, body).await
    }

    /// What a caller with this token reads.
    pub(super) async fn read_as(&self, token: &str, path: &str) -> Result<(u16, Value)> {
        self.send("GET", path, token, &Value::Null).await
    }

    /// Does what a scheduler would, of which there is none: every Pod gets the one node, where it runs.
    pub(super) async fn schedule(&self, cluster: &str, namespace: &str) -> Result<()> {
        let plane = self.cluster(cluster);
        let pods: Value =
            serde_json::from_str(&plane.kubectl(&["get", "pods", "-n", namespace, "-o", "json"]).await?)?;
        for pod in items(&pods).filter(|pod| pod["spec"]["nodeName"].is_null()) {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let binding = json!({
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                "target": {"apiVersion": "v1", "kind": "Node", "name": NODE},
            });
            let file = self.file("binding.json");
            std::fs::write(&file, binding.to_string())?;
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
            plane.kubectl(&["create", "--raw", &path, "-f", &file.display().to_string()]).await?;
        }
        Ok(())
    }
}

/// What a command printed, if it ended well.
async fn printed(mut command: Command) -> Result<String> {
    let output = command.output().await?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into()),
    }
}

/// The example's configuration with its tokens, which stand there as comments, and our kubeconfig.
fn config(folder: &Path) -> Result<String> {
    let text = std::fs::read_to_string(folder.join("strandline.yaml"))?;
    let (open, tokens) = text.split_once("# access:\n").ok_or("the example shows no tokens")?;
    let mut tokens: String =
        tokens.lines().map(|line| format!("{}\n", line.strip_prefix("# ").unwrap_or(line))).collect();
    for (number, token) in (1..).zip(TOKENS) {
        let nobody = format!("sha256:{number:064}");
        assert!(tokens.contains(&nobody), "{nobody}");
        tokens = tokens.replace(&nobody, &TokenHash::of(token).to_string());
    }
    Ok(format!("kubeconfig: {}\n{open}access:\n{tokens}", folder.join("kubeconfig").display()))
}

/// A kubeconfig with a context for each cluster, under the names that the example has.
async fn merged(planes: &[&ControlPlane]) -> Result<Value> {
    let (mut clusters, mut users, mut contexts) = (Vec::new(), Vec::new(), Vec::new());
    for (plane, name) in planes.iter().zip(CLUSTERS) {
        let own: Value = serde_json::from_str(
            &plane.kubectl(&["config", "view", "--flatten", "--raw", "-o", "json"]).await?,
        )?;
        clusters.push(json!({"name": name, "cluster": own["clusters"][0]["cluster"]}));
        users.push(json!({"name": name, "user": own["users"][0]["user"]}));
        contexts.push(json!({"name": name, "context": {"cluster": name, "user": name}}));
    }
    Ok(json!({
        "apiVersion": "v1", "kind": "Config", "clusters": clusters, "users": users, "contexts": contexts,
    }))
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// How many resources of each kind an answer lists.
pub(super) fn kinds(answer: &Value) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for item in items(answer) {
        *kinds.entry(item["kind"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    kinds
}
