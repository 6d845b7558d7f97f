//! `/search`: everything that has a name, by a part of it. The field is in the header of every page.

use askama::Template;
use http::StatusCode;

use super::clusters;
use super::deployments;
use super::field::unplaced;
use super::projects;
use super::render::html;
use super::shell::{Badge, Shell, reference};
use crate::app::{AppState, finding};
use crate::format::{age, deployment_time, revision, visible};
use crate::http::auth;
use crate::http::params::{AT, CLUSTER, IMAGE, Q, TYPE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::Timestamp;
use strandline_protocol::{
    Answer, Deployment, Environment, EnvironmentAccess, FoundCluster, FoundImage, FoundProject,
    FoundResource, Hits, SearchResults, SearchType,
};
use strandline_query::Search;
use strandline_syntax::percent_encode;

/// One of what was found.
struct Row {
    name: String,
    href: String,
    badge: Option<Badge>,
    /// What else tells it from others.
    notes: String,
    is_gone: bool,
}

/// What was found of one type.
struct Group {
    id: &'static str,
    label: &'static str,
    rows: Vec<Row>,
    /// The address of more of them.
    more: Option<String>,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    shell: Shell,
    heading: String,
    groups: Vec<Group>,
    /// What was searched for; none where nothing was.
    query: Option<String>,
    /// What may have been meant, and the address of a search for it.
    meant: Option<(String, String)>,
    json: String,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, search) = (read.at(), finding::search(&mut read));
    read.finish()?;
    let scope = auth::scope(&request)?;
    let Some(mut search) = search else { return html(StatusCode::OK, &empty(&request)) };
    if search.types.len() == 1 {
        search.limit = Search::MAX;
    }
    let found = state.queries.ask(&scope, at, search).await?;
    html(StatusCode::OK, &view(&request, &found, state.clock.now()))
}

/// The page before anything is searched for.
fn empty(request: &Request) -> SearchPage {
    let shell = Shell {
        path: request.context.path.clone(),
        search: request.query.typed(Q).unwrap_or_default().to_owned(),
        wrong: unplaced(request),
        ..Shell::bare("Search")
    };
    SearchPage {
        shell,
        heading: "Search".into(),
        groups: Vec::new(),
        query: None,
        meant: None,
        json: String::new(),
    }
}

fn view(request: &Request, found: &Answer<SearchResults>, now: Timestamp) -> SearchPage {
    let (results, snapshot) = (&found.value, &found.metadata);
    let query = visible(request.query.one(Q).unwrap_or_default()).into_owned();
    let heading = format!("Search: {query}");
    let shell = Shell::new(&heading, request, snapshot, now);
    let now = reference(request, snapshot, now);
    let mut groups = Groups { request, all: Vec::new() };
    groups.add(SearchType::Environments, results.environments.as_ref(), |one| environment(one, &shell));
    groups.add(SearchType::Projects, results.projects.as_ref(), |one| project(one, &shell));
    groups.add(SearchType::Clusters, results.clusters.as_ref(), |one| cluster(one, &shell));
    groups.add(SearchType::Resources, results.resources.as_ref(), |one| resource(one, &shell, now));
    groups.add(SearchType::Images, results.images.as_ref(), |one| image(one, &shell));
    groups.add(SearchType::Deployments, results.deployments.as_ref(), |one| deployment(one, &shell, now));
    let json = format!("/api/v1/search{}", request.query.with(&[]));
    let meant = meant(results).map(|text| {
        let href = format!("{}{}", request.context.path, request.query.with(&[(Q, Some(&text))]));
        (shown(&text), href)
    });
    SearchPage { groups: groups.all, heading, query: Some(query), meant, json, shell }
}

/// What was searched for, with what may have been meant in the place of each word that nothing has.
fn meant(results: &SearchResults) -> Option<String> {
    let suggested = |word: &str| {
        let of_word = results.warnings.iter().find(|warning| warning.value == word);
        of_word.and_then(|warning| warning.suggestion.clone())
    };
    results.warnings.iter().find(|warning| warning.suggestion.is_some())?;
    let words = results.query.split(' ').map(|word| suggested(word).unwrap_or_else(|| word.to_owned()));
    Some(words.collect::<Vec<_>>().join(" "))
}

/// The groups in which something was found.
struct Groups<'r> {
    request: &'r Request,
    all: Vec<Group>,
}

impl Groups<'_> {
    fn add<T>(&mut self, of: SearchType, hits: Option<&Hits<T>>, row: impl Fn(&T) -> Row) {
        let Some(Hits { items, more }) = hits.filter(|hits| !hits.items.is_empty()) else { return };
        let label = match of {
            SearchType::Environments => "Environments",
            SearchType::Projects => "Projects",
            SearchType::Clusters => "Clusters",
            SearchType::Resources => "Resources",
            SearchType::Images => "Images",
            SearchType::Deployments => "Deployments",
        };
        let rows: Vec<_> = items.iter().map(|hit| row(&hit.item)).collect();
        let is_all = rows.len() >= Search::MAX;
        let more = (*more && !is_all).then(|| {
            format!("{}{}", self.request.context.path, self.request.query.with(&[(TYPE, Some(of.as_str()))]))
        });
        self.all.push(Group { id: of.as_str(), label, rows, more });
    }
}

fn shown(text: &str) -> String {
    visible(text).into_owned()
}

/// What is known of something, one after the other.
fn notes<const N: usize>(parts: [&str; N]) -> String {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    shown(&parts.collect::<Vec<_>>().join(" · "))
}

fn environment(one: &Environment, shell: &Shell) -> Row {
    let is_readable = one.access == EnvironmentAccess::Granted;
    Row {
        name: shown(one.id.as_str()),
        href: shell.href(&format!("/environments/{}", percent_encode(one.id.as_str())), &[]),
        badge: is_readable.then(|| Badge::new(one.health.state)),
        notes: notes([one.tier.as_str(), &one.region]),
        is_gone: false,
    }
}

fn project(one: &FoundProject, shell: &Shell) -> Row {
    let href = projects::href(shell, &one.id);
    Row { name: shown(&one.id), href, badge: None, notes: String::new(), is_gone: false }
}

fn cluster(one: &FoundCluster, shell: &Shell) -> Row {
    let href = clusters::href(shell, &one.id);
    Row { name: shown(&one.id), href, badge: None, notes: shown(&one.region), is_gone: false }
}

fn resource(one: &FoundResource, shell: &Shell, now: Timestamp) -> Row {
    let (of, gone) = (&one.resource, one.gone.as_ref());
    let path = format!("/resources/{}", percent_encode(of.id.as_str()));
    let cluster = (CLUSTER, of.key.cluster.as_str());
    let href = match gone {
        Some(gone) => format!(
            "{path}?{}={}&{}={}",
            AT.name,
            gone.last_offset,
            CLUSTER.name,
            percent_encode(&of.key.cluster)
        ),
        None => shell.href(&path, &[cluster]),
    };
    let went = gone.map(|gone| match gone.at {
        Some(at) => format!("deleted {} ago", age(at, now)),
        None => "deleted".to_owned(),
    });
    Row {
        name: shown(&of.key.kind_and_name()),
        href,
        badge: (gone.is_none() && of.health.is_some()).then(|| Badge::new(of.health)),
        notes: notes([&of.key.cluster, &of.key.namespace, went.as_deref().unwrap_or_default()]),
        is_gone: gone.is_some(),
    }
}

fn image(one: &FoundImage, shell: &Shell) -> Row {
    let href = shell.href("/images", &[(IMAGE, one.id.as_str())]);
    let notes = if one.in_use { "" } else { "not in use" };
    Row { name: shown(&one.short), href, badge: None, notes: notes.into(), is_gone: !one.in_use }
}

fn deployment(one: &Deployment, shell: &Shell, now: Timestamp) -> Row {
    let spec = &one.spec;
    let what = format!("#{} {}", spec.id, revision(spec));
    let by = if spec.user.is_empty() { String::new() } else { format!("by {}", spec.user) };
    let when = format!("{} {} ago", spec.status, age(deployment_time(one), now));
    Row {
        name: shown(what.trim_end()),
        href: deployments::href(shell, spec),
        badge: None,
        notes: notes([&format!("to {}", spec.environment), &by, &when]),
        is_gone: false,
    }
}

/// The page of fixed results at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, value: SearchResults) -> String {
    use crate::format::tests::{NOON, snapshot};
    super::tests::text(&view(request, &Answer { value, metadata: snapshot() }, NOON))
}
