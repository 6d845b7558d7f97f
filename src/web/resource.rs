//! `/resources/{uid}`: one resource, who changed it, its history and the object itself.

use askama::Template;
use http::StatusCode;

use super::environment::same_moment;
use super::shell::{Badge, Shell, Time, reference};
use super::strip::Strip;
use super::{edges, events, html, images, timeline};
use crate::api::params::{AT, CLUSTER};
use crate::api::problem::Problem;
use crate::api::request::{Request, encode};
use crate::api::respond::Response;
use crate::api::{ApiState, auth};
use crate::model::{At, ChangedBy, DeletionCause, Offset, ResourceKey, Timestamp, Uid};
use crate::present::{age, clock_time, visible};
use crate::query::{
    EventFilter, FoldedEvent, Page, PageRequest, QueryError, ResourceDetail, ResourceEdge, Scope, Snapshot,
    Timeline, Version, VersionChange,
};

/// A version in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    href: String,
    /// What it changed.
    changes: String,
    time: Time,
    /// How far from the moment shown, such as `5m ago` or `5m later`.
    distance: String,
    /// None for the end.
    badge: Option<Badge>,
    reason: String,
    by: String,
    end: String,
    shown: bool,
    /// The rule that judged, where another one judged the version before; empty where it is the same.
    rule: String,
    /// Older versions of the same health, reason and manager, which say no more than this one.
    alike: Vec<Line>,
}

impl Line {
    /// Whether the next older version says the same; the one shown always stands by itself.
    fn says_as_much_as(&self, older: &Line) -> bool {
        let said = |line: &Line| (line.badge, line.reason.clone(), line.by.clone(), line.end.clone());
        let plain = |line: &Line| !line.shown && line.rule.is_empty();
        plain(self) && plain(older) && self.badge.is_some() && said(self) == said(older)
    }
}

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
    /// What has to be done before it goes.
    waiting_for: Vec<String>,
    observed: Time,
    by: String,
    resource_version: String,
    /// Name and address.
    environments: Vec<(String, String)>,
    /// Name and address.
    images: Vec<(String, String)>,
    object: String,
}

#[derive(Template)]
#[template(path = "resource.html")]
struct ResourcePage {
    shell: Shell,
    uid: String,
    kind: String,
    name: String,
    place: Vec<(&'static str, String)>,
    cluster: String,
    json: String,
    /// What the version shown changed.
    changes: String,
    /// None when the resource was not there at the moment.
    facts: Option<Facts>,
    strip: Option<Strip>,
    lines: Vec<Line>,
    more: bool,
    events: Vec<events::Line>,
    events_json: String,
    health_json: String,
    edges: Vec<edges::Line>,
    /// Whether there are more edges than are shown.
    linked_further: bool,
    edges_json: String,
}

/// What was found of a resource.
struct Found {
    uid: Uid,
    /// What it is called, at the moment or at another.
    key: Option<ResourceKey>,
    detail: Option<ResourceDetail>,
    snapshot: Snapshot,
    versions: Vec<Version>,
    more: bool,
    /// None where it was not there yet.
    timeline: Option<Timeline>,
    events: Vec<FoldedEvent>,
    /// None where it is not there at the moment.
    edges: Option<Page<ResourceEdge>>,
}

/// The page.
pub(super) async fn page(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let at = read.at();
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let found = find(&state, &scope, at, uid, request.query.one(CLUSTER)).await?;
    let status = if found.detail.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    html(status, &view(&request, found, state.clock.now()))
}

async fn find(
    state: &ApiState,
    scope: &Scope,
    at: At,
    uid: Uid,
    cluster: Option<&str>,
) -> Result<Found, Problem> {
    let (queries, page) = (&state.queries, PageRequest::default());
    let found = queries.resource(scope, at, &uid, cluster).await;
    // The history goes on to now, so that from any version one reaches the later ones too.
    let history = queries.resource_history(scope, At::Now, &uid, cluster, false, &page).await;
    let (detail, snapshot) = match (found, &history) {
        (Ok(found), _) => (Some(found.value), found.metadata),
        // It is gone or not yet there, but it has a history to show.
        (Err(QueryError::NotFound { .. }), Ok(history)) if !history.items.is_empty() => {
            // The history's snapshot is of now; the header has to tell the moment asked for.
            let one = PageRequest { limit: 1, after: None };
            (None, queries.clusters(scope, at, &one).await?.metadata.snapshot)
        }
        (Err(error), _) => return Err(error.into()),
    };
    let (versions, more) = match history {
        Ok(history) => (history.items, history.metadata.next.is_some()),
        Err(_) => (Vec::new(), false),
    };
    let key = match (&detail, versions.iter().find(|version| version.change == VersionChange::Applied)) {
        (Some(detail), _) => Some(detail.resource.key.clone()),
        (None, Some(version)) => {
            let then = queries.resource(scope, At::Offset(version.offset), &uid, cluster).await;
            then.ok().map(|found| found.value.resource.key)
        }
        (None, None) => None,
    };
    let (then, any) = (At::Offset(snapshot.offset), &EventFilter::default());
    let events = if_there(queries.resource_events(scope, then, &uid, cluster, any, &events::newest()).await)?;
    let (then, span, newest) = (same_moment(at, &snapshot), timeline::filter(), timeline::newest());
    let timeline = queries.resource_timeline(scope, then, &uid, cluster, &span, &newest).await;
    let timeline = if_there(timeline)?.map(|found| found.timeline);
    let edges = if_there(queries.resource_edges(scope, then, &uid, cluster, &edges::first()).await)?;
    let events = events.map(|page| page.items).unwrap_or_default();
    Ok(Found { uid, key, detail, snapshot, versions, more, timeline, events, edges })
}

/// What is said of something, if it is there at the moment.
fn if_there<T>(found: Result<T, QueryError>) -> Result<Option<T>, Problem> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(QueryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn view(request: &Request, found: Found, now: Timestamp) -> ResourcePage {
    let Found { uid, key, detail, snapshot, versions, more, timeline, events: said, edges: linked } = found;
    let key = key.as_ref();
    let name = key.map_or(uid.as_str(), |key| &key.name);
    let kind = key.map_or("Resource", |key| &key.kind.kind);
    let state = match &detail {
        Some(detail) => detail.resource.health.map(|health| format!(": {health}")).unwrap_or_default(),
        None => ": not there".into(),
    };
    let shell = Shell::new(&format!("{kind} {name}{state}"), request, &snapshot, now);
    let now = reference(request, &snapshot, now);
    let shown = detail.as_ref().map(|_| snapshot.offset);
    let offset = snapshot.offset.to_string();
    let pinned = [(AT, shell.past().then_some(offset.as_str()))];
    let json = |of: &str| format!("/api/v1{}{of}{}", request.context.path, request.query.with(&pinned));
    ResourcePage {
        uid: visible(uid.as_str()).into_owned(),
        kind: visible(kind).into_owned(),
        name: visible(name).into_owned(),
        cluster: request.query.one(CLUSTER).unwrap_or_default().into(),
        place: key.map(place).unwrap_or_default(),
        json: json(""),
        changes: format!("{}/diff{}", request.context.path, request.query.with(&pinned)),
        events_json: json("/events"),
        health_json: json("/health"),
        edges_json: json("/edges"),
        linked_further: linked.as_ref().is_some_and(|page| page.metadata.next.is_some()),
        edges: linked
            .map(|page| edges::lines(&shell, &page.items, key.map_or("", |key| &key.cluster)))
            .unwrap_or_default(),
        strip: timeline
            .map(|found| timeline::strip(&shell, request, &found, now, (json("/health"), json("/timeline")))),
        events: events::lines(&shell, &said, now),
        lines: lines(request, &versions, shown, now),
        more,
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
    let environment = |id: &crate::model::EnvironmentId| {
        (shown(id.as_str()), format!("/environments/{}{}", encode(id.as_str()), shell.keep))
    };
    let object = serde_saphyr::to_string(&detail.object)
        .ok()
        .or_else(|| serde_json::to_string_pretty(&detail.object).ok())
        .unwrap_or_default();
    Facts {
        badge: Badge::new(resource.health),
        reason: shown(&resource.reason),
        message: shown(&resource.message),
        since: resource.health.map(|_| Time::new(resource.health_since, now)),
        rule: shown(&detail.rule),
        rule_set: shown(&detail.rule_set),
        created: resource.created_at.map(|time| Time::new(time, now)),
        terminating: resource.terminating_since.map(|time| Time::new(time, now)),
        waiting_for: detail.waiting_for.iter().map(|name| shown(name)).collect(),
        observed: Time::new(resource.observed_at, now),
        by: detail.changed_by.as_ref().map(by).unwrap_or_default(),
        resource_version: shown(detail.resource_version.as_str()),
        environments: detail.environments.iter().map(environment).collect(),
        images: images::of_object(&detail.object, shell),
        object: object.lines().map(visible).fold(String::new(), |all, line| all + &line + "\n"),
    }
}

fn by(changed_by: &ChangedBy) -> String {
    let ChangedBy { manager, operation, subresource, time } = changed_by;
    let part = if subresource.is_empty() { String::new() } else { format!(" of {subresource}") };
    let when = time.map(|time| format!(" at {}", clock_time(time))).unwrap_or_default();
    visible(&format!("{manager} ({operation}{part}{when})")).into_owned()
}

/// The versions, with the one that held at the offset marked.
fn lines(request: &Request, versions: &[Version], shown: Option<Offset>, now: Timestamp) -> Vec<Line> {
    let held = shown.and_then(|shown| versions.iter().position(|version| version.offset <= shown));
    let cluster = request.query.one(CLUSTER).map(|name| format!("&cluster={}", encode(name)));
    let at = |version: &Version| format!("?at={}{}", version.offset, cluster.as_deref().unwrap_or_default());
    let line = |(place, version): (usize, &Version)| Line {
        href: format!("{}{}", request.context.path, at(version)),
        changes: format!("{}/diff{}", request.context.path, at(version)),
        time: Time::new(version.observed_at, now),
        distance: distance(version.observed_at, now),
        badge: (version.change == VersionChange::Applied).then(|| Badge::new(version.health)),
        reason: visible(&version.reason).into_owned(),
        by: version.changed_by.as_ref().map(|by| visible(&by.manager).into_owned()).unwrap_or_default(),
        end: version.cause.map(end).unwrap_or_default(),
        shown: Some(place) == held,
        rule: new_rule(version, versions.get(place + 1)).unwrap_or_default(),
        alike: Vec::new(),
    };
    let mut lines: Vec<Line> = Vec::new();
    for line in versions.iter().enumerate().map(line) {
        match lines.last_mut().filter(|newer| newer.says_as_much_as(&line)) {
            Some(newer) => newer.alike.push(line),
            None => lines.push(line),
        }
    }
    lines
}

/// The rule that judged a version, where another one judged the version before.
fn new_rule(version: &Version, before: Option<&Version>) -> Option<String> {
    let judged = |version: &&Version| version.change == VersionChange::Applied;
    let (now, before) = (Some(version).filter(judged)?, before.filter(judged)?);
    let other = (&now.rule, &now.rule_set) != (&before.rule, &before.rule_set);
    other.then(|| visible(&format!("{}, rules {}", now.rule, now.rule_set)).into_owned())
}

/// How far a version is from the moment shown, which may lie before it.
fn distance(then: Timestamp, now: Timestamp) -> String {
    if then > now { format!("{} later", age(now, then)) } else { format!("{} ago", age(then, now)) }
}

fn end(cause: DeletionCause) -> String {
    match cause {
        DeletionCause::Watched => "deleted".into(),
        DeletionCause::Relist { last_seen } => {
            format!("vanished while nobody watched, after {}", clock_time(last_seen))
        }
        DeletionCause::Replaced { last_seen } => {
            format!("replaced while nobody watched, after {}", clock_time(last_seen))
        }
        DeletionCause::Unfollowed { last_seen } => {
            format!("no longer followed, after {}", clock_time(last_seen))
        }
        DeletionCause::KindRemoved { last_seen } => {
            format!("removed with its kind, after {}", clock_time(last_seen))
        }
        DeletionCause::Forgotten { last_seen } => {
            format!("declared gone by hand, last seen {}", clock_time(last_seen))
        }
    }
}

/// The page of a fixed resource and three versions of it at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(
    request: &Request,
    resource: crate::query::Resource,
    snapshot: Snapshot,
    events: Vec<FoldedEvent>,
) -> String {
    use crate::model::{EnvironmentId, Health, ResourceVersion};
    use crate::present::tests::{NOON, health_history};
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
        changed_by: cause.is_none().then(|| by.clone()),
        cause,
        object: None,
    };
    let object = serde_json::json!({
        "apiVersion": "v1",
        "kind": resource.key.kind.kind,
        "metadata": { "name": resource.key.name, "annotations": { resource.key.name.clone(): resource.message } },
        "spec": { "replicas": 3, "containers": [{ "name": "web", "image": "registry/web:1.2", "args": ["--x", "no"] }] }
    });
    let versions = vec![
        version(1290, None, Some(DeletionCause::Relist { last_seen: NOON })),
        version(1200, Some(Health::Degraded), None),
        version(1100, Some(Health::Healthy), None),
    ];
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
    let timeline = Some(Timeline { health, ..crate::present::fixtures::timeline_page(96).timeline });
    let edges = Some(Page {
        items: linked(),
        metadata: crate::query::PageMetadata { snapshot: snapshot.clone(), next: None },
    });
    let found =
        Found { uid, key, detail: Some(detail), snapshot, versions, more: true, timeline, events, edges };
    super::tests::text(&view(request, found, NOON))
}

/// What it is linked with, for tests: something that is there, and something that is not.
#[cfg(test)]
fn linked() -> Vec<ResourceEdge> {
    use crate::model::{Health, Kind};
    let edge = |edge: &str, kind: &str, name: &str, exists: bool| ResourceEdge {
        edge: edge.into(),
        far: crate::query::FarEnd::Cause,
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
