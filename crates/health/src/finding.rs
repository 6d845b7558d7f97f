//! What a rule finds, and the verdict that comes of it.

use strandline_model::{Health, Timestamp, Verdict};
use strandline_object::Object;

/// What a rule finds; the rule's own name is added by [`assess`].
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) health: Health,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// For what the object waits, where it may do so for a time only.
    pub(crate) wait: Option<Wait>,
}

impl Finding {
    pub(crate) fn new(health: Health, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Finding { health, reason: reason.into(), message: message.into(), wait: None }
    }

    pub(crate) fn healthy() -> Self {
        Finding::new(Health::Healthy, "", "")
    }

    /// What cannot be known, by the word that says nothing to us.
    pub(crate) fn unknown(word: &str, message: &str) -> Self {
        Finding::new(Health::Unknown, if word.is_empty() { NOT_REPORTED } else { word }, message)
    }

    pub(crate) fn progressing(reason: &str, message: impl Into<String>) -> Self {
        Finding::new(Health::Progressing, reason, message)
    }

    /// What was found on an object on which somebody is to report who has not yet.
    pub(crate) fn unreported(object: &Object<'_>) -> Self {
        let wait = Wait::Report { since: object.metadata.creation_timestamp };
        Finding { wait: Some(wait), ..Finding::progressing(NOT_REPORTED, "Waiting for a status") }
    }
}

/// The reason while a controller has not yet looked at the newest spec.
pub(crate) const NOT_OBSERVED: &str = "GenerationNotObserved";

/// The reason where nobody has said anything yet.
pub(crate) const NOT_REPORTED: &str = "NotReported";

/// For what an object waits.
#[derive(Debug)]
pub(crate) enum Wait {
    /// A node, which none can be as the message says.
    Node {
        /// As the object reports.
        since: Option<Timestamp>,
        message: String,
    },
    /// Somebody's report.
    Report {
        /// When it was made.
        since: Option<Timestamp>,
    },
}

pub(crate) fn verdict(rule: &str, finding: Finding) -> Verdict {
    let Finding { health, reason, message, .. } = finding;
    Verdict { health: Some(health), reason, message, rule: rule.to_owned(), later: None }
}

/// The verdict on what has no state that could be good or bad.
pub(crate) fn without_health() -> Verdict {
    let (reason, message) = (String::new(), String::new());
    Verdict { health: None, reason, message, rule: "none".to_owned(), later: None }
}
