//! `/api/v1/overview` and `/api/v1/views`.

use crate::app::{AppState, selection};
use crate::http::auth;
use crate::http::params::{AT, LIMIT, VIEW};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_protocol::{Overview, SavedViews};
use strandline_query::GetOverview;

/// Environments counted in groups, over time, and one by one.
pub(super) async fn overview(state: AppState, request: Request) -> Result<Response, Problem> {
    let scope = auth::scope(&request)?;
    // Most name none.
    let views = match request.query.one(VIEW) {
        Some(_) => selection::views(&state, &scope).await?,
        None => Vec::new(),
    };
    let view = selection::view(&views, &request)?.cloned().unwrap_or_default();
    let mut read = request.query.reader();
    let at = read.at();
    let wanted = GetOverview {
        filter: selection::filter(&mut read, &view.filter).in_use_by_default(),
        group_by: selection::group_by(&mut read, &view.group_by),
        limit: read.number(LIMIT, 1, Overview::LIMIT),
        trend: selection::trend(&mut read),
        environments: selection::rows(&mut read),
    };
    read.finish()?;
    let found = state.queries.ask(&scope, at, wanted).await?;
    let next = found.value.environments.as_ref().and_then(|page| page.next.as_deref());
    Ok(respond::with_next(respond::json(&request, &found)?, &request, &[AT], next))
}

/// The overviews that the configuration gives names, as far as the caller sees something of them.
pub(super) async fn views(state: AppState, request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    let items = selection::views(&state, &auth::scope(&request)?).await?;
    respond::json(&request, &SavedViews { items })
}
