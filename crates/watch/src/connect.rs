//! Reaching a cluster.

use std::fmt;
use std::future::{Ready, ready};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::connect_error::{ConnectError, NoCredentials, chain};
use super::credentials::Credentials;
use super::kubeconfig;
use strandline_redact::without_logins;

/// How a cluster is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterAccess {
    /// By a context of a kubeconfig.
    Kubeconfig {
        /// The file; none for `$KUBECONFIG` or `~/.kube/config`.
        path: Option<PathBuf>,
        /// The context; none for the file's current one.
        context: Option<String>,
    },
    /// By a kubeconfig that a hub has of it.
    Hub {
        /// The hub and the object there.
        origin: String,
        /// The kubeconfig.
        credentials: Credentials,
    },
    /// As the service account of the Pod we run in.
    InCluster,
    /// At an address without credentials.
    Url(String),
}

/// How to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectSettings {
    /// Where the cluster is.
    pub access: ClusterAccess,
    /// Whether a kubeconfig may name a program that is run to get credentials.
    pub allow_exec_plugins: bool,
    /// Whether a kubeconfig has to contain all that it needs. Whoever may write one that names files would else have them
    /// read by us, and sent to a server of their own.
    pub self_contained: bool,
    /// How long a connection may take to open.
    pub timeout: Duration,
}

impl ConnectSettings {
    /// Refuses plugins, reads files that a kubeconfig names, and waits ten seconds.
    pub fn new(access: ClusterAccess) -> Self {
        let timeout = Duration::from_secs(10);
        ConnectSettings { access, allow_exec_plugins: false, self_contained: false, timeout }
    }

    /// The same without the credentials that are part of it.
    #[must_use]
    pub fn without_credentials(&self) -> Self {
        let access = match &self.access {
            ClusterAccess::Hub { origin, .. } => {
                ClusterAccess::Hub { origin: origin.clone(), credentials: Credentials::missing("") }
            }
            access => access.clone(),
        };
        ConnectSettings { access, ..self.clone() }
    }
}

impl fmt::Display for ClusterAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClusterAccess::Kubeconfig { path: Some(path), .. } => write!(f, "kubeconfig {}", path.display()),
            ClusterAccess::Kubeconfig { path: None, .. } => {
                f.write_str("kubeconfig of $KUBECONFIG or ~/.kube/config")
            }
            ClusterAccess::Hub { origin, .. } => f.write_str(origin),
            ClusterAccess::InCluster => f.write_str("service account of the Pod"),
            ClusterAccess::Url(url) => f.write_str(&without_logins(url)),
        }
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A way to a cluster; opened connections and renewed credentials are shared by its clones.
#[derive(Clone)]
pub struct ClusterConnection {
    /// How credentials are read again; none where there are none.
    settings: Option<ConnectSettings>,
    /// By the credentials that were read last; why there are none before any could be read.
    client: Arc<RwLock<Result<kube::Client, String>>>,
    /// Whether the credentials are read before the next attempt: they never were, or the last attempt failed.
    stale: Arc<AtomicBool>,
    /// Whether the server's certificate is not verified.
    unverified: Arc<AtomicBool>,
    renewed: Arc<Mutex<Option<Instant>>>,
    url: String,
}

/// How often credentials are read again, however many watches find them refused.
const RENEWAL: Duration = Duration::from_secs(10);

impl ClusterConnection {
    /// A way to a cluster without a network, by a service that answers requests; `url` is only shown to people.
    pub fn through<S, B>(service: S, url: &str) -> Self
    where
        S: tower_service::Service<http::Request<kube::client::Body>, Response = http::Response<B>>,
        S: Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: hyper::body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let client = Arc::new(RwLock::new(Ok(kube::Client::new(service, "default"))));
        ClusterConnection {
            settings: None,
            client,
            stale: Arc::default(),
            unverified: Arc::default(),
            renewed: Arc::default(),
            url: url.to_owned(),
        }
    }

    /// A way to a cluster whose credentials are read when it is first used, so that those of one cluster which cannot
    /// be read concern no other.
    pub fn deferred(settings: ConnectSettings) -> Self {
        ClusterConnection {
            url: settings.access.to_string(),
            settings: Some(settings),
            // No client yet: it starts a task, for which there may be no runtime.
            client: Arc::new(RwLock::new(Err("the credentials were not read yet".to_owned()))),
            stale: Arc::new(AtomicBool::new(true)),
            unverified: Arc::default(),
            renewed: Arc::default(),
        }
    }

    /// Whether the server's certificate is not verified, as the kubeconfig demands.
    pub(super) fn skips_verification(&self) -> bool {
        self.unverified.load(Ordering::Relaxed)
    }

    /// The server's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn client(&self) -> kube::Client {
        let client = self.client.read().unwrap_or_else(PoisonError::into_inner).clone();
        client.unwrap_or_else(refusing)
    }

    /// Has the credentials read again before the next attempt, for one failed: they may name another server, authority
    /// or user by then.
    pub(super) fn mark_stale(&self) {
        self.stale.store(true, Ordering::Release);
    }

    /// Begins an attempt: reads the credentials unless those of the last one led to the cluster.
    ///
    /// # Errors
    /// When they cannot be read. Those that were read before stay in use, for they may be good and the cluster away;
    /// without any, every request fails with the reason.
    pub(super) async fn ensure_connected(&self) -> Result<(), ConnectError> {
        let Some(settings) = &self.settings else { return Ok(()) };
        if !self.stale.load(Ordering::Acquire) {
            return Ok(());
        }
        let read = self.read(settings).await;
        if let Err(error) = &read {
            let mut client = self.client.write().unwrap_or_else(PoisonError::into_inner);
            if let Err(why) = &mut *client {
                *why = format!(
                    "{error} ({}); correct it, it is read again until it can be used",
                    settings.access
                );
            }
        }
        read
    }

    /// Reads the credentials again, for the cluster no longer accepts those we have.
    pub(super) async fn renew(&self) -> Result<(), ConnectError> {
        {
            let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
            if renewed.is_some_and(|at| at.elapsed() < RENEWAL) {
                return Ok(());
            }
            *renewed = Some(Instant::now());
        }
        let Some(settings) = &self.settings else { return Ok(()) };
        self.read(settings).await
    }

    async fn read(&self, settings: &ConnectSettings) -> Result<(), ConnectError> {
        // Whatever fails from here on may have failed with what is read now.
        self.stale.store(false, Ordering::Release);
        let read = config(settings).await.and_then(|config| {
            let unverified = config.accept_invalid_certs;
            Ok((client(config)?, unverified))
        });
        let (client, unverified) = read.inspect_err(|_| self.mark_stale())?;
        self.unverified.store(unverified, Ordering::Relaxed);
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = Ok(client);
        Ok(())
    }
}

impl std::fmt::Debug for ClusterConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterConnection").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Prepares the way to a cluster; nothing is sent yet.
///
/// # Errors
/// When there is no such way, it is not allowed, or TLS or credentials cannot be set up.
pub async fn connect(settings: &ConnectSettings) -> Result<ClusterConnection, ConnectError> {
    let config = config(settings).await?;
    let url = without_logins(&config.cluster_url.to_string());
    let unverified = Arc::new(AtomicBool::new(config.accept_invalid_certs));
    Ok(ClusterConnection {
        settings: Some(settings.clone()),
        client: Arc::new(RwLock::new(Ok(client(config)?))),
        stale: Arc::default(),
        unverified,
        renewed: Arc::default(),
        url,
    })
}

/// A client whose every request fails for this reason.
fn refusing(why: String) -> kube::Client {
    kube::Client::new(Refusing(why), "default")
}

/// Answers every request with the same error.
struct Refusing(String);

impl tower_service::Service<http::Request<kube::client::Body>> for Refusing {
    type Response = http::Response<kube::client::Body>;
    type Error = NoCredentials;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<kube::client::Body>) -> Self::Future {
        ready(Err(NoCredentials(self.0.clone())))
    }
}

fn client(config: kube::Config) -> Result<kube::Client, ConnectError> {
    super::client::client(config).map_err(|error| ConnectError::Client(chain(&error)))
}

async fn config(settings: &ConnectSettings) -> Result<kube::Config, ConnectError> {
    let mut config = match &settings.access {
        ClusterAccess::Url(url) => from_url(url)?,
        ClusterAccess::InCluster => {
            kube::Config::incluster().map_err(|error| ConnectError::NotInCluster(chain(&error)))?
        }
        ClusterAccess::Kubeconfig { path, context } => {
            let (plugins, alone) = (settings.allow_exec_plugins, settings.self_contained);
            kubeconfig::read(path.as_deref(), context.as_deref(), plugins, alone).await?
        }
        ClusterAccess::Hub { credentials, .. } => {
            kubeconfig::parse(credentials.kubeconfig(), settings.allow_exec_plugins).await?
        }
    };
    config.connect_timeout = Some(settings.timeout);
    // Watches are silent for long; each read of ours has a limit of its own.
    config.read_timeout = None;
    // The watches record and retry failures themselves.
    config.default_retry = false;
    Ok(config)
}

fn from_url(url: &str) -> Result<kube::Config, ConnectError> {
    let problem = |reason: String| ConnectError::Url { url: without_logins(url), reason };
    let uri: http::Uri = url.parse().map_err(|error| problem(chain(&error)))?;
    match uri.scheme_str() {
        Some("http" | "https") if uri.host().is_some() => Ok(kube::Config::new(uri)),
        _ => Err(problem("it does not begin with http:// or https:// and a host".to_owned())),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    const KUBECONFIG: &str = r#"
apiVersion: v1
kind: Config
current-context: plain
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true}}]
users:
- {name: plain, user: {token: t}}
- {name: plugin, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: aws-login}}}
- {name: provider, user: {auth-provider: {name: gcp, config: {cmd-path: gcloud-login}}}}
contexts:
- {name: plain, context: {cluster: c, user: plain}}
- {name: plugin, context: {cluster: c, user: plugin}}
- {name: provider, context: {cluster: c, user: provider}}
"#;

    async fn try_context(context: Option<&str>) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        std::fs::write(&path, KUBECONFIG).unwrap();
        let access = ClusterAccess::Kubeconfig { path: Some(path), context: context.map(str::to_owned) };
        let connection = connect(&ConnectSettings::new(access)).await;
        connection.map(|connection| connection.url().to_owned()).map_err(|error| error.to_string())
    }

    /// The configuration is mapped before there is a runtime.
    #[test]
    fn a_connection_that_is_deferred_needs_no_runtime() {
        let access = ClusterAccess::Kubeconfig { path: None, context: None };
        let connection = ClusterConnection::deferred(ConnectSettings::new(access));
        assert!(!connection.url().is_empty());
    }

    #[tokio::test]
    async fn a_kubeconfig_is_read_with_care() {
        assert_eq!(try_context(None).await, Ok("https://127.0.0.1:6443/".to_owned()));
        let unknown = try_context(Some("nowhere")).await.unwrap_err();
        assert!(unknown.contains("`nowhere`") && unknown.contains("plain, plugin, provider"), "{unknown}");
        for (context, command) in [("plugin", "aws-login"), ("provider", "gcloud-login")] {
            let refused = try_context(Some(context)).await.unwrap_err();
            assert!(refused.contains(command) && refused.contains("allow_exec_plugins"), "{refused}");
        }
    }

    #[tokio::test]
    async fn no_message_shows_a_login() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        let proxy = "https://127.0.0.1:1', proxy-url: 'socks5://me:tulip@127.0.0.1:2";
        for server in ["https://me:tulip@127.0.0.1:1", proxy] {
            let text = KUBECONFIG.replace("\"https://127.0.0.1:6443\"", &format!("'{server}'"));
            std::fs::write(&path, text).unwrap();
            let access = ClusterAccess::Kubeconfig { path: Some(path.clone()), context: None };
            let shown = format!("{:?}", connect(&ConnectSettings::new(access)).await);
            assert!(!shown.contains("tulip"), "{shown}");
        }
        let access = ClusterAccess::Url("ftp://me:tulip@127.0.0.1".to_owned());
        let shown = format!("{access} {:?}", connect(&ConnectSettings::new(access.clone())).await.err());
        assert!(!shown.contains("tulip"), "{shown}");
    }

    #[tokio::test]
    async fn credentials_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        std::fs::write(&path, KUBECONFIG).unwrap();
        let access = ClusterAccess::Kubeconfig { path: Some(path.clone()), context: None };
        let connection = connect(&ConnectSettings::new(access)).await.unwrap();
        assert!(connection.renew().await.is_ok());
        std::fs::remove_file(&path).unwrap();
        assert!(connection.renew().await.is_ok(), "they were read a moment ago");
        tokio::time::pause();
        tokio::time::advance(RENEWAL).await;
        assert!(connection.renew().await.is_err(), "what we have is kept while nothing better is there");
    }

    #[tokio::test]
    async fn what_cannot_be_reached_is_named() {
        let missing =
            ClusterAccess::Kubeconfig { path: Some("/nonexistent/kubeconfig".into()), context: None };
        let cases = [
            (missing, "/nonexistent/kubeconfig"),
            (ClusterAccess::Url("ftp://example.org".to_owned()), "ftp://example.org"),
            (ClusterAccess::Url("http://".to_owned()), "http://"),
        ];
        for (access, part) in cases {
            let error = connect(&ConnectSettings::new(access)).await.unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let plain = connect(&ConnectSettings::new(ClusterAccess::Url("http://127.0.0.1:1".to_owned())))
            .await
            .unwrap();
        assert_eq!(plain.url(), "http://127.0.0.1:1/");
    }
}
