//! Where environments run, each namespace said once for all the clusters that hold it.

use std::collections::{BTreeMap, BTreeSet};

use crate::format::visible;
use strandline_model::{Target, label_pairs};

/// A namespace and the clusters in which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) namespace: String,
    pub(super) clusters: String,
    /// Labels that its resources carry, as `key=value`, and the inventory they are in; empty for all of the namespace.
    pub(super) labels: String,
}

/// The clusters of these targets, by name.
pub(super) fn clusters(targets: &[Target]) -> BTreeSet<&str> {
    targets.iter().map(|target| target.cluster.as_str()).collect()
}

/// The places of these targets.
pub(super) fn places(targets: &[Target]) -> Vec<Place> {
    let mut clusters: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for target in targets {
        let mut carried = label_pairs(&target.labels);
        carried.extend(target.inventory.as_ref().map(ToString::to_string));
        let namespace = if target.namespace.is_empty() { "all namespaces" } else { &target.namespace };
        let place = (namespace, carried.join(", "));
        clusters.entry(place).or_default().insert(&target.cluster);
    }
    let shown = |text: &str| visible(text).into_owned();
    let place = |((namespace, labels), clusters): ((&str, String), BTreeSet<&str>)| Place {
        namespace: shown(namespace),
        clusters: shown(&clusters.into_iter().collect::<Vec<_>>().join(", ")),
        labels: shown(&labels),
    };
    clusters.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_stands_where_labels_do() {
        let target = Target {
            cluster: "eu".into(),
            inventory: "argocd:shop".parse().ok(),
            labels: [("app".to_owned(), "web".to_owned())].into(),
            ..Target::default()
        };
        let expected = Place {
            namespace: "all namespaces".into(),
            clusters: "eu".into(),
            labels: "app=web, argocd:shop".into(),
        };
        assert_eq!(places(&[target]), [expected]);
    }

    #[test]
    fn a_namespace_is_said_once_for_all_its_clusters() {
        let target = |cluster: &str, namespace: &str| Target {
            cluster: cluster.into(),
            namespace: namespace.into(),
            labels: Default::default(),
            agent: None,
            inventory: None,
        };
        let found = places(&[target("us", "shop"), target("eu", "shop"), target("eu", "web")]);
        let told: Vec<_> = found.iter().map(|place| (&*place.namespace, &*place.clusters)).collect();
        assert_eq!(told, [("shop", "eu, us"), ("web", "eu")]);
    }
}
