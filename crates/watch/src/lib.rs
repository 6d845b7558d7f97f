//! Follows clusters: finds their kinds, lists and watches them, and hands what it saw to the log.
//!
//! ```text
//!  supervise ──► discovery          which kinds are there? repeated
//!      │
//!      └──► list_watch, one per kind (and namespace)
//!               begin ──► list ──► watch ──► watch …      each batch with the cursor that covers it
//!                  ▲        │        │
//!                  └────────┴─ 410 ──┘   anything else: back off and resume
//! ```
//!
//! Nothing is kept per object: what is known is in the log. What cannot be observed becomes a gap of
//! coverage and never a deletion.

mod access_review;
mod backoff;
mod client;
mod connect;
mod connect_error;
mod consistency;
mod coverage;
mod credentials;
mod definitions;
mod discovery;
mod document;
mod evidence;
mod examine;
mod hub;
mod kubeconfig;
mod kubeconfig_folder;
mod limits;
mod lines;
mod list_watch;
mod metadata;
mod outcome;
mod permissions;
mod request;
mod review;
mod server_time;
mod settings;
mod sink;
mod skew;
mod stats;
mod supervise;

#[cfg(test)]
mod tests;

/// Targets of libraries that log about requests without the cluster's name, as directives that turn them off: what they
/// report is in the lines of the cluster.
pub const LIBRARIES_OFF: &str = "kube_client=off,kube_runtime=off,hyper_util=off,rustls=off,tower=off";

pub use access_review::AccessRequest;
pub use connect::{ClusterAccess, ClusterConnection, ConnectSettings, connect};
pub use connect_error::ConnectError;
pub use credentials::Credentials;
pub use discovery::{
    DEFAULT_EXCLUDES, Discovered, Exclude, FailedGroup, KindList, ListedKind, Selection, ServedKind,
    Unfollowed,
};
pub use examine::{Examination, ExamineSettings, Refusal, Server, Trouble, examine, kinds};
pub use hub::{CredentialProgram, Hub, HubCluster, HubClusters, HubSettings, HubSource, HubVersion};
pub use kubeconfig_folder::{KubeconfigFile, KubeconfigFolder};
pub use limits::Limits;
pub use server_time::ServerTime;
pub use settings::{ClusterSettings, Watcher};
pub use sink::Sink;
pub use stats::{ClusterCounts, ClusterStats, WatchStatus};
pub use supervise::supervise;
