//! `/deployments/{id}`: who deployed what and where to, how the environment was before and after, and what it changed.

use std::time::Duration;

use askama::Template;
use http::StatusCode;

use super::deployments::{class, href};
use super::diff::{Block, Pair, Side, blocks};
use super::links;
use super::places::clusters;
use super::render::html;
use super::shell::{Badge, Shell, Time, reference};
use crate::api::deployment_id;
use crate::app::{AppState, LinkTemplate};
use crate::format::{counted, revision, visible};
use crate::http::auth;
use crate::http::params::{AT, FROM, PROJECT_ONE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use crate::web::address::same_moment;
use strandline_model::{At, Health, Timestamp};
use strandline_object_diff::{Between, Class, Lens, Mark};
use strandline_protocol::{Answer, Deployment, Environment, EnvironmentDiff};
use strandline_query::{
    DeploymentFilter, DiffEnvironment, GetDeployment, GetEnvironment, ListDeployments, PageRequest,
    QueryError, Scope,
};
use strandline_syntax::percent_encode;

/// How long after a deployment what it did shows: Pods that do not come up are Degraded by then.
const SETTLED: Duration = Duration::from_secs(15 * 60);

/// How long before a deployment that is only known by its end what it changed is looked for: jobs report when they are done.
const LOOKED_BACK: Duration = Duration::from_secs(5 * 60);

/// Deployments among which the ones before and after are looked for.
const NEAR: usize = 100;

/// Resources whose changes are shown.
const CHANGES: usize = 20;

/// How the environment was at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Then {
    label: &'static str,
    time: Time,
    href: String,
    /// None where it was not there, or that time is older than what is recorded.
    badge: Option<Badge>,
}

#[derive(Template)]
#[template(path = "deployment.html")]
struct DeploymentPage {
    shell: Shell,
    number: u64,
    what: String,
    status: &'static str,
    class: &'static str,
    environment: String,
    /// Its address, as it was last where it is gone; none where it was never recorded.
    environment_href: Option<String>,
    facts: Vec<(&'static str, String)>,
    links: Vec<(String, String)>,
    refused: String,
    health: Vec<Then>,
    /// The one before it to the same environment and the one after it, in words and as an address.
    near: Vec<(&'static str, String, String)>,
    summary: String,
    /// Where the difference is in full; none where nothing can be compared.
    compare: Option<String>,
    blocks: Vec<Block>,
    /// None: changes are shown one below the other.
    sides: Vec<Side>,
    json: String,
}

/// What was found of a deployment.
pub(super) struct Found {
    pub(super) deployment: Answer<Deployment>,
    /// The environment now, where it is there.
    pub(super) environment: Option<Environment>,
    /// Health before it, when it ended, and when that had shown; none where the environment is not recorded then.
    pub(super) health: Vec<(&'static str, Timestamp, Option<Option<Health>>)>,
    pub(super) difference: Option<EnvironmentDiff>,
    /// Deployments to the same environment around it, the newest first.
    pub(super) near: Vec<Deployment>,
}

impl Found {
    /// Where the environment is to be seen: at the time of the page or, if it is gone, when it was last there.
    fn environment_href(&self, path: &str, keep: &str) -> Option<String> {
        if self.environment.is_some() {
            return Some(format!("{path}{keep}"));
        }
        let last = self.health.iter().rev().find(|(_, _, health)| health.is_some());
        last.map(|(_, time, _)| at(path, *time))
    }
}

/// A page as it was at a time.
fn at(path: &str, time: Timestamp) -> String {
    format!("{path}?{}={}", AT.name, percent_encode(&time.to_string()))
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, project) = (read.at(), read.text(PROJECT_ONE));
    read.finish()?;
    let (scope, id) = (auth::scope(&request)?, deployment_id(&request)?);
    let queries = &state.queries;
    let deployment = queries.ask(&scope, at, GetDeployment::new(id, project.as_deref())).await?;
    let then = same_moment(at, &deployment.metadata);
    let now = reference(&request, &deployment.metadata, state.clock.now());
    let of = deployment.value.spec.environment.clone();
    let environment = known(queries.ask(&scope, then, GetEnvironment::new(&of)).await)?;
    let mut health = Vec::new();
    for (label, time) in times(&deployment.value, now) {
        let found = known(queries.ask(&scope, At::Time(time), GetEnvironment::new(&of)).await)?;
        health.push((label, time, found.map(|found| found.value.health.state)));
    }
    let (begun, settled) = (health.first().map(|first| first.1), health.last().map(|last| last.1));
    let question = DiffEnvironment {
        environment: of.clone(),
        from: begun.map(At::Time),
        lens: Lens::new(Between::Versions, &[Class::Metadata])
            .ignoring(state.presentation.ignored.iter().cloned()),
        children: false,
        page: PageRequest { limit: CHANGES, after: None },
    };
    let difference = known(queries.ask(&scope, settled.map_or(then, At::Time), question).await)?;
    let near = near(&state, &scope, then, &deployment.value).await?;
    let found =
        Found { deployment, environment: environment.map(|found| found.value), health, difference, near };
    html(StatusCode::OK, &view(&request, &found, &state.presentation.links.deployments, state.clock.now()))
}

/// The newest deployments to the same environment; of one that is not among them, those until its own time.
async fn near(state: &AppState, scope: &Scope, now: At, of: &Deployment) -> Result<Vec<Deployment>, Problem> {
    let filter =
        DeploymentFilter { environment: Some(of.spec.environment.clone()), ..DeploymentFilter::default() };
    let page = PageRequest { limit: NEAR, after: None };
    let mut found = Vec::new();
    for at in [now, At::Time(of.observed_at)] {
        let listed = known(state.queries.ask(scope, at, ListDeployments::new(&filter, &page)).await)?;
        found = listed.map(|page| page.items).unwrap_or_default();
        if position(&found, of).is_some() {
            break;
        }
    }
    Ok(found)
}

fn position(list: &[Deployment], of: &Deployment) -> Option<usize> {
    list.iter().position(|one| (one.spec.id, &one.spec.project) == (of.spec.id, &of.spec.project))
}

/// What is found, where there was something and it is still recorded.
fn known<T>(found: Result<T, QueryError>) -> Result<Option<T>, Problem> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(QueryError::NotFound { .. } | QueryError::Compacted { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Before it, when it ended, and when what it did had shown; nothing of it is later than the time of the page.
fn times(deployment: &Deployment, now: Timestamp) -> Vec<(&'static str, Timestamp)> {
    let spec = &deployment.spec;
    let ended = spec.finished_at.unwrap_or(deployment.observed_at).min(now);
    let before = match spec.created_at.filter(|begun| *begun < ended) {
        Some(begun) => ("When it began", begun),
        None => ("5 minutes before", ended.minus(LOOKED_BACK)),
    };
    let end = if spec.finished_at.is_some() { "When it ended" } else { "When it was reported" };
    let settled = ended.plus(SETTLED);
    let after = if settled <= now { ("15 minutes later", settled) } else { ("At this time", now) };
    [before, (end, ended), after]
        .into_iter()
        .filter(|(label, time)| *label == end || *time != ended)
        .collect()
}

fn view(request: &Request, found: &Found, templates: &[LinkTemplate], now: Timestamp) -> DeploymentPage {
    let snapshot = &found.deployment.metadata;
    let (deployment, spec) = (&found.deployment.value, &found.deployment.value.spec);
    let shown = |text: &str| visible(text).into_owned();
    let title = format!("Deployment #{} to {}: {}", spec.id.0, spec.environment, spec.status.as_str());
    let shell = Shell::new(&title, request, snapshot, now);
    let now = reference(request, snapshot, now);
    let path = format!("/environments/{}", percent_encode(spec.environment.as_str()));
    let then = |(label, time, health): &(&'static str, Timestamp, Option<Option<Health>>)| Then {
        label,
        time: Time::new(*time, now),
        href: at(&path, *time),
        badge: health.map(Badge::new),
    };
    let compare = found.difference.as_ref().map(|difference| {
        let (from, to) = (difference.from.offset, difference.to.offset);
        format!("{path}/diff?{}={from}&{}={to}", FROM.name, AT.name)
    });
    let job = spec.job.as_ref().map(|job| job.name.as_str()).unwrap_or_default();
    let targets = found.environment.as_ref().map(|environment| environment.targets.as_slice());
    let clusters = clusters(targets.unwrap_or_default()).into_iter().collect::<Vec<_>>().join(", ");
    let agent = spec.agent.as_ref();
    let place = agent.map(|agent| format!("{} through {}", agent.kubernetes_namespace, agent.agent));
    let facts = [
        ("Started by", spec.user.as_str()),
        (if spec.tag { "Tag" } else { "Branch" }, &spec.reference),
        ("Commit", &spec.sha),
        ("Job", job),
        ("Project", &spec.project),
        ("Clusters", &clusters),
        ("Deploys to", place.as_deref().unwrap_or_default()),
    ];
    let position = position(&found.near, deployment);
    let named = |label: &'static str, one: Option<&Deployment>| {
        let spec = &one?.spec;
        let by = if spec.user.is_empty() { String::new() } else { format!(" by {}", spec.user) };
        let words = format!("{}{by}, {} (#{})", revision(spec), spec.status.as_str(), spec.id.0);
        Some((label, shown(&words), href(&shell, spec)))
    };
    let earlier = position.and_then(|at| found.near.get(at + 1));
    let later = position.and_then(|at| found.near.get(at.checked_sub(1)?));
    let refused = spec.authorization.as_ref().filter(|one| !one.allowed).map(|one| one.message.as_str());
    DeploymentPage {
        number: spec.id.0,
        what: shown(&revision(spec)),
        status: spec.status.as_str(),
        class: class(spec.status),
        environment: shown(spec.environment.as_str()),
        environment_href: found.environment_href(&path, &shell.keep),
        facts: facts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name, shown(text)))
            .collect(),
        links: links::of_deployment(templates, deployment),
        refused: shown(refused.unwrap_or_default()),
        health: found.health.iter().map(then).collect(),
        near: [named("The one before", earlier), named("The one after", later)]
            .into_iter()
            .flatten()
            .collect(),
        summary: found.difference.as_ref().map(|found| counted(&found.counts)).unwrap_or_default(),
        compare,
        blocks: found.difference.as_ref().map(|found| blocks(request, found)).unwrap_or_default(),
        sides: Vec::new(),
        json: shell.href(&format!("/api/v1/deployments/{}", spec.id.0), &[(PROJECT_ONE, &spec.project)]),
        shell,
    }
}

/// The page of what was found at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, found: &Found) -> String {
    super::tests::text(&view(request, found, &[], crate::format::tests::NOON))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::NOON;

    fn minutes(count: u64) -> Duration {
        Duration::from_secs(60 * count)
    }

    #[test]
    fn health_is_of_before_and_after_and_never_of_what_is_to_come() {
        let mut one = super::super::tests::deployment::deployment("x");
        one.spec.created_at = Some(NOON.minus(minutes(30)));
        one.spec.finished_at = Some(NOON.minus(minutes(20)));
        let ago = |label, count| (label, NOON.minus(minutes(count)));
        let (began, ended) = (ago("When it began", 30), ago("When it ended", 20));
        assert_eq!(times(&one, NOON), [began, ended, ago("15 minutes later", 5)]);
        assert_eq!(times(&one, NOON.minus(minutes(10))), [began, ended, ago("At this time", 10)]);
        assert_eq!(times(&one, NOON.minus(minutes(20))), [began, ended], "of a time there is one state");
        // What is only reported at its end, or by a clock that is wrong, changed something before that.
        for created_at in [None, one.spec.finished_at, Some(NOON)] {
            one.spec.created_at = created_at;
            assert_eq!(times(&one, NOON)[..2], [ago("5 minutes before", 25), ended]);
        }
        one.spec.finished_at = None;
        assert_eq!(times(&one, NOON)[1], ago("When it was reported", 0));
    }
}
