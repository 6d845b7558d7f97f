//! The types of changes in the log's table.

use serde::{Deserialize, Serialize};

use strandline_model::{ChangedBy, Timestamp, stored};

/// What a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeType {
    /// A resource was created or took a new state.
    Applied = 1,
    /// A resource is gone.
    Deleted = 2,
    /// A kind of a cluster began or ceased to be watched.
    Coverage = 3,
    /// The catalog holds something from now on.
    Declared = 4,
    /// The catalog no longer holds something.
    Withdrawn = 5,
    /// The machine's clock jumped, or recorded time follows it anew.
    Clock = 6,
    /// Values were erased from earlier changes.
    Erased = 7,
}

stored!(ChangeType, "type of change", Applied, Deleted, Coverage, Declared, Withdrawn, Clock, Erased,);

/// Puts together who made a change from its columns.
pub(super) fn changed_by(manager: Option<[String; 3]>, managed_at: Option<Timestamp>) -> Option<ChangedBy> {
    let [manager, operation, subresource] = manager?;
    Some(ChangedBy { manager, operation, subresource, time: managed_at })
}
