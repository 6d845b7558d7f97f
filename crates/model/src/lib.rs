//! The nouns of Strandline, as plain data.
//!
//! Nothing here does IO, reads a clock, or knows Kubernetes clients, SQL or HTTP; `columns` tells SQLite how to keep these
//! types, where a feature asks for it. Every other part speaks in these types, and the words are those of the product:
//! change, offset, resource key, environment, health.

mod at;
mod catalog;
mod change;
mod clock_mark;
#[cfg(feature = "rusqlite")]
pub mod columns;
mod deployment;
mod environment;
mod erasure;
mod happening;
mod health;
mod ids;
mod inventory;
mod key;
mod kind_name;
mod kind_pattern;
mod numbers;
mod overview;
mod places;
pub mod reason;
mod source;
mod stored;
mod time;
#[cfg(not(feature = "rusqlite"))]
mod without_columns;
mod zone;

pub use at::{At, TimeContext};
pub use catalog::{
    AgentSpec, CatalogFact, CatalogKind, ClusterSpec, Labels, NamespaceGrant, ProjectSpec, label_pairs,
};
pub use change::{Change, ChangedBy, CoverageMark, CoverageState, DeletionCause, LATE_BOUND, Record};
pub use clock_mark::{ClockEvent, ClockMark, InexactTimes};
pub use deployment::{
    AgentDeployment, Authorization, DeploymentId, DeploymentJob, DeploymentSpec, DeploymentStatus,
};
pub use environment::{
    DeclaredBy, EnvironmentSettings, EnvironmentSpec, EnvironmentState, Target, TargetSpec, Tier,
};
pub use erasure::Erasure;
pub use happening::{Happening, Hour, Lane};
pub use health::{Health, HealthCounts, Later, Verdict, attention, more_urgent};
pub use ids::{AgentId, EnvironmentId, Offset, ResourceId, ResourceVersion, Uid};
pub use inventory::{Inventory, InventoryError};
pub use key::{EVENT_API_GROUPS, Kind, ResourceKey, WatchKey};
pub use kind_name::KindName;
pub use kind_pattern::KindPattern;
pub use overview::{EnvironmentFilter, GroupBy, GroupPath, SavedView};
pub use places::{Namespaces, Places};
pub use source::Source;
pub use stored::Stored;
pub use time::{Timestamp, parse_duration};
pub use zone::Zone;
