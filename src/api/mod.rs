//! The REST API under `/api/v1`: a file for each group of routes, over the toolkit of [`crate::http`].

mod agents;
mod atom;
mod catalog;
mod changes;
mod clusters;
mod coverage;
mod csv;
mod deployments;
mod diffs;
pub mod document;
mod environments;
mod events;
mod export;
mod fields;
mod find;
mod forget;
mod graphql;
mod images;
mod login;
mod metrics;
mod onset;
mod overview;
mod probes;
mod projects;
mod rebuild;
mod relist;
mod resources;
pub mod routes;
mod search;
#[cfg(test)]
pub(crate) mod tests;
mod timeline;
mod tokens;
mod watch;

pub(crate) use catalog::deployment_id;
pub use metrics::prometheus_text;
pub use routes::routes;
