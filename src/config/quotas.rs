//! The part of the file about what callers may declare, and how often.

use super::file::Quotas;

/// What callers may declare, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaConfig {
    /// Environments of a project.
    pub environments: u64,
    /// Agents of a project.
    pub agents: u64,
    /// Deployments to an environment that are kept.
    pub deployments: u64,
    /// Requests that write, of one token within a minute.
    pub writes_per_minute: u64,
}

impl Default for QuotaConfig {
    fn default() -> Self {
        QuotaConfig { environments: 5000, agents: 500, deployments: 10_000, writes_per_minute: 1200 }
    }
}

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

impl QuotaConfig {
    /// No bounds at all.
    pub const NONE: QuotaConfig = QuotaConfig {
        environments: u64::MAX,
        agents: u64::MAX,
        deployments: u64::MAX,
        writes_per_minute: u64::MAX,
    };
}
