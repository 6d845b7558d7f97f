//! Streams over a socket: a list with `watch=true` is streamed as the document says, and others say that they are not.

use serde_json::{Value, json};

use super::schema::violations;
use super::server::{Server, body, header, server, status};
use super::{AppState, Ready, Uncounted};
use crate::api::document::JSON;
use crate::api::routes;
use crate::api::routes::ROUTES;
use strandline_query::testing::{World, small_history};

async fn serving(world: &World) -> Server {
    let state = AppState {
        queries: world.queries.clone(),
        readiness: std::sync::Arc::new(Ready(true)),
        metrics: std::sync::Arc::new(Uncounted),
        clock: world.clock.clone(),
        ..super::state(true)
    };
    server(routes(&state), |_| {}).await
}

/// The events of an answer: their names, ids and data.
fn events(answer: &str) -> Vec<(String, String, Value)> {
    let of = |event: &str, field: &str| {
        let line = event.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap_or_default().trim().to_owned()
    };
    let events = body(answer).split("\n\n").filter(|event| event.contains("event:"));
    events
        .map(|event| {
            let data = serde_json::from_str(&of(event, "data")).expect("JSON");
            (of(event, "event"), of(event, "id"), data)
        })
        .collect()
}

#[tokio::test]
async fn a_list_with_watch_is_the_stream_of_its_filter() {
    let world = World::new(small_history());
    let server = serving(&world).await;
    for filter in
        ["", "&tier=production", "&health=Degraded", "&project=shop/*&labels=team", "&state=stopped"]
    {
        let list = format!("/api/v1/environments?watch=true&timeout=0s&from=1{filter}");
        let stream = format!("/api/v1/watch?timeout=0s&from=1{filter}");
        let (list, stream) = (server.ask("GET", &list, "").await, server.ask("GET", &stream, "").await);
        assert_eq!(header(&list, "content-type"), Some("text/event-stream"), "{list}");
        assert_eq!(events(&list), events(&stream), "{filter}");
    }
}

#[tokio::test]
async fn the_stream_of_an_environments_resources_leads_to_their_list() {
    let world = World::new(small_history());
    let server = serving(&world).await;
    let document = JSON.as_ref().expect("the document is YAML");
    for filter in ["", "&kind=Pod", "&health=Healthy,Progressing"] {
        let path = "/api/v1/environments/shop.db.production/resources";
        let all = server.ask("GET", &format!("{path}?watch=true&timeout=0s&from=0{filter}"), "").await;
        let mut said = events(&all);
        let bookmark = said.pop().expect("a bookmark");
        assert_eq!(
            (bookmark.0.as_str(), bookmark.1.as_str()),
            ("bookmark", world.head().to_string().as_str())
        );
        let schema = json!({ "$ref": "#/components/schemas/WatchedResource" });
        for (name, _, data) in &said {
            assert_eq!(name, "enter", "nothing was there at first");
            assert!(violations(document, &schema, data).is_empty(), "{data}");
        }
        let listed = server.ask("GET", &format!("{path}?{}", filter.trim_start_matches('&')), "").await;
        let listed: Value = serde_json::from_str(body(&listed)).expect("JSON");
        let id = |item: &Value| item["id"].to_string();
        let mut items: Vec<Value> = listed["items"].as_array().cloned().unwrap_or_default();
        items.sort_by_key(id);
        let resources: Vec<Value> = said.iter().map(|(.., data)| data["resource"].clone()).collect();
        assert_eq!(resources, items, "{filter}");
        assert!(!items.is_empty(), "{filter}");
        // Who breaks off goes on with the rest.
        for (number, (_, last, _)) in said.iter().enumerate() {
            let path = format!("{path}?watch=true&timeout=0s{filter}");
            let rest = server.ask("GET", &path, &format!("last-event-id: {last}\r\n")).await;
            assert_eq!(events(&rest)[..said.len() - number - 1], said[number + 1..], "after {last}");
        }
    }
}

#[tokio::test]
async fn lists_without_a_stream_and_questions_that_a_stream_has_no_answer_to_are_refused() {
    let world = World::new(small_history());
    let server = serving(&world).await;
    let refused = async |path: &str| {
        let answer = server.ask("GET", path, "").await;
        assert_eq!(
            (status(&answer), header(&answer, "content-type")),
            ("400", Some("application/problem+json"))
        );
        let problem: Value = serde_json::from_str(body(&answer)).expect("JSON");
        let detail = problem["errors"][0]["detail"].as_str().unwrap_or_default().to_owned();
        (problem["errors"][0]["parameter"].as_str().unwrap_or_default().to_owned(), detail)
    };
    let mut others = 0;
    for route in ROUTES.iter().filter(|route| route.path.starts_with("/api/v1/") && !route.path.contains('{'))
    {
        let Some(get) = route.operation(&http::Method::GET).filter(|_| !route.open) else { continue };
        if get.parameters.iter().any(|parameter| parameter.name == "watch") {
            continue;
        }
        let (parameter, detail) = refused(&format!("{}?watch=true", route.path)).await;
        assert_eq!(parameter, "watch", "{}", route.path);
        assert!(detail.contains("cannot be watched"), "{}: {detail}", route.path);
        others += 1;
    }
    assert!(others > 10, "{others}");
    for (query, parameter, expected) in [
        ("watch=true&at=2h", "at", "`from`"),
        ("watch=true&limit=10", "limit", "no pages"),
        ("watch=true&continue=1", "continue", "`Last-Event-ID`"),
        ("watch=true&timeout=8d", "timeout", "up to 7d"),
        ("from=2h", "from", "`watch=true`"),
        ("timeout=1s&watch=false", "timeout", "`watch=true`"),
    ] {
        let (refused, detail) = refused(&format!("/api/v1/environments?{query}")).await;
        assert!(refused == parameter && detail.contains(expected), "{query}: {refused}: {detail}");
    }
    let (parameter, detail) =
        refused("/api/v1/environments/shop.db.production/resources?watch=true&order=health").await;
    assert!(parameter == "order" && detail.contains("as they happen"), "{parameter}: {detail}");
}
