//! How a page is asked for: moments in its address become absolute, so that a link shows the same tomorrow, and what is
//! wrong in it is told at its field, with the page around it.

use http::StatusCode;
use http::header::{HeaderValue, LOCATION};

use super::render::HTML;
use crate::app::AppState;
use crate::http::params::{Parameter, TIMES};
use crate::http::problem::{ParameterError, Problem, ProblemCode};
use crate::http::request::Request;
use crate::http::respond::{Response, uncached};
use strandline_model::{At, Timestamp};
use strandline_protocol::Snapshot;

/// Which view of a page is shown.
pub(super) const TAB: Parameter = Parameter::one("tab");

/// Answers with a page.
pub(super) async fn answer<A>(
    state: AppState,
    request: Request,
    page: impl Fn(AppState, Request) -> A,
) -> Result<Response, Problem>
where
    A: Future<Output = Result<Response, Problem>>,
{
    if let Some(address) = absolute(&request, state.clock.now()) {
        return redirect(&address);
    }
    let problem = match page(state.clone(), request.clone()).await {
        Err(problem) => problem,
        answered => return answered,
    };
    for wrong in suspects(&problem, &request) {
        let corrected = Request { query: request.query.refusing(&wrong), ..request.clone() };
        if let Ok(mut response) = page(state.clone(), corrected).await {
            *response.status_mut() = problem.status();
            return Ok(response);
        }
    }
    Err(problem)
}

/// The same query with every time of day and every "so long ago" as the instant that this is now; none where there is no
/// such time in it.
fn absolute(request: &Request, now: Timestamp) -> Option<String> {
    let time = |parameter: Parameter| match request.query.reader().moment(parameter) {
        Some(At::Ago(ago)) => {
            // Nobody who counts back from now means a part of a second.
            let text = now.minus(ago).to_the_second().to_string();
            // What lies before all times that can be written is left to the page.
            text.parse::<Timestamp>().is_ok().then_some((parameter, text))
        }
        _ => None,
    };
    let times: Vec<_> = TIMES.into_iter().filter_map(time).collect();
    let changes: Vec<_> = times.iter().map(|(parameter, text)| (*parameter, Some(text.as_str()))).collect();
    (!changes.is_empty() || request.query.names_times_of_day()).then(|| request.query.with(&changes))
}

/// Leads to another query of the same path.
fn redirect(query: &str) -> Result<Response, Problem> {
    let mut response = uncached(StatusCode::FOUND, HTML, Vec::new());
    let location = HeaderValue::from_str(query).map_err(Problem::internal)?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}

/// Without which parameters the page may be there, the likeliest first.
fn suspects(problem: &Problem, request: &Request) -> Vec<Vec<ParameterError>> {
    match problem.code {
        ProblemCode::InvalidParameter if !problem.errors.is_empty() => vec![problem.errors.clone()],
        // Of the moment that is shown the answer does not say which of several it is.
        ProblemCode::FutureMoment | ProblemCode::Compacted => {
            let named = (!problem.errors.is_empty()).then(|| problem.errors.clone());
            let detail = problem.errors.first().map_or(&problem.detail, |error| &error.detail);
            let given = TIMES.into_iter().filter(|moment| request.query.one(*moment).is_some());
            let wrong =
                |moment: Parameter| ParameterError { parameter: moment.name.into(), detail: detail.clone() };
            let each: Vec<_> = given.map(|moment| vec![wrong(moment)]).collect();
            let all = (each.len() > 1).then(|| each.concat());
            named.into_iter().chain(each).chain(all).collect()
        }
        _ => Vec::new(),
    }
}

/// What was asked for, with a duration ago counted from when it was first read: health depends on the time of day,
/// not only on the offset.
pub(super) fn same_moment(at: At, snapshot: &Snapshot) -> At {
    snapshot.at.map_or(at, At::Time)
}
