//! `/clusters` and `/clusters/{cluster}`: what is recorded of clusters, and which environments and agents are in them.

use std::collections::HashMap;
use std::time::Duration;

use askama::Template;
use http::StatusCode;

use super::address::same_moment;
use super::agents::{self, AgentRow};
use super::coverage::{self, Watch};
use super::environments::{self, Table};
use super::live;
use super::prose::Prose;
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Badge, Shell, Time, counts, reference, within};
use crate::app::AppState;
use crate::format::{age, grouped, kind_name, lasted, several, unwatched, visible};
use crate::http::auth;
use crate::http::params::{CLUSTERS, CONTINUE, REGION};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{At, CoverageState, EnvironmentFilter, GroupBy, Timestamp};
use strandline_protocol::{Agent, Answer, Cluster, Overview, OverviewCounts, Page, WatchCoverage, WatchGap};
use strandline_query::{CoverageFilter, GetCluster, GetOverview, ListClusters, ListCoverage, PageRequest};
use strandline_syntax::percent_encode;

/// The most clusters of one page, and gaps that are over of one cluster.
const ROWS_MAX: usize = 100;
const PAST_GAPS_MAX: usize = 10;

/// A cluster as a line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: String,
    href: String,
    region: String,
    recording: Recording,
    counts: Vec<(Badge, u64)>,
    total: String,
}

/// Whether all of a cluster is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Recording {
    is_complete: bool,
    words: String,
    since: Option<Time>,
    why: Prose,
}

impl Recording {
    fn new(cluster: &Cluster, now: Timestamp) -> Self {
        let oldest = cluster.gaps.iter().min_by_key(|gap| gap.since);
        let kinds =
            format!("{} recorded", several(usize::try_from(cluster.kinds_watched).unwrap_or(0), "kind"));
        match oldest {
            Some(gap) => Recording {
                is_complete: false,
                words: visible(&format!("{} not recorded", unwatched(gap, cluster.gaps.len()))).into_owned(),
                since: Some(Time::new(gap.since, now)),
                why: Prose::new(if gap.message.is_empty() { &gap.reason } else { &gap.message }),
            },
            None => {
                Recording { is_complete: cluster.watched, words: kinds, since: None, why: Prose::default() }
            }
        }
    }
}

#[derive(Template)]
#[template(path = "clusters.html")]
struct ClustersPage {
    shell: Shell,
    rows: Vec<Row>,
    next: Option<String>,
    json: String,
}

/// A gap that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PastGap {
    kind: String,
    since: Time,
    lasted: String,
    reason: String,
}

#[derive(Template)]
#[template(path = "cluster.html")]
struct ClusterPage {
    shell: Shell,
    name: String,
    region: Option<(String, String)>,
    recording: Recording,
    /// When the cluster last answered the watch that has waited longest.
    contact: Option<String>,
    changed: Option<Time>,
    resources: String,
    gaps: Vec<Watch>,
    past: Vec<PastGap>,
    table: Table,
    all: String,
    agents: Vec<AgentRow>,
    json: String,
    changes: String,
    events: String,
}

/// All clusters.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    let page = PageRequest { limit: ROWS_MAX, after: read.text(CONTINUE) };
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListClusters::new(&page)).await?;
    let snapshot = &found.metadata.snapshot;
    let then = same_moment(At::Offset(snapshot.offset), snapshot);
    let question = GetOverview {
        filter: EnvironmentFilter {
            clusters: found.items.iter().map(|cluster| cluster.id.clone()).collect(),
            ..EnvironmentFilter::default()
        }
        .in_use_by_default(),
        group_by: vec![GroupBy::Cluster],
        ..GetOverview::default()
    };
    let overview = state.queries.ask(&scope, then, question).await?.value;
    html(StatusCode::OK, &list_view(&request, &found, &overview, state.clock.now()))
}

fn list_view(request: &Request, found: &Page<Cluster>, overview: &Overview, now: Timestamp) -> ClustersPage {
    let snapshot = &found.metadata.snapshot;
    let shell = Shell::new("Clusters", request, snapshot, now).live(&live::rarely(), snapshot);
    let now = reference(request, snapshot, now);
    let by_cluster: HashMap<&str, &OverviewCounts> = overview
        .groups
        .iter()
        .filter_map(|group| Some((group.keys.first()?.as_str(), &group.counts)))
        .collect();
    let row = |cluster: &Cluster| {
        let of_cluster = by_cluster.get(cluster.id.as_str());
        Row {
            name: visible(&cluster.id).into_owned(),
            href: href(&shell, &cluster.id),
            region: visible(&cluster.region).into_owned(),
            recording: Recording::new(cluster, now),
            counts: of_cluster.map(|counted| counts(counted.environments)).unwrap_or_default(),
            total: grouped(of_cluster.map_or(0, |counted| counted.total)),
        }
    };
    let rows = found.items.iter().map(row).collect();
    let next = found.metadata.next.as_deref();
    ClustersPage {
        rows,
        next: next.map(|token| format!("/clusters{}", request.query.with(&[(CONTINUE, Some(token))]))),
        json: format!("/api/v1/clusters{}", shell.keep),
        shell,
    }
}

/// The page of a cluster.
pub(super) fn href(shell: &Shell, cluster: &str) -> String {
    shell.href(&format!("/clusters/{}", percent_encode(cluster)), &[])
}

/// What was found of one cluster.
struct ClusterData {
    cluster: Answer<Cluster>,
    watches: Vec<WatchCoverage>,
    overview: Overview,
    agents: Vec<Agent>,
}

/// One cluster.
pub(super) async fn one(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, span) = (read.at(), Span::read(&mut read));
    read.finish()?;
    let (scope, name) = (auth::scope(&request)?, request.argument(0));
    let queries = &state.queries;
    let cluster = queries.ask(&scope, at, GetCluster::new(name)).await?;
    let then = same_moment(at, &cluster.metadata);
    let only = CoverageFilter { clusters: vec![name.to_owned()], ..CoverageFilter::default() };
    let whole = PageRequest { limit: PageRequest::MAX, after: None };
    let watches = queries.ask(&scope, then, ListCoverage::new(&only, &whole)).await?.items;
    let filter = EnvironmentFilter { clusters: only.clusters, ..EnvironmentFilter::default() };
    let overview = queries.ask(&scope, then, environments::question(filter.clone())).await?.value;
    let mut agents = agents::all(&state, &scope, then).await?;
    agents.retain(|agent| agent.cluster == name);
    let found = ClusterData { cluster, watches, overview, agents };
    let (of, snapshot) = ((&filter, found.overview.trend.as_ref()), &found.cluster.metadata);
    let rail = rail::of_environments(&state, &scope, &request, of, span, snapshot).await?;
    let mut page = view(&request, &found, state.clock.now());
    page.shell = page.shell.with_rail(rail);
    html(StatusCode::OK, &page)
}

fn view(request: &Request, found: &ClusterData, now: Timestamp) -> ClusterPage {
    let (cluster, snapshot) = (&found.cluster.value, &found.cluster.metadata);
    let filter = EnvironmentFilter { clusters: vec![cluster.id.clone()], ..EnvironmentFilter::default() };
    let filter = live::followed(filter, found.overview.totals.total);
    let title = format!("Cluster {}", cluster.id);
    let shell = Shell::new(&title, request, snapshot, now).live(&filter, snapshot);
    let now = reference(request, snapshot, now);
    let watched = || found.watches.iter().filter(|watch| watch.state == CoverageState::Watched);
    let longest = watched().filter_map(|watch| watch.lag_ms).max();
    let region = || (visible(&cluster.region).into_owned(), within(&shell, REGION, &cluster.region));
    ClusterPage {
        name: visible(&cluster.id).into_owned(),
        region: (!cluster.region.is_empty()).then(region),
        recording: Recording::new(cluster, now),
        contact: longest.map(|lag| age(now.minus(Duration::from_millis(lag)), now)),
        changed: watched()
            .filter_map(|watch| watch.last_change.map(|change| change.observed_at))
            .max()
            .map(|time| Time::new(time, now)),
        resources: grouped(found.watches.iter().map(|watch| watch.resources).sum()),
        gaps: found
            .watches
            .iter()
            .filter(|watch| watch.state == CoverageState::Gap)
            .map(|watch| coverage::row(watch, now))
            .collect(),
        past: past(&found.watches, now),
        table: Table::new(&shell, &found.overview, now),
        all: within(&shell, CLUSTERS, &cluster.id),
        agents: found.agents.iter().map(|agent| AgentRow::new(&shell, agent)).collect(),
        json: shell.href("/api/v1/coverage", &[(CLUSTERS, &cluster.id)]),
        changes: shell.href("/changes", &[(CLUSTERS, &cluster.id)]),
        events: shell.href("/events", &[(CLUSTERS, &cluster.id)]),
        shell,
    }
}

/// The newest gaps that are over. One of all kinds begins for each of them at about the same time, so that those of the same
/// reason and end are one.
fn past(watches: &[WatchCoverage], now: Timestamp) -> Vec<PastGap> {
    let mut all: Vec<(&WatchCoverage, &WatchGap, Timestamp)> = watches
        .iter()
        .flat_map(|watch| watch.gaps.iter().filter_map(move |gap| Some((watch, gap, gap.until?))))
        .collect();
    all.sort_by_key(|(watch, gap, until)| {
        (std::cmp::Reverse(until.to_the_second()), gap.since, &watch.watch)
    });
    let same = |one: &(&WatchCoverage, &WatchGap, Timestamp),
                other: &(&WatchCoverage, &WatchGap, Timestamp)| {
        one.1.reason == other.1.reason && one.2.to_the_second() == other.2.to_the_second()
    };
    let line = |run: &[(&WatchCoverage, &WatchGap, Timestamp)]| {
        let (watch, gap, until) = run.first()?;
        let kind = match run.len() {
            1 if watch.watch.kind.kind.is_empty() => "discovery of kinds".to_owned(),
            1 => kind_name(&watch.watch.kind),
            count => several(count, "kind"),
        };
        Some(PastGap {
            kind: visible(&kind).into_owned(),
            since: Time::new(gap.since, now),
            lasted: lasted(until.since(gap.since)),
            reason: visible(&gap.reason).into_owned(),
        })
    };
    all.chunk_by(same).filter_map(line).take(PAST_GAPS_MAX).collect()
}

/// The list and the page of a cluster at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(
    (list, one): (&Request, &Request),
    cluster: Cluster,
    watches: Vec<WatchCoverage>,
    overview: Overview,
    agents: Vec<Agent>,
) -> [String; 2] {
    use crate::format::tests::{NOON, snapshot};
    use strandline_protocol::PageMetadata;
    let metadata = PageMetadata::new(snapshot(), Some("token".into()));
    let page = Page { items: vec![cluster.clone()], metadata };
    let list = super::tests::text(&list_view(list, &page, &overview, NOON));
    let cluster = Answer { value: cluster, metadata: snapshot() };
    let found = ClusterData { cluster, watches, overview, agents };
    [list, super::tests::text(&view(one, &found, NOON))]
}
