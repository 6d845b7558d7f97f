//! Every kind that a cluster has, with why it is not followed where it is not.

use std::collections::BTreeSet;

use super::choose::{Discovered, FailedGroup, all_versions, choose, moved_to};
use super::kinds::{ServedKind, Unfollowed};
use super::resources::{GroupVersion, Resource};
use super::selection::Selection;
use crate::limits::Limits;
use crate::request::Failure;
use strandline_model::Kind;

/// All kinds of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindList {
    /// Every kind in every version and under every name, in the order of group, kind and preference.
    pub kinds: Vec<ListedKind>,
    /// Groups whose discovery failed.
    pub failed: Vec<FailedGroup>,
}

/// A kind as one group version serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKind {
    /// The kind.
    pub served: ServedKind,
    /// Why it is not followed here; none when it is.
    pub unfollowed: Option<Unfollowed>,
}

/// Asks a cluster for all its kinds; `whole` where more is watched than some namespaces.
pub(crate) async fn list_kinds(
    client: &kube::Client,
    selection: &Selection,
    whole: bool,
    limits: &Limits,
) -> Result<KindList, Failure> {
    Ok(listed(all_versions(client, limits).await?, selection, whole))
}

/// Judges each kind by what [`choose`] made of them all, so that the two cannot disagree.
fn listed(versions: Vec<GroupVersion>, selection: &Selection, whole: bool) -> KindList {
    let chosen = choose(versions.clone(), selection, &Discovered::default());
    let resources: Vec<_> = versions
        .into_iter()
        .flat_map(|group| group.resources.into_iter().map(move |resource| (group.version.clone(), resource)))
        .filter(|(_, resource)| !resource.is_part())
        .collect();
    let watchable = resources.iter().filter(|(_, resource)| resource.is_watchable());
    let all: BTreeSet<Kind> = watchable.map(|(_, resource)| resource.kind.clone()).collect();
    let judge = |(version, resource): (String, Resource)| {
        let watchable = resource.is_watchable();
        let Resource { kind, plural, namespaced, .. } = resource;
        let served = ServedKind { kind, version, plural, namespaced };
        let unfollowed = if !watchable {
            Some(Unfollowed::Unwatchable)
        } else if chosen.kinds.get(&served.kind) == Some(&served) {
            (!namespaced && !whole).then_some(Unfollowed::OutsideNamespaces)
        } else {
            Some(elsewhere(&served, selection, &all, &chosen))
        };
        ListedKind { served, unfollowed }
    };
    let mut kinds: Vec<ListedKind> = resources.into_iter().map(judge).collect();
    kinds.sort_by(|one, two| one.served.kind.cmp(&two.served.kind));
    KindList { kinds, failed: chosen.failed }
}

/// Why a kind that can be watched was not chosen.
fn elsewhere(
    served: &ServedKind,
    selection: &Selection,
    all: &BTreeSet<Kind>,
    chosen: &Discovered,
) -> Unfollowed {
    if let Some(hindrance) = selection.hindrance(&served.kind) {
        return hindrance;
    }
    if let Some(group) = moved_to(&served.kind, all) {
        return Unfollowed::Moved(group);
    }
    match chosen.kinds.get(&served.kind) {
        Some(other) if other.version == served.version => Unfollowed::OtherName(other.plural.clone()),
        Some(other) => Unfollowed::OtherVersion(other.version.clone()),
        None => Unfollowed::Unwatchable,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::super::tests::{ALL, aggregated, cluster, resource};
    use super::*;
    use serde_json::json;

    fn lines(list: &KindList) -> Vec<String> {
        let line = |kind: &ListedKind| {
            let why = kind.unfollowed.as_ref().map_or("followed".to_owned(), Unfollowed::to_string);
            format!("{} {} {}: {why}", kind.served.kind, kind.served.version, kind.served.plural)
        };
        list.kinds.iter().map(line).collect()
    }

    #[test]
    fn every_kind_is_listed_with_why_it_is_not_followed() {
        let selection = Selection {
            include: vec!["Endpoints".parse().unwrap()],
            exclude: vec!["Only.extensions".parse().unwrap()],
            ..Selection::default()
        };
        let list = listed(cluster(), &selection, true);
        assert_eq!(
            lines(&list),
            [
                "Binding v1 bindings: cannot be watched",
                "ComponentStatus v1 componentstatuses: cannot be watched",
                "Endpoints v1 endpoints: followed",
                "Event v1 events: followed",
                "Pod v1 pods: followed",
                "Gadget.acme.example v1 gadgets: followed",
                "Widget.acme.example v2 widgets: followed",
                "Widget.acme.example v1 widgets: followed in version v2",
                "Ingress.extensions v1beta1 ingresses: followed in the group networking.k8s.io",
                "Only.extensions v1beta1 only: excluded by the configuration",
                "PodMetrics.metrics.k8s.io v1beta1 pods: excluded by default: measurements without identity, another at each request",
                "Ingress.networking.k8s.io v1 ingresses: followed",
            ]
        );
    }

    #[test]
    fn odd_kinds_and_failing_groups_are_told() {
        let mut node = resource("nodes", "Node", &ALL);
        node["scope"] = "Cluster".into();
        let versions = aggregated(json!([
            {"metadata": {}, "versions": [{"version": "v1", "resources": [
                node, resource("pods", "Pod", &ALL), resource("pods/status", "Pod", &["get"]), resource("pods2", "Pod", &ALL),
            ]}]},
            {"metadata": {"name": "dead.example"}, "versions": [{"version": "v1", "freshness": "Stale", "resources": []}]},
        ]));
        let list = listed(versions.clone(), &Selection::default(), false);
        assert_eq!(
            lines(&list),
            [
                "Node v1 nodes: lives outside the namespaces that are watched",
                "Pod v1 pods: followed",
                "Pod v1 pods2: followed under the name pods",
            ]
        );
        assert_eq!(
            list.failed.iter().map(|failed| failed.group.as_str()).collect::<Vec<_>>(),
            ["dead.example"]
        );
        assert!(listed(versions, &Selection::default(), true).kinds[0].unfollowed.is_none());
    }
}
