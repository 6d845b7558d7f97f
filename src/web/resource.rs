//! `/resources/{uid}`: one resource, who changed it, its history and the object itself.

mod versions;
pub(super) mod yaml;

use std::time::Duration;

use askama::Template;
use http::StatusCode;

use self::versions::{Entry, History, Versions};
use self::yaml::Piece;
use super::address::same_moment;
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Badge, Shell, Time, reference};
use super::strip::Strip;
use super::{around, deployments, edges, events, graph, images, links, live, timeline};
use crate::app::{AppState, LinkTemplate};
use crate::format::{clock_time, visible};
use crate::http::auth;
use crate::http::params::{AT, CLUSTER};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{At, ChangedBy, Health, Kind, ResourceKey, Timestamp, Uid};
use strandline_object_diff::Lens;
use strandline_protocol::{
    Answer, FoldedEvent, Onset, Page, Rank, ResourceDetail, ResourceEdge, Snapshot, Timeline,
};
use strandline_query::{
    EventFilter, GetResource, GetResourceOnset, GetResourceTimeline, ListClusters, ListResourceEdges,
    ListResourceEvents, ListResourceVersions, OnsetFilter, PageRequest, QueryError, Scope,
};
use strandline_syntax::percent_encode;

/// What is known of the resource at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    badge: Badge,
    reason: String,
    message: String,
    /// Since when its health has been so; none where it has none.
    since: Option<Time>,
    rule: String,
    rule_set: String,
    created: Option<Time>,
    /// Since when it is being deleted.
    terminating: Option<Time>,
    /// What its health becomes by itself, and when.
    later: Option<(String, Time)>,
    /// What has to be done before it goes.
    waiting_for: Vec<String>,
    observed: Time,
    by: String,
    resource_version: String,
    /// Name and address.
    environments: Vec<(String, String)>,
    /// Name and address.
    images: Vec<(String, String)>,
    object: Vec<Piece>,
    /// What its file is called.
    file: String,
}

#[derive(Template)]
#[template(path = "resource.html")]
struct ResourcePage {
    shell: Shell,
    uid: String,
    /// Name and address of what is elsewhere.
    links: Vec<(String, String)>,
    kind: String,
    name: String,
    place: Vec<(&'static str, String)>,
    json: String,
    /// The object as a file.
    yaml: String,
    /// What the version shown changed.
    changes: String,
    /// None when the resource was not there at the moment.
    facts: Option<Facts>,
    /// What changed before something went wrong with it.
    before: Option<timeline::Before>,
    /// Deployments that ran in that time.
    deployments: Vec<deployments::Line>,
    strip: Option<Strip>,
    history: History,
    history_json: String,
    events: Vec<events::Line>,
    events_json: String,
    health_json: String,
    edges: Vec<edges::Line>,
    /// The same as a drawing.
    drawing: graph::Drawing,
    /// Whether there are more edges than are shown.
    linked_further: bool,
    edges_json: String,
}

/// What was found of a resource.
struct ResourceData {
    uid: Uid,
    /// What it is called, at the moment or at another.
    key: Option<ResourceKey>,
    detail: Option<ResourceDetail>,
    snapshot: Snapshot,
    versions: Versions,
    /// None where nothing is wrong with it, or where that is not known.
    onset: Option<Onset>,
    /// None where it was not there yet.
    timeline: Option<Timeline>,
    events: Vec<FoldedEvent>,
    /// None where it is not there at the moment.
    edges: Option<Page<ResourceEdge>>,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, span) = (read.at(), Span::read(&mut read));
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let found = find(&state, &scope, at, uid, request.query.one(CLUSTER)).await?;
    let status = if found.detail.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let lens = versions::lens().ignoring(state.presentation.ignored.iter().cloned());
    let of = (&found.uid, request.query.one(CLUSTER));
    let rail = rail::of_resource(&state, &scope, &request, of, span, &found.snapshot).await?;
    let now = state.clock.now();
    let told = |onset: &Onset| onset.causes.iter().any(|change| change.rank == Rank::Deployment);
    let around = match &found.detail {
        Some(detail) if is_sick(detail) && !found.onset.as_ref().is_some_and(told) => {
            let since = detail.resource.health_since;
            // What was sick when it was first seen became so at some time before.
            let span = found.onset.as_ref().map_or_else(
                || (since.minus(Duration::from_secs(Onset::WINDOW_SECONDS)), since),
                |onset| (onset.looked_at_since, onset.from),
            );
            around::find(&state, &scope, &detail.environments, span, now).await?
        }
        _ => Vec::new(),
    };
    let mut page = view(&request, found, (&lens, &state.presentation.links.resources), now);
    page.deployments = around;
    page.shell = page.shell.with_rail(rail);
    html(status, &page)
}

async fn find(
    state: &AppState,
    scope: &Scope,
    at: At,
    uid: Uid,
    cluster: Option<&str>,
) -> Result<ResourceData, Problem> {
    let queries = &state.queries;
    let (detail, snapshot) = match queries.ask(scope, at, GetResource::new(&uid, cluster)).await {
        Ok(found) => (Some(found.value), found.metadata),
        // It may be gone or not yet there, and have a history to show.
        Err(error @ QueryError::NotFound { .. }) => {
            let one = PageRequest { limit: 1, after: None };
            if if_there(
                queries.ask(scope, At::Now, ListResourceVersions::new(&uid, cluster, false, &one)).await,
            )?
            .is_none()
            {
                return Err(error.into());
            }
            // Its snapshot is of now; the header has to tell the moment asked for.
            (None, queries.ask(scope, at, ListClusters::new(&one)).await?.metadata.snapshot)
        }
        Err(error) => return Err(error.into()),
    };
    let past = !matches!(at, At::Now);
    let versions = Versions::find(state, scope, (&uid, cluster), snapshot.offset, past).await?;
    let key = match (&detail, versions.some_state()) {
        (Some(detail), _) => Some(detail.resource.key.clone()),
        (None, Some(version)) => {
            let then = queries.ask(scope, At::Offset(version), GetResource::new(&uid, cluster)).await;
            if_there(then)?.map(|found| found.value.resource.key)
        }
        (None, None) => None,
    };
    let (then, any) = (At::Offset(snapshot.offset), &EventFilter::default());
    let events = if_there(
        queries.ask(scope, then, ListResourceEvents::new(&uid, cluster, any, &events::newest())).await,
    )?;
    let (then, span, newest) = (same_moment(at, &snapshot), timeline::filter(), timeline::newest());
    let timeline = queries.ask(scope, then, GetResourceTimeline::new(&uid, cluster, &span, &newest)).await;
    let timeline = if_there(timeline)?.map(|found| found.timeline);
    let edges =
        if_there(queries.ask(scope, then, ListResourceEdges::new(&uid, cluster, &edges::first())).await)?;
    let events = events.map(|page| page.items).unwrap_or_default();
    let onset = match detail.as_ref().is_some_and(is_sick) {
        true => {
            let question = GetResourceOnset::new(&uid, cluster, OnsetFilter::default());
            onset_if_known(queries.ask(scope, then, question).await)?
        }
        false => None,
    };
    Ok(ResourceData { onset, uid, key, detail, snapshot, versions, timeline, events, edges })
}

fn is_sick(detail: &ResourceDetail) -> bool {
    detail.resource.health.is_some_and(Health::needs_attention)
}

/// What changed before something went wrong, if that is known.
fn onset_if_known(found: Result<Answer<Onset>, QueryError>) -> Result<Option<Onset>, Problem> {
    match found {
        Err(QueryError::OnsetUnknown { .. }) => Ok(None),
        found => Ok(if_there(found)?.map(|found| found.value)),
    }
}

/// What is said of something, if it is there at the moment.
fn if_there<T>(found: Result<T, QueryError>) -> Result<Option<T>, Problem> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(QueryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn view(
    request: &Request,
    found: ResourceData,
    (lens, templates): (&Lens, &[LinkTemplate]),
    now: Timestamp,
) -> ResourcePage {
    let ResourceData { uid, key, detail, snapshot, versions, onset, timeline, events: said, edges: linked } =
        found;
    let key = key.as_ref();
    let name = key.map_or(uid.as_str(), |key| &key.name);
    let kind = key.map_or("Resource", |key| &key.kind.kind);
    let state = match &detail {
        Some(detail) => detail.resource.health.map(|health| format!(": {health}")).unwrap_or_default(),
        None => ": deleted".into(),
    };
    let title = format!("{kind} {name}{state}");
    let shell = Shell::new(&title, request, &snapshot, now).live(&live::rarely(), &snapshot);
    let now = reference(request, &snapshot, now);
    let is_there = detail.is_some();
    let of_kind = key.map_or_else(|| Kind::new("", ""), |key| key.kind.clone());
    let offset = snapshot.offset.to_string();
    let pinned = [(AT, shell.past().then_some(offset.as_str()))];
    let json = |of: &str| format!("/api/v1{}{of}{}", request.context.path, request.query.with(&pinned));
    ResourcePage {
        uid: visible(uid.as_str()).into_owned(),
        links: key.map(|key| links::of_resource(templates, key, &uid, now)).unwrap_or_default(),
        kind: visible(kind).into_owned(),
        name: visible(name).into_owned(),
        place: key.map(place).unwrap_or_default(),
        json: json(""),
        yaml: format!("{}/object.yaml{}", request.context.path, request.query.with(&pinned)),
        changes: format!("{}/diff{}", request.context.path, request.query.with(&pinned)),
        events_json: json("/events"),
        health_json: json("/health"),
        history_json: json("/history"),
        before: onset.map(|onset| timeline::Before::new(&shell, request, &onset, now, json("/onset"))),
        deployments: Vec::new(),
        edges_json: json("/edges"),
        linked_further: linked.as_ref().is_some_and(|page| page.metadata.next.is_some()),
        drawing: graph::relations(
            &shell,
            (kind, name, detail.as_ref().and_then(|detail| detail.resource.health)),
            linked.as_ref().map_or(&[], |page| &page.items),
            key.map_or("", |key| &key.cluster),
        ),
        edges: linked
            .map(|page| edges::lines(&shell, &page.items, key.map_or("", |key| &key.cluster)))
            .unwrap_or_default(),
        strip: timeline.map(|found| Strip::new(request, &found.health, now, json("/health")).in_words()),
        events: events::lines(&shell, &said, now),
        history: History::new(request, &versions, &of_kind, lens, is_there, now),
        facts: detail.map(|detail| facts(&shell, detail, now)),
        shell,
    }
}

fn place(key: &ResourceKey) -> Vec<(&'static str, String)> {
    let all = [("Cluster", &key.cluster), ("Namespace", &key.namespace), ("API group", &key.kind.group)];
    let known = all.into_iter().filter(|(_, value)| !value.is_empty());
    known.map(|(name, value)| (name, visible(value).into_owned())).collect()
}

fn facts(shell: &Shell, detail: ResourceDetail, now: Timestamp) -> Facts {
    let resource = &detail.resource;
    let shown = |text: &str| visible(text).into_owned();
    let environment = |id: &strandline_model::EnvironmentId| {
        (shown(id.as_str()), format!("/environments/{}{}", percent_encode(id.as_str()), shell.keep))
    };
    Facts {
        badge: Badge::new(resource.health),
        reason: shown(&resource.reason),
        message: shown(&resource.message),
        since: resource.health.map(|_| Time::new(resource.health_since, now)),
        rule: shown(&detail.rule),
        rule_set: shown(&detail.rule_set),
        created: resource.created_at.map(|time| Time::new(time, now)),
        terminating: resource.terminating_since.map(|time| Time::new(time, now)),
        later: resource.later.as_ref().map(|later| {
            let health = later.health.map_or("without health", Health::as_str);
            (health.to_owned(), Time::new(later.at, now))
        }),
        waiting_for: detail.waiting_for.iter().map(|name| shown(name)).collect(),
        observed: Time::new(resource.observed_at, now),
        by: detail.changed_by.as_ref().map(by).unwrap_or_default(),
        resource_version: shown(detail.resource_version.as_str()),
        environments: detail.environments.iter().map(environment).collect(),
        images: images::of_object(detail.object.as_str(), shell),
        object: yaml::pieces(&yaml::text(&detail.object)),
        file: yaml::file_name(&resource.key.kind.kind, &resource.key.name),
    }
}

fn by(changed_by: &ChangedBy) -> String {
    let ChangedBy { manager, operation, subresource, time } = changed_by;
    let part = if subresource.is_empty() { String::new() } else { format!(" of {subresource}") };
    let when = time.map(|time| format!(" at {}", clock_time(time))).unwrap_or_default();
    visible(&format!("{manager} ({operation}{part}{when})")).into_owned()
}

/// The page of a fixed resource and three versions of it at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(
    request: &Request,
    resource: strandline_protocol::Resource,
    snapshot: Snapshot,
    events: Vec<FoldedEvent>,
) -> String {
    use crate::format::tests::{NOON, health_history};
    use strandline_model::{DeletionCause, EnvironmentId, Health, Offset, ResourceVersion};
    use strandline_protocol::{Version, VersionChange};
    let by = ChangedBy {
        manager: resource.key.name.clone(),
        operation: "Update".into(),
        subresource: "status".into(),
        time: Some(NOON),
    };
    let version = |offset: u64, health, cause: Option<DeletionCause>| Version {
        id: offset.to_string(),
        offset: Offset::new(offset),
        observed_at: NOON.minus(std::time::Duration::from_secs((1300 - offset) * 60)),
        change: if cause.is_some() { VersionChange::Deleted } else { VersionChange::Applied },
        resource_version: ResourceVersion::new("88123"),
        health,
        reason: resource.reason.clone(),
        message: resource.message.clone(),
        rule: "builtin/Pod".into(),
        rule_set: "4".into(),
        later: None,
        changed_by: cause.is_none().then(|| by.clone()),
        cause,
        object: None,
    };
    let object = strandline_protocol::ObjectText::from(&serde_json::json!({
        "apiVersion": "v1",
        "kind": resource.key.kind.kind,
        "metadata": { "name": resource.key.name, "annotations": { resource.key.name.clone(): resource.message } },
        "spec": { "replicas": 3, "containers": [{ "name": "web", "image": "registry/web:1.2", "args": ["--x", "no"] }] }
    }));
    let main = vec![
        version(1290, None, Some(DeletionCause::Relist { last_seen: NOON })),
        version(1200, Some(Health::Degraded), None),
        version(1100, Some(Health::Healthy), None),
    ];
    let versions = Versions { main, ..Versions::default() };
    let detail = ResourceDetail {
        resource_version: ResourceVersion::new("88123"),
        changed_by: Some(by.clone()),
        rule: "builtin/Pod".into(),
        rule_set: "4".into(),
        environments: vec![EnvironmentId::new("shop.web.production")],
        waiting_for: resource.terminating_since.map(|_| resource.key.name.clone()).into_iter().collect(),
        object,
        resource: resource.clone(),
    };
    let uid = resource.id.clone();
    let key = Some(resource.key.clone());
    let health = health_history(&[(resource.health, 10), (Some(Health::Healthy), 90)]);
    let timeline = Some(Timeline { health, ..crate::format::fixtures::timeline_page(96).timeline });
    let edges = Some(Page {
        items: linked(),
        metadata: strandline_protocol::PageMetadata::new(snapshot.clone(), None),
    });
    let onset = Some(crate::format::fixtures::onset());
    let detail = Some(detail);
    let found = ResourceData { uid, key, detail, snapshot, versions, onset, timeline, events, edges };
    super::tests::text(&view(request, found, (&versions::lens(), &[]), NOON))
}

/// What it is linked with, for tests: something that is there, and something that is not.
#[cfg(test)]
fn linked() -> Vec<ResourceEdge> {
    use strandline_model::Health;
    let edge = |edge: &str, kind: &str, name: &str, exists: bool| ResourceEdge {
        edge: edge.into(),
        far: strandline_protocol::FarEnd::Cause,
        kind: Kind::new("", kind),
        namespace: "shop".into(),
        name: name.into(),
        id: exists.then(|| Uid::new(name)),
        health: exists.then_some(Health::Healthy),
        exists: Some(exists),
    };
    vec![edge("selects", "Service", "front", true), edge("mounts", "ConfigMap", "<lost>", false)]
}

#[cfg(test)]
mod tests;
