//! Answers as JSON.

use super::*;
use serde_json::Value;

/// What is answered as JSON.
///
/// What is generic is compiled with whoever names its types. The server is built small, which makes writing JSON half as fast: so
/// answers are named here, beside what they are made of.
pub trait JsonAnswer: Serialize {
    /// Adds its JSON, in one line without an end.
    ///
    /// # Errors
    /// Where a map of it has keys that are no texts.
    fn write_json(&self, text: &mut Vec<u8>) -> serde_json::Result<()>;
}

macro_rules! answered {
    ($($answer:ty),* $(,)?) => {
        $(impl JsonAnswer for $answer {
            fn write_json(&self, text: &mut Vec<u8>) -> serde_json::Result<()> {
                serde_json::to_writer(text, self)
            }
        })*
    };
}

answered!(
    Answer<Agent>,
    Answer<Deployment>,
    Answer<Environment>,
    Answer<Graph>,
    Answer<HealthHistory>,
    Answer<LeftBehind>,
    Answer<Onset>,
    Answer<Overview>,
    Answer<Project>,
    Answer<ResourceDetail>,
    Answer<ResourceDiff>,
    Answer<SearchResults>,
    Answer<Why>,
    EnvironmentDiff,
    Page<Agent>,
    Page<Cluster>,
    Page<Deployment>,
    Page<Environment>,
    Page<FeedEntry>,
    Page<FeedEvent>,
    Page<FieldValue>,
    Page<FoldedEvent>,
    Page<FoundResource>,
    Page<ImageUse>,
    Page<Project>,
    Page<ProjectGroup>,
    Page<Resource>,
    Page<ResourceEdge>,
    Page<Version>,
    Page<WatchCoverage>,
    SavedViews,
    TimelinePage,
    Value,
);
