//! Answers to requests that change the catalog, and answers with warnings.

use serde::{Deserialize, Serialize};

use strandline_model::Offset;

/// What holds after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written<T> {
    /// The new state.
    #[serde(flatten)]
    pub value: T,
    /// Where the change is in the log.
    pub metadata: WriteMetadata,
}

/// What holds after several changes of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenList<T> {
    /// In the order of the request.
    pub items: Vec<Written<T>>,
}

/// The answer to a deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawn {
    /// Where the change is in the log.
    pub metadata: WriteMetadata,
}

/// Where a change is in the log, and warnings of its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteMetadata {
    /// Reading at this offset shows it.
    pub offset: Offset,
    /// What is odd about the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A value, with warnings of the configuration that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithWarnings<T> {
    /// The value.
    #[serde(flatten)]
    pub value: T,
    /// What is odd about the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
