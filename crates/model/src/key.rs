//! Where a resource lives: cluster, kind, namespace and name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind without its version, so that a moved storage version stays the same kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind name, such as `Deployment`.
    pub kind: String,
}

impl Kind {
    /// A kind of a group.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Kind { group: group.into(), kind: kind.into() }
    }

    /// Splits an object's `apiVersion` into its group and pairs it with `kind`.
    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Kind::new(group, kind)
    }

    /// Whether this is Kubernetes' Event, a message about a resource, by either of its [`EVENT_API_GROUPS`].
    pub fn is_event(&self) -> bool {
        self.kind == "Event" && EVENT_API_GROUPS.contains(&self.group.as_str())
    }
}

/// The groups that serve Kubernetes' Events: the same objects with the same uids, the one that is watched first.
pub const EVENT_API_GROUPS: [&str; 2] = ["", "events.k8s.io"];

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { self.kind.fmt(f) } else { write!(f, "{}.{}", self.kind, self.group) }
    }
}

/// The address of a resource: stable over API versions and over recreation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceKey {
    /// Name of the cluster in the configuration.
    pub cluster: String,
    /// Group and kind.
    #[serde(flatten)]
    pub kind: Kind,
    /// Namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl ResourceKey {
    /// The resource as people name it where the rest of its address is plain, like `Pod/web-0`.
    pub fn kind_and_name(&self) -> String {
        format!("{}/{}", self.kind.kind, self.name)
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{}", self.name)
    }
}

/// What one watch follows: one kind of one cluster, everywhere or in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WatchKey {
    /// Name of the cluster in the configuration.
    pub cluster: String,
    /// Group and kind.
    #[serde(flatten)]
    pub kind: Kind,
    /// The only namespace watched; empty for all of them.
    pub namespace: String,
}

impl WatchKey {
    /// The discovery of an API group or, where the group is empty, of the whole cluster.
    pub fn discovery(cluster: impl Into<String>, group: impl Into<String>) -> Self {
        WatchKey { cluster: cluster.into(), kind: Kind::new(group, ""), namespace: String::new() }
    }

    /// Whether this means the discovery of the whole cluster, on which all its kinds depend.
    pub fn is_discovery(&self) -> bool {
        self.kind.kind.is_empty() && self.kind.group.is_empty()
    }
}

impl fmt::Display for WatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.kind)?;
        if self.namespace.is_empty() { Ok(()) } else { write!(f, " in {}", self.namespace) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_discovery_of_a_cluster_is_told_from_that_of_a_group_and_from_a_kind() {
        assert!(WatchKey::discovery("eu", "").is_discovery());
        assert!(!WatchKey::discovery("eu", "apps").is_discovery());
        let pods = WatchKey { kind: Kind::new("", "Pod"), ..WatchKey::discovery("eu", "") };
        assert!(!pods.is_discovery());
    }
}
