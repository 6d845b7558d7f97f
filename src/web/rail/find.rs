//! What the rails of pages show, asked of the view.

use super::{MARKS, Rail, RailData, Span, Window, shown};
use crate::app::AppState;
use crate::http::problem::Problem;
use crate::http::request::Request;
use strandline_model::{At, EnvironmentId, Lane, Timestamp, Uid};
use strandline_object_diff::Class;
use strandline_protocol::{Entry, Snapshot};
use strandline_query::{
    GetEnvironmentTimeline, GetResourceTimeline, PageRequest, QueryError, Scope, TimelineFilter,
};
use strandline_syntax::percent_encode;

/// The window of a page, and the moments at which to ask for it: where it ends, which may be later than what the page shows,
/// and that, for what did not exist any more by then.
pub(super) struct Asked {
    pub(super) shown: Timestamp,
    pub(super) window: Window,
    pub(super) moments: [(At, Window); 2],
}

pub(super) fn asked(state: &AppState, request: &Request, span: Span, snapshot: &Snapshot) -> Asked {
    let now = state.clock.now();
    let shown = shown(request, snapshot, now);
    let window = Window::new(span, shown, now);
    let at = |window: Window| if window.until >= now { At::Now } else { At::Time(window.until) };
    let until_shown = Window { until: shown.max(window.since), ..window };
    Asked { shown, window, moments: [(at(window), window), (At::Offset(snapshot.offset), until_shown)] }
}

fn filter(window: &Window, lane: Lane) -> TimelineFilter {
    TimelineFilter {
        since: Some(At::Time(window.since)),
        buckets: window.parts,
        lanes: vec![lane],
        ..TimelineFilter::default()
    }
}

pub(super) fn newest() -> PageRequest {
    PageRequest { limit: MARKS, after: None }
}

/// The rail of an environment: its health and its deployments.
pub(in crate::web) async fn of_environment(
    state: &AppState,
    scope: &Scope,
    request: &Request,
    id: &EnvironmentId,
    span: Span,
    snapshot: &Snapshot,
) -> Result<Option<Rail>, Problem> {
    let asked = asked(state, request, span, snapshot);
    for (at, window) in asked.moments {
        let question = GetEnvironmentTimeline::new(id, &filter(&window, Lane::Deployments), &newest());
        match state.queries.ask(scope, at, question).await {
            Ok(found) => {
                let data = RailData::of_timeline(&found.timeline, "deployment");
                let rail = Rail::new(request, asked.window, &data, asked.shown);
                let compared = format!("/environments/{}/diff", percent_encode(id.as_str()));
                return Ok(Some(rail.comparing(&compared)));
            }
            Err(QueryError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// The rail of a resource: its health, and what was changed in it but for its status.
pub(in crate::web) async fn of_resource(
    state: &AppState,
    scope: &Scope,
    request: &Request,
    (uid, cluster): (&Uid, Option<&str>),
    span: Span,
    snapshot: &Snapshot,
) -> Result<Option<Rail>, Problem> {
    let asked = asked(state, request, span, snapshot);
    for (at, window) in asked.moments {
        let question = GetResourceTimeline::new(uid, cluster, &filter(&window, Lane::Changes), &newest());
        match state.queries.ask(scope, at, question).await {
            Ok(mut found) => {
                found.timeline.entries.retain(is_no_status);
                let data = RailData::of_timeline(&found.timeline, "change");
                let rail = Rail::new(request, asked.window, &data, asked.shown);
                return Ok(Some(rail.comparing(&format!("{}/diff", request.context.path))));
            }
            Err(QueryError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn is_no_status(entry: &Entry) -> bool {
    let parts = entry.resource.as_ref().map(|resource| resource.parts.as_slice()).unwrap_or_default();
    entry.what != "changed" || parts.iter().any(|part| matches!(part, Class::Spec | Class::Metadata))
}
