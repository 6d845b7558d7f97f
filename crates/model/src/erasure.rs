//! That values were erased from what was recorded, as the log records it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Values were erased from earlier changes: whose bodies say something else than what their links in the chain cover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    /// Who erased them.
    pub by: String,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What replaces the values.
    pub values: Vec<String>,
    /// The digests of the bodies that were recorded, as the chain covers them, with those of what is there now.
    pub bodies: BTreeMap<String, String>,
}
