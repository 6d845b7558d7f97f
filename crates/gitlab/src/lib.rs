//! Who may deploy where, and who may see what: the rules of agents' configuration files, as pure functions.
//!
//! - [`expression`]: GitLab's language of `rules:if`, read and evaluated.
//! - [`expand()`]: `$VAR` in values.
//! - [`AgentConfig`]: the file `.gitlab/agents/<name>/config.yaml`, read by [`read_agent_config`].
//! - [`decide`]: whether a [`Job`] may deploy with an agent, by which rule, and into which namespace.
//! - [`UserAccess`]: which users an agent lets in.
//! - [`Membership`]: of which projects and groups somebody is a member.
//!
//! What users write is described in `docs/access.md`, with the source of each rule.
//!
//! Why: docs/decisions/0022-agents-rules-are-pure-and-doubt-denies.md.

mod agent_config;
mod decide;
mod decision;
mod expand;
pub mod expression;
mod job;
mod membership;
mod namespace;
mod path;
mod user;
mod variables;

#[cfg(test)]
mod tests;

pub use agent_config::{
    AccessAs, AgentConfig, AgentConfigError, CiAccess, Entry, ExtraKeyVal, Grant, Impersonate, LongNamespace,
    MAX_CONFIG_BYTES, NoMatch, ReadAgentConfig, Rule, When, known_agent_config, read_agent_config,
};
pub use decide::decide;
pub use decision::{Decision, EntryKind, EntryRef, Reason};
pub use expand::{ExpandError, expand};
pub use job::{Job, JobEnvironment};
pub use membership::Membership;
pub use path::folded;
pub use user::{UserAccess, UserAccessAs};
pub use variables::Variables;
