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

/// What was seen while a record is applied.
#[derive(Debug, Default)]
pub(super) struct ActivityDraft {
    pub(super) own: Option<(ResourceId, OwnChange)>,
    /// To what the record's resource belongs.
    pub(super) environments: BTreeSet<i64>,
    /// How often more a resource joined an environment than it left.
    pub(super) moves: BTreeMap<(i64, ResourceId), i32>,
}

impl ActivityDraft {
    /// Sets which resource the record is about.
    pub(super) fn set_own(&mut self, id: ResourceId, change: OwnChange) {
        self.own = Some((id, change));
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
