//! Puts the parts together: the only place that starts threads and long-lived tasks, and stops them.
//!
//! [`Service::start`] takes the data directory, opens the log, and starts the log's writer, the projector, a
//! supervisor per cluster and the server, all of them watched by [`tasks`]. Whichever ends first that cannot be begun anew
//! ends all: first the watchers, then the writer once it has committed what they handed over, then the server and the
//! projector.

mod agent_folders;
mod cache_size;
mod clock;
mod cluster_folders;
mod clusters;
mod demo;
mod detached;
mod directory;
mod disk;
mod due;
mod end;
mod environment_health;
mod error;
mod freshness;
mod hubs;
mod issuers;
mod mend;
mod metric_writer;
mod metrics;
mod namespaces;
mod offline;
mod options;
mod projection;
mod readiness;
mod rebuild;
mod recording;
mod relist;
mod reload;
mod retention;
mod running;
mod serve;
mod setting;
mod setup;
mod systemd;
mod tasks;
mod tls;
mod traces;

pub use cache_size::CacheSize;
pub use clock::follow as follow_clock;
pub use demo::{DemoOptions, demo};
pub use directory::{DirectoryError, DirectoryReader, RecordEnd, recorded_until};
pub use error::ServiceError;
pub use hubs::remembered;
pub use mend::{accept_loss, check_filesystem, mend_clock, salvage};
pub use offline::rebuild;
pub use options::{
    ClusterFolders, ConfigFile, ConnectionLimits, FoundInHubs, MetricsConfig, Options, ReadOptions, Watched,
    WatchedSettings,
};
pub use retention::RetentionConfig;
pub use running::Service;
pub use serve::serve;
pub use traces::{TraceExporter, TracesConfig};
