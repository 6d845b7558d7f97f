//! The part of the file about what callers may declare, and how often.

use super::check::Check;
use super::file::Quotas;
use super::retention::bytes;
use crate::catalog::QuotaConfig;

impl Check {
    pub(super) fn quotas(&mut self, written: &Quotas) -> QuotaConfig {
        let default = QuotaConfig::default();
        let bytes_per_day = written.bytes_per_day.as_ref().and_then(|size| {
            let bytes = bytes(&size.value);
            if bytes.is_none() {
                let message = format!("invalid size `{}`", size.value);
                let hint = "write it as 64MiB, 1GiB or 500MB".to_owned();
                self.report(size.referenced, "bad_size", message).hint = Some(hint);
            }
            bytes
        });
        QuotaConfig {
            environments: written.environments.unwrap_or(default.environments),
            agents: written.agents.unwrap_or(default.agents),
            deployments: written.deployments.unwrap_or(default.deployments),
            writes_per_minute: written.writes_per_minute.unwrap_or(default.writes_per_minute),
            bytes_per_day: bytes_per_day.unwrap_or(default.bytes_per_day),
        }
    }
}
