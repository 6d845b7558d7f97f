//! Where resources stand, said no more often than telling them apart needs.

use strandline_model::ResourceKey;
use strandline_protocol::{Entry, Graph, Group, Onset, OnsetChange, Resource, Why};

/// What of their places tells an environment's resources apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    clusters: bool,
    namespaces: bool,
}

impl Places {
    /// Of all that a graph shows or counts.
    pub fn of(graph: &Graph) -> Self {
        let groups = graph.groups.iter().map(|group| (group.cluster.as_str(), ""));
        Places::among(graph.nodes.iter().map(|node| place(&node.resource)).chain(groups))
    }

    /// Of the resources on paths and wherever else their environment runs.
    pub fn of_why(why: &Why) -> Self {
        let steps = why.paths.iter().flat_map(|path| &path.steps).map(place);
        let targets = why.environment.targets.iter();
        Places::among(steps.chain(targets.map(|target| (target.cluster.as_str(), target.namespace.as_str()))))
    }

    /// Of what became sick and what changed before, and wherever else their environment runs.
    pub fn of_onset(onset: &Onset) -> Self {
        let changed = onset.causes.iter().chain(&onset.effects);
        let keys = changed.clone().filter_map(|change| change.entry.resource.as_ref()).map(|one| &one.key);
        let keys = keys.chain(onset.sick.iter().map(|sick| &sick.key));
        let also = changed.flat_map(|change| &change.also);
        let elsewhere = also.map(|place| (place.cluster.as_str(), place.namespace.as_str()));
        let clusters = onset.clusters.iter().map(|cluster| (cluster.as_str(), ""));
        Places::among(keys.map(address).chain(elsewhere).chain(clusters))
    }

    /// Of what happened.
    pub fn of_entries(entries: &[Entry]) -> Self {
        let resources = entries.iter().filter_map(|entry| entry.resource.as_ref()).map(|one| &one.key);
        let events = entries.iter().filter_map(|entry| entry.event.as_ref()).map(|one| &one.key);
        Places::among(resources.chain(events).map(address))
    }

    /// Of clusters with namespaces, which are empty for what is in none.
    fn among<'a>(places: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        fn several<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
            let first = names.next();
            names.any(|name| Some(name) != first)
        }
        let namespaces = places.clone().map(|place| place.1).filter(|name| !name.is_empty());
        Places { clusters: several(places.map(|place| place.0)), namespaces: several(namespaces) }
    }

    /// The cluster of resources that are only counted, where what they are drawn below does not say it already.
    pub fn of_group(self, group: &Group) -> Option<&str> {
        Some(group.cluster.as_str()).filter(|_| self.clusters && group.parent.is_none())
    }

    /// The place of a resource, where what it is drawn below does not say it already.
    pub fn say(self, key: &ResourceKey, parent: Option<&ResourceKey>) -> Option<String> {
        let place = |key: &ResourceKey| self.place(address(key));
        place(key).filter(|said| parent.and_then(place).as_ref() != Some(said))
    }

    /// All places of a change.
    pub fn say_all(self, change: &OnsetChange) -> Option<String> {
        let first = change.entry.resource.as_ref().map(|resource| address(&resource.key));
        let also = change.also.iter().map(|place| (place.cluster.as_str(), place.namespace.as_str()));
        let said: Vec<String> = first.into_iter().chain(also).filter_map(|place| self.place(place)).collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    fn place(self, (cluster, namespace): (&str, &str)) -> Option<String> {
        match (self.clusters, self.namespaces && !namespace.is_empty()) {
            (true, true) => Some(format!("{cluster}/{namespace}")),
            (true, false) => Some(cluster.to_owned()),
            (false, true) => Some(namespace.to_owned()),
            (false, false) => None,
        }
    }
}

fn place(resource: &Resource) -> (&str, &str) {
    address(&resource.key)
}

fn address(key: &ResourceKey) -> (&str, &str) {
    (&key.cluster, &key.namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::fixtures::{onset, onset_place};
    use crate::format::tests::{counted, graph, resource, why, why_path};

    #[test]
    fn places_are_said_where_they_differ() {
        let at = |cluster: &str, namespace: &str| {
            let mut one = resource("Pod", "web", None);
            (one.key.cluster, one.key.namespace) = (cluster.into(), namespace.into());
            one
        };
        let said = |nodes: &[Resource], parent: bool| {
            let places = Places::of(&graph(nodes.to_vec(), vec![]));
            places.say(&nodes[0].key, parent.then_some(&nodes[1].key)).unwrap_or_default()
        };
        assert_eq!(said(&[at("eu", "shop"), at("eu", "shop")], false), "");
        assert_eq!(said(&[at("eu", "shop"), at("us", "shop")], false), "eu");
        assert_eq!(said(&[at("eu", "shop"), at("eu", "web")], true), "shop");
        assert_eq!(said(&[at("eu", "shop"), at("us", "web")], false), "eu/shop");
        assert_eq!(said(&[at("eu", "shop"), at("eu", "shop"), at("us", "shop")], true), "", "as above it");
        assert_eq!(said(&[at("eu", ""), at("eu", "shop"), at("us", "web")], true), "eu");
    }
    #[test]
    fn what_is_only_counted_has_a_place_too() {
        let mut one = graph(vec![resource("Pod", "web", None)], vec![]);
        one.groups = vec![counted("Pod", None, 3), counted("Pod", Some("web"), 3)];
        assert_eq!(Places::of(&one).of_group(&one.groups[0]), None);
        one.groups[0].cluster = "us".into();
        assert_eq!(Places::of(&one).of_group(&one.groups[0]), Some("us"));
        assert_eq!(Places::of(&one).of_group(&one.groups[1]), None, "its owner says it");
    }

    #[test]
    fn a_change_names_all_clusters_in_which_it_was_made() {
        let mut onset = onset();
        let said = |onset: &Onset| Places::of_onset(onset).say_all(&onset.causes[0]);
        assert_eq!(said(&onset), None);
        onset.clusters.push("us".into());
        assert_eq!(said(&onset).as_deref(), Some("eu-west"), "its environment runs elsewhere too");
        onset.causes[0].also.push(onset_place("us", "web"));
        assert_eq!(said(&onset).as_deref(), Some("eu-west/shop, us/web"));
    }

    #[test]
    fn a_path_says_its_cluster_where_the_environment_has_others() {
        let mut one = why(vec![why_path(&["web"])]);
        let said = |why: &Why| Places::of_why(why).say(&why.paths[0].steps[0].key, None);
        assert_eq!(said(&one), None);
        let mut target = one.environment.targets[0].clone();
        target.cluster = "us".into();
        one.environment.targets.push(target);
        assert_eq!(said(&one).as_deref(), Some("eu-west"));
    }
}
