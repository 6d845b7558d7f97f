//! `/api/v1/images`: which environments have which images, at a moment or in a span of time.

use crate::app::AppState;
use crate::app::images::filter;
use crate::app::span::in_order;
use crate::http::auth;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_query::ListImages;

/// Images by environment.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let request = in_order(&state, request).await;
    let mut read = request.query.reader();
    let (at, page, filter) = (read.at(), read.page(), filter(&mut read));
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListImages::new(&filter, &page)).await?;
    respond::page(&request, &found)
}
