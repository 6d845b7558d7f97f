//! Which kinds a cluster has that can be listed and watched.

mod documents;
mod selection;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::Limits;
use super::request::Failure;
use crate::model::Kind;

use self::documents::group_versions;
pub use self::selection::{DEFAULT_EXCLUDES, Exclude, Selection};

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

/// Whether objects of a kind tell which other kinds there are.
pub(super) fn tells_kinds(kind: &Kind) -> bool {
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        ("apiextensions.k8s.io", "CustomResourceDefinition") | ("apiregistration.k8s.io", "APIService")
    )
}

/// Groups whose kinds other groups have too, where they are followed if the cluster has them there. Of the two doors to
/// Events the older one is taken: every cluster has it, and it is the one that common roles let through.
const MOVED: [(&str, &[&str]); 2] =
    [("extensions", &["apps", "networking.k8s.io", "policy"]), ("events.k8s.io", &[""])];

/// What a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// The kinds to follow.
    pub kinds: BTreeMap<Kind, ServedKind>,
    /// The kinds with objects that are not followed.
    pub unfollowed: BTreeMap<Kind, Unfollowed>,
    /// Groups about which the cluster could not tell; their kinds are those known before.
    pub failed: Vec<FailedGroup>,
}

/// Why a kind is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfollowed {
    /// The version the cluster prefers for it.
    pub version: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Stable word: `excluded` or `not_watchable`.
    pub reason: &'static str,
    /// The reason in a sentence for people.
    pub message: String,
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
#[derive(Debug)]
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

/// Asks a cluster for its kinds; `known` are those of the last time.
pub(super) async fn discover(
    client: &kube::Client,
    selection: &Selection,
    limits: &Limits,
    known: &Discovered,
) -> Result<Discovered, Failure> {
    let mut versions = group_versions(client, "/api", limits).await?;
    if versions.is_empty() {
        return Err(Failure::Invalid("discovery shows no core group".to_owned()));
    }
    versions.extend(group_versions(client, "/apis", limits).await?);
    Ok(choose(versions, selection, known))
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
            let verb = |name: &str| resource.verbs.iter().any(|verb| verb == name);
            // What cannot be listed is no object: reviews and other questions, subresources.
            if resource.plural.contains('/') || !verb("list") {
                continue;
            }
            let served = ServedKind {
                kind: resource.kind.clone(),
                version: version.version.clone(),
                plural: resource.plural.clone(),
                namespaced: resource.namespaced,
            };
            // Versions come in the order of preference, so the first that serves a kind is the one.
            if verb("watch") {
                discovered.kinds.entry(resource.kind).or_insert(served);
            } else {
                let message = "the cluster lists it and does not let it be watched".to_owned();
                let unfollowed = served.unfollowed("not_watchable", message);
                discovered.unfollowed.entry(resource.kind).or_insert(unfollowed);
            }
        }
    }
    discovered.select(selection);
    discovered
}

impl ServedKind {
    fn unfollowed(&self, reason: &'static str, message: String) -> Unfollowed {
        Unfollowed { version: self.version.clone(), namespaced: self.namespaced, reason, message }
    }
}

impl Discovered {
    /// Takes out what is not to be followed.
    fn select(&mut self, selection: &Selection) {
        let all: BTreeSet<Kind> = self.kinds.keys().cloned().collect();
        let Discovered { kinds, unfollowed, .. } = self;
        unfollowed.retain(|kind, _| !all.contains(kind));
        kinds.retain(|kind, served| {
            let why_not = moved(kind, &all)
                .map(|group| format!("it is followed as {}", Kind::new(group, &kind.kind)))
                .or_else(|| selection.why_not(kind));
            let Some(message) = why_not else { return true };
            unfollowed.insert(kind.clone(), served.unfollowed("excluded", message));
            false
        });
    }
}

/// The group in which a kind is followed instead.
fn moved(kind: &Kind, all: &BTreeSet<Kind>) -> Option<&'static str> {
    let to = MOVED.iter().find(|(from, _)| *from == kind.group).map(|(_, to)| *to);
    to.unwrap_or_default().iter().copied().find(|group| all.contains(&Kind::new(*group, &kind.kind)))
}
