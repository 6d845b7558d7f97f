//! `/`: production of a whole organization at a glance. How many environments have each health, over a day; a card for each
//! that needs attention; and all of them in groups, those in which nothing is wrong folded.

mod cards;
mod map;
mod rows;
mod sections;
mod selection;
mod tiles;

use askama::Template;
use http::StatusCode;

use self::cards::{Card, cards, has_onset};
use self::map::Map;
pub(super) use self::rows::{Row, Strip, row};
use self::sections::{Section, sections};
pub(super) use self::selection::WALL;
use self::selection::{CARDS_MAX, Form, SUGGESTIONS_MAX, Selection, chips, regrouped};
use self::tiles::{Line, Tile, tiles};
use super::address::same_moment;
use super::chip::{Chip, Choice};
use super::live;
use super::rail;
use super::render::html;
use super::shell::{Shell, reference, within};
use super::views::{self, OwnView};
use crate::app::{AppState, Notice};
use crate::format::{grouped, visible};
use crate::http::auth;
use crate::http::params::{CONTINUE, HEALTH, ORDER, TIER, VIEW};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{At, Health, SavedView, Timestamp};
use strandline_protocol::{EnvironmentSummary, Onset, Overview, OverviewPage, Snapshot};
use strandline_query::{
    FilterValues, GetEnvironmentOnset, ListFilterValues, OnsetFilter, OverviewOrder, QueryError, Scope,
};
use strandline_syntax::percent_encode;

/// How many cards say what changed just before.
const ONSETS_MAX: usize = 4;

/// How long a screen on the wall shows a view, in seconds.
const ROTATION_SECONDS: u64 = 30;

/// A link of a table's heading, and whether the table is in that order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sort {
    label: &'static str,
    href: String,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct StartPage {
    shell: Shell,
    heading: String,
    chips: Vec<Chip>,
    form: Form,
    /// Views, and ways to group.
    views: Vec<(Choice, String)>,
    /// The titles of those of the reader, each as it is shown before, and what of the address would be another.
    own: Vec<(String, String)>,
    shown: String,
    ways: Vec<(Choice, String)>,
    tiles: Vec<Tile>,
    cards: Vec<Card>,
    /// How many need attention besides those that have a card, in words, and where they are.
    further: Option<(String, String)>,
    map: Option<Map>,
    sections: Vec<Section>,
    by_health: Sort,
    by_since: Sort,
    by_name: Sort,
    by_deployment: Sort,
    groups_left_out: u64,
    denied: u64,
    total: u64,
    /// Whether nothing needs attention, whatever the filter by health leaves out.
    is_well: bool,
    everything: String,
    next: Option<String>,
    first: Option<String>,
    /// What the service announces.
    notice: Option<Notice>,
    /// For a screen on the wall: where it goes on to.
    wall: bool,
    rotates_to: Option<String>,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let scope = auth::scope(&request)?;
    let views = crate::app::selection::views(&state, &scope).await?;
    let selection = Selection::read(&views, &request)?;
    let found = find(&state, &scope, &selection).await?;
    let rail = match selection.wall {
        true => None,
        false => {
            let of = (&selection.filter, found.overview.trend.as_ref());
            rail::of_environments(&state, &scope, &request, of, selection.span, &found.snapshot).await?
        }
    };
    let mut page = view(&request, &selection, &found, &views, state.clock.now());
    page.shell = page.shell.with_rail(rail);
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
struct StartData {
    /// The groups, of all healths.
    overview: Overview,
    /// The environments of the page, of the healths asked for.
    page: OverviewPage,
    urgent: Vec<(EnvironmentSummary, Option<Onset>)>,
    /// By two groupings.
    map: Option<Overview>,
    /// What there is to choose from.
    suggestions: FilterValues,
    snapshot: Snapshot,
}

async fn find(state: &AppState, scope: &Scope, selection: &Selection) -> Result<StartData, Problem> {
    let queries = &state.queries;
    // Of a later page the token says which moment it is.
    let moment = |metadata: &Snapshot| match selection.after {
        Some(_) => At::Offset(metadata.offset),
        None => same_moment(selection.at, metadata),
    };
    let (page, at, (overview, others)) = if selection.filter.healths.is_empty() {
        let (mut overview, others) = queries.ask(scope, selection.at, selection.overviews()).await?;
        (overview.value.environments.take(), moment(&overview.metadata), (overview, others))
    } else {
        let rows = queries.ask(scope, selection.at, selection.rows()).await?;
        let at = moment(&rows.metadata);
        (rows.value.environments, at, queries.ask(scope, at, selection.overviews()).await?)
    };
    let page = page.unwrap_or(OverviewPage { items: Vec::new(), next: None });
    // Cards are of the first page, which in the order of attention begins with what needs it most.
    let urgent = match (selection.order, &selection.after) {
        (_, Some(_)) => None,
        (OverviewOrder::Attention, None) => Some(page.items.iter().take(CARDS_MAX).cloned().collect()),
        (_, None) => {
            queries.ask(scope, at, selection.urgent()).await?.value.environments.map(|page| page.items)
        }
    };
    let mut cards = Vec::new();
    for one in urgent.into_iter().flatten() {
        if !one.health.is_some_and(Health::needs_attention) {
            continue;
        }
        let looks = cards.len() < ONSETS_MAX && has_onset(&one);
        let onset = if looks { onset(state, scope, at, &one).await? } else { None };
        cards.push((one, onset));
    }
    let suggestions = queries.ask(scope, at, ListFilterValues { limit: SUGGESTIONS_MAX }).await?;
    let snapshot = overview.metadata;
    let map = others.into_iter().next();
    Ok(StartData { overview: overview.value, page, urgent: cards, map, suggestions, snapshot })
}

/// What changed before an environment became what it is; none where that is not known.
async fn onset(
    state: &AppState,
    scope: &Scope,
    at: At,
    one: &EnvironmentSummary,
) -> Result<Option<Onset>, Problem> {
    let filter = OnsetFilter { health: one.health, ..OnsetFilter::default() };
    match state.queries.ask(scope, at, GetEnvironmentOnset::new(&one.id, filter)).await {
        Ok(found) => Ok(Some(found.value)),
        Err(QueryError::OnsetUnknown { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn view(
    request: &Request,
    selection: &Selection,
    found: &StartData,
    shared: &[SavedView],
    now: Timestamp,
) -> StartPage {
    let (overview, heading) = (&found.overview, selection.heading());
    let by = overview.totals.environments;
    let troubled = by.degraded + by.unknown + by.missing;
    let title = match troubled {
        0 => heading.clone(),
        troubled => format!("{} · {heading}", need_attention(troubled)),
    };
    let filter = live::followed(selection.overview().filter, overview.totals.total);
    let shell = Shell::new(&title, request, &found.snapshot, now).live(&filter, &found.snapshot);
    let now = reference(request, &found.snapshot, now);
    let form = Form::new(request, selection, &found.suggestions);
    let sort = |label, order: OverviewOrder| Sort {
        label,
        href: format!("/{}", request.query.with(&[(ORDER, Some(order.as_str()))])),
        chosen: selection.order == order,
    };
    let urgent = troubled + by.progressing;
    let later = selection.after.is_some();
    let (own, shown) = (views::kept(&request.context.headers), views::shown(&request.query));
    let all = listed(selection, shared, &own, &shown);
    StartPage {
        heading,
        chips: chips(request, selection),
        views: all.iter().map(|view| view.link(&shell)).collect(),
        own: own.into_iter().map(|view| (visible(&view.title).into_owned(), view.title)).collect(),
        shown,
        ways: ways(request, &form),
        form,
        tiles: tiles(request, selection, &overview.totals, overview.trend.as_ref()),
        cards: match later {
            true => Vec::new(),
            false => cards(request, selection, &shell, &found.snapshot, &found.urgent, now),
        },
        further: further(request, urgent.saturating_sub(found.urgent.len() as u64)).filter(|_| !later),
        map: found.map.as_ref().and_then(|by_two| map::map(request, selection, by_two)).filter(|_| !later),
        sections: sections(request, selection, &shell, (overview, &found.page), now),
        by_health: sort("Health", OverviewOrder::Attention),
        by_since: sort("since", OverviewOrder::Since),
        by_name: sort("Environment", OverviewOrder::Name),
        by_deployment: sort("Last deployment", OverviewOrder::Deployed),
        groups_left_out: overview.groups_left_out,
        denied: overview.totals.denied,
        total: overview.totals.total,
        is_well: urgent == 0 && overview.totals.total > overview.totals.denied && !later,
        everything: within(&shell, TIER, "all"),
        next: found
            .page
            .next
            .as_ref()
            .map(|next| format!("/{}", request.query.with(&[(CONTINUE, Some(next.as_str()))]))),
        first: later.then(|| format!("/{}", request.query.with(&[(CONTINUE, None)]))),
        notice: None,
        wall: selection.wall,
        rotates_to: rotation(selection, &all),
        shell,
    }
}

/// How many more need attention than have cards, and where they are.
fn further(request: &Request, more: u64) -> Option<(String, String)> {
    let urgent: Vec<_> =
        Health::ALL.into_iter().filter(|health| health.needs_attention()).map(Health::as_str).collect();
    let urgent = urgent.join(",");
    let href = || format!("/{}", request.query.with(&[(HEALTH, Some(&urgent))]));
    (more > 0).then(|| (format!("{} more", grouped(more)), href()))
}

/// A view to choose.
struct Listed {
    title: String,
    /// What its address asks for.
    shown: String,
    chosen: bool,
}

impl Listed {
    /// To the view at the moment of the page.
    fn link(&self, shell: &Shell) -> (Choice, String) {
        let label = visible(&self.title).into_owned();
        let choice = Choice { value: String::new(), label, chosen: self.chosen };
        let parts =
            [shell.keep.trim_start_matches('?'), &self.shown].into_iter().filter(|part| !part.is_empty());
        let query = parts.collect::<Vec<_>>().join("&");
        (choice, if query.is_empty() { "/".to_owned() } else { format!("/?{query}") })
    }
}

/// The views of the configuration, and then those of the reader. What a reader saved goes before what it came from.
fn listed(selection: &Selection, shared: &[SavedView], own: &[OwnView], shown: &str) -> Vec<Listed> {
    let is_own = own.iter().any(|view| view.shown == shown);
    let from = selection.view.as_ref().filter(|_| !is_own);
    let shared = shared.iter().map(|view| Listed {
        title: view.title.clone(),
        shown: format!("{}={}", VIEW.name, percent_encode(&view.name)),
        chosen: from.is_some_and(|from| from.name == view.name),
    });
    let own = own.iter().map(|view| Listed {
        title: view.title.clone(),
        shown: view.shown.clone(),
        chosen: view.shown == shown,
    });
    shared.chain(own).collect()
}

/// The view that a screen on the wall shows next, in the order in which they are listed; none where there is but one, or none
/// of them is shown.
fn rotation(selection: &Selection, views: &[Listed]) -> Option<String> {
    let place = views.iter().position(|view| view.chosen && selection.wall && selection.at == At::Now)?;
    let next = views.get((place + 1) % views.len()).filter(|next| !next.chosen)?;
    let joint = if next.shown.is_empty() { "" } else { "&" };
    Some(format!("{ROTATION_SECONDS}; url=/?{}=1{joint}{}", WALL.name, next.shown))
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
    format!("{} need{} attention", grouped(number), if number == 1 { "s" } else { "" })
}

/// The page of fixed environments at noon, grouped by region, for tests.
#[cfg(test)]
pub(super) fn rendered(
    request: &Request,
    environments: Vec<EnvironmentSummary>,
    onset: Option<Onset>,
    snapshot: Snapshot,
) -> String {
    let selection = Selection::of(None, request).unwrap_or_else(|problem| panic!("{problem:?}"));
    let overview = super::tests::start::by_region(&environments);
    let map = super::tests::start::by_group_and_region(&environments);
    let healths = &selection.filter.healths;
    let passes =
        |one: &EnvironmentSummary| healths.is_empty() || one.health.is_some_and(|one| healths.contains(&one));
    let needs = |one: &&EnvironmentSummary| one.health.is_some_and(Health::needs_attention) && passes(one);
    let urgent = environments.iter().filter(needs).take(CARDS_MAX);
    let urgent = urgent.map(|one| (one.clone(), onset.clone())).collect();
    let items = environments.into_iter().filter(passes).collect();
    let hostile = vec![super::tests::HOSTILE.to_owned(), "eu".to_owned()];
    let suggestions = FilterValues { regions: hostile.clone(), groups: hostile.clone(), clusters: hostile };
    let page = OverviewPage { items, next: Some("1.5b5d.00".to_owned()) };
    let found = StartData { overview, page, urgent, map: Some(map), suggestions, snapshot };
    let views =
        [SavedView { name: "mine".into(), title: super::tests::HOSTILE.into(), ..SavedView::default() }];
    super::tests::text(&view(request, &selection, &found, &views, crate::format::tests::NOON))
}
