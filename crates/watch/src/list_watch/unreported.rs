//! What a list finds although events had reported everything up to a state that is as new.

use strandline_log::Observed;
use strandline_model::ResourceVersion;

/// What the list under way found that events should have reported.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    /// Up to here events had reported every change.
    reported: Option<ResourceVersion>,
    /// Changes of versions up to there that the log did not hold.
    pub(super) found: usize,
}

impl Unreported {
    pub(super) fn after(reported: Option<ResourceVersion>) -> Self {
        Unreported { reported, ..Unreported::default() }
    }

    /// Parts what must be in the log already from what may be new.
    pub(super) fn split(&self, observed: Vec<Observed>) -> (Vec<Observed>, Vec<Observed>) {
        let Some(reported) = &self.reported else { return (Vec::new(), observed) };
        observed.into_iter().partition(|seen| {
            let version = seen.resource_version();
            version.and_then(|version| version.compare(reported)).is_some_and(std::cmp::Ordering::is_le)
        })
    }
}
