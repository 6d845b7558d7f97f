//! A real control plane for one test: etcd, an API server, its controllers, and Kwok where kubelets would be.
//!
//! A simulated API server gives the answers we thought of; this one gives those that clusters give.
//! Each [`ControlPlane`] has ports, data and credentials of its own, so tests may run side by side.
//! It belongs to the test that started it: a static is never dropped, and would leave its processes behind.

mod store;

use std::collections::hash_map::RandomState;
use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::not_run::not_run;
use tempfile::{NamedTempFile, TempDir};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// What can go wrong here goes to a person who reads a failed test, so a message is all it needs.
pub(crate) type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The node to name in a Pod's `nodeName`: no scheduler runs here, and a Pod that names none stays Pending.
pub(crate) const NODE: &str = "node-1";

const ETCD: &str = "etcd";
const API_SERVER: &str = "kube-apiserver";
const CONTROLLERS: &str = "kube-controller-manager";
const KWOK: &str = "kwok";
const KUBECTL: &str = "kubectl";
const STAGES: &str = "kwok-stages.yaml";

/// How long a part may take to become ready: some seconds on an idle machine, many where others build.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a process may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(100);
const LOG_LINES: usize = 30;

/// Says that a test needs a control plane where there is none, and that it must then return.
///
/// Skipping keeps `cargo test` useful without Go; where `STRANDLINE_REQUIRE_CONTROL_PLANE` is `1`, as in CI,
/// it is a failure, so that nobody takes a skipped test for a passed one.
pub(crate) fn skip_without_control_plane(test: &str) -> bool {
    let Err(why) = ControlPlane::assets() else {
        return false;
    };
    not_run(test, &format!("{why}; run tests/control-plane/build"), "STRANDLINE_REQUIRE_CONTROL_PLANE");
    true
}

/// A control plane that lives as long as this value.
pub(crate) struct ControlPlane {
    /// In the order they were started: each needs only those before it, so they end in reverse.
    processes: Vec<Process>,
    assets: PathBuf,
    etcd_port: u16,
    etcd_peer_port: u16,
    api_port: u16,
    /// Last, so that it outlives the processes that write to it.
    dir: TempDir,
}

impl ControlPlane {
    /// The folder of programs, or the reason why there is none, for a person to read.
    pub(crate) fn assets() -> Result<PathBuf, String> {
        let Some(folder) = env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()) else {
            return Err("KUBEBUILDER_ASSETS is not set".into());
        };
        let folder = PathBuf::from(folder);
        match [ETCD, API_SERVER, CONTROLLERS, KWOK, KUBECTL, STAGES]
            .into_iter()
            .find(|name| !folder.join(name).is_file())
        {
            Some(name) => Err(format!("KUBEBUILDER_ASSETS has no {name} in {}", folder.display())),
            None => Ok(folder),
        }
    }

    /// Starts everything and returns once the API answers, controllers included, and the node is Ready.
    pub(crate) async fn start() -> Result<Self> {
        let mut plane = Self {
            processes: Vec::new(),
            assets: Self::assets()?,
            etcd_port: free_port()?,
            etcd_peer_port: free_port()?,
            api_port: free_port()?,
            dir: tempfile::Builder::new().prefix("control-plane-").tempdir()?,
        };
        plane.write_credentials()?;
        plane.processes.push(plane.spawn(ETCD, plane.etcd_args())?);
        plane.start_api_server().await?;
        plane.processes.push(plane.spawn(CONTROLLERS, plane.controllers_args())?);
        plane.processes.push(plane.spawn(KWOK, plane.kwok_args())?);
        plane.apply(&node_manifest()).await?;
        let ready = ["wait", "--for=condition=Ready", "--timeout=5s", &format!("node/{NODE}")];
        plane.until("a Ready node", &ready).await?;
        // Every namespace gets this map from a controller, so its presence tells that controllers run.
        plane.until("running controllers", &["get", "configmap", "kube-root-ca.crt"]).await?;
        Ok(plane)
    }

    /// A kubeconfig of an administrator, for programs under test.
    pub(crate) fn kubeconfig_path(&self) -> PathBuf {
        self.dir.path().join("kubeconfig")
    }

    /// A kubeconfig with a context for each of some service accounts, by name and namespace; it is named as its account,
    /// and the first is the current one.
    pub(crate) async fn kubeconfig_of(&self, accounts: &[(&str, &str)]) -> Result<PathBuf> {
        let (mut users, mut file) = (Vec::new(), "kubeconfig".to_owned());
        for &(name, namespace) in accounts {
            let token = self.kubectl(&["create", "token", name, "-n", namespace]).await?;
            users.push((name, token.trim().to_owned()));
            file = format!("{file}-{namespace}-{name}");
        }
        let path = self.dir.path().join(file);
        fs::write(&path, self.kubeconfig(&users))?;
        Ok(path)
    }

    /// What kubectl of the same version prints; its errors are errors here.
    pub(crate) async fn kubectl(&self, args: &[&str]) -> Result<String> {
        let output = self.command(KUBECTL).args(args).stdin(Stdio::null()).output().await?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        // Some say it on stdout: `auth can-i` prints its no there.
        let why = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Err(format!("kubectl {}: {}: {}", args.join(" "), output.status, why.trim()).into())
    }

    /// Fails unless `auth can-i` with these arguments says yes, where that is wanted, or else no. A yes is waited for: the API
    /// server learns of new roles and bindings a little later than they are there.
    pub(crate) async fn check_access(&self, question: &[&str], wanted: bool) -> Result<()> {
        let question = [&["auth", "can-i"], question].concat();
        if wanted {
            return self.until_well(&question).await;
        }
        match self.kubectl(&question).await {
            Err(_) => Ok(()),
            Ok(answer) => Err(format!("kubectl {}: {}", question.join(" "), answer.trim()).into()),
        }
    }

    /// Waits until custom kinds are established, which are named like `databases.example.dev`. Of a definition that nobody looked at
    /// yet, `kubectl wait` says that it has no conditions, and waits no more.
    pub(crate) async fn until_established(&self, names: &[impl AsRef<str>]) -> Result<()> {
        let names: Vec<_> = names.iter().map(|name| format!("crd/{}", name.as_ref())).collect();
        let wait = ["wait", "--for=condition=Established", "--timeout=5s"];
        self.until_well(&wait.into_iter().chain(names.iter().map(String::as_str)).collect::<Vec<_>>()).await
    }

    /// Asks kubectl until it succeeds.
    async fn until_well(&self, args: &[&str]) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.kubectl(args).await {
                Err(_) if Instant::now() < deadline => sleep(POLL).await,
                answer => return answer.map(|_| ()),
            }
        }
    }

    /// Applies manifests, YAML or JSON, as a user would.
    pub(crate) async fn apply(&self, manifests: &str) -> Result<String> {
        let mut file = NamedTempFile::new_in(self.dir.path())?;
        file.write_all(manifests.as_bytes())?;
        let path = file.path().display().to_string();
        // To check fields kubectl first downloads all schemas, and gives up where a busy machine takes long for that.
        self.kubectl(&["apply", "--validate=ignore", "-f", &path]).await
    }

    /// Begins an outage: watches end, connections are refused; etcd, controllers and Kwok stay and keep trying.
    pub(crate) async fn stop_api_server(&mut self) -> Result<()> {
        match self.processes.iter().position(|process| process.name == API_SERVER) {
            Some(index) => self.processes.remove(index).stop().await,
            None => Err("the API server is not running".into()),
        }
    }

    /// Ends an outage: the same port, data and certificate, and ready to serve when this returns.
    ///
    /// Controllers and Kwok come back later, by up to a minute: they back off, as they would in a real cluster.
    pub(crate) async fn start_api_server(&mut self) -> Result<()> {
        if self.processes.iter().any(|process| process.name == API_SERVER) {
            return Err("the API server is running".into());
        }
        let api_server = self.spawn(API_SERVER, self.api_server_args())?;
        let after_etcd = self.processes.len().min(1);
        self.processes.insert(after_etcd, api_server);
        self.until("a ready API server", &["get", "--raw=/readyz", "--request-timeout=5s"]).await
    }

    /// Ends everything, the last started first; dropping does it too, but cannot wait for a clean end.
    pub(crate) async fn stop(mut self) -> Result<()> {
        while let Some(process) = self.processes.pop() {
            process.stop().await?;
        }
        Ok(())
    }

    /// The end of every log, for the message of a failed test: the files go with the control plane.
    pub(crate) fn logs(&self) -> String {
        self.processes.iter().map(Process::log_end).collect()
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// A program of ours in an environment of ours: a developer's `ETCD_…` or `~/.kwok` must not change a test.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.assets.join(name));
        command.env_clear().env("HOME", self.dir.path()).env("KUBECONFIG", self.kubeconfig_path());
        command.current_dir(self.dir.path()).kill_on_drop(true);
        command
    }

    fn spawn(&self, name: &'static str, args: Vec<String>) -> Result<Process> {
        let log = self.dir.path().join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log)?;
        let mut command = self.command(name);
        command.args(args).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
        Ok(Process { name, log, child })
    }

    /// Asks until kubectl succeeds; ends early, with the log, when a process has ended instead.
    async fn until(&mut self, what: &str, args: &[&str]) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            for process in &mut self.processes {
                process.check()?;
            }
            match self.kubectl(args).await {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() >= deadline => {
                    let seconds = PATIENCE.as_secs();
                    return Err(format!("no {what} within {seconds} s: {error}\n{}", self.logs()).into());
                }
                Err(_) => sleep(POLL).await,
            }
        }
    }

    fn write_credentials(&self) -> Result<()> {
        // Others on this machine reach the port, so the token is not one that they could know.
        let token = format!("{:016x}{:016x}", random(), random());
        fs::write(self.path("tokens.csv"), format!("{token},admin,admin,system:masters\n"))?;
        Ok(fs::write(self.kubeconfig_path(), self.kubeconfig(&[("admin", token)]))?)
    }

    /// A kubeconfig for users by name and token, to stand in our folder.
    fn kubeconfig(&self, users: &[(&str, String)]) -> String {
        let context = |(name, _): &(&str, String)| {
            format!("{{name: {name}, context: {{cluster: test, user: {name}}}}}")
        };
        let user = |(name, token): &(&str, String)| format!("{{name: {name}, user: {{token: \"{token}\"}}}}");
        // The path is relative to the file, and what stands there is the API server's own making.
        format!(
            r#"apiVersion: v1
kind: Config
current-context: {current}
contexts: [{contexts}]
clusters: [{{name: test, cluster: {{server: "https://127.0.0.1:{port}", certificate-authority: certs/apiserver.crt}}}}]
users: [{users}]
"#,
            current = users.first().map_or("", |(name, _)| name),
            contexts = users.iter().map(context).collect::<Vec<_>>().join(", "),
            port = self.api_port,
            users = users.iter().map(user).collect::<Vec<_>>().join(", "),
        )
    }

    fn etcd_args(&self) -> Vec<String> {
        let clients = format!("http://127.0.0.1:{}", self.etcd_port);
        let peers = format!("http://127.0.0.1:{}", self.etcd_peer_port);
        vec![
            format!("--data-dir={}", self.path("etcd")),
            // The data dies with the test: waiting for the disk would only make it slow.
            "--unsafe-no-fsync".into(),
            format!("--listen-client-urls={clients}"),
            format!("--advertise-client-urls={clients}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=default={peers}"),
        ]
    }

    fn api_server_args(&self) -> Vec<String> {
        let key = self.path("certs/apiserver.key");
        vec![
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={}", self.api_port),
            // Found by itself it would be that of a network interface, which a sandbox need not have.
            "--advertise-address=127.0.0.1".into(),
            // A loopback address may not be an endpoint, so the service `kubernetes` goes without.
            "--endpoint-reconciler-type=none".into(),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
            format!("--cert-dir={}", self.path("certs")),
            format!("--token-auth-file={}", self.path("tokens.csv")),
            "--authorization-mode=RBAC".into(),
            // A stopping API server would otherwise keep open watches for a minute: no outage to them.
            "--shutdown-watch-termination-grace-period=1s".into(),
            // With these it waits for ever to give up its lease in an etcd that the same Ctrl-C has ended.
            "--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false".into(),
            // Pods would otherwise wait for the service account of a namespace that was made a moment ago.
            "--disable-admission-plugins=ServiceAccount".into(),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            // The API server writes this key before it reads it here, which saves a key of our own.
            format!("--service-account-signing-key-file={key}"),
            format!("--service-account-key-file={key}"),
        ]
    }

    fn controllers_args(&self) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", self.path("kubeconfig")),
            // An outage must not end the controllers, and a leader that lost its lease ends.
            "--leader-elect=false".into(),
            "--secure-port=0".into(),
            format!("--service-account-private-key-file={}", self.path("certs/apiserver.key")),
            format!("--root-ca-file={}", self.path("certs/apiserver.crt")),
            // The default of 20 requests a second would be what a test of a thousand Pods measures.
            "--kube-api-qps=500".into(),
            "--kube-api-burst=1000".into(),
        ]
    }

    fn kwok_args(&self) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", self.path("kubeconfig")),
            format!("--config={}", self.assets.join(STAGES).display()),
            "--manage-all-nodes=true".into(),
            // Without a lease the controllers would call the node lost within a minute.
            "--node-lease-duration-seconds=40".into(),
            // Apart from the services, and wide enough that Pods do not share addresses.
            "--cidr=10.244.0.0/16".into(),
        ]
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            process.kill();
        }
    }
}

/// One program that we started; its handle, never a number or a name, is what ends it.
struct Process {
    name: &'static str,
    log: PathBuf,
    child: Child,
}

impl Process {
    /// Fails when the process has ended: to wait any longer would only hide the reason.
    fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => Err(format!("{} ended: {status}\n{}", self.name, self.log_end()).into()),
            None => Ok(()),
        }
    }

    /// Lets the process end by itself, then makes it.
    async fn stop(mut self) -> Result<()> {
        // The standard library can only kill. As long as we have not waited for it, the number is its own.
        if let Some(pid) = self.child.id() {
            let kill = ["-c", "kill -TERM \"$1\"", "sh", &pid.to_string()].map(str::to_owned);
            Command::new("sh").args(kill).stderr(Stdio::null()).status().await?;
        }
        match timeout(GRACE, self.child.wait()).await {
            Ok(ended) => ended.map(drop)?,
            Err(_) => self.child.kill().await?,
        }
        Ok(())
    }

    /// Ends the process at once, and waits for it so that the folder it writes to can go.
    fn kill(&mut self) {
        if self.child.start_kill().is_err() {
            return; // It has ended already.
        }
        let deadline = Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn log_end(&self) -> String {
        format!("--- {}: the last {LOG_LINES} lines\n{}\n", self.name, last_lines(&self.log))
    }
}

fn last_lines(log: &Path) -> String {
    let text = match fs::read(log) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return format!("(cannot be read: {error})"),
    };
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

fn node_manifest() -> String {
    format!(
        r#"{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{NODE}", "labels": {{
            "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "{NODE}", "kubernetes.io/os": "linux"}}}}}}"#
    )
}

/// A port that nobody listens on, from below those that outgoing connections take.
///
/// An outage gives the port back for a while; one of the usual range could then belong to some connection.
fn free_port() -> Result<u16> {
    for _ in 0..1000 {
        let port = 10_000 + u16::try_from(random() % 20_000)?;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err("no free port between 10000 and 30000".into())
}

/// A number from the operating system's randomness, which the standard library seeds its maps with.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
