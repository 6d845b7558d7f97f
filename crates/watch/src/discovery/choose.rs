//! Which kinds are followed, and in which group and version.

use std::collections::{BTreeMap, BTreeSet};

use super::documents::group_versions;
use super::kinds::{ServedKind, Unfollowed};
use super::resources::GroupVersion;
use super::selection::Selection;
use crate::limits::Limits;
use crate::request::Failure;
use strandline_model::Kind;

/// Groups whose kinds other groups have too, where they are followed if the cluster has them there. Of the two
/// groups of Events the older one is taken: every cluster has it, and common roles allow it.
const MOVED: [(&str, &[&str]); 2] =
    [("extensions", &["apps", "networking.k8s.io", "policy"]), ("events.k8s.io", &[""])];

/// What a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// The kinds to follow.
    pub kinds: BTreeMap<Kind, ServedKind>,
    /// The kinds with objects that are not followed.
    pub unfollowed: BTreeMap<Kind, Unfollowed>,
    /// Groups whose discovery failed; their kinds are those known before.
    pub failed: Vec<FailedGroup>,
}

/// A group whose discovery failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedGroup {
    /// The group.
    pub group: String,
    /// The message of the cluster.
    pub message: String,
}

/// Asks a cluster for its kinds; `known` are those of the last time.
pub(crate) async fn discover(
    client: &kube::Client,
    selection: &Selection,
    limits: &Limits,
    known: &Discovered,
) -> Result<Discovered, Failure> {
    Ok(choose(all_versions(client, limits).await?, selection, known))
}

pub(super) async fn all_versions(
    client: &kube::Client,
    limits: &Limits,
) -> Result<Vec<GroupVersion>, Failure> {
    let mut versions = group_versions(client, "/api", limits).await?;
    if versions.is_empty() {
        return Err(Failure::Invalid("discovery shows no core group".to_owned()));
    }
    versions.extend(group_versions(client, "/apis", limits).await?);
    Ok(versions)
}

/// Decides which kinds are watched, and in which version.
pub(super) fn choose(versions: Vec<GroupVersion>, selection: &Selection, known: &Discovered) -> Discovered {
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
        // What cannot be listed is no object, such as a SubjectAccessReview.
        for resource in
            version.resources.into_iter().filter(|resource| !resource.is_part() && resource.has("list"))
        {
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
pub(super) fn moved_to(kind: &Kind, all: &BTreeSet<Kind>) -> Option<&'static str> {
    let to = MOVED.iter().find(|(from, _)| *from == kind.group).map(|(_, to)| *to);
    to.unwrap_or_default().iter().copied().find(|group| all.contains(&Kind::new(*group, &kind.kind)))
}
