//! Somebody as clusters know them.

use std::collections::BTreeSet;

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

/// As whom clusters are asked about people that they do not authenticate themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectRules {
    /// The clusters, by name.
    pub clusters: Vec<String>,
    /// What stands before a user's name in the cluster.
    pub username_prefix: String,
    /// What stands before the name of each of their groups in the cluster.
    pub groups_prefix: String,
    /// What has to be allowed.
    pub permission: Permission,
}

impl SubjectRules {
    /// As whom clusters know somebody; none where that is a user of Kubernetes itself, whom nobody else can vouch for. Nor is
    /// anybody a member of its own groups by this.
    pub(super) fn subject(&self, name: &str, groups: BTreeSet<String>) -> Option<Subject> {
        let SubjectRules { clusters, username_prefix, groups_prefix, permission } = self;
        let user = format!("{username_prefix}{name}");
        let groups = groups.into_iter().map(|group| format!("{groups_prefix}{group}"));
        let groups = groups.filter(|group| !group.starts_with(RESERVED));
        (!user.starts_with(RESERVED)).then(|| Subject::new(user, groups, clusters, permission))
    }
}

/// What the names of Kubernetes' own users and groups begin with.
const RESERVED: &str = "system:";

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
