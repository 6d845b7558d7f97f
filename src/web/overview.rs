//! `/`: environments in groups, those that need attention first, and then one by one.

mod groups;
mod selection;

use std::collections::BTreeSet;

use askama::Template;
use http::StatusCode;

use self::groups::{Glance, Tally, glances, tallies, troubled};
use self::selection::{Choice, Form, Selection, of_view, regrouped};
use super::address::same_moment;
use super::places::{Place, places};
use super::render::html;
use super::shell::{Badge, Shell, Time, counts, reference, within};
use crate::app::{AppState, Notice};
use crate::format::visible;
use crate::http::auth;
use crate::http::params::TIER;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{At, Health, SavedView, Tier, Timestamp, attention};
use strandline_protocol::{Environment, Overview, Snapshot};
use strandline_query::{ListEnvironments, PageRequest, Scope};
use strandline_syntax::percent_encode;

/// The most environments that one page shows one by one; the groups speak of all.
const ENVIRONMENTS_MAX: usize = 2000;

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: String,
    project: String,
    tier: Tier,
    href: String,
    badge: Badge,
    last_known: Option<Badge>,
    since: Time,
    counts: Vec<(Badge, u64)>,
    places: Vec<Place>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Section {
    name: String,
    rows: Vec<Row>,
    troubled: usize,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    heading: String,
    form: Form,
    /// Views, and ways to group.
    views: Vec<(Choice, String)>,
    ways: Vec<(Choice, String)>,
    tallies: Vec<Tally>,
    /// None where there is but one group that nobody asked for.
    glances: Vec<Glance>,
    groups_left_out: u64,
    denied: u64,
    total: u64,
    everything: String,
    sections: Vec<Section>,
    shown: usize,
    cut: bool,
    several_tiers: bool,
    /// What the service announces.
    notice: Option<Notice>,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let selection = Selection::read(&state, &request)?;
    let scope = auth::scope(&request)?;
    let found = find(&state, &scope, &selection).await?;
    let mut page = view(&request, &selection, &found, &state.views, state.clock.now());
    page.notice = state.announcement.get().map(announced);
    html(StatusCode::OK, &page)
}

/// An announcement as it is shown.
fn announced(notice: Notice) -> Notice {
    let shown = |text: &str| visible(text).into_owned();
    let links = notice.links.into_iter().map(|(label, href)| (shown(&label), href)).collect();
    Notice { text: shown(&notice.text), progress: notice.progress, links }
}

/// What was found.
struct OverviewData {
    /// The groups, of all healths.
    overview: Overview,
    /// The regions that there are to choose from.
    regions: Vec<String>,
    /// The environments of the healths asked for.
    environments: Vec<Environment>,
    snapshot: Snapshot,
    cut: bool,
}

async fn find(state: &AppState, scope: &Scope, selection: &Selection) -> Result<OverviewData, Problem> {
    let queries = &state.queries;
    let answer = queries.ask(scope, selection.at, selection.overview()).await?;
    let at = same_moment(selection.at, &answer.metadata);
    let regions = queries.ask(scope, at, selection.regions()).await?.value.groups;
    let regions: BTreeSet<_> = regions.into_iter().flat_map(|group| group.keys).collect();
    let mut request = PageRequest { limit: PageRequest::MAX, after: None };
    let mut page = queries.ask(scope, at, ListEnvironments::new(&selection.filter, &request)).await?;
    let mut environments = page.items;
    while let Some(token) = page.metadata.next.take().filter(|_| environments.len() < ENVIRONMENTS_MAX) {
        request.after = Some(token);
        // The token pins the moment, which a relative one would have left by now.
        page = queries.ask(scope, At::Now, ListEnvironments::new(&selection.filter, &request)).await?;
        environments.append(&mut page.items);
    }
    let cut = page.metadata.next.is_some() || environments.len() >= ENVIRONMENTS_MAX;
    let regions = regions.into_iter().collect();
    Ok(OverviewData { overview: answer.value, regions, environments, snapshot: answer.metadata, cut })
}

fn view(
    request: &Request,
    selection: &Selection,
    found: &OverviewData,
    views: &[SavedView],
    now: Timestamp,
) -> OverviewPage {
    let (overview, heading) = (&found.overview, selection.heading());
    let title = match troubled(&overview.totals) {
        0 => heading.clone(),
        troubled => format!("{} · {heading}", need_attention(troubled)),
    };
    let filter = selection.overview().filter;
    let shell = Shell::new(&title, request, &found.snapshot, now).live(&filter, &found.snapshot);
    let now = reference(request, &found.snapshot, now);
    let labels: BTreeSet<_> = found.environments.iter().flat_map(|one| one.labels.keys().cloned()).collect();
    let form = Form::new(request, selection, &found.regions, &labels.into_iter().collect::<Vec<_>>());
    let mut glances = glances(request, selection, &shell, overview, now);
    if glances.len() == 1 && !selection.grouped {
        glances.clear();
    }
    OverviewPage {
        heading,
        views: views.iter().map(|view| saved(&shell, selection, view)).collect(),
        ways: ways(request, &form),
        form,
        tallies: tallies(request, selection, &overview.totals, Some(&[])),
        glances,
        groups_left_out: overview.groups_left_out,
        denied: overview.totals.denied,
        total: overview.totals.total,
        everything: within(&shell, TIER, "all"),
        shown: found.environments.len(),
        sections: sections(&shell, selection, &found.environments, now),
        cut: found.cut,
        several_tiers: selection.several_tiers(),
        notice: None,
        shell,
    }
}

fn saved(shell: &Shell, selection: &Selection, view: &SavedView) -> (Choice, String) {
    let chosen = selection.view.as_ref().is_some_and(|own| own.name == view.name);
    let choice = Choice { value: view.name.clone(), label: visible(&view.title).into_owned(), chosen };
    (choice, of_view(&shell.keep, &view.name))
}

/// The same selection grouped in other ways.
fn ways(request: &Request, form: &Form) -> Vec<(Choice, String)> {
    let ways = form.groupings.iter().cloned();
    ways.map(|choice| {
        let href = regrouped(request, &choice.value);
        (choice, href)
    })
    .collect()
}

fn need_attention(number: u64) -> String {
    format!("{number} need{} attention", if number == 1 { "s" } else { "" })
}

/// The environments one by one, what needs attention first: by region where the groups are, else together.
fn sections(
    shell: &Shell,
    selection: &Selection,
    environments: &[Environment],
    now: Timestamp,
) -> Vec<Section> {
    let by_region = selection.by_region();
    let region = |one: &Environment| if by_region { one.region.clone() } else { String::new() };
    let mut sorted: Vec<_> = environments.iter().collect();
    sorted.sort_by_key(|one| (region(one).is_empty(), region(one), attention(one.health.state)));
    let section = |run: &[&Environment]| Section {
        name: match run.first() {
            _ if !by_region => "Ungrouped".into(),
            Some(one) if !one.region.is_empty() => visible(&one.region).into_owned(),
            _ => "No region".into(),
        },
        troubled: run
            .iter()
            .filter(|one| attention(one.health.state) <= attention(Some(Health::Missing)))
            .count(),
        rows: run.iter().map(|one| row(shell, one, now)).collect(),
    };
    sorted.chunk_by(|a, b| region(a) == region(b)).map(section).collect()
}

fn row(shell: &Shell, environment: &Environment, now: Timestamp) -> Row {
    Row {
        name: visible(&environment.name).into_owned(),
        project: visible(&environment.project).into_owned(),
        tier: environment.tier,
        href: format!("/environments/{}{}", percent_encode(environment.id.as_str()), shell.keep),
        badge: Badge::new(environment.health.state),
        last_known: environment.health.last_known.map(|health| Badge::new(Some(health))),
        since: Time::new(environment.health.since, now),
        counts: counts(environment.health.counts),
        places: places(&environment.targets),
    }
}

/// The page of fixed environments at noon, grouped by region, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, environments: Vec<Environment>, snapshot: Snapshot) -> String {
    let selection = Selection::of(None, request).unwrap_or_else(|problem| panic!("{problem:?}"));
    let overview = super::tests::by_region(&environments);
    let regions = overview.groups.iter().flat_map(|group| group.keys.clone()).collect();
    let healths = &selection.filter.healths;
    let passes =
        |one: &Environment| healths.is_empty() || one.health.state.is_some_and(|one| healths.contains(&one));
    let environments = environments.into_iter().filter(passes).collect();
    let found = OverviewData { overview, regions, environments, snapshot, cut: false };
    let views =
        [SavedView { name: "mine".into(), title: super::tests::HOSTILE.into(), ..SavedView::default() }];
    super::tests::text(&view(request, &selection, &found, &views, crate::format::tests::NOON))
}
