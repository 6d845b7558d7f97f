//! Somebody as clusters know them.

/// What has to be allowed in a namespace for what is in it to be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permission {
    /// The verb.
    pub verb: String,
    /// The API group of the resource; empty for the core group.
    pub group: String,
    /// The resource, in the plural.
    pub resource: String,
}

/// ConfigMaps are the most telling of what everybody with the role `view` may read.
impl Default for Permission {
    fn default() -> Self {
        Permission { verb: "list".to_owned(), group: String::new(), resource: "configmaps".to_owned() }
    }
}

/// Somebody as clusters know them, and which of these are asked what they may read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The user name.
    pub user: String,
    /// All groups.
    pub groups: Vec<String>,
    /// The clusters, by name.
    pub clusters: Vec<String>,
    /// What they are asked.
    pub permission: Permission,
}

/// What the names of Kubernetes' own users and groups begin with.
pub(super) const RESERVED: &str = "system:";

/// The group of everybody whom a cluster knows.
const EVERYBODY: &str = "system:authenticated";

impl Subject {
    /// Somebody of these groups, and of the one of everybody.
    pub(super) fn new(
        user: String,
        groups: impl IntoIterator<Item = String>,
        clusters: &[String],
        permission: &Permission,
    ) -> Self {
        let mut groups: Vec<String> = groups.into_iter().chain([EVERYBODY.to_owned()]).collect();
        groups.sort_unstable();
        groups.dedup();
        Subject { user, groups, clusters: clusters.to_vec(), permission: permission.clone() }
    }
}
