//! `/api/v1/resources`: resources by kind, name and place, those that are gone too.

use crate::app::AppState;
use crate::http::auth;
use crate::http::params::{CLUSTERS, ENVIRONMENT, GONE, KIND, NAME, NAMESPACE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{EnvironmentFilter, EnvironmentId};
use strandline_query::{ResourceSearch, SearchResources};

/// What a search finds, the one that came last first.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    let search = ResourceSearch {
        kinds: read.words(KIND),
        names: read.words(NAME),
        namespace: read.text(NAMESPACE),
        clusters: read.texts(CLUSTERS),
        environment: read.text(ENVIRONMENT).map(EnvironmentId::new),
        presence: read.word(GONE).unwrap_or_default(),
    };
    if let Some(conflict) = EnvironmentFilter::conflict(&search.names) {
        read.refuse(NAME, conflict);
    }
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, SearchResources::new(&search, &page)).await?;
    respond::page(&request, &found)
}
