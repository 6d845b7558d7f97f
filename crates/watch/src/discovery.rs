//! Which kinds a cluster has that can be listed and watched.

mod documents;
mod listing;
mod selection;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::Limits;
use super::request::Failure;
use strandline_model::Kind;

use self::documents::group_versions;
pub(super) use self::listing::list_kinds;
pub use self::listing::{KindList, ListedKind, Unfollowed};
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

/// Whether objects of a kind define other kinds.
pub(super) fn defines_kinds(kind: &Kind) -> bool {
    kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition"
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

    fn has(&self, verb: &str) -> bool {
        self.verbs.iter().any(|has| has == verb)
    }

    fn is_watchable(&self) -> bool {
        self.has("list") && self.has("watch")
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

/// Decides from all that was told which kinds are watched, and in which version.
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
        // What cannot be listed is no object: reviews and other questions.
        for resource in version.resources.into_iter().filter(|told| !told.is_part() && told.has("list")) {
            if !resource.is_watchable() {
                discovered.unfollowed.entry(resource.kind).or_insert(Unfollowed::Unwatchable);
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
    discovered.select(selection);
    discovered
}

impl Discovered {
    /// Takes out what is not to be followed.
    fn select(&mut self, selection: &Selection) {
        let all: BTreeSet<Kind> = self.kinds.keys().cloned().collect();
        let Discovered { kinds, unfollowed, .. } = self;
        unfollowed.retain(|kind, _| !all.contains(kind));
        kinds.retain(|kind, _| {
            let moved = || moved_to(kind, &all).map(Unfollowed::Moved);
            let Some(why_not) = selection.hindrance(kind).or_else(moved) else { return true };
            unfollowed.insert(kind.clone(), why_not);
            false
        });
    }
}

/// The group in which a kind is followed instead.
fn moved_to(kind: &Kind, all: &BTreeSet<Kind>) -> Option<&'static str> {
    let to = MOVED.iter().find(|(from, _)| *from == kind.group).map(|(_, to)| *to);
    to.unwrap_or_default().iter().copied().find(|group| all.contains(&Kind::new(*group, &kind.kind)))
}
