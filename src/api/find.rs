//! `/api/v1/search`: everything that has a name, by a part of it.

use crate::app::{AppState, finding};
use crate::http::auth;
use crate::http::params::Q;
use crate::http::problem::{ParameterError, Problem};
use crate::http::request::Request;
use crate::http::respond::{self, Response};

/// The best of each group.
pub(super) async fn search(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, search) = (read.at(), finding::search(&mut read));
    read.finish()?;
    let scope = auth::scope(&request)?;
    let Some(search) = search else {
        let detail = "is required: a part of the name of what is searched for".to_owned();
        return Err(Problem::parameters(vec![ParameterError { parameter: Q.name.into(), detail }]));
    };
    let found = state.queries.ask(&scope, at, search).await?;
    respond::json(&request, &found)
}
