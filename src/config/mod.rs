//! The configuration file: which clusters to watch and which environments there are.
//!
//! [`load`] reads a file, checks all of it, and reports every mistake with its line. A key that is left out has the default
//! that `file` names. Each part of the server owns its settings; this module is above the parts and fills them in
//! ([`Config::into_options`]).

mod access_reviews;
mod catalog;
mod check;
mod cluster_folders;
mod clusters;
mod consistency;
mod diff;
mod error;
mod file;
mod hubs;
mod issuers;
mod kubernetes;
mod limits;
mod links;
mod listener;
mod load;
mod metrics;
mod options;
mod overlay;
mod print;
mod quotas;
mod redact;
mod relations;
mod retention;
mod rules;
mod schema;
mod scripts;
mod settings;
mod targets;
mod tokens;
mod views;

#[cfg(test)]
mod tests;

pub use error::ConfigError;
pub use load::{effective, load, parse, parse_access, parse_with};
pub use options::Overrides;
pub use overlay::Overlay;
pub use print::printable;
pub use relations::read_relations;
pub use schema::schema;
pub use scripts::{ReadScriptsError, read_all_scripts, read_customizations, read_scripts};
pub use settings::{ClusterConfig, Config, HubConfig, WatcherConfig};
