//! What every page and every route of the API is served with: from the connection to the finished answer.
//!
//! warp is used thinly: filters match a path and extract the request, one boxed router comes of it, and every
//! handler returns a finished answer, so that no error ever falls through to another route. [`auth`] authenticates the
//! caller before anything else of a request is read. [`guard`] holds what applies to all answers (host names, panics,
//! security headers), [`server`] what applies to connections (timeouts, limits, shutdown); [`answer_cache`] gives an answer again while
//! the record stays the same, `compress` makes it smaller by what its caller accepts. `load` limits the requests
//! and memory of each caller, and `taking` ends connections whose client does not read.
//! Nothing here knows the routes: the API and the pages are built on it, independent of each other.

mod accept;
pub mod answer_cache;
mod audit;
pub mod auth;
pub mod body;
pub mod caller;
mod compress;
pub mod context;
mod cors;
mod credentials;
pub mod guard;
mod host;
mod load;
mod origin;
pub mod outgoing;
pub mod params;
mod percent;
mod places;
pub mod problem;
pub mod proxy;
mod query_error;
pub mod request;
mod requests;
pub mod respond;
pub mod router;
pub mod server;
mod server_options;
mod subject;
mod taking;
pub mod tls;

pub use auth::Authenticator;
pub use caller::Caller;
pub use compress::Compression;
pub use cors::Origins;
pub use host::Hosts;
pub use load::{Load, LoadCounts, LoadLimits};
pub use requests::{RequestStats, RouteStats};
pub use server::serve;
pub use server_options::ServerOptions;
