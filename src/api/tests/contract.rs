//! The document says what the code does, and the code does what the document says.

mod coverage;
mod diffs;
mod environments;
mod names;
mod over_time;
mod service;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::schema::{resolve, violations};
use crate::api::document::JSON;
use crate::api::routes::ROUTES;
use crate::app::AppState;
use crate::format::tests::{
    NOON, counted, environment, folded_event, graph, health_history, owns, resource, snapshot, watch, why,
    why_path,
};
use crate::http::context::Context;
use crate::http::problem::{BodyPosition, ParameterError, Problem, ProblemCode};
use crate::http::respond;
use crate::http::router::Route;
use strandline_model::{
    ChangedBy, CoverageState, DeletionCause, DeploymentStatus, EnvironmentFilter, EnvironmentId,
    EnvironmentState, GroupBy, Health, Kind, Offset, ResourceVersion, SavedView, Source, Tier, Uid,
};
use strandline_object::kube_event::EventType;
use strandline_protocol::{
    Answer, Cluster, Collapse, FarEnd, FeedEnvironment, FeedEvent, FoldedEvent, FoundResource, Gap, Gone,
    LastChange, ObjectText, Overview, OverviewCounts, OverviewEnvironment, OverviewGroup, Page, PageMetadata,
    ResourceDetail, ResourceEdge, SearchMatch, SearchType, Snapshot, Version, VersionChange, WatchCoverage,
    WatchGap,
};
use strandline_query::ResourceOrder;

fn document() -> &'static Value {
    JSON.as_ref().unwrap_or_else(|error| panic!("api/openapi.yaml: {error}"))
}

fn holds(schema: &str, value: &impl Serialize) {
    let value = serde_json::to_value(value).unwrap_or_default();
    let found = violations(document(), &json!({ "$ref": format!("#/components/schemas/{schema}") }), &value);
    assert!(found.is_empty(), "{schema}:\n{}", found.join("\n"));
}

/// All references anywhere in the document.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Every operation of the document: its path, its method in capitals, and what is said of it.
pub(super) fn operations() -> impl Iterator<Item = (&'static str, String, &'static Value)> {
    let paths = document()["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let item = item.as_object().into_iter().flatten();
        item.map(move |(method, operation)| (path.as_str(), method.to_uppercase(), operation))
    })
}

#[test]
fn every_route_is_documented_and_every_documented_path_is_a_route() {
    let of = |route: &'static Route<AppState>| {
        route.operations().map(|(method, _)| (route.path, method.to_string()))
    };
    let routes: BTreeSet<_> = ROUTES.iter().flat_map(of).collect();
    let documented: BTreeSet<_> = operations().map(|(path, method, _)| (path, method)).collect();
    assert_eq!(routes, documented);
    let paths: BTreeSet<_> = ROUTES.iter().map(|route| route.path).collect();
    assert_eq!(paths.len(), ROUTES.len(), "no path stands twice");
}

#[test]
fn every_parameter_is_documented_and_every_documented_one_is_read() {
    for route in ROUTES {
        for (method, operation) in route.operations() {
            let name = method.as_str().to_lowercase();
            let declared = document()["paths"][route.path][&name]["parameters"].as_array();
            let mut declared: Vec<_> = declared
                .into_iter()
                .flatten()
                .map(|parameter| resolve(document(), parameter["$ref"].as_str().unwrap_or_default()))
                .map(|parameter| {
                    let text = |name: &str| parameter[name].as_str().unwrap_or_default();
                    (text("in"), text("name"), parameter["schema"]["type"] == "array")
                })
                // Handlers read headers by themselves.
                .filter(|(place, ..)| *place != "header")
                .collect();
            let in_path =
                route.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
            let mut read: Vec<_> = in_path
                .map(|name| ("path", name, false))
                .chain(operation.parameters.iter().map(|known| ("query", known.name, known.many)))
                .collect();
            declared.sort_unstable();
            read.sort_unstable();
            assert_eq!(declared, read, "{method} {}", route.path);
        }
    }
}

/// What an environment holds, which an agent may keep from those who see that it is there.
const HELD: [&str; 9] = [
    "environments/{id}/diff",
    "environments/{id}/resources",
    "environments/{id}/graph",
    "environments/{id}/why",
    "environments/{id}/health",
    "environments/{id}/events",
    "environments/{id}/timeline",
    "environments/{id}/onset",
    "environments/{id}/left-behind",
];

#[test]
fn every_operation_says_who_may_ask_and_what_it_takes() {
    let refusals = |path: &str, method: &str| match (ROUTES.iter().find(|route| route.path == path), method) {
        (Some(Route { open: true, .. }), "GET") => &[][..],
        (Some(_), "GET")
            if ["/metrics", "/api/v1/rebuild", "/api/v1/relist", "/api/v1/tokens"].contains(&path)
                || HELD.iter().any(|held| path.ends_with(held)) =>
        {
            &["401", "403"]
        }
        (Some(_), "GET") => &["401"],
        (Some(_), "PUT" | "POST") => &["400", "401", "403", "408", "413", "415"],
        _ => &["401", "403"],
    };
    for (path, method, operation) in operations() {
        let refused = refusals(path, &method);
        let open = operation.get("security") == Some(&json!([]));
        assert_eq!(open, refused.is_empty(), "{method} {path}: `security: []` is for what asks nobody");
        for status in ["401", "403", "408", "413", "415"] {
            let documented = operation["responses"].get(status).is_some();
            assert_eq!(documented, refused.contains(&status), "{method} {path}: {status}");
        }
        let vital = ROUTES.iter().any(|route| route.path == path && route.vital);
        for (status, wanted) in [("405", true), ("406", method == "GET"), ("429", !vital)] {
            let documented = operation["responses"].get(status).is_some();
            assert_eq!(documented, wanted, "{method} {path}: {status}");
        }
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let at = parameters.into_iter().any(|one| {
            let moments = ["#/components/parameters/At", "#/components/parameters/WatchFrom"];
            one["$ref"].as_str().is_some_and(|reference| moments.contains(&reference))
        });
        let gone = operation["responses"].get("410").is_some();
        assert_eq!(at, gone, "{method} {path}: moments that retention let go are answered with 410");
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(body.is_object(), matches!(method.as_str(), "PUT" | "POST"), "{method} {path}: the body");
    }
    let schemes: BTreeSet<_> = document()["components"]["securitySchemes"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    let named = document()["security"].as_array().into_iter().flatten();
    let named: BTreeSet<_> =
        named.flat_map(|one| one.as_object().into_iter().flatten()).map(|(name, _)| name).collect();
    assert_eq!(schemes, named, "every way to present a token may be used everywhere");
}

#[test]
fn the_document_is_whole() {
    let mut found = Vec::new();
    references(document(), &mut found);
    assert!(!found.is_empty());
    for reference in &found {
        resolve(document(), reference);
    }
    let groups = document()["components"].as_object().into_iter().flatten();
    // Ways to present a token are named, not referred to.
    for (group, members) in groups.filter(|(group, _)| *group != "securitySchemes") {
        for name in members.as_object().into_iter().flatten().map(|(name, _)| name) {
            let reference = format!("#/components/{group}/{name}");
            assert!(found.contains(&reference), "nothing refers to {reference}");
        }
    }
    let ids: Vec<_> = operations().map(|(_, _, operation)| operation["operationId"].as_str()).collect();
    assert!(ids.iter().all(Option::is_some));
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "operation ids are unique");
}

#[test]
fn every_object_of_a_schema_says_what_else_it_may_hold() {
    fn walk(place: String, value: &Value) {
        if let Value::Object(members) = value {
            if members.get("type") == Some(&json!("object")) {
                assert!(members.contains_key("additionalProperties"), "{place}");
            }
            for (name, member) in members.iter().filter(|(name, _)| *name != "examples") {
                walk(format!("{place}/{name}"), member);
            }
        } else if let Value::Array(items) = value {
            items.iter().for_each(|item| walk(place.clone(), item));
        }
    }
    walk("schemas".into(), &document()["components"]["schemas"]);
}

#[test]
fn every_example_is_valid() {
    let mut seen = 0;
    let mut valid = |schema: &Value, example: &Value, place: &str| {
        seen += 1;
        let found = violations(document(), schema, example);
        assert!(found.is_empty(), "{place}:\n{}", found.join("\n"));
    };
    for (name, schema) in document()["components"]["schemas"].as_object().into_iter().flatten() {
        for example in schema["examples"].as_array().into_iter().flatten() {
            valid(schema, example, name);
        }
    }
    for (name, response) in document()["components"]["responses"].as_object().into_iter().flatten() {
        for (_, content) in response["content"].as_object().into_iter().flatten() {
            if let Some(example) = content.get("example") {
                valid(&content["schema"], example, name);
            }
        }
    }
    for (name, parameter) in document()["components"]["parameters"].as_object().into_iter().flatten() {
        let several = parameter["examples"].as_object().into_iter().flatten().map(|(_, one)| &one["value"]);
        for example in parameter.get("example").into_iter().chain(several) {
            valid(&parameter["schema"], example, name);
        }
    }
    assert!(seen > 10, "the examples were found");
}

#[test]
fn words_are_the_same_everywhere() {
    let words = |schema: &str| document()["components"]["schemas"][schema]["enum"].clone();
    assert_eq!(words("Tier"), json!(Tier::ALL));
    assert_eq!(words("Health"), json!(Health::ALL));
    assert_eq!(words("Collapse"), json!(Collapse::ALL));
    assert_eq!(words("Collapse"), json!(Collapse::ALL.map(Collapse::as_str)), "read as it is written");
    assert_eq!(words("Order"), json!(ResourceOrder::ALL.map(ResourceOrder::as_str)));
    assert_eq!(words("EventType"), json!(EventType::ALL.map(EventType::as_str)));
    assert_eq!(words("DeploymentStatus"), json!(DeploymentStatus::ALL.map(DeploymentStatus::as_str)));
    assert_eq!(words("EnvironmentState"), json!(EnvironmentState::ALL.map(EnvironmentState::as_str)));
    assert_eq!(words("SearchMatch"), json!(SearchMatch::ALL.map(SearchMatch::as_str)));
    assert_eq!(words("SearchType"), json!(SearchType::ALL.map(SearchType::as_str)));
    assert_eq!(words("Source"), json!(Source::ALL.map(Source::as_str)));
    let codes = &document()["components"]["schemas"]["Problem"]["properties"]["code"]["enum"];
    assert_eq!(codes, &json!(ProblemCode::ALL.map(ProblemCode::as_str).as_slice()));
}

fn gap() -> Gap {
    Gap {
        cluster: "eu-west".into(),
        group: String::new(),
        kind: "Pod".into(),
        namespace: String::new(),
        since: NOON,
        until: Some(NOON),
        reason: "unreachable".into(),
        message: "connection refused".into(),
    }
}

/// A snapshot with everything in it that may be absent.
fn full_snapshot() -> Snapshot {
    let mut full = snapshot();
    full.at = Some(NOON);
    (full.not_recording, full.confirmed_until, full.delay_ms) = (true, Some(NOON), Some(5000));
    full.coverage = strandline_protocol::Coverage { complete: false, gaps: vec![gap()] };
    full
}

fn page<T>(items: Vec<T>) -> Page<T> {
    Page { items, metadata: PageMetadata::new(full_snapshot(), Some("token".into())) }
}

fn empty<T>() -> Page<T> {
    let snapshot = Snapshot { time: None, offset: Offset::ZERO, ..snapshot() };
    Page { items: vec![], metadata: PageMetadata::new(snapshot, None) }
}

#[test]
fn resources_have_the_documented_shape() {
    let mut bare = resource("Node", "n1", None);
    bare.created_at = None;
    let mut pod = resource("Pod", "web", Some(Health::Degraded));
    pod.terminating_since = Some(NOON);
    holds("ResourcePage", &page(vec![pod.clone(), bare.clone()]));
    for (resource, changed_by) in [(pod, Some(by())), (bare, None)] {
        let detail = ResourceDetail {
            resource,
            resource_version: ResourceVersion::new("88123"),
            changed_by,
            rule: "builtin/Pod".into(),
            rule_set: "4".into(),
            environments: vec![EnvironmentId::new("shop.web.production")],
            waiting_for: vec!["shop/backup".into()],
            object: ObjectText::from(&json!({ "kind": "Pod", "metadata": { "name": "web" } })),
        };
        holds("ResourceAnswer", &Answer { value: detail, metadata: full_snapshot() });
    }
}

#[test]
fn what_is_found_and_gone_has_the_documented_shape() {
    let resource = resource("Pod", "web", Some(Health::Degraded));
    let gone = |at| Gone { at, last_offset: Offset::new(7) };
    let found = [None, Some(gone(None)), Some(gone(Some(NOON)))];
    let found = found.map(|gone| FoundResource { resource: resource.clone(), gone });
    holds("FoundResourcePage", &page(found.to_vec()));
}

#[test]
fn graphs_and_paths_have_the_documented_shape() {
    let (pod, bare) = (resource("Pod", "web", Some(Health::Degraded)), resource("Node", "n1", None));
    let mut drawn = graph(vec![pod, bare], vec![owns("web", "n1")]);
    drawn.groups = vec![counted("Pod", Some("web"), 70), counted("Pod", None, 2)];
    holds("GraphAnswer", &Answer { value: drawn, metadata: full_snapshot() });
    for told in [why(vec![]), why(vec![why_path(&["web", "web-1", "web-1-a"])])] {
        holds("WhyAnswer", &Answer { value: told, metadata: full_snapshot() });
    }
}

#[test]
fn health_over_time_has_the_documented_shape() {
    let intervals = [(Some(Health::Degraded), 5), (None, 10), (Some(Health::Healthy), 1440)];
    holds("HealthHistoryAnswer", &Answer { value: health_history(&intervals), metadata: full_snapshot() });
    holds("HealthHistoryAnswer", &Answer { value: health_history(&[]), metadata: snapshot() });
}

fn by() -> ChangedBy {
    ChangedBy {
        manager: "kubectl".into(),
        operation: "Apply".into(),
        subresource: "status".into(),
        time: Some(NOON),
    }
}

#[test]
fn versions_have_the_documented_shape() {
    let version = |changed_by, cause: Option<DeletionCause>, object| Version {
        id: "1200".into(),
        offset: Offset::new(1200),
        observed_at: NOON,
        change: if cause.is_some() { VersionChange::Deleted } else { VersionChange::Applied },
        resource_version: ResourceVersion::new("88123"),
        health: Some(Health::Healthy),
        reason: String::new(),
        message: String::new(),
        rule: "builtin/Pod".into(),
        rule_set: "4".into(),
        later: None,
        changed_by,
        cause,
        object,
    };
    let bare = ChangedBy { subresource: String::new(), time: None, ..by() };
    let versions = vec![
        version(Some(by()), None, Some(ObjectText::from(&json!({ "kind": "Pod" })))),
        version(Some(bare), Some(DeletionCause::Watched), None),
        version(None, Some(DeletionCause::Relist { last_seen: NOON }), None),
        version(None, Some(DeletionCause::Replaced { last_seen: NOON }), None),
        version(None, Some(DeletionCause::KindRemoved { last_seen: NOON }), None),
        version(None, Some(DeletionCause::Forgotten { last_seen: NOON }), None),
    ];
    holds("VersionPage", &page(versions));
}

#[test]
fn events_have_the_documented_shape() {
    let bare = FoldedEvent { uid: Uid::default(), note: String::new(), ..folded_event("Odd", "") };
    holds("EventPage", &page(vec![folded_event("Warning", "BackOff"), bare]));
    holds("EventPage", &empty::<FoldedEvent>());
    let environment = FeedEnvironment {
        id: EnvironmentId::new("shop.web.production"),
        project: "shop/web".into(),
        name: "production".into(),
        tier: Tier::Production,
        region: String::new(),
    };
    let event = FeedEvent {
        offset: Offset::new(7),
        environments: vec![environment],
        event: folded_event("Warning", "BackOff"),
    };
    holds("FeedEventPage", &page(vec![event]));
    holds("FeedEventPage", &empty::<FeedEvent>());
}

#[test]
fn edges_have_the_documented_shape() {
    let edge = |far, exists: Option<bool>| ResourceEdge {
        edge: "mounts".into(),
        far,
        kind: Kind::new("", "ConfigMap"),
        namespace: "shop".into(),
        name: "web-settings".into(),
        id: exists.filter(|exists| *exists).map(|_| Uid::new("c")),
        health: exists.map(|_| Health::Healthy),
        exists,
    };
    let edges =
        [edge(FarEnd::Cause, Some(true)), edge(FarEnd::Dependent, Some(false)), edge(FarEnd::Cause, None)];
    holds("ResourceEdgePage", &page(edges.to_vec()));
    holds("ResourceEdgePage", &empty::<ResourceEdge>());
}

#[tokio::test]
async fn problems_have_the_documented_shape() {
    use http_body_util::BodyExt;
    let context = Context::new(http::Method::GET, "/x", http::HeaderMap::new());
    for code in ProblemCode::ALL {
        let mut problem = Problem::new(code, "what happened");
        problem.errors.push(ParameterError { parameter: "at".into(), detail: "no".into() });
        problem.candidates.push(resource("Pod", "web", None).key);
        let problem = problem.at(BodyPosition { field: "a".into(), line: Some(1), column: Some(2) });
        let response = respond::problem(problem, &context);
        assert_eq!(response.status().as_u16(), code.status());
        let body = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        holds("Problem", &value);
        assert_eq!(value["type"], format!("urn:strandline:problem:{}", code.as_str()));
    }
}
