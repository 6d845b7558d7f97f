//! What every page and every route of the API is served with: from the connection to the finished answer.
//!
//! warp is used thinly: filters match a path and extract the request, one boxed router comes of it, and every
//! handler returns a finished answer, so that no error ever falls through to another route. Who asks is settled by
//! [`auth`] before anything of a request is read. Whatever holds for all answers (names we answer to, panics,
//! security headers) stands in [`guard`], and whatever holds for connections (timeouts, their number, the end) in
//! [`server`]; what one caller may take is counted in `load`, and that answers are taken is seen to in `taking`.
//! Nothing here knows what is asked: the API and the pages stand above it, beside each other.

mod audit;
pub mod auth;
pub mod body;
pub mod caller;
pub mod context;
mod credentials;
pub mod guard;
mod host;
mod load;
mod origin;
pub mod params;
mod percent;
mod places;
pub mod problem;
mod query_error;
pub mod request;
mod requests;
pub mod respond;
pub mod router;
pub mod server;
mod server_options;
mod taking;

pub use auth::Access;
pub use caller::Caller;
pub use host::Hosts;
pub use load::{Load, LoadCounts, LoadLimits};
pub use requests::{RequestStats, RouteStats};
pub use server::serve;
pub use server_options::ServerOptions;
