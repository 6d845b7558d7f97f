//! The part of the file about what monitoring gets.

use super::check::Check;
use super::file::Metrics;
use crate::service::MetricsConfig;

impl Check {
    pub(super) fn metrics(&mut self, written: &Metrics) -> MetricsConfig {
        let Some(written) = &written.environments_max else { return MetricsConfig::default() };
        let most = MetricsConfig::ENVIRONMENTS_MAX;
        match usize::try_from(written.value).ok().filter(|value| *value <= most) {
            Some(environments_max) => MetricsConfig { environments_max },
            None => {
                let message = format!("`environments_max` is {}; the limit is {most}", written.value);
                self.report(written.referenced, "bad_limit", message).hint = Some(
                    "each environment is a series; strandline_environments counts all of them".to_owned(),
                );
                MetricsConfig::default()
            }
        }
    }
}
