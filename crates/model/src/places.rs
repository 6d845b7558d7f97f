//! Where somebody may read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Namespaces of a cluster, of which the empty one is all of it.
pub type Namespaces = Arc<BTreeSet<String>>;

/// Places that somebody may read, as their clusters say: namespaces, and whole clusters. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Places(Arc<BTreeMap<String, Namespaces>>);

impl Places {
    /// These, each by the name of its cluster and its namespace, which is empty for all of the cluster.
    pub fn new(places: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut clusters: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (cluster, namespace) in places {
            clusters.entry(cluster).or_default().insert(namespace);
        }
        Places::of_clusters(clusters.into_iter().map(|(cluster, namespaces)| (cluster, namespaces.into())))
    }

    /// These, each by the name of its cluster, and shared rather than copied.
    pub fn of_clusters(clusters: impl IntoIterator<Item = (String, Namespaces)>) -> Self {
        // Without clusters in which there is nothing, what is the same is equal.
        Places(Arc::new(clusters.into_iter().filter(|(_, namespaces)| !namespaces.is_empty()).collect()))
    }

    /// Whether a place may be read: a namespace, or with an empty one all of a cluster.
    pub fn holds(&self, cluster: &str, namespace: &str) -> bool {
        let namespaces = self.0.get(cluster);
        namespaces.is_some_and(|namespaces| namespaces.contains(namespace) || namespaces.contains(""))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, by cluster and namespace.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(cluster, namespaces)| {
            namespaces.iter().map(move |namespace| (cluster.as_str(), namespace.as_str()))
        })
    }
}

impl Serialize for Places {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_held_by_itself_or_with_its_whole_cluster() {
        let place = |cluster: &str, namespace: &str| (cluster.to_owned(), namespace.to_owned());
        let places = Places::new([place("east", "shop"), place("west", "")]);
        for (cluster, namespace, held) in [
            ("east", "shop", true),
            ("east", "shopping", false),
            ("east", "", false),
            ("west", "shop", true),
            ("west", "", true),
            ("north", "shop", false),
            ("", "", false),
        ] {
            assert_eq!(places.holds(cluster, namespace), held, "{cluster}/{namespace}");
        }
        assert!(Places::default().is_empty() && !places.is_empty());
        assert_eq!(places.iter().collect::<Vec<_>>(), [("east", "shop"), ("west", "")]);
        let nothing = Places::of_clusters([("north".to_owned(), Namespaces::default())]);
        assert_eq!(nothing, Places::default());
    }
}
