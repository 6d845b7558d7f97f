//! Where somebody may read.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Places that somebody may read, as their clusters say: namespaces, and whole clusters. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Places(Arc<BTreeSet<(String, String)>>);

impl Places {
    /// These, each by the name of its cluster and its namespace, which is empty for all of the cluster.
    pub fn new(places: impl IntoIterator<Item = (String, String)>) -> Self {
        Places(Arc::new(places.into_iter().collect()))
    }

    /// Whether a place may be read: a namespace, or with an empty one all of a cluster.
    pub fn holds(&self, cluster: &str, namespace: &str) -> bool {
        [namespace, ""]
            .iter()
            .any(|namespace| self.0.contains(&(cluster.to_owned(), (*namespace).to_owned())))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, by cluster and namespace.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(cluster, namespace)| (cluster.as_str(), namespace.as_str()))
    }
}

impl Serialize for Places {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
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
    }
}
