//! Which kinds and which objects are followed.

use super::kinds::{ServedKind, Unfollowed};
use strandline_model::{EVENT_API_GROUPS, Kind, KindPattern};
use strandline_syntax::{LabelSelector, percent_encode};

/// Kinds that are not followed unless asked for, each with its reason.
pub const DEFAULT_EXCLUDES: [Exclude; 4] = [
    Exclude {
        group: "coordination.k8s.io",
        kind: "Lease",
        reason: "renewed every few seconds, says only that someone lives",
    },
    Exclude { group: "", kind: "Endpoints", reason: "a deprecated mirror of EndpointSlice" },
    Exclude {
        group: "",
        kind: "ComponentStatus",
        reason: "deprecated, computed at each request, without identity",
    },
    Exclude {
        group: "metrics.k8s.io",
        kind: "*",
        reason: "measurements without identity, another at each request",
    },
];

/// A kind that is not followed unless asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exclude {
    /// Its group.
    pub group: &'static str,
    /// The kind; `*` for all of the group.
    pub kind: &'static str,
    /// Why.
    pub reason: &'static str,
}

impl Exclude {
    fn matches(&self, kind: &Kind) -> bool {
        self.group == kind.group && (self.kind == "*" || self.kind == kind.kind)
    }
}

/// Which kinds are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Kinds to follow in spite of [`DEFAULT_EXCLUDES`].
    pub include: Vec<KindPattern>,
    /// Kinds not to follow; stronger than `include`.
    pub exclude: Vec<KindPattern>,
    /// Namespaces that are not looked into where a whole cluster is followed.
    pub exclude_namespaces: Vec<String>,
    /// Only objects in namespaces that this label selector takes; empty for all.
    pub labels: LabelSelector,
}

impl Selection {
    /// Whether a kind is followed.
    pub fn follows(&self, kind: &Kind) -> bool {
        self.hindrance(kind).is_none()
    }

    /// Why a kind is not followed, if so.
    pub(super) fn hindrance(&self, kind: &Kind) -> Option<Unfollowed> {
        let names = |patterns: &[KindPattern]| patterns.iter().any(|pattern| pattern.matches(kind));
        // To exclude Events by one of their groups is to exclude the other too.
        let events = || EVENT_API_GROUPS.map(|group| Kind::new(group, "Event"));
        let excludes = |kind: &Kind| self.exclude.iter().any(|pattern| pattern.matches(kind));
        if names(&self.exclude) || (kind.is_event() && events().iter().any(excludes)) {
            return Some(Unfollowed::Excluded);
        }
        let default = DEFAULT_EXCLUDES.iter().find(|exclude| exclude.matches(kind));
        default.filter(|_| !names(&self.include)).map(|exclude| Unfollowed::ByDefault(exclude.reason))
    }

    /// The selectors that a list or watch of a kind is sent with, as parameters of a query; empty for none. They
    /// concern only what lives in namespaces: without nodes and namespaces the rest could not be understood.
    pub(crate) fn query(&self, served: &ServedKind, namespace: &str) -> String {
        let mut query = String::new();
        if !served.namespaced {
            return query;
        }
        // Events carry no labels of what they speak of.
        if !self.labels.is_empty() && !served.kind.is_event() {
            query.push_str(&format!("&labelSelector={}", percent_encode(&self.labels.to_string())));
        }
        if namespace.is_empty() && !self.exclude_namespaces.is_empty() {
            let others = self.exclude_namespaces.iter().map(|name| format!("metadata.namespace!={name}"));
            query.push_str(&format!(
                "&fieldSelector={}",
                percent_encode(&others.collect::<Vec<_>>().join(","))
            ));
        }
        query
    }
}
