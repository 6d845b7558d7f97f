//! How changes are told apart in the log's table.

use serde::{Deserialize, Serialize};

use crate::model::{ChangedBy, Timestamp};

/// What a change is; the number is the column `type`.
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

impl ChangeType {
    pub(super) fn from_i64(value: i64) -> Option<Self> {
        use ChangeType::{Applied, Clock, Coverage, Declared, Deleted, Erased, Withdrawn};
        [Applied, Deleted, Coverage, Declared, Withdrawn, Clock, Erased]
            .into_iter()
            .find(|t| *t as i64 == value)
    }
}

/// Puts together who made a change from its columns.
pub(super) fn changed_by(manager: Option<[String; 3]>, managed_at: Option<i64>) -> Option<ChangedBy> {
    let [manager, operation, subresource] = manager?;
    Some(ChangedBy { manager, operation, subresource, time: managed_at.map(Timestamp::from_micros) })
}
