//! How changes are told apart in the log's table.

use crate::model::{ChangedBy, Timestamp};

/// The column `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeType {
    Applied = 1,
    Deleted = 2,
    Coverage = 3,
    Declared = 4,
    Withdrawn = 5,
}

impl ChangeType {
    pub(super) fn from_i64(value: i64) -> Option<Self> {
        use ChangeType::{Applied, Coverage, Declared, Deleted, Withdrawn};
        [Applied, Deleted, Coverage, Declared, Withdrawn].into_iter().find(|t| *t as i64 == value)
    }
}

/// Puts together who made a change from its columns.
pub(super) fn changed_by(manager: Option<[String; 3]>, managed_at: Option<i64>) -> Option<ChangedBy> {
    let [manager, operation, subresource] = manager?;
    Some(ChangedBy { manager, operation, subresource, time: managed_at.map(Timestamp::from_micros) })
}
