//! How pages are asked for: moments that stay, wrong values told at their fields, and what is not there.

use std::sync::Arc;

use super::{ask_of, holds, request, sound};
use crate::app::AppState;
use strandline_clock::SystemClock;
use strandline_model::Timestamp;
use strandline_query::testing::{Thing, apply_all, declare, environment, facts, queries, record};
use strandline_view::Projector;
use strandline_view::ruleset::RuleSet;

/// The state of a site that recorded an environment with a Pod in a directory.
fn recorded(data: &std::path::Path) -> AppState {
    record(data, Arc::new(SystemClock), |appender| async move {
        declare(&appender, facts(&[environment("shop/web", "production", &[("east", "shop", "web")])])).await;
        apply_all(&appender, 1, &[Thing::pod("east", "shop", "web")]).await;
    });
    let mut projector = Projector::open(data, RuleSet::default()).expect("the view opens");
    while projector.step().expect("the view takes the log").is_some() {}
    AppState { queries: queries(data, Arc::new(SystemClock)), ..crate::api::tests::state(true) }
}

#[tokio::test]
async fn a_duration_ago_becomes_a_moment_that_stays() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let state = recorded(data.path());
    let asked = state.clock.now();
    for (path, kept) in [
        ("/?tier=all&at=0s", "?tier=all&at="),
        ("/coverage?at=1ms", "?at="),
        ("/environments/shop.web.production?collapse=kind&at=0s", "?collapse=kind&at="),
        ("/environments/shop.web.production/diff?from=0s", "?from="),
        ("/resources/shop-web?at=0s", "?at="),
        ("/images?from=1d12h", "?from="),
    ] {
        let (status, headers, _) = ask_of(&state, path, &[]).await;
        let location = headers.get("location").and_then(|value| value.to_str().ok()).unwrap_or_default();
        assert_eq!((status, location.starts_with(kept)), (302, true), "{path}: {location}");
        assert_eq!(headers["cache-control"], "no-store", "the next one is another moment");
        let text = location.trim_start_matches(kept).replace("%3A", ":");
        let time: Timestamp = text.parse().expect("a time");
        assert!(asked.since(time).as_secs() < 200_000 && text.ends_with('Z') && text.len() == 20, "{text}");
        let there = format!("{}{location}", path.split('?').next().unwrap_or_default());
        let (status, headers, _) = ask_of(&state, &there, &[]).await;
        assert!(status != 302 && !headers.contains_key("location"), "{there} is no moment that passes");
    }
    for (path, expected) in [
        ("/?tier=all&at=2026-11-20+14:05", "?tier=all&at=2026-11-20T14%3A05%3A00Z"),
        ("/?at=2026-07-20+14:05&tz=Europe/Berlin", "?at=2026-07-20T12%3A05%3A00Z"),
        ("/?at=@1795183500&health=Healthy", "?at=2026-11-20T14%3A05%3A00Z&health=Healthy"),
        ("/?at=1&tz=Europe/Berlin", "?at=1"),
    ] {
        let (status, headers, _) = ask_of(&state, path, &[]).await;
        assert_eq!((status, headers["location"].to_str().unwrap_or_default()), (302, expected), "{path}");
    }
    let (_, headers, _) = ask_of(&state, "/images?from=2h&at=1h", &[]).await;
    let both = headers["location"].to_str().unwrap_or_default().to_owned();
    assert!(both.contains("from=2") && both.contains("?at=2"), "{both}");
    for path in ["/", "/?at=now", "/?at=1", "/?at=", "/?at=99999999999w"] {
        let (status, headers, _) = ask_of(&state, path, &[]).await;
        assert!(status != 302 && !headers.contains_key("location"), "{path}: {status}");
    }
}

#[tokio::test]
async fn a_wrong_value_is_told_at_its_field_with_the_page_around_it() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let state = recorded(data.path());
    for (path, value, status, heading) in [
        ("/?at=tomorrow", "tomorrow", 400, "<h1>Production</h1>"),
        ("/?at=99999999", "99999999", 400, "<h1>Production</h1>"),
        ("/?at=2099-01-01T00:00:00Z", "2099-01-01T00:00:00Z", 400, "<h1>Production</h1>"),
        ("/?labels=a%3D%3D%3Db", "a===b", 400, "<h1>Production</h1>"),
        ("/coverage?at=tomorrow", "tomorrow", 400, "<h1>Coverage"),
        ("/images?from=soon", "soon", 400, "<h1>Images"),
        ("/images?from=99999999&at=1", "99999999", 400, "<h1>Images"),
        ("/environments/shop.web.production?at=25:05", "25:05", 400, "id=\"resources\""),
        ("/environments/shop.web.production/diff?from=x", "x", 400, "Changes of shop.web.production"),
        ("/resources/shop-web?at=99999999", "99999999", 400, "id=\"history\""),
        ("/resources/shop-web/diff?from=x", "x", 400, "<h1>Changes of Pod web</h1>"),
    ] {
        let (got, _, page) = ask_of(&state, path, &[]).await;
        assert_eq!(got, status, "{path}: {page}");
        sound(&page);
        holds(&page, &[heading, "aria-invalid=\"true\"", "class=\"wrong\""]);
        let field = page.split("<input ").find(|input| input.contains("aria-invalid")).unwrap_or_default();
        assert!(field.contains(&format!("value=\"{value}\"")), "{path}: {field}");
        assert!(!page.split("<p class=\"wrong\"").nth(1).unwrap_or_default().starts_with("></p>"));
    }
    let (status, _, page) = ask_of(&state, "/?health=Sick&at=soon", &[]).await;
    sound(&page);
    holds(
        &page,
        &[
            "role=\"alert\"><code>health</code>: invalid health <code>Sick</code>",
            "invalid time <code>soon</code>",
        ],
    );
    assert_eq!(status, 400);
    let (status, _, page) = ask_of(&state, "/environments/nothing?at=soon", &[]).await;
    assert_eq!(status, 400, "there is no page to keep");
    holds(&page, &["invalid time <code>soon</code>"]);
}

#[tokio::test]
async fn what_is_not_there_is_looked_for_elsewhere_only_where_it_may_be() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let state = recorded(data.path());
    for path in ["/environments/nothing", "/resources/nothing", "/environments/nothing?at=now"] {
        let (status, _, page) = ask_of(&state, path, &[]).await;
        assert_eq!(status, 404);
        sound(&page);
        assert!(!page.contains("Show it now") && !page.contains('`'), "it is now: {page}");
        holds(&page, &["<code>nothing</code>"]);
    }
    let (_, _, page) = ask_of(&state, "/environments/shop.web.production?at=0&collapse=kind", &[]).await;
    holds(&page, &["href=\"/environments/shop.web.production?collapse=kind\">Show it now</a>"]);
}

#[test]
fn words_of_moments_stand_only_where_one_was_asked_for() {
    let page = |query: &str| {
        crate::web::overview::rendered(&request("/", query), vec![], None, super::snapshot())
            + &crate::web::coverage::rendered(&request("/coverage", query), vec![], super::snapshot())
            + &crate::web::images::rendered(&request("/images", query), vec![])
    };
    assert!(!page("").contains("at this time"));
    assert_eq!(page("at=1234").matches(" at this time").count(), 4);
}
