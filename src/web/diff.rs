//! `/environments/{id}/diff` and `/resources/{uid}/diff`: what changed between two moments, and what differs between two
//! environments.

mod rows;

use askama::Template;
use http::StatusCode;

use self::rows::Layout;
pub(super) use self::rows::{LAYOUT, Pair, Row};
use super::around;
use super::deployments;
use super::field::Field;
use super::render::html;
use super::shell::{Badge, Shell};
use super::tree::resource_href;
use crate::app::AppState;
use crate::app::diffs::{EnvironmentQuestion, of_one};
use crate::app::span::in_order;
use crate::format::{
    children_below, clock_time, counted, names, names_clusters, number_of, renamed, title, visible,
};
use crate::http::auth;
use crate::http::params::{AT, CHILDREN, CLUSTER, CONTINUE, FROM, IGNORE, INCLUDE, MAP, Parameter, WITH};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{At, EnvironmentId, Kind, Offset, Timestamp, Uid};
use strandline_object_diff::{Comparison, Line, Mark, NameMap, lines};
use strandline_protocol::{
    Answer, ChangeType, EnvironmentAt, EnvironmentDiff, ResourceChange, ResourceDiff, Snapshot, StateAt,
};
use strandline_query::{GetResource, QueryError, ResourceRef, Scope};
use strandline_syntax::percent_encode;

/// One side of what is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Side {
    /// `From` or `To`, or of two environments their names.
    pub(super) label: String,
    href: String,
    text: String,
    badge: Option<Badge>,
}

/// What became of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// None where the page is of one resource.
    pub(super) title: Option<(String, String)>,
    /// One below the other; none side by side.
    pub(super) rows: Vec<Row>,
    /// Side by side; none one below the other.
    pub(super) pairs: Vec<Pair>,
}

impl Block {
    fn new(request: &Request, title: Option<(String, String)>, lines: &[Line]) -> Self {
        let rows = rows::rows(lines);
        match layout(request) {
            Layout::Unified => Block { title, rows, pairs: Vec::new() },
            Layout::Split => Block { title, rows: Vec::new(), pairs: rows::pairs(rows) },
        }
    }
}

/// Another way to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    label: &'static str,
    href: String,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "diff.html")]
struct DiffPage {
    shell: Shell,
    heading: String,
    /// Name and address of what is compared.
    of: (String, String),
    /// The earlier moment.
    from: Field,
    /// The later one.
    to: Field,
    /// The other environment; none on the page of a resource.
    with: Option<Field>,
    /// Names and values that the form keeps.
    kept: Vec<(&'static str, String)>,
    sides: Vec<Side>,
    summary: String,
    names: String,
    /// What was left out because it differs only in names, or that it is shown, with a link to the other and its address.
    renamed: Option<(String, &'static str, String)>,
    ways: Vec<Way>,
    layouts: Vec<Way>,
    /// Deployments that ran between the two moments.
    deployments: Vec<deployments::Line>,
    blocks: Vec<Block>,
    /// The next page.
    next: Option<String>,
    json: String,
    text: String,
}

/// The page of an environment.
pub(super) async fn of_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let request = in_order(&state, request).await;
    let mut read = request.query.reader();
    let (id, page) = (EnvironmentId::new(request.argument(0)), read.page());
    let (at, question) = EnvironmentQuestion::read(&mut read, &state, id, page);
    read.word::<Layout>(LAYOUT);
    read.finish()?;
    let (scope, now) = (auth::scope(&request)?, state.clock.now());
    let found = question.ask(&state, &scope, at).await?;
    let mut page = environment_view(&request, &found, now);
    if found.from.id == found.to.id
        && let (Some(from), Some(to)) = (found.from.time, found.to.time)
    {
        page.deployments = around::find(&state, &scope, &[found.to.id], (from, to), now).await?;
    }
    html(StatusCode::OK, &page)
}

/// The page of a resource.
pub(super) async fn of_resource(state: AppState, request: Request) -> Result<Response, Problem> {
    let request = in_order(&state, request).await;
    let mut read = request.query.reader();
    let resource = ResourceRef::new(&Uid::new(request.argument(0)), request.query.one(CLUSTER));
    let (to, question) = of_one(&mut read, &state, resource);
    let is_one = question.from.is_none();
    read.word::<Layout>(LAYOUT);
    read.finish()?;
    let (scope, now) = (auth::scope(&request)?, state.clock.now());
    let found = state.queries.ask(&scope, to, question).await?;
    let mut page = resource_view(&request, &found, now);
    let ResourceDiff { id, key, from, to, .. } = &found.value;
    // What one version changed happened when that was observed, however old the one before is.
    let changed = to.version.as_ref().filter(|_| is_one).map(|version| version.observed_at);
    if let (Some(earlier), Some(later)) = (changed.or(from.time), changed.or(to.time)) {
        let environments = of_either(&state, &scope, (id, &key.cluster), [to.offset, from.offset]).await?;
        page.deployments = around::find(&state, &scope, &environments, (earlier, later), now).await?;
    }
    html(StatusCode::OK, &page)
}

/// The environments of a resource at the first of these moments at which it was there.
async fn of_either(
    state: &AppState,
    scope: &Scope,
    (uid, cluster): (&Uid, &str),
    moments: [Offset; 2],
) -> Result<Vec<EnvironmentId>, Problem> {
    for moment in moments {
        match state.queries.ask(scope, At::Offset(moment), GetResource::new(uid, Some(cluster))).await {
            Ok(found) => return Ok(found.value.environments),
            Err(QueryError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Vec::new())
}

/// How the differences are laid out; what is wrong with the parameter was said where it was read.
fn layout(request: &Request) -> Layout {
    request.query.reader().word(LAYOUT).unwrap_or_default()
}

/// The layouts to choose from.
fn layouts(request: &Request) -> Vec<Way> {
    let all = [("Unified", Layout::Unified, None), ("Side by side", Layout::Split, Some("split"))];
    let way = |(label, one, name): (&'static str, Layout, Option<&str>)| Way {
        label,
        href: here(request, &[(LAYOUT, name)]),
        chosen: layout(request) == one,
    };
    all.map(way).into()
}

/// How much is told, and what may be told besides.
fn ways(request: &Request, sets: &[(&'static str, &str)]) -> Vec<Way> {
    let asked = request.query.all(INCLUDE.name).collect::<Vec<_>>().join(",");
    let way = |(place, (label, include)): (usize, &(&'static str, &str))| Way {
        label,
        href: here(request, &[(INCLUDE, Some(include))]),
        chosen: asked == *include || (asked.is_empty() && place == 0),
    };
    sets.iter().enumerate().map(way).collect()
}

fn here(request: &Request, changes: &[(Parameter, Option<&str>)]) -> String {
    format!("{}{}", request.context.path, request.query.with(changes))
}

/// What the form passes on besides what can be typed.
fn kept(request: &Request) -> Vec<(&'static str, String)> {
    let all = [CLUSTER, MAP, CHILDREN, INCLUDE, IGNORE, LAYOUT];
    let values =
        all.iter().flat_map(|one| request.query.all(one.name).map(|value| (one.name, value.to_owned())));
    values.collect()
}

fn page(
    request: &Request,
    heading: String,
    of: (String, String),
    snapshot: &Snapshot,
    now: Timestamp,
) -> DiffPage {
    let api = |format: &str| {
        let query = request.query.without(CONTINUE).without(LAYOUT);
        let mark = if query.with(&[]).is_empty() { "?" } else { "&" };
        let format = if format.is_empty() { String::new() } else { format!("{mark}format={format}") };
        format!("/api/v1{}{}{format}", request.context.path, query.with(&[]))
    };
    DiffPage {
        // The later time has its field in the page's own form.
        shell: Shell { at: None, ..Shell::new(&heading, request, snapshot, now) },
        heading,
        of,
        from: Field::new(request, FROM, "From", "24h, yesterday 14:05, 1234"),
        to: Field::new(request, AT, "To", "now"),
        with: None,
        kept: kept(request),
        sides: Vec::new(),
        summary: String::new(),
        names: String::new(),
        renamed: None,
        ways: Vec::new(),
        layouts: layouts(request),
        deployments: Vec::new(),
        blocks: Vec::new(),
        next: None,
        json: api(""),
        text: api("text"),
    }
}

fn environment_view(request: &Request, found: &EnvironmentDiff, now: Timestamp) -> DiffPage {
    let shown = |text: &str| visible(text).into_owned();
    let beside = found.from.id != found.to.id;
    let id = shown(found.from.id.as_str());
    let heading = if beside {
        format!("{id} compared with {}", shown(found.to.id.as_str()))
    } else {
        format!("Changes of {id}")
    };
    let apart = names_clusters(found);
    let places = |side: &EnvironmentAt| match apart && !side.clusters.is_empty() {
        true => format!("in {}, ", shown(&side.clusters.join(", "))),
        false => String::new(),
    };
    let side = |label: &str, side: &EnvironmentAt| Side {
        label: if beside { shown(side.id.as_str()) } else { label.to_owned() },
        href: format!("/environments/{}?at={}", percent_encode(side.id.as_str()), side.offset),
        text: match side.exists {
            true => format!(
                "{}{}, {}",
                places(side),
                moment(side.offset.get(), side.time),
                resources(side.resources)
            ),
            false => format!("{}, does not exist", moment(side.offset.get(), side.time)),
        },
        badge: side.health.map(|health| Badge::new(Some(health))),
    };
    let of = (id, format!("/environments/{}", percent_encode(found.from.id.as_str())));
    let base = page(request, heading, of, found.snapshot(), now);
    let mut ways = ways(
        request,
        &[
            ("Spec and metadata", "metadata"),
            ("With status", "metadata,status"),
            ("Everything", "metadata,status,noise"),
        ],
    );
    let children = request.query.one(CHILDREN) == Some("true");
    let other = if children { None } else { Some("true") };
    ways.push(Way {
        label: "With controller updates",
        href: here(request, &[(CHILDREN, other)]),
        chosen: children,
    });
    DiffPage {
        of: (base.of.0, format!("{}{}", base.of.1, base.shell.keep)),
        with: Some(
            Field::new(request, WITH, "or with another environment, at the same time", "shop.web.staging")
                .wide(),
        ),
        sides: vec![side("From", &found.from), side("To", &found.to)],
        summary: counted(&found.counts),
        names: shown(&found.names.join(", ")),
        renamed: renamed_texts(request, found, beside),
        ways,
        blocks: blocks(request, found),
        next: found.metadata.next.as_deref().map(|token| here(request, &[(CONTINUE, Some(token))])),
        ..base
    }
}

/// What two environments have under another name each.
fn renamed_texts(
    request: &Request,
    found: &EnvironmentDiff,
    beside: bool,
) -> Option<(String, &'static str, String)> {
    let way = |map: Option<&str>| here(request, &[(MAP, map)]);
    if beside && request.query.all(MAP.name).any(|map| map == "none") {
        return Some(("Texts that differ only in names are shown".to_owned(), "leave them out", way(None)));
    }
    renamed(&found.counts).map(|said| (said, "show", way(Some("none"))))
}

/// What became of each resource.
pub(super) fn blocks(request: &Request, found: &EnvironmentDiff) -> Vec<Block> {
    let renamed = names(found);
    found.items.iter().map(|item| block(request, found, &renamed, item)).collect()
}

fn block(request: &Request, found: &EnvironmentDiff, names: &NameMap, item: &ResourceChange) -> Block {
    let mut lines = lines(&item.comparison, names);
    lines.extend(item.children.iter().map(|kind| Line::new(Mark::Note, children_below(kind))));
    let (before, after) = (item.before.as_ref(), item.after.as_ref());
    let moment = if after.is_some() { found.to.offset } else { found.from.offset };
    let shell = Shell { keep: format!("?at={moment}"), ..Shell::bare("") };
    let href = after.or(before).map(|side| {
        let of_both = matches!(item.change, ChangeType::Changed | ChangeType::Health | ChangeType::Children);
        match of_both {
            true => format!(
                "/resources/{}/diff?from={}&at={}&cluster={}",
                percent_encode(side.id.as_str()),
                found.from.offset,
                found.to.offset,
                percent_encode(&side.cluster)
            ),
            false => resource_href(&shell, &side.id, &side.cluster),
        }
    });
    let title = (visible(&title(found, item)).into_owned(), href.unwrap_or_default());
    Block::new(request, Some(title), &lines)
}

fn resources(count: u64) -> String {
    number_of(count, &Kind::new("", "resource"))
}

fn moment(offset: u64, time: Option<Timestamp>) -> String {
    let time = time.map(|time| format!(", {}", clock_time(time))).unwrap_or_default();
    format!("offset {offset}{time}")
}

fn resource_view(request: &Request, found: &Answer<ResourceDiff>, now: Timestamp) -> DiffPage {
    let (diff, shown) = (&found.value, |text: &str| visible(text).into_owned());
    let name = shown(&format!("{} {}", diff.key.kind.kind, diff.key.name));
    let at = |moment: u64| {
        format!(
            "/resources/{}?at={moment}&cluster={}",
            percent_encode(diff.id.as_str()),
            percent_encode(&diff.key.cluster)
        )
    };
    let side = |label: &str, state: &StateAt| {
        let said = match &state.version {
            None => "does not exist".to_owned(),
            Some(version) => {
                let by = version.changed_by.as_ref().map(|by| format!(" by {}", shown(&by.manager)));
                format!("version of {}{}", clock_time(version.observed_at), by.unwrap_or_default())
            }
        };
        let text = format!("{}, {said}", moment(state.offset.get(), state.time));
        Side { label: label.to_owned(), href: at(state.offset.get()), text, badge: None }
    };
    let of = (name.clone(), at(diff.to.offset.get()));
    let base = page(request, format!("Changes of {name}"), of, &found.metadata, now);
    let Comparison { differences, left_out, .. } = &diff.comparison;
    let count = differences.len() as u64 + left_out;
    DiffPage {
        sides: vec![side("From", &diff.from), side("To", &diff.to)],
        summary: match count {
            0 => "no differences".to_owned(),
            1 => "1 difference".to_owned(),
            count => format!("{count} differences"),
        },
        ways: ways(
            request,
            &[
                ("Without noise", "metadata,status"),
                ("Spec", "spec"),
                ("Everything", "metadata,status,noise"),
            ],
        ),
        blocks: vec![Block::new(request, None, &lines(&diff.comparison, &NameMap::default()))],
        ..base
    }
}

/// A page of fixed differences, for tests.
#[cfg(test)]
pub(super) fn rendered_environment(request: &Request, found: &EnvironmentDiff) -> String {
    super::tests::text(&environment_view(request, found, crate::format::tests::NOON))
}

/// The same of a resource.
#[cfg(test)]
pub(super) fn rendered_resource(request: &Request, found: &Answer<ResourceDiff>) -> String {
    super::tests::text(&resource_view(request, found, crate::format::tests::NOON))
}
