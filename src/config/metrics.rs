//! The parts of the file about what monitoring gets.

use http::header::{
    ACCEPT, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderName,
    HeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
};
use serde_saphyr::Spanned;

use super::check::Check;
use super::file::{Metrics, Traces};
use crate::http::auth::is_trustworthy;
use crate::service::{MetricsConfig, TracesConfig};
use strandline_redact::{has_login, without_logins};

/// What follows from the request itself.
const OWN_HEADERS: [HeaderName; 10] = [
    ACCEPT,
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    EXPECT,
    HOST,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

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
        if let Some((_, file)) = written.header_files.iter().next().filter(|_| !is_trustworthy(endpoint)) {
            let message =
                format!("headers with secrets would be sent unencrypted to `{}`", without_logins(endpoint));
            self.report(file.referenced, "bad_address", message).hint =
                Some("use an https URL as `endpoint`, or a collector on this machine".to_owned());
        }
        let headers =
            written.header_files.iter().filter_map(|(name, file)| self.header_of(name, file)).collect();
        TracesConfig { endpoint: endpoint.clone(), sample, headers }
    }

    /// A header whose value is the text of a file.
    fn header_of(&mut self, name: &str, file: &Spanned<String>) -> Option<(HeaderName, HeaderValue)> {
        let Some(named) = HeaderName::try_from(name).ok().filter(|name| !OWN_HEADERS.contains(name)) else {
            let message = format!("`{name}` is no header that can be set");
            self.report(file.referenced, "bad_name", message).hint =
                Some("such as `authorization`; what describes the request is set by the server".to_owned());
            return None;
        };
        let Ok(mut value) = HeaderValue::try_from(self.secret(file)?) else {
            let message = format!("the text of `{}` cannot be the value of a header", file.value);
            self.report(file.referenced, "unreadable", message).hint =
                Some("a value is one line of visible characters".to_owned());
            return None;
        };
        value.set_sensitive(true);
        Some((named, value))
    }
}
