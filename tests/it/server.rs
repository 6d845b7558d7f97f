//! The program as a child process, and the ways to ask it.

use std::error::Error;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use strandline_sim::Port;
use tokio::process::{Child, Command};

pub(crate) type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// How long anything may take to come about; a bound on hanging, not on speed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the program stands.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_strandline");

/// A running `strandline serve`.
pub(crate) struct Server {
    child: Child,
    url: String,
    folder: PathBuf,
    port: Arc<Port>,
}

impl Server {
    /// Starts with a configuration; data, configuration and output are kept in `folder`.
    pub(crate) async fn start(folder: &Path, config: &str) -> Result<Self> {
        Self::start_at(folder, config, IpAddr::from([127, 0, 0, 1])).await
    }

    /// Starts where others than this machine can reach it too.
    pub(crate) async fn start_public(folder: &Path, config: &str) -> Result<Self> {
        Self::start_at(folder, config, IpAddr::from([0, 0, 0, 0])).await
    }

    async fn start_at(folder: &Path, config: &str, host: IpAddr) -> Result<Self> {
        std::fs::write(folder.join("config.yaml"), config)?;
        Self::spawn(folder, Arc::new(Port::free_at(host)?), 200).await
    }

    /// Starts where something keeps it from being ready.
    pub(crate) async fn start_unready(folder: &Path, config: &str) -> Result<Self> {
        std::fs::write(folder.join("config.yaml"), config)?;
        let server = Self::spawn(folder, Arc::new(Port::free()?), 503).await?;
        server.until("/clusters", |_| true).await?;
        Ok(server)
    }

    /// Starts where no question can be answered yet.
    pub(crate) async fn start_blocked(folder: &Path, config: &str) -> Result<Self> {
        std::fs::write(folder.join("config.yaml"), config)?;
        Self::spawn(folder, Arc::new(Port::free()?), 503).await
    }

    /// Starts and waits until `/readyz` answers with this status.
    async fn spawn(folder: &Path, port: Arc<Port>, ready: u16) -> Result<Self> {
        let listen = port.address()?;
        let output = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("output"))?;
        let child = Command::new(PROGRAM)
            .arg("serve")
            .arg("--config")
            .arg(folder.join("config.yaml"))
            .arg("--data")
            .arg(folder.join("data"))
            .args(["--listen", &listen.to_string()])
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()?;
        let mut server = Server {
            child,
            url: format!("http://127.0.0.1:{}", listen.port()),
            folder: folder.to_owned(),
            port,
        };
        let started = Instant::now();
        while get(&format!("{}/readyz", server.url)).await.map(|(status, _)| status).unwrap_or(0) != ready {
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("the server ended with {status}: {}", server.output()).into());
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("the server did not become ready: {}", server.output()).into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(server)
    }

    /// Ends the process at once, as a power cut would, and starts it again on the same data.
    pub(crate) async fn kill_and_restart(&mut self) -> Result<()> {
        self.kill().await?;
        let folder = self.folder.clone();
        *self = Self::spawn(&folder, Arc::clone(&self.port), 200).await?;
        Ok(())
    }

    /// Ends the process at once.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.child.kill().await?;
        Ok(())
    }

    /// Starts again after [`Server::kill`] or an end that was waited for.
    pub(crate) async fn start_again(&mut self) -> Result<()> {
        let folder = self.folder.clone();
        *self = Self::spawn(&folder, Arc::clone(&self.port), 200).await?;
        Ok(())
    }

    /// Sends the process a signal by its name, such as `STOP`.
    pub(crate) async fn signal(&self, name: &str) -> Result<()> {
        let pid = self.child.id().ok_or("the server has ended already")?;
        let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().await?;
        if sent.success() { Ok(()) } else { Err(format!("{name} could not be sent").into()) }
    }

    /// Asks the process to end and waits for it.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let pid = self.child.id().ok_or("the server has ended already")?;
        let asked = Command::new("kill").arg(pid.to_string()).status().await?;
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await??;
        match asked.success() && status.success() {
            true => Ok(()),
            false => Err(format!("the server ended with {status}: {}", self.output()).into()),
        }
    }

    /// The most memory it has taken so far, in bytes.
    pub(crate) fn peak_memory(&self) -> Result<u64> {
        self.memory_of("VmHWM:")
    }

    /// The memory that it takes now, in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        self.memory_of("VmRSS:")
    }

    fn memory_of(&self, what: &str) -> Result<u64> {
        let pid = self.child.id().ok_or("the server has ended already")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let found = status.lines().find_map(|line| line.strip_prefix(what)).ok_or("no such line")?;
        Ok(found.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024)
    }

    /// How often it has a file of its data directory open.
    pub(crate) fn open_files(&self, name: &str) -> Result<usize> {
        let pid = self.child.id().ok_or("the server has ended already")?;
        let path = self.data().join(name).canonicalize()?;
        let files = std::fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
        // A file that is closed meanwhile is none of them.
        Ok(files.filter(|file| std::fs::read_link(file.path()).is_ok_and(|to| to == path)).count())
    }

    /// Its address, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Everything the program printed so far.
    pub(crate) fn output(&self) -> String {
        std::fs::read_to_string(self.folder.join("output")).unwrap_or_default()
    }

    /// Asks for a path below `/api/v1`.
    pub(crate) async fn ask(&self, path: &str) -> Result<Value> {
        let (status, body) = get(&format!("{}/api/v1{path}", self.url)).await?;
        match status {
            200 => Ok(serde_json::from_str(&body)?),
            _ => Err(format!("{path}: {status} {body}").into()),
        }
    }

    /// Sends a request below `/api/v1`, with a token unless that is empty: status and answer.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &Value,
    ) -> Result<(u16, Value)> {
        let mut request = http::Request::builder()
            .method(method)
            .uri(format!("{}/api/v1{path}", self.url))
            .header("content-type", "application/json");
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let response = client.request(request.body(Full::from(body))?).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }

    /// Asks until an answer is as wanted; tells the last answer when it never is.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let started = Instant::now();
        loop {
            let answer = self.ask(path).await;
            match answer {
                Ok(answer) if wanted(&answer) => return Ok(answer),
                answer if started.elapsed() > PATIENCE => {
                    return Err(
                        format!("{path} never came to be as wanted: {answer:?}\n{}", self.output()).into()
                    );
                }
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Waits until the program has logged this.
    pub(crate) async fn until_logged(&self, words: &str) -> Result<()> {
        let started = Instant::now();
        while !self.output().contains(words) {
            // A bound on hanging, not on speed.
            assert!(started.elapsed() < PATIENCE, "never `{words}`: {}", self.output());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Runs a reading command of the program against this server.
    pub(crate) async fn cli(&self, arguments: &[&str]) -> Result<String> {
        self.cli_as(arguments, "").await
    }

    /// The same with a token in the environment; none where it is empty.
    pub(crate) async fn cli_as(&self, arguments: &[&str], token: &str) -> Result<String> {
        let output = Command::new(PROGRAM)
            .args(arguments)
            .env("STRANDLINE_TOKEN", token)
            .env("STRANDLINE_SERVER", &self.url)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .await?;
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout)?),
            false => Err(String::from_utf8_lossy(&output.stderr).into()),
        }
    }
}

/// Status and body of a GET.
pub(crate) async fn get(url: &str) -> Result<(u16, String)> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let response = client.get(url.parse()?).await?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8(body.to_vec())?))
}

/// The items of a list by a key made of each.
pub(crate) fn items(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["items"].as_array().into_iter().flatten()
}

/// The ids of a list's items.
pub(crate) fn ids(list: &Value) -> Vec<&str> {
    items(list).filter_map(|item| item["id"].as_str()).collect()
}

/// The names of a list's items.
pub(crate) fn names(list: &Value) -> Vec<&str> {
    items(list).filter_map(|item| item["name"].as_str()).collect()
}

/// The gaps that an answer names in its metadata.
pub(crate) fn gaps(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["coverage"]["gaps"].as_array().into_iter().flatten()
}

/// Whether an answer names a gap of a kind with this reason.
pub(crate) fn has_gap(answer: &Value, kind: &str, reason: &str) -> bool {
    gaps(&answer["metadata"]).any(|gap| gap["kind"] == kind && gap["reason"] == reason)
}

/// None of these texts is in any byte of any file below a folder.
pub(crate) fn assert_nowhere(folder: &Path, canaries: &[&str]) -> Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path)?;
            for canary in canaries {
                let found = bytes.windows(canary.len()).any(|window| window == canary.as_bytes());
                assert!(!found, "{canary} in {}", path.display());
            }
        }
    }
    Ok(())
}

/// Runs the program to its end; what it printed, or why it failed.
pub(crate) async fn run(arguments: &[&str], paths: &[(&str, &Path)]) -> Result<String> {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    for (name, path) in paths {
        command.arg(name).arg(path);
    }
    let output = command.env("NO_COLOR", "1").output().await?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}
