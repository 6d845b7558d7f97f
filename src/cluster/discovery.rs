//! Which kinds a cluster has that can be listed and watched.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};
use serde::Deserialize;

mod listing;

pub(super) use listing::list_kinds;
pub use listing::{KindList, ListedKind, Unfollowed};

use super::Limits;
use super::request::{Failure, collect, get, get_text};
use crate::config::ClusterConfig;
use crate::model::{Kind, KindPattern};

/// A kind as a cluster serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedKind {
    /// Group and kind.
    pub kind: Kind,
    /// The version the cluster prefers for it.
    pub version: String,
    /// Its name in addresses, such as `deployments`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl ServedKind {
    /// As objects of the kind write it: `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.kind.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.kind.group, self.version)
        }
    }

    /// The address of the kind's list, everywhere or in one namespace.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.kind.group.is_empty() { "api" } else { "apis" };
        let place = if namespace.is_empty() { String::new() } else { format!("namespaces/{namespace}/") };
        format!("/{root}/{}/{place}{}", self.api_version(), self.plural)
    }
}

/// Kinds that are not followed unless asked for, each with its reason.
pub const DEFAULT_EXCLUDES: [Exclude; 6] = [
    Exclude {
        group: "coordination.k8s.io",
        kind: "Lease",
        reason: "renewed every few seconds, says only that someone lives",
    },
    Exclude { group: "", kind: "Event", reason: "a message about a resource, not a resource" },
    Exclude { group: "events.k8s.io", kind: "Event", reason: "a message about a resource, not a resource" },
    Exclude { group: "", kind: "Endpoints", reason: "a deprecated mirror of EndpointSlice" },
    Exclude {
        group: "",
        kind: "ComponentStatus",
        reason: "deprecated, computed at each request, without identity",
    },
    Exclude {
        group: "metrics.k8s.io",
        kind: "*",
        reason: "measurements without identity, another at each request",
    },
];

/// A kind that is not followed unless asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exclude {
    /// Its group.
    pub group: &'static str,
    /// The kind; `*` for all of the group.
    pub kind: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// Groups whose kinds moved elsewhere, where they are followed if the cluster has them there.
const MOVED: [(&str, &[&str]); 1] = [("extensions", &["apps", "networking.k8s.io", "policy"])];

/// Which kinds are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Kinds to follow in spite of [`DEFAULT_EXCLUDES`].
    pub include: Vec<KindPattern>,
    /// Kinds not to follow; stronger than `include`.
    pub exclude: Vec<KindPattern>,
}

impl Selection {
    /// Whether a kind is followed.
    pub fn follows(&self, kind: &Kind) -> bool {
        self.hindrance(kind).is_none()
    }

    /// Why a kind is not followed, if so.
    fn hindrance(&self, kind: &Kind) -> Option<Unfollowed> {
        let names = |patterns: &[KindPattern]| patterns.iter().any(|pattern| pattern.matches(kind));
        if names(&self.exclude) {
            return Some(Unfollowed::Excluded);
        }
        let means =
            |exclude: &&Exclude| exclude.group == kind.group && ["*", &kind.kind].contains(&exclude.kind);
        let by_default = DEFAULT_EXCLUDES.iter().find(means).filter(|_| !names(&self.include));
        by_default.map(|exclude| Unfollowed::ByDefault(exclude.reason))
    }
}

impl From<&ClusterConfig> for Selection {
    fn from(cluster: &ClusterConfig) -> Self {
        Selection { include: cluster.include.clone(), exclude: cluster.exclude.clone() }
    }
}

/// What a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// The kinds to follow.
    pub kinds: BTreeMap<Kind, ServedKind>,
    /// Groups about which the cluster could not tell; their kinds are those known before.
    pub failed: Vec<FailedGroup>,
}

/// A group about which the cluster could not tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedGroup {
    /// The group.
    pub group: String,
    /// What the cluster said.
    pub message: String,
}

/// A group version with its resources, from either form of the documents, in the cluster's order.
#[derive(Clone, Debug)]
struct GroupVersion {
    group: String,
    version: String,
    /// An error when the cluster could not tell, with what it told nonetheless.
    problem: Option<String>,
    resources: Vec<Resource>,
}

#[derive(Clone, Debug)]
struct Resource {
    kind: Kind,
    plural: String,
    namespaced: bool,
    verbs: Vec<String>,
}

impl Resource {
    /// Whether it is only a part of another, such as a scale.
    fn is_part(&self) -> bool {
        self.plural.contains('/')
    }

    fn is_watchable(&self) -> bool {
        ["list", "watch"].iter().all(|wanted| self.verbs.iter().any(|verb| verb == wanted))
    }
}

/// Asks a cluster for its kinds; `known` are those of the last time.
pub(super) async fn discover(
    client: &kube::Client,
    selection: &Selection,
    limits: &Limits,
    known: &Discovered,
) -> Result<Discovered, Failure> {
    Ok(choose(all_versions(client, limits).await?, selection, known))
}

async fn all_versions(client: &kube::Client, limits: &Limits) -> Result<Vec<GroupVersion>, Failure> {
    let mut versions = group_versions(client, "/api", limits).await?;
    if versions.is_empty() {
        return Err(Failure::Invalid("discovery shows no core group".to_owned()));
    }
    versions.extend(group_versions(client, "/apis", limits).await?);
    Ok(versions)
}

/// Decides from all that was told which kinds are followed, and in which version.
fn choose(versions: Vec<GroupVersion>, selection: &Selection, known: &Discovered) -> Discovered {
    let mut discovered = Discovered::default();
    for version in versions {
        if let Some(message) = version.problem {
            let group = version.group.clone();
            for (kind, served) in known.kinds.iter().filter(|(kind, _)| kind.group == group) {
                discovered.kinds.entry(kind.clone()).or_insert_with(|| served.clone());
            }
            if discovered.failed.iter().all(|failed| failed.group != group) {
                discovered.failed.push(FailedGroup { group, message });
            }
        }
        for resource in version.resources {
            if resource.is_part() || !resource.is_watchable() {
                continue;
            }
            // Versions come in the order of preference, so the first that serves a kind is the one.
            discovered.kinds.entry(resource.kind.clone()).or_insert(ServedKind {
                kind: resource.kind,
                version: version.version.clone(),
                plural: resource.plural,
                namespaced: resource.namespaced,
            });
        }
    }
    let all: BTreeSet<Kind> = discovered.kinds.keys().cloned().collect();
    discovered.kinds.retain(|kind, _| selection.follows(kind) && moved_to(kind, &all).is_none());
    discovered
}

/// The group to which a kind has moved within this cluster.
fn moved_to(kind: &Kind, all: &BTreeSet<Kind>) -> Option<&'static str> {
    let to = MOVED.iter().find(|(from, _)| *from == kind.group).map(|(_, to)| *to);
    to.unwrap_or_default().iter().copied().find(|group| all.contains(&Kind::new(*group, &kind.kind)))
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

async fn group_versions(
    client: &kube::Client,
    path: &str,
    limits: &Limits,
) -> Result<Vec<GroupVersion>, Failure> {
    let body = get(client, path, AGGREGATED, limits).await?;
    match parse_root(&collect(body, limits.page_bytes, limits.idle).await?)? {
        Root::Aggregated(versions) => Ok(versions),
        Root::Legacy(versions) => Ok(legacy(client, limits, versions).await),
    }
}

/// The document at `/api` or `/apis`: everything at once, or the names of group versions to ask for.
enum Root {
    Aggregated(Vec<GroupVersion>),
    Legacy(Vec<(String, String)>),
}

fn parse_root(text: &str) -> Result<Root, Failure> {
    #[derive(Deserialize)]
    struct Typed {
        #[serde(default)]
        kind: String,
    }
    let problem =
        |error: serde_json::Error| Failure::Invalid(format!("discovery that cannot be read: {error}"));
    let typed: Typed = serde_json::from_str(text).map_err(problem)?;
    match typed.kind.as_str() {
        "APIGroupDiscoveryList" => Ok(Root::Aggregated(aggregated(text).map_err(problem)?)),
        "APIVersions" => {
            let core: CoreVersions = serde_json::from_str(text).map_err(problem)?;
            Ok(Root::Legacy(core.versions.into_iter().map(|version| (String::new(), version)).collect()))
        }
        "APIGroupList" => {
            let list: GroupList = serde_json::from_str(text).map_err(problem)?;
            Ok(Root::Legacy(
                list.groups.unwrap_or_default().into_iter().flat_map(GroupEntry::in_order).collect(),
            ))
        }
        other => Err(Failure::Invalid(format!("discovery answered with a `{other}`"))),
    }
}

#[derive(Deserialize)]
struct CoreVersions {
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    groups: Option<Vec<GroupEntry>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupEntry {
    name: String,
    #[serde(default)]
    versions: Vec<VersionEntry>,
    preferred_version: Option<VersionEntry>,
}

#[derive(Deserialize)]
struct VersionEntry {
    version: String,
}

impl GroupEntry {
    /// The group's versions, the preferred one first.
    fn in_order(self) -> Vec<(String, String)> {
        let preferred = self.preferred_version.map(|preferred| preferred.version);
        let mut versions: Vec<String> = self.versions.into_iter().map(|entry| entry.version).collect();
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        versions.into_iter().map(|version| (self.name.clone(), version)).collect()
    }
}

fn aggregated(text: &str) -> Result<Vec<GroupVersion>, serde_json::Error> {
    let list: kube::client::APIGroupDiscoveryList = serde_json::from_str(text)?;
    let mut versions = Vec::new();
    for group in list.items {
        let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
        for version in group.versions {
            let stale = version.freshness.as_deref() == Some("Stale");
            let resources = version.resources.into_iter().filter_map(|resource| {
                let kind = resource.response_kind?;
                let own = kind.group.filter(|group| !group.is_empty());
                Some(Resource {
                    kind: Kind::new(
                        own.unwrap_or_else(|| name.clone()),
                        kind.kind.filter(|kind| !kind.is_empty())?,
                    ),
                    plural: resource.resource?,
                    namespaced: resource.scope.as_deref() == Some("Namespaced"),
                    verbs: resource.verbs,
                })
            });
            versions.push(GroupVersion {
                resources: resources.collect(),
                problem: stale.then(|| "the cluster itself cannot reach the group's server".to_owned()),
                group: name.clone(),
                version: version.version.unwrap_or_default(),
            });
        }
    }
    Ok(versions)
}

/// Asks for each group version by itself, as older clusters want it.
async fn legacy(
    client: &kube::Client,
    limits: &Limits,
    versions: Vec<(String, String)>,
) -> Vec<GroupVersion> {
    let ask = |(group, version): (String, String)| async move {
        let path =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let answer = match get_text(client, &path, limits).await {
            Ok(text) => {
                resources(&group, &text).map_err(|error| format!("an answer that cannot be read: {error}"))
            }
            Err(failure) => Err(failure.to_string()),
        };
        match answer {
            Ok(resources) => GroupVersion { group, version, problem: None, resources },
            Err(problem) => GroupVersion { group, version, problem: Some(problem), resources: Vec::new() },
        }
    };
    stream::iter(versions).map(ask).buffered(4).collect().await
}

fn resources(group: &str, text: &str) -> Result<Vec<Resource>, serde_json::Error> {
    #[derive(Deserialize)]
    struct List {
        resources: Option<Vec<Entry>>,
    }
    #[derive(Deserialize)]
    struct Entry {
        name: String,
        kind: String,
        #[serde(default)]
        group: String,
        #[serde(default)]
        namespaced: bool,
        #[serde(default)]
        verbs: Vec<String>,
    }
    let list: List = serde_json::from_str(text)?;
    let resource = |entry: Entry| Resource {
        kind: Kind::new(if entry.group.is_empty() { group } else { &entry.group }, entry.kind),
        plural: entry.name,
        namespaced: entry.namespaced,
        verbs: entry.verbs,
    };
    Ok(list.resources.unwrap_or_default().into_iter().map(resource).collect())
}

#[cfg(test)]
mod tests;
