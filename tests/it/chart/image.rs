//! The image: written, pushed, pulled, and run in a cluster's stead as a Pod of the chart runs it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::block;
use super::helm::{Helm, skip_without_helm};
use crate::checkout::root;
use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::not_run::left_out;
use crate::server::{PROGRAM, Result, get, items};
use strandline_sim::Port;

/// A static program to be tested in the place of the one that the tests were built with, as `just image` names it.
const STATIC: &str = "STRANDLINE_IMAGE_PROGRAM";

/// What a program that is not static needs of this machine.
const LIBRARIES: [&str; 3] = ["/lib", "/lib64", "/usr/lib"];

/// Where a Pod finds its account.
const ACCOUNT: &str = "var/run/secrets/kubernetes.io/serviceaccount";

const PATIENCE: Duration = Duration::from_secs(60);

fn skip(test: &str) -> bool {
    if skip_without_helm(test) || skip_without_control_plane(test) {
        return true;
    }
    let mut sandbox = std::process::Command::new("bwrap");
    sandbox.args(["--unshare-user", "--ro-bind", "/", "/", "true"]);
    if sandbox.output().is_ok_and(|output| output.status.success()) {
        return false;
    }
    left_out(test, "bwrap is missing or may make no user namespace; install bubblewrap");
    true
}

/// What a command prints; its errors are errors here.
async fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// A registry on a port of its own.
async fn registry(helm: &Helm) -> Result<(Child, u16)> {
    let mut child = Command::new(helm.tool("crane"))
        .args(["registry", "serve", "--address", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stderr = child.stderr.take().ok_or("no output")?;
    let mut lines = BufReader::new(stderr).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some((_, port)) = line.rsplit_once("serving on port ") {
            let port = port.trim().parse()?;
            // Read on, so that the registry never waits for us.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok((child, port));
        }
    }
    Err("the registry did not start".into())
}

/// An image on its way through a registry: its configuration and its files.
async fn pulled(helm: &Helm, folder: &Path, program: &Path) -> Result<(Value, PathBuf)> {
    let layout = folder.join("image");
    let image = root().join("deploy/image");
    let write = async |program: &Path, to: &Path| {
        let program = format!("amd64={}", program.display());
        output(Command::new(&image).arg(to).arg(program)).await
    };
    // Of a small program, since most of the time goes into packing it.
    let (one, two) = (folder.join("one"), folder.join("two"));
    assert_eq!(write(&image, &one).await?, write(&image, &two).await?, "it is reproducible");
    let digest = write(program, &layout).await?;
    let (mut registry, port) = registry(helm).await?;
    let name = format!("127.0.0.1:{port}/strandline:test");
    let crane = |arguments: &[&str]| {
        let mut crane = Command::new(helm.tool("crane"));
        crane.args(arguments).env("DOCKER_CONFIG", folder);
        crane
    };
    output(&mut crane(&["push", &layout.display().to_string(), &name])).await?;
    let of = format!("127.0.0.1:{port}/strandline@{}", String::from_utf8(digest)?.trim());
    let config = serde_json::from_slice(&output(&mut crane(&["config", &of])).await?)?;
    let tar = folder.join("files.tar");
    output(&mut crane(&["export", &of, &tar.display().to_string()])).await?;
    let files = folder.join("root");
    fs::create_dir(&files)?;
    output(Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(&files).arg("--no-same-owner")).await?;
    registry.kill().await?;
    Ok((config, files))
}

/// A Pod's container: the files of the image, read-only, and the volumes of the chart.
struct Container {
    files: PathBuf,
    volumes: TempDir,
    entry: String,
    api: String,
    dynamic: bool,
}

impl Container {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("bwrap");
        let volume = |name: &str| self.volumes.path().join(name);
        let mut bind = |option: &str, from: PathBuf, to: &str| {
            command.args([OsString::from(option), from.into(), to.into()]);
        };
        bind("--ro-bind", self.files.clone(), "/");
        bind("--bind", volume("data"), "/data");
        bind("--ro-bind", volume("config"), "/etc/strandline");
        bind("--ro-bind", volume("account"), &format!("/{ACCOUNT}"));
        for library in LIBRARIES.into_iter().filter(|_| self.dynamic) {
            bind("--ro-bind", library.into(), library);
        }
        command.args([
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--uid",
            "65532",
            "--gid",
            "65532",
        ]);
        command.args([
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--cap-drop",
            "ALL",
            "--clearenv",
            "--die-with-parent",
        ]);
        let (host, port) = self.api.rsplit_once(':').unwrap_or_default();
        command.args([
            "--setenv",
            "KUBERNETES_SERVICE_HOST",
            host,
            "--setenv",
            "KUBERNETES_SERVICE_PORT",
            port,
        ]);
        command.arg(&self.entry).args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        command
    }
}

/// The arguments of the server's container.
fn arguments(rendered: &str) -> Vec<&str> {
    let lines = rendered.split("args:\n").nth(1).unwrap_or_default().lines();
    lines.map_while(|line| line.trim().strip_prefix("- ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_image_runs_as_the_chart_runs_it() -> Result<()> {
    if skip("the_image_runs_as_the_chart_runs_it") {
        return Ok(());
    }
    let (helm, folder, volumes) = (Helm::new()?, tempfile::tempdir()?, tempfile::tempdir()?);
    let given = std::env::var_os(STATIC).map(PathBuf::from);
    let program = given.clone().unwrap_or_else(|| PROGRAM.into());
    let (config, files) = pulled(&helm, folder.path(), &program).await?;
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Labels"]["org.opencontainers.image.version"], env!("CARGO_PKG_VERSION"));
    let mut names: Vec<_> = fs::read_dir(&files)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["data", "etc", "strandline", "tmp"], "one program, and no shell");

    // A container runtime makes the places of mounts, too.
    let plane = ControlPlane::start().await?;
    for place in ["proc", "dev", "etc/strandline", ACCOUNT]
        .into_iter()
        .chain(LIBRARIES.iter().map(|library| library.trim_start_matches('/')).filter(|_| given.is_none()))
    {
        fs::create_dir_all(files.join(place))?;
    }
    for name in ["data", "config", "account"] {
        fs::create_dir(volumes.path().join(name))?;
    }
    let rendered = helm.template("strandline", &[]).await?;
    let text = block(&rendered, "strandline.yaml: |").ok_or("no configuration")?;
    fs::write(volumes.path().join("config/strandline.yaml"), text)?;
    plane.kubectl(&["create", "namespace", "strandline"]).await?;
    plane.apply(&rendered).await?;
    let token = plane.kubectl(&["create", "token", "strandline", "-n", "strandline"]).await?;
    let authority = ["get", "configmap", "kube-root-ca.crt", "-o", "jsonpath={.data.ca\\.crt}"];
    fs::write(volumes.path().join("account/token"), token.trim())?;
    fs::write(volumes.path().join("account/namespace"), "strandline")?;
    fs::write(volumes.path().join("account/ca.crt"), plane.kubectl(&authority).await?)?;

    let port = Port::free()?;
    let address = port.address()?.to_string();
    let listen = format!("--listen={address}");
    let given_arguments: Vec<&str> = arguments(&rendered)
        .into_iter()
        .map(|argument| if argument.starts_with("--listen=") { listen.as_str() } else { argument })
        .collect();
    assert_eq!(given_arguments.first(), Some(&"serve"), "{given_arguments:?}");
    let api = plane.kubectl(&["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"]).await?;
    let entry = config["config"]["Entrypoint"][0].as_str().ok_or("no entry point")?.to_owned();
    let api = api.trim_start_matches("https://").to_owned();
    let container = Container { files, volumes, entry, api, dynamic: given.is_none() };
    let mut server = container.command(&given_arguments).stderr(Stdio::piped()).spawn()?;

    let started = Instant::now();
    let url = format!("http://{address}");
    let probe = ["probe", "--server", &url];
    while let Err(error) = output(&mut container.command(&probe)).await {
        if let Some(status) = server.try_wait()? {
            let end = server.wait_with_output().await?;
            return Err(format!("{status}: {}", String::from_utf8_lossy(&end.stderr)).into());
        }
        assert!(started.elapsed() < PATIENCE, "{error}");
    }
    let wanted = |answer: &Value| items(answer).any(|item| item["id"] == "local.kube-system");
    loop {
        let (_, body) = get(&format!("{url}/api/v1/environments?limit=100")).await?;
        if wanted(&serde_json::from_str(&body)?) {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{body}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(container.volumes.path().join("data/strandline/log.db").is_file());
    server.kill().await?;
    let failed = output(&mut container.command(&probe)).await.err().map(|error| error.to_string());
    assert!(failed.is_some_and(|error| error.contains("cannot connect")), "nothing answers any more");
    plane.stop().await
}
