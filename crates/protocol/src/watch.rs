//! What streams say.

use serde::{Deserialize, Serialize};

use super::{Environment, Resource};
use strandline_model::{EnvironmentId, Health, Offset, Uid};

/// What became of an environment in a list that is watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchedEnvironment {
    /// The list is like this at this offset.
    pub offset: Offset,
    /// Its id.
    pub id: EnvironmentId,
    /// Where its health changed, what that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Health>,
    /// As the list has it; none where it left the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
}

/// What became of a resource in a list that is watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchedResource {
    /// The list is like this at this offset.
    pub offset: Offset,
    /// Its uid.
    pub id: Uid,
    /// Its cluster.
    pub cluster: String,
    /// Where its health changed, what that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Health>,
    /// As the list has it; none where it left the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Resource>,
}
