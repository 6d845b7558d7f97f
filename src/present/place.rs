//! Where resources stand, said no more often than telling them apart needs.

use crate::model::ResourceKey;
use crate::query::Resource;

/// What of their places tells an environment's resources apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    clusters: bool,
    namespaces: bool,
}

impl Places {
    /// Of these resources.
    pub fn of<'a>(nodes: impl Iterator<Item = &'a Resource> + Clone) -> Self {
        fn several<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
            let first = names.next();
            names.any(|name| Some(name) != first)
        }
        let keys = || nodes.clone().map(|node| &node.key);
        let namespaces = keys().map(|key| key.namespace.as_str()).filter(|name| !name.is_empty());
        Places { clusters: several(keys().map(|key| key.cluster.as_str())), namespaces: several(namespaces) }
    }

    /// The place of a resource, where what it is drawn below does not say it already.
    pub fn say(self, key: &ResourceKey, parent: Option<&ResourceKey>) -> Option<String> {
        let place = |key: &ResourceKey| match (self.clusters, self.namespaces && !key.namespace.is_empty()) {
            (true, true) => Some(format!("{}/{}", key.cluster, key.namespace)),
            (true, false) => Some(key.cluster.clone()),
            (false, true) => Some(key.namespace.clone()),
            (false, false) => None,
        };
        place(key).filter(|said| parent.and_then(place).as_ref() != Some(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::tests::resource;

    #[test]
    fn places_are_said_where_they_differ() {
        let at = |cluster: &str, namespace: &str| {
            let mut one = resource("Pod", "web", None);
            (one.key.cluster, one.key.namespace) = (cluster.into(), namespace.into());
            one
        };
        let said = |nodes: &[Resource], parent: bool| {
            Places::of(nodes.iter()).say(&nodes[0].key, parent.then_some(&nodes[1].key)).unwrap_or_default()
        };
        assert_eq!(said(&[at("eu", "shop"), at("eu", "shop")], false), "");
        assert_eq!(said(&[at("eu", "shop"), at("us", "shop")], false), "eu");
        assert_eq!(said(&[at("eu", "shop"), at("eu", "web")], true), "shop");
        assert_eq!(said(&[at("eu", "shop"), at("us", "web")], false), "eu/shop");
        assert_eq!(said(&[at("eu", "shop"), at("eu", "shop"), at("us", "shop")], true), "", "as above it");
        assert_eq!(said(&[at("eu", ""), at("eu", "shop"), at("us", "web")], true), "eu");
    }
}
