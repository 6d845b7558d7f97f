//! Changes of the catalog that callers ask for: checked, decided on what holds at that time, and written.
//!
//! Inputs take the names of GitLab's REST API, so that its answers can be handed on as they are: what of them we have no
//! use for is let pass, what we do not know is reported as a warning. What a body leaves out stays as it was, as with
//! GitLab's own `PUT`.
//!
//! Every decision is made outside of the log's writer, and written if what it looked at holds still: so nothing comes
//! between the two, and whatever it costs is paid by nobody else.

mod agents;
mod authority;
mod checkout;
mod decision;
mod deployments;
mod environments;
mod error;
mod folder;
mod given;
mod input;
mod namespaces;
mod projects;
mod quotas;
mod retire;
mod targets;
mod writer;

#[cfg(test)]
mod tests;

pub use agents::AgentInput;
pub use authority::Authority;
pub use deployments::{Deployed, DeploymentInput, StatusInput};
pub use environments::EnvironmentInput;
pub use error::{CatalogCode, CatalogError};
pub use folder::{AgentFolderConfig, FolderReader, FoundAgent, UnreadableFolder, withdraw_folders};
pub use namespaces::{NamespaceEnvironments, NamespaceReader};
pub use projects::ProjectInput;
pub use quotas::{QuotaConfig, Rates};
pub use retire::{Retired, retire_deployments};
pub use writer::{CatalogWriter, ListRefusal, Outcome};
