//! The API and the pages together: what the server serves.

use warp::Filter;

use crate::app::AppState;
use crate::http::router::Router;
use crate::{api, web};

/// The router of the server.
pub fn site(state: &AppState) -> Router {
    api::routes(state).or(web::pages(state)).unify().boxed()
}
