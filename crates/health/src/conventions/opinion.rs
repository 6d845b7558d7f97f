//! What one convention says.

use crate::finding::{Finding, verdict};
use strandline_model::{Health, Verdict};

/// What one convention says.
#[derive(Clone, Debug)]
pub(super) struct Opinion {
    pub(super) health: Health,
    /// Said in so many words, not guessed from what is not said.
    pub(super) sure: bool,
    /// Said of the whole object, not of a part.
    pub(super) summary: bool,
    pub(super) rule: String,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Opinion {
    /// What is under a name in the status.
    pub(super) fn new(health: Health, name: &str, reason: &str, message: impl Into<String>) -> Self {
        let rule = format!("conventions/{name}");
        Opinion {
            health,
            sure: true,
            summary: false,
            rule,
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    pub(super) fn progressing(name: &str, reason: &str, message: &str) -> Self {
        Opinion::new(Health::Progressing, name, reason, message)
    }
}

impl From<Opinion> for Verdict {
    fn from(Opinion { health, rule, reason, message, .. }: Opinion) -> Self {
        verdict(&rule, Finding::new(health, reason, message))
    }
}
