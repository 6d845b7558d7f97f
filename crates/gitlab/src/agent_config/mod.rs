//! The configuration file of an agent, `.gitlab/agents/<name>/config.yaml`.
//!
//! Its keys are GitLab's, with seed 004's `rules` and settings of ours for what the seed leaves open. All of it is
//! checked when it is read, expressions too, so that a mistake is reported with its line and column and not by a job.

mod check;
mod file;
mod known;
mod place;
mod read;
mod types;

#[cfg(test)]
mod tests;

pub use known::known_agent_config;
pub use read::{AgentConfigError, MAX_CONFIG_BYTES, ReadAgentConfig, read_agent_config};
pub use types::{
    AccessAs, AgentConfig, CiAccess, Entry, ExtraKeyVal, Grant, Impersonate, LongNamespace, NoMatch, Rule,
    When,
};
