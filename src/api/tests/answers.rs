//! Answers that are given again, and what makes them others.

use std::sync::Arc;

use strandline_model::SavedView;
use strandline_query::testing::{World, small_history};

use super::server::{body, header, server, status};
use super::{Ready, Uncounted, state};
use crate::api::routes;
use crate::app::{AppState, CurrentPresentation, Presentation};

/// What a dashboard asks for again and again.
#[tokio::test]
async fn what_is_asked_again_within_a_second_is_not_computed_again() {
    let world = World::new(small_history());
    let state = AppState {
        queries: world.queries.clone(),
        readiness: Arc::new(Ready(true)),
        metrics: Arc::new(Uncounted),
        // It stays in one second.
        clock: world.clock.clone(),
        ..state(true)
    };
    let server = server(routes(&state), |_| {}).await;
    for path in ["overview", "environments", "changes", "events", "deployments", "images", "search?q=web"] {
        let address = format!("/api/v1/{path}");
        let (first, again) = (server.ask("GET", &address, "").await, server.ask("GET", &address, "").await);
        assert_eq!((status(&first), body(&first)), ("200", body(&again)), "{path}");
        let computed =
            |answer: &str| header(answer, "server-timing").is_some_and(|all| all.contains("handler"));
        assert!(computed(&first) && !computed(&again), "{path}: {again}");
    }
}

#[tokio::test]
async fn another_presentation_is_another_answer_at_once_under_another_tag() {
    let world = World::new(small_history());
    let current = CurrentPresentation::default();
    let state = AppState {
        queries: world.queries.clone(),
        readiness: Arc::new(Ready(true)),
        metrics: Arc::new(Uncounted),
        // It stays in one second, in which answers are given again.
        clock: world.clock.clone(),
        current_presentation: current.clone(),
        ..state(true)
    };
    let server = server(routes(&state), |_| {}).await;
    let mut before = String::new();
    for title in ["one", "two", "one"] {
        let view = SavedView { name: "shop".into(), title: title.into(), ..SavedView::default() };
        current.replace(Presentation { views: vec![view], ..Presentation::default() });
        let answer = server.ask("GET", "/api/v1/views", &format!("if-none-match: {before}\r\n")).await;
        assert_eq!(status(&answer), "200", "{answer}");
        assert!(body(&answer).contains(title), "{answer}");
        before = header(&answer, "etag").expect("a tag").to_owned();
        let again = server.ask("GET", "/api/v1/views", &format!("if-none-match: {before}\r\n")).await;
        assert_eq!(status(&again), "304", "{again}");
    }
}
