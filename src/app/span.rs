//! Between which times a request asks; read alike by REST and pages.

use super::state::AppState;
use crate::http::params::{AT, FROM, TO};
use crate::http::request::Request;
use strandline_model::At;

/// The request with the earlier of its two times first: whoever names the later one first means the same span.
pub async fn in_order(state: &AppState, request: Request) -> Request {
    let mut read = request.query.reader();
    let (from, to, at) = (read.moment(FROM), read.moment(TO), read.moment(AT));
    let (later, reference) = if to.is_some() { (TO, at.unwrap_or_default()) } else { (AT, At::Now) };
    let (Some(from), Some(to)) = (from, to.or(at)) else { return request };
    match state.queries.is_later(from, to, reference).await {
        Ok(true) => Request { query: request.query.swapped(FROM, later), ..request },
        // What is wrong with one of them is for the question to say.
        _ => request,
    }
}
