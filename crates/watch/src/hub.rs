//! A hub: a cluster whose objects are other clusters, such as the Secrets that Cluster API and Argo CD keep, ClusterProfiles, or
//! ManagedClusters.
//!
//! It is listed, and listed again when a watch reports that anything changed; the watch is only a signal, so nothing follows
//! from its events. Whoever may write these objects says where we connect to and with which credentials, and no more than
//! that: no object names a file or a program of ours, and credentials stay in memory.

mod managed;
mod objects;
mod source;

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::select_all;
use serde::Deserialize;

use super::connect::{ClusterConnection, ConnectSettings};
use super::credentials::Credentials;
use super::limits::Limits;
use super::request::{Failure, get, get_text};
use strandline_model::EnvironmentId;
use strandline_syntax::diagnostics::of_json;
use strandline_syntax::percent_encode;

pub use source::{CredentialProgram, HubSource};

use objects::{Object, Secrets};
use source::Listed;

/// The most clusters of a hub.
const CLUSTERS_MAX: usize = 1000;

/// The most pages of a list.
const PAGES_MAX: usize = 100;

/// Objects in a page: a Secret has up to 1 MiB.
const PAGE_OBJECTS: usize = 25;

/// How long a watch stays open.
const WATCH_SECONDS: u64 = 240;

/// How long changes are gathered before the list is read again.
const GATHER: Duration = Duration::from_secs(1);

/// How a hub is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSettings {
    /// How the hub is reached.
    pub connect: ConnectSettings,
    /// What its clusters are.
    pub source: HubSource,
    /// Where they are; none for all namespaces, and then the name of a cluster in a namespace begins with that.
    pub namespace: Option<String>,
    /// A label selector, as the API takes it.
    pub selector: String,
}

/// A cluster of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubCluster {
    /// Its name.
    pub name: String,
    /// The object that it is.
    pub origin: String,
    /// Its credentials.
    pub credentials: Credentials,
    /// Whether its kubeconfig was made here, and names a program that the configuration allows.
    pub runs_program: bool,
}

/// All clusters of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubClusters {
    /// By their names.
    pub clusters: Vec<HubCluster>,
    /// Objects that are no cluster, each with the reason.
    pub ignored: Vec<String>,
}

/// What was read of a hub, for watches to go on from: the version of each of its lists, of which there is at least one.
#[derive(Clone, Debug)]
pub struct HubVersion(Vec<String>);

/// A page of a list.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    #[serde(default)]
    items: Vec<Object>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata {
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

/// A way to a hub.
#[derive(Debug)]
pub struct Hub {
    settings: HubSettings,
    connection: ClusterConnection,
    limits: Limits,
}

impl Hub {
    /// Nothing is sent yet.
    pub fn new(settings: HubSettings) -> Self {
        let connection = ClusterConnection::deferred(settings.connect.clone());
        Hub { settings, connection, limits: Limits::default() }
    }

    /// Reads all clusters, and the version from which [`Hub::changed`] goes on.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub async fn read(&self) -> Result<(HubClusters, HubVersion), String> {
        // What cannot be read is the reason of the failure, or what was read before is used.
        let mut unread = self.connection.ensure_connected().await;
        let mut read = self.list().await;
        if let Err(Failure::Unauthorized(_)) = read {
            unread = self.connection.renew().await;
            if unread.is_ok() {
                read = self.list().await;
            }
        }
        read.map_err(|failure| {
            self.connection.mark_stale();
            match unread {
                Err(error) if !matches!(failure, Failure::Credentials(_)) => format!("{failure}; {error}"),
                _ => failure.to_string(),
            }
        })
    }

    /// Waits until something changed since a version, or until it is time to read all again.
    ///
    /// # Errors
    /// Why that cannot be known.
    pub async fn changed(&self, version: &HubVersion) -> Result<(), String> {
        let lists = self.lists();
        let watches = lists.iter().zip(&version.0).map(|(list, version)| Box::pin(self.watch(list, version)));
        select_all(watches).await.0?;
        tokio::time::sleep(GATHER).await;
        Ok(())
    }

    async fn watch(&self, list: &Listed, version: &str) -> Result<(), String> {
        let path = format!(
            "{}?watch=1&timeoutSeconds={WATCH_SECONDS}&resourceVersion={}{}",
            list.path,
            percent_encode(version),
            list.selectors()
        );
        let client = self.connection.client();
        let mut body = match get(&client, &path, "application/json", &self.limits).await {
            Ok(body) => body,
            Err(Failure::Gone) => return Ok(()),
            Err(failure) => return Err(failure.to_string()),
        };
        // Whatever comes, an event, an error or the end: all is read again.
        let longest = Duration::from_secs(WATCH_SECONDS + 60);
        let _ = tokio::time::timeout(longest, body.next()).await;
        Ok(())
    }

    async fn list(&self) -> Result<(HubClusters, HubVersion), Failure> {
        let (mut found, mut versions) = (Vec::new(), Vec::new());
        for list in self.lists() {
            let (objects, at) = self.all(&list).await?;
            found.push(objects);
            versions.push(at);
        }
        let secrets =
            found.drain(1..).flatten().map(|secret| (secret.place().0.to_owned(), secret)).collect();
        Ok((self.clusters(found.pop().unwrap_or_default(), &secrets), HubVersion(versions)))
    }

    /// All objects of a list, and its version.
    async fn all(&self, list: &Listed) -> Result<(Vec<Object>, String), Failure> {
        let (mut found, mut token) = (Vec::new(), String::new());
        let client = self.connection.client();
        for _ in 0..PAGES_MAX {
            let mut query = format!("limit={PAGE_OBJECTS}");
            if !token.is_empty() {
                query.push_str(&format!("&continue={}", percent_encode(&token)));
            }
            let path = format!("{}?{query}{}", list.path, list.selectors());
            let text = get_text(&client, &path, &self.limits).await.map_err(|failure| match failure {
                Failure::NotServed(message) => Failure::NotServed(format!("{}: {message}", list.path)),
                failure => failure,
            })?;
            // The parser's own message would quote the text, which has credentials.
            let page: Page = serde_json::from_str(&text)
                .map_err(|error| Failure::Invalid(format!("the list: {}", of_json(&error))))?;
            found.extend(page.items);
            token = page.metadata.r#continue;
            if token.is_empty() {
                return Ok((found, page.metadata.resource_version));
            }
        }
        Err(Failure::TooLarge(format!(
            "a list of more than {} objects; use `selector`",
            PAGES_MAX * PAGE_OBJECTS
        )))
    }

    fn lists(&self) -> Vec<Listed> {
        let HubSettings { source, namespace, selector, .. } = &self.settings;
        source.lists(namespace.as_deref(), selector)
    }

    /// The clusters that these objects are, with Secrets by their namespaces. Of two with the same name the first one is it, by
    /// namespace and name.
    fn clusters(&self, mut objects: Vec<Object>, secrets: &Secrets) -> HubClusters {
        objects.sort_by(|one, other| one.place().cmp(&other.place()));
        let mut found = HubClusters::default();
        for object in objects {
            let Some(named) = object.cluster_name(&self.settings.source) else { continue };
            let (namespace, origin) = (object.place().0.to_owned(), object.origin(&self.settings.source));
            let name = match self.settings.namespace {
                None if self.settings.source.is_namespaced() => format!("{namespace}.{named}"),
                _ => named,
            };
            let before = found.clusters.iter().find(|known| known.name == name);
            let why = match (object.why_outside(&self.settings.source), before) {
                (Some(why), _) => why.to_owned(),
                _ if !EnvironmentId::new(name.as_str()).is_plain() => {
                    format!("`{name}` is no name of a cluster; use letters, digits, `-`, `_` and `.`")
                }
                (None, Some(before)) => format!("{} is the cluster `{name}` already", before.origin),
                (None, None) if found.clusters.len() == CLUSTERS_MAX => {
                    format!("only the first {CLUSTERS_MAX} objects of a hub are clusters")
                }
                (None, None) => {
                    let credentials = Credentials::new(object.kubeconfig(&self.settings.source, secrets));
                    let runs_program = matches!(self.settings.source, HubSource::ClusterProfiles(_));
                    found.clusters.push(HubCluster { name, origin, credentials, runs_program });
                    continue;
                }
            };
            found.ignored.push(format!("{origin}: {why}"));
        }
        found.clusters.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }
}
