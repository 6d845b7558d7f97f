//! The part of the file about what callers may declare, and how often.

use super::file::Quotas;
use crate::catalog::QuotaConfig;

impl From<&Quotas> for QuotaConfig {
    fn from(written: &Quotas) -> Self {
        let default = QuotaConfig::default();
        QuotaConfig {
            environments: written.environments.unwrap_or(default.environments),
            agents: written.agents.unwrap_or(default.agents),
            deployments: written.deployments.unwrap_or(default.deployments),
            writes_per_minute: written.writes_per_minute.unwrap_or(default.writes_per_minute),
        }
    }
}
