//! Errors as RFC 9457 problem details.

use serde::{Deserialize, Serialize};

use crate::Gone;
use strandline_model::{Offset, ResourceKey, Timestamp};

/// The body of every error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemDocument {
    /// `urn:strandline:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in a few words that never change.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// This failure in a sentence, for people.
    pub detail: String,
    /// Stable word, as [`ProblemCode::as_str`](crate::ProblemCode::as_str) has them.
    pub code: String,
    /// The path of the request.
    pub instance: String,
    /// Under which the server's log has the request.
    pub trace_id: String,
    /// The parameters that are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ParameterError>,
    /// For an ambiguous uid, the resources to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<ResourceKey>,
    /// For a moment that was pruned, the earliest that can still be asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earliest: Option<EarliestMoment>,
    /// Where the body is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<BodyPosition>,
    /// For what is gone, when it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
}

/// What is wrong with one parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterError {
    /// Its name as given.
    pub parameter: String,
    /// What was given, and what would be valid.
    pub detail: String,
}

/// Where a body is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyPosition {
    /// The path of the field, such as `targets[0].namespace`; empty for the whole body.
    pub field: String,
    /// Line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

/// The earliest moment that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarliestMoment {
    /// Its offset.
    pub offset: Offset,
    /// When the change there was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
}
