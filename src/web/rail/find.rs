//! What the rails of pages show, asked of the view.

use super::{Happened, MARKS, Rail, RailData, Span, Window, happened, shown};
use crate::app::AppState;
use crate::http::problem::Problem;
use crate::http::request::Request;
use strandline_model::{At, EnvironmentId, Lane, Timestamp, Uid};
use strandline_object_diff::Class;
use strandline_protocol::{Entry, Snapshot, TimelinePage};
use strandline_query::{
    GetEnvironmentTimeline, GetResourceTimeline, PageRequest, QueryError, Scope, TimelineFilter,
    TimelineOrder,
};
use strandline_syntax::percent_encode;

/// The most pages of a timeline in which the next of its entries is looked for: changes of a status alone are none.
const PAGES: usize = 5;

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

/// Whose rail it is.
#[derive(Clone, Copy)]
enum Of<'a> {
    /// An environment, whose deployments are marks.
    Environment(&'a EnvironmentId),
    /// A resource, in which what was changed but for its status is a mark.
    Resource(&'a Uid, Option<&'a str>),
}

impl Of<'_> {
    const fn lane(self) -> Lane {
        match self {
            Of::Environment(_) => Lane::Deployments,
            Of::Resource(..) => Lane::Changes,
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Of::Environment(_) => "deployment",
            Of::Resource(..) => "change",
        }
    }

    /// Its timeline; none where it is not there at that time.
    async fn ask(
        self,
        state: &AppState,
        scope: &Scope,
        (at, filter, page): (At, &TimelineFilter, &PageRequest),
    ) -> Result<Option<TimelinePage>, Problem> {
        let queries = &state.queries;
        let found = match self {
            Of::Environment(id) => {
                queries.ask(scope, at, GetEnvironmentTimeline::new(id, filter, page)).await
            }
            Of::Resource(uid, cluster) => {
                queries.ask(scope, at, GetResourceTimeline::new(uid, cluster, filter, page)).await
            }
        };
        match found {
            Ok(mut found) => {
                if matches!(self, Of::Resource(..)) {
                    found.timeline.entries.retain(is_no_status);
                }
                Ok(Some(found))
            }
            Err(QueryError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The rail, where it is there at the end of the window or when it is shown.
    async fn rail(
        self,
        state: &AppState,
        scope: &Scope,
        request: &Request,
        asked: &Asked,
    ) -> Result<Option<Rail>, Problem> {
        for (at, window) in asked.moments {
            let question = (at, &filter(&window, self.lane()), &newest());
            let Some(found) = self.ask(state, scope, question).await? else { continue };
            let mut data = RailData::of_timeline(&found.timeline, self.class());
            if found.metadata.next.is_some() {
                data.beside = Some(self.beside(state, scope, asked).await?);
            }
            return Ok(Some(Rail::new(request, asked.window, &data, asked.shown)));
        }
        Ok(None)
    }

    /// What happened last before what is shown, and first after it.
    async fn beside(
        self,
        state: &AppState,
        scope: &Scope,
        asked: &Asked,
    ) -> Result<[Option<Happened>; 2], Problem> {
        let [(end, _), (shown, _)] = asked.moments;
        let filter = |since, order| TimelineFilter {
            since: Some(At::Time(since)),
            buckets: 1,
            lanes: vec![self.lane()],
            order,
            ..TimelineFilter::default()
        };
        let before = filter(asked.window.since, TimelineOrder::Newest);
        let after = filter(asked.shown, TimelineOrder::Oldest);
        let is_before = |entry: &Entry| entry.observed_at < asked.shown;
        let is_after = |entry: &Entry| entry.observed_at > asked.shown;
        Ok([
            self.first(state, scope, (shown, &before), &is_before).await?,
            self.first(state, scope, (end, &after), &is_after).await?,
        ])
    }

    /// The first of a timeline's entries that fits, of the first pages of it.
    async fn first(
        self,
        state: &AppState,
        scope: &Scope,
        (at, filter): (At, &TimelineFilter),
        fits: &(dyn Fn(&Entry) -> bool + Sync),
    ) -> Result<Option<Happened>, Problem> {
        let mut page = newest();
        for _ in 0..PAGES {
            let Some(found) = self.ask(state, scope, (at, filter, &page)).await? else { break };
            if let Some(entry) = found.timeline.entries.iter().find(|entry| fits(entry)) {
                return Ok(Some(happened(entry, self.class())));
            }
            page.after = found.metadata.next;
            if page.after.is_none() {
                break;
            }
        }
        Ok(None)
    }
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
    let rail = Of::Environment(id).rail(state, scope, request, &asked).await?;
    let compared = format!("/environments/{}/diff", percent_encode(id.as_str()));
    Ok(rail.map(|rail| rail.comparing(&compared)))
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
    let rail = Of::Resource(uid, cluster).rail(state, scope, request, &asked).await?;
    Ok(rail.map(|rail| rail.comparing(&format!("{}/diff", request.context.path))))
}

fn is_no_status(entry: &Entry) -> bool {
    let parts = entry.resource.as_ref().map(|resource| resource.parts.as_slice()).unwrap_or_default();
    entry.what != "changed" || parts.iter().any(|part| matches!(part, Class::Spec | Class::Metadata))
}
