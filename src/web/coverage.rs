//! `/coverage`: what is watched of every cluster, the gaps first.

use std::time::Duration;

use askama::Template;
use http::StatusCode;

use super::clusters;
use super::live;
use super::prose::Prose;
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Shell, Time, reference};
use crate::app::AppState;
use crate::format::{age, grouped, kind_name, several, visible};
use crate::http::auth;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{At, CoverageState, EnvironmentFilter, Timestamp};
use strandline_protocol::{Snapshot, WatchCoverage, WatchGap};
use strandline_query::{CoverageFilter, ListCoverage, PageRequest, Scope};

/// The most watches one page shows; the rest is in the API's list.
const WATCHES_MAX: usize = 5000;

/// A watch as a line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watch {
    pub(super) cluster: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) state: &'static str,
    pub(super) since: Time,
    pub(super) reason: String,
    pub(super) message: Prose,
    /// All that is said besides: reason, message, and the newest gap where it is over.
    pub(super) remarks: Prose,
    pub(super) resources: String,
    pub(super) last_change: Option<Time>,
    pub(super) lag: Option<String>,
}

/// What is watched of a cluster, or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cluster {
    name: String,
    href: String,
    watched: String,
    excluded: usize,
    rows: Vec<Watch>,
}

#[derive(Template)]
#[template(path = "coverage.html")]
struct CoveragePage {
    shell: Shell,
    heading: String,
    gaps: Vec<Watch>,
    clusters: Vec<Cluster>,
    cut: bool,
}

/// What was found.
struct CoverageData {
    watches: Vec<WatchCoverage>,
    gaps: Vec<WatchCoverage>,
    snapshot: Snapshot,
    cut: bool,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, span) = (read.at(), Span::read(&mut read));
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = find(&state, &scope, at).await?;
    let of = (&EnvironmentFilter::default(), None);
    let rail = rail::of_environments(&state, &scope, &request, of, span, &found.snapshot).await?;
    let mut page = view(&request, &found, state.clock.now());
    page.shell = page.shell.with_rail(rail);
    html(StatusCode::OK, &page)
}

async fn find(state: &AppState, scope: &Scope, at: At) -> Result<CoverageData, Problem> {
    let (mut watches, snapshot, cut) = walk(state, scope, at, &CoverageFilter::default()).await?;
    // Where not all can be shown, no gap may be among what is left out.
    let gaps = if cut {
        let only = CoverageFilter { states: vec![CoverageState::Gap], ..CoverageFilter::default() };
        walk(state, scope, At::Offset(snapshot.offset), &only).await?.0
    } else {
        watches.iter().filter(|watch| watch.state == CoverageState::Gap).cloned().collect()
    };
    watches.retain(|watch| watch.state != CoverageState::Gap);
    Ok(CoverageData { watches, gaps, snapshot, cut })
}

/// A list from its first page on, and whether it is longer than what a page of ours shows.
async fn walk(
    state: &AppState,
    scope: &Scope,
    at: At,
    filter: &CoverageFilter,
) -> Result<(Vec<WatchCoverage>, Snapshot, bool), Problem> {
    let mut request = PageRequest { limit: PageRequest::MAX, after: None };
    let mut page = state.queries.ask(scope, at, ListCoverage::new(filter, &request)).await?;
    let mut watches = page.items;
    while let Some(token) = page.metadata.next.take() {
        if watches.len() >= WATCHES_MAX {
            return Ok((watches, page.metadata.snapshot, true));
        }
        request.after = Some(token);
        // The token pins the moment, which a relative one would have left by now.
        page = state.queries.ask(scope, At::Now, ListCoverage::new(filter, &request)).await?;
        watches.append(&mut page.items);
    }
    Ok((watches, page.metadata.snapshot, false))
}

fn view(request: &Request, found: &CoverageData, now: Timestamp) -> CoveragePage {
    let heading = match found.gaps.len() {
        0 => "Coverage".to_owned(),
        gaps => format!("Coverage: {}", several(gaps, "gap")),
    };
    let shell = Shell::new(&heading, request, &found.snapshot, now).live(&live::rarely(), &found.snapshot);
    let now = reference(request, &found.snapshot, now);
    let of_cluster = |run: &[WatchCoverage]| {
        let count = |state| run.iter().filter(|watch| watch.state == state && of_a_kind(watch)).count();
        Cluster {
            name: run.first().map(|watch| shown(&watch.watch.cluster)).unwrap_or_default(),
            href: run.first().map(|watch| clusters::href(&shell, &watch.watch.cluster)).unwrap_or_default(),
            watched: several(count(CoverageState::Watched), "kind"),
            excluded: count(CoverageState::Excluded),
            rows: run.iter().map(|watch| row(watch, now)).collect(),
        }
    };
    let same = |a: &WatchCoverage, b: &WatchCoverage| a.watch.cluster == b.watch.cluster;
    CoveragePage {
        heading,
        gaps: found.gaps.iter().map(|watch| row(watch, now)).collect(),
        clusters: found.watches.chunk_by(same).map(of_cluster).collect(),
        cut: found.cut,
        shell,
    }
}

/// Whether it speaks of one kind, and not of where kinds are found.
fn of_a_kind(item: &WatchCoverage) -> bool {
    !item.watch.kind.kind.is_empty()
}

fn shown(text: &str) -> String {
    visible(text).into_owned()
}

pub(super) fn row(item: &WatchCoverage, now: Timestamp) -> Watch {
    Watch {
        cluster: shown(&item.watch.cluster),
        kind: shown(&kind_name(&item.watch.kind)),
        namespace: shown(&item.watch.namespace),
        state: item.state.as_str(),
        since: Time::new(item.since, now),
        reason: shown(&item.reason),
        message: Prose::new(&item.message),
        remarks: Prose::new(&remarks(item, now)),
        resources: if of_a_kind(item) { grouped(item.resources) } else { String::new() },
        last_change: item.last_change.map(|change| Time::new(change.observed_at, now)),
        lag: item.lag_ms.map(|lag| age(now.minus(Duration::from_millis(lag)), now)),
    }
}

/// All that is said of a watch besides its state.
fn remarks(item: &WatchCoverage, now: Timestamp) -> String {
    let past = item.last_error.as_ref().and_then(|gap| Some((gap, gap.until?)));
    let past = past.map(|(gap, until)| format!("last gap: {}", told(gap, until, now)));
    let of = if of_a_kind(item) { "" } else { "discovery of kinds" };
    let words = [of.to_owned(), item.reason.clone(), item.message.clone(), past.unwrap_or_default()];
    words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A gap that is over.
fn told(gap: &WatchGap, until: Timestamp, now: Timestamp) -> String {
    format!("{} for {} until {} ago", gap.reason, age(gap.since, until), age(until, now))
}

/// The page of fixed watches at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, items: Vec<WatchCoverage>, snapshot: Snapshot) -> String {
    let (gaps, watches) = items.into_iter().partition(|watch| watch.state == CoverageState::Gap);
    let found = CoverageData { watches, gaps, snapshot, cut: false };
    super::tests::text(&view(request, &found, crate::format::tests::NOON))
}
