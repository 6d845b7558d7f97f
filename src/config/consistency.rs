//! The part of the file about comparing what is recorded with what clusters have.

use std::time::Duration;

use super::check::Check;
use super::file::Consistency;

/// Comparisons that follow a broken stream are no closer than this either.
const LEAST: Duration = Duration::from_secs(10 * 60);

impl Check {
    /// How often each kind is compared; none where nothing is said.
    pub(super) fn consistency(&mut self, written: &Consistency) -> Option<Duration> {
        let every = written.every.as_ref()?;
        let span = self.span(every, "write it as 30m, 12h or 1d")?;
        if span < LEAST {
            let message = format!("a comparison every `{}` is too frequent for the clusters", every.value);
            self.report(every.referenced, "bad_duration", message).hint =
                Some("use 10m or more; `strandline relist` compares at once".to_owned());
        }
        Some(span)
    }
}
