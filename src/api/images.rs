//! `/api/v1/images`: which environments have which images, at a moment or in a span of time.

use super::ApiState;
use crate::http::auth;
use crate::http::params::{ENVIRONMENT, FROM, IMAGE, REGION, Reader, TIER, TO};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::EnvironmentId;
use strandline_query::ImageFilter;
use strandline_query::ListImages;

/// Which uses of images a request asks for; read alike by the list and the page.
pub fn filter(read: &mut Reader<'_>) -> ImageFilter {
    ImageFilter {
        images: read.words(IMAGE),
        environment: read.text(ENVIRONMENT).map(EnvironmentId::new),
        tiers: read.words(TIER),
        regions: read.texts(REGION),
        from: read.moment(FROM),
        to: read.moment(TO),
    }
}

/// Images by environment.
pub(super) async fn list(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page, filter) = (read.at(), read.page(), filter(&mut read));
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListImages::new(&filter, &page)).await?;
    respond::page(&request, &found)
}
