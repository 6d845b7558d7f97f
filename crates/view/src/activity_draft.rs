//! What is seen of environments while a record is applied, of which `activity` writes what it comes to.

use std::collections::{BTreeMap, BTreeSet};

use strandline_model::ResourceId;

/// What the record itself does to its resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnChange {
    Created,
    Changed,
    Deleted,
}

/// A change that somebody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The view's number of the field manager; none where it is not known.
    pub(super) manager: Option<i64>,
}

/// What was seen while a record is applied.
#[derive(Debug, Default)]
pub(super) struct ActivityDraft {
    pub(super) own: Option<(ResourceId, OwnChange)>,
    /// To what the record's resource belongs.
    pub(super) environments: BTreeSet<i64>,
    /// How often more a resource joined an environment than it left.
    pub(super) moves: BTreeMap<(i64, ResourceId), i32>,
    /// Digests of what was asked of the record's resource before and is now.
    pub(super) spec: (Option<i64>, Option<i64>),
    /// Who asked for what the record does to its resource; none where nobody did.
    pub(super) request: Option<Request>,
    /// The field manager that wrote the status of the record's resource, where it is no GitOps tool.
    pub(super) reporter: Option<i64>,
}

impl ActivityDraft {
    /// Sets which resource the record is about.
    pub(super) fn set_own(&mut self, id: ResourceId, change: OwnChange) {
        self.own = Some((id, change));
    }

    /// Sets what was asked of the record's resource before and is now.
    pub(super) fn set_spec(&mut self, before: Option<i64>, after: Option<i64>) {
        self.spec = (before, after);
    }

    /// Sets to what a resource belongs; only that of the record's own matters.
    pub(super) fn set_environments<'a>(
        &mut self,
        id: ResourceId,
        environments: impl Iterator<Item = &'a i64>,
    ) {
        if self.own.is_some_and(|(own, _)| own == id) {
            self.environments = environments.copied().collect();
        }
    }

    /// Counts a resource that joined an environment.
    pub(super) fn add_joined(&mut self, environment: i64, id: ResourceId) {
        *self.moves.entry((environment, id)).or_default() += 1;
    }

    /// Counts a resource that left an environment.
    pub(super) fn add_left(&mut self, environment: i64, id: ResourceId) {
        *self.moves.entry((environment, id)).or_default() -= 1;
    }
}
