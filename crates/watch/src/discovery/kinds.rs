//! Kinds as a cluster serves them.

use std::fmt;

use strandline_model::{Kind, reason};

/// A kind as a cluster serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedKind {
    /// Group and kind.
    pub kind: Kind,
    /// The version the cluster prefers for it.
    pub version: String,
    /// Its name in addresses, such as `deployments`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl ServedKind {
    /// As objects of the kind write it: `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.kind.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.kind.group, self.version)
        }
    }

    /// The address of the kind's list, everywhere or in one namespace.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.kind.group.is_empty() { "api" } else { "apis" };
        let place = if namespace.is_empty() { String::new() } else { format!("namespaces/{namespace}/") };
        format!("/{root}/{}/{place}{}", self.api_version(), self.plural)
    }
}

/// Whether objects of a kind determine which other kinds there are.
pub(crate) fn determines_kinds(kind: &Kind) -> bool {
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        ("apiextensions.k8s.io", "CustomResourceDefinition") | ("apiregistration.k8s.io", "APIService")
    )
}

/// Whether objects of a kind define other kinds.
pub(crate) fn defines_kinds(kind: &Kind) -> bool {
    kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition"
}

/// Why a kind is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfollowed {
    /// The cluster cannot list and watch it.
    Unwatchable,
    /// The configuration excludes it.
    Excluded,
    /// It is not followed unless asked for.
    ByDefault(&'static str),
    /// Another group has it too, and it is followed there.
    Moved(&'static str),
    /// It is followed in this version.
    OtherVersion(String),
    /// It is followed under this name.
    OtherName(String),
    /// It lives outside namespaces, and only namespaces are watched.
    OutsideNamespaces,
}

impl Unfollowed {
    /// A stable word: what cannot be watched, or what could be and is not to be.
    pub const fn code(&self) -> &'static str {
        match self {
            Unfollowed::Unwatchable => reason::NOT_WATCHABLE,
            _ => reason::EXCLUDED,
        }
    }
}

impl fmt::Display for Unfollowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfollowed::Unwatchable => f.write_str("cannot be watched"),
            Unfollowed::Excluded => f.write_str("excluded by the configuration"),
            Unfollowed::ByDefault(reason) => write!(f, "excluded by default: {reason}"),
            Unfollowed::Moved("") => f.write_str("followed in the core group"),
            Unfollowed::Moved(group) => write!(f, "followed in the group {group}"),
            Unfollowed::OtherVersion(version) => write!(f, "followed in version {version}"),
            Unfollowed::OtherName(plural) => write!(f, "followed under the name {plural}"),
            Unfollowed::OutsideNamespaces => f.write_str("lives outside the namespaces that are watched"),
        }
    }
}
