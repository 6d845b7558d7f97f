//! What REST and pages share: the state that handlers work with, what they ask of the running service, and questions
//! that both read from a request.

pub mod access;
mod announcement;
pub mod changes;
pub mod deployments;
pub mod diffs;
pub mod events;
pub mod finding;
pub mod images;
mod links;
mod ports;
mod presentation;
pub mod selection;
pub mod span;
mod state;
pub mod watch;

pub use announcement::{Announcement, Notice};
pub use links::{LinkTemplate, LinkTemplates, OF_DEPLOYMENT, OF_ENVIRONMENT, OF_RESOURCE};
pub use ports::{ClusterLists, Metrics, Readiness, Rebuilding, RelistFilter, Relisting};
pub use presentation::{CurrentPresentation, Presentation};
pub use state::AppState;
