//! What discovery shows, in either form of its documents.

use strandline_model::Kind;

/// A group version with its resources, from either form of the documents, in the cluster's order.
#[derive(Clone, Debug)]
pub(super) struct GroupVersion {
    pub(super) group: String,
    pub(super) version: String,
    /// Why discovery of it failed; resources may be known nonetheless.
    pub(super) problem: Option<String>,
    pub(super) resources: Vec<Resource>,
}

#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) kind: Kind,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    pub(super) verbs: Vec<String>,
}

impl Resource {
    /// Whether it is only a part of another, such as a scale.
    pub(super) fn is_part(&self) -> bool {
        self.plural.contains('/')
    }

    pub(super) fn has(&self, verb: &str) -> bool {
        self.verbs.iter().any(|has| has == verb)
    }

    pub(super) fn is_watchable(&self) -> bool {
        self.has("list") && self.has("watch")
    }
}
