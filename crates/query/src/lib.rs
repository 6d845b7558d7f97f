//! Answers for now and for any time in the past, from the view and, for bodies, from the log.
//!
//! A [`Question`] is a value; [`Queries::ask`] answers it for a caller's [`Scope`] as of a time. A file per subject holds
//! its questions and the SQL that answers them.

mod agents;
mod alike;
mod changes;
mod clusters;
mod concerns;
mod coverage;
mod deployments;
mod diff;
mod edges;
mod environments;
mod error;
mod event_audience;
mod event_feed;
mod events;
mod fields;
mod filters;
mod find;
mod floors;
mod freshness;
mod gaps;
mod graph;
mod groups;
mod health;
mod health_numbers;
mod history;
mod image_names;
mod images;
mod judged;
mod kept;
mod kept_lines;
mod kinds;
mod last_seen;
mod left_behind;
mod moment;
mod namespaces;
mod onset;
mod overview;
mod page;
mod pinned;
mod projects;
mod queries;
mod query_times;
mod question;
mod reader;
mod resources;
mod row_filter;
mod same_change;
mod scope;
mod search;
mod series;
mod spans;
mod standings;
mod stretch;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod timeline;
mod warnings;
mod words;

pub use agents::{GetAgent, ListAgents};
pub use changes::{ChangesFilter, ListChanges};
pub use clusters::{GetCluster, ListClusters};
pub use coverage::ListCoverage;
pub use deployments::{CountDeployments, GetDeployment, ListDeployments, ListDeploymentsWithCursors};
pub use diff::{CompareEnvironments, DiffEnvironment, DiffResource, PatchResource};
pub use edges::ListResourceEdges;
pub use environments::{GetEnvironment, ListEnvironments, ListEnvironmentsWithCursors};
pub use error::{QueryError, Result};
pub use event_feed::{EventFeedFilter, ListEvents};
pub use events::{EventFilter, ListEnvironmentEvents, ListResourceEvents};
pub use fields::ListResourceFields;
pub use filters::{
    CoverageFilter, DeploymentFilter, GraphFilter, HealthFilter, ImageFilter, PageRequest, ResourceFilter,
    ResourceOrder, ResourceRef,
};
pub use find::{Search, SearchTerms};
pub use freshness::{Confirmed, Freshness};
pub use graph::{ExplainEnvironment, GetEnvironmentGraph};
pub use groups::ListGroups;
pub use health::{GetEnvironmentHealth, GetResourceHealth};
pub use health_numbers::{CountHealth, HealthNumbers, NamedHealth, TierAndRegion};
pub use history::ListResourceVersions;
pub use images::ListImages;
pub use left_behind::ListLeftBehind;
pub use namespaces::ListTargetNamespaces;
pub use onset::{GetEnvironmentOnset, GetResourceOnset, OnsetFilter};
pub use overview::{
    FilterValues, GetOverview, GetOverviews, ListFilterValues, OverviewOrder, OverviewRows, TrendFilter,
    WhichSelect,
};
pub use projects::{GetProject, ListProjects};
pub use queries::{Progress, Queries, Readers, Stamp};
pub use query_times::QueryTimes;
pub use question::{Context, Question};
pub use resources::{GetResource, ListEnvironmentResources};
pub use scope::Scope;
pub use search::{Presence, ResourceSearch, SearchResources};
pub use strandline_model::EnvironmentFilter;
pub use timeline::{GetEnvironmentTimeline, GetResourceTimeline, Order as TimelineOrder, TimelineFilter};
