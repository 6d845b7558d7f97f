//! The parts of the file about what monitoring gets.

use super::check::Check;
use super::file::{Metrics, Traces};
use crate::service::{MetricsConfig, TracesConfig};
use strandline_redact::{has_login, without_logins};

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

    pub(super) fn traces(&mut self, written: &Traces) -> TracesConfig {
        let (endpoint, at) = (&written.endpoint.value, written.endpoint.referenced);
        if !["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme)) || has_login(endpoint) {
            let message = format!("invalid http or https URL `{}`", without_logins(endpoint));
            self.report(at, "bad_address", message).hint =
                Some("write it without credentials, such as http://127.0.0.1:4318/v1/traces".to_owned());
        }
        let sample = written.sample.as_ref().map_or(1.0, |sample| sample.value);
        if let Some(written) = written.sample.as_ref().filter(|sample| !(0.0..=1.0).contains(&sample.value)) {
            let message = format!("`sample` is {}; it is a part from 0 to 1", written.value);
            self.report(written.referenced, "bad_limit", message).hint =
                Some("0.1 sends a tenth of the traces".to_owned());
        }
        TracesConfig { endpoint: endpoint.clone(), sample }
    }
}
