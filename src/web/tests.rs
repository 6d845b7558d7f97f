//! Pages from fixed answers: what they show, and that nothing a cluster wrote is taken for more than text.

mod address;
mod catalog;
pub(super) mod deployment;
mod diff;
mod environment;
mod escaping;
mod feeds;
mod hostile;
mod pages;
mod search;
pub(super) mod start;

use askama::Template;
use http::{HeaderMap, Method};

use super::environment::{EnvironmentData, Shown};
use super::{ROUTES, changes, failure, images};
use crate::app::{AppState, Notice};
use crate::format::fixtures::entry;
use crate::format::tests::{
    NOON, environment, folded_event, graph, image_use, resource, snapshot, watch, why,
};
use crate::http::context::Context;
use crate::http::params::Query;
use crate::http::problem::{ParameterError, Problem, ProblemCode};
use crate::http::request::Request;
use strandline_model::{CoverageState, GroupBy, Health, Kind, Uid};
use strandline_protocol::{
    Answer, Environment, FoldedEvent, Gap, Graph, Overview, OverviewCounts, OverviewGroup, Page,
    PageMetadata, Snapshot,
};

/// A name that tries everything.
pub(super) const HOSTILE: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>javascript:\u{202e}\u{1b}[31m{{ 7*7 }}</style>";

/// A request for a page.
pub(super) fn request(path: &str, query: &str) -> Request {
    let route = ROUTES.iter().find(|route| route.path == path);
    let operation = route.and_then(|route| route.operation(&Method::GET));
    let parameters = operation.map_or(&[][..], |operation| operation.parameters);
    Request::new(context(path), vec![], Query::parse(query, parameters).unwrap_or_default())
}

/// A page of a list that goes on.
fn listed<T>(items: Vec<T>) -> Page<T> {
    Page { items, metadata: PageMetadata::new(snapshot(), Some("token".into())) }
}

fn context(path: &str) -> Context {
    Context::new(Method::GET, path, HeaderMap::new())
}

/// A snapshot of a past moment with gaps.
pub(super) fn blind_snapshot() -> Snapshot {
    let gap = |kind: &str| Gap {
        cluster: "eu-west".into(),
        group: String::new(),
        kind: kind.into(),
        namespace: String::new(),
        since: NOON.minus(std::time::Duration::from_secs(900)),
        until: None,
        reason: "unreachable".into(),
        message: "the API server does not answer: connection refused".into(),
    };
    let mut snapshot = snapshot();
    snapshot.lag_changes = 1200;
    snapshot.coverage.gaps = vec![gap("Pod"), gap("Deployment")];
    snapshot
}

/// Holds for every page: whole, in order, and with nothing from elsewhere.
fn sound(page: &str) {
    // The script is an asset of ours; nothing that stands in a page runs.
    let script = format!(
        "<script type=\"module\" async blocking=\"render\" src=\"{}\">",
        super::assets::SCRIPT.address()
    );
    assert_eq!(page.matches(&script).count(), 1, "one script: {page}");
    let page = &page.replacen(&script, "", 1).replacen("</script>", "", 1);
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for forbidden in ["<script", "<img", "onerror=\"", " style=\"", "src=\"http", "\u{202e}", "\u{1b}"] {
        assert!(!page.contains(forbidden), "{forbidden} in\n{page}");
    }
    for reference in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(matches!(reference.chars().next(), Some('/' | '?' | '#')), "{reference} leads away");
    }
    for link in page.split("<a ").skip(1).filter_map(|rest| rest.split("</a>").next()) {
        let text: String =
            link.split('>').skip(1).map(|rest| rest.split('<').next().unwrap_or_default()).collect();
        let label = link.split("aria-label=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert!(
            text.trim().is_empty() || label.is_none_or(|label| label.contains(text.trim())),
            "whoever says what is shown does not reach {link}"
        );
    }
    for tag in ["ul", "li", "table", "section", "details", "main", "form", "div", "span", "a", "dl", "select"]
    {
        let count = |opening: &str| page.matches(opening).count();
        let opened = count(&format!("<{tag} ")) + count(&format!("<{tag}>"));
        assert_eq!(opened, count(&format!("</{tag}>")), "{tag} is opened as often as it is closed");
    }
}

#[test]
fn events_are_marked_by_word_and_sign_and_lead_to_their_object() {
    let mut node = folded_event("Normal", "Starting");
    (node.uid, node.count) = (Uid::default(), 1);
    let events = vec![folded_event("Warning", "BackOff"), node];
    let shown = |events: Vec<FoldedEvent>| {
        Shown::Events(Page { items: events, metadata: PageMetadata::new(snapshot(), None) })
    };
    let page = whole_page(
        "at=1234&tab=events",
        &EnvironmentData { shown: shown(events), ..found(graph(vec![], vec![])) },
    );
    for text in [
        "aria-hidden=\"true\">▲</span>Warning",
        "<span class=\"quiet\">Normal</span>",
        "href=\"/resources/web-0-uid?at=1234&#38;cluster=eu-west\">Pod web-0</a>",
        "<span>Pod web-0</span>",
        "<span class=\"tag\">5 times</span>",
        "60s ago",
    ] {
        assert!(page.contains(text), "{text} in\n{page}");
    }
    let none = EnvironmentData { shown: shown(vec![]), ..found(graph(vec![], vec![])) };
    assert!(whole_page("tab=events", &none).contains("No Events were recorded."));
}

/// A page of an environment with all that there can be.
fn whole_page(query: &str, found: &EnvironmentData) -> String {
    let page = super::environment::rendered(&request("/environments/{id}", query), found);
    sound(&page);
    page
}

/// An environment that shows a graph as a tree.
fn found(graph: Graph) -> EnvironmentData {
    EnvironmentData {
        environment: Answer { value: graph.environment.clone(), metadata: snapshot() },
        why: None,
        onset: None,
        month: None,
        left: None,
        deployments: vec![],
        shown: Shown::Tree(graph),
    }
}

fn holds(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "{text} in\n{page}");
    }
}

#[test]
fn the_coverage_shows_gaps_first_and_a_table_for_each_cluster() {
    let mut gap = watch("StatefulSet", CoverageState::Gap);
    (gap.reason, gap.message) = ("forbidden".into(), HOSTILE.into());
    let mut elsewhere = watch(HOSTILE, CoverageState::Excluded);
    elsewhere.watch.cluster = HOSTILE.into();
    let mut heard = watch("Deployment", CoverageState::Watched);
    (heard.last_seen, heard.lag_ms) = (Some(NOON.minus(std::time::Duration::from_secs(4))), Some(4000));
    let mut discovery = watch("", CoverageState::Watched);
    discovery.watch.kind = Kind::new("", "");
    let items = vec![discovery, heard, gap, elsewhere];
    let page = super::coverage::rendered(&request("/coverage", ""), items, snapshot());
    sound(&page);
    let position = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} in\n{page}"));
    assert!(position("StatefulSet.apps") < position("Deployment.apps"));
    assert!(position("<title>Coverage: 1 gap") < position("4s ago"));
    assert!(position("eu-west</a> <small>1 kind watched") < position("0 kinds watched, 1 excluded"));
    position("discovery of kinds");
    let past = super::coverage::rendered(&request("/coverage", "at=1234"), vec![], blind_snapshot());
    sound(&past);
    for text in ["href=\"/coverage?at=1234\"", "href=\"/coverage\">Back to live", "No kinds were watched"] {
        assert!(past.contains(text), "{text} in\n{past}");
    }
}

#[test]
fn what_is_being_deleted_says_so_and_what_holds_it_back() {
    let mut pod = resource("Pod", "held", Some(Health::Progressing));
    pod.terminating_since = Some(NOON.minus(std::time::Duration::from_secs(300)));
    let tree = whole_page("tab=tree", &found(graph(vec![pod.clone()], vec![])));
    let page = super::resource::rendered(&request("/resources/{uid}", ""), pod, snapshot(), Vec::new());
    for (page, text) in
        [(&tree, ">Terminating</span>"), (&page, ">Terminating</span>"), (&page, ">held</code>")]
    {
        sound(page);
        assert!(page.contains(text), "{text} in\n{page}");
    }
}

#[tokio::test]
async fn problems_are_pages_with_the_same_status() {
    use http_body_util::BodyExt;
    for code in ProblemCode::ALL {
        let mut problem = Problem::new(code, HOSTILE);
        problem.errors = ["at", "tier"]
            .map(|name| ParameterError { parameter: name.into(), detail: HOSTILE.into() })
            .into();
        problem.candidates = vec![resource("Pod", HOSTILE, None).key];
        let response = failure(problem, &context("/resources/x"));
        assert_eq!(response.status().as_u16(), code.status());
        let body = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let page = String::from_utf8_lossy(&body).into_owned();
        sound(&page);
        assert!(page.contains("/resources/x?cluster=eu-west") && page.contains(code.title()));
    }
}

/// What the whole site answers, from a state whose queries find no storage.
async fn ask(path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap, String) {
    ask_of(&crate::api::tests::state(true), path, headers).await
}

/// What the whole site answers from a state.
async fn ask_of(state: &AppState, path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap, String) {
    use http_body_util::{BodyExt, Empty};
    use tower_service::Service;
    let site = crate::site::site(state);
    let mut request = http::Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Empty::<bytes::Bytes>::new()).expect("a request");
    let Ok(response) = warp::service(site).call(request).await;
    let (head, body) = response.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    (head.status.as_u16(), head.headers, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn pages_and_the_api_stand_side_by_side() {
    for (path, status, kind) in [
        ("/nothing", 404, "text/html; charset=utf-8"),
        ("/environments", 404, "text/html; charset=utf-8"),
        ("/assets/nothing", 404, "text/html; charset=utf-8"),
        ("/?at=tomorrow", 400, "text/html; charset=utf-8"),
        ("/?tier=all,production", 400, "text/html; charset=utf-8"),
        ("/environments/%00", 400, "text/html; charset=utf-8"),
        ("/resources/x?y=1", 400, "text/html; charset=utf-8"),
        ("/coverage", 200, "text/html; charset=utf-8"),
        ("/coverage?at=tomorrow", 400, "text/html; charset=utf-8"),
        ("/assets/style.css", 200, "text/css; charset=utf-8"),
        ("/assets/script.js", 200, "text/javascript; charset=utf-8"),
        ("/assets/icon.svg", 200, "image/svg+xml"),
        ("/api/nothing", 404, "application/problem+json"),
        ("/livez", 200, "text/plain; charset=utf-8"),
    ] {
        let (got, headers, body) = ask(path, &[]).await;
        assert_eq!((got, headers["content-type"].to_str().unwrap_or_default()), (status, kind), "{path}");
        if kind.starts_with("text/html") {
            sound(&body);
            assert_eq!(headers["cache-control"], "no-store", "nothing of it stays in a browser");
            assert_eq!(headers["content-security-policy"], super::render::POLICY);
        }
    }
}

#[tokio::test]
async fn who_takes_no_page_is_told_of_a_problem_in_json() {
    for (accept, kind) in [
        ("application/json", "application/problem+json"),
        ("application/json, */*;q=0.1", "text/html; charset=utf-8"),
        ("text/html", "text/html; charset=utf-8"),
    ] {
        for (path, status) in [("/nothing", 404), ("/environments/%00", 400)] {
            let (got, headers, _) = ask(path, &[("accept", accept)]).await;
            let got = (got, headers["content-type"].to_str().unwrap_or_default());
            assert_eq!(got, (status, kind), "{path} for {accept}");
        }
    }
}

#[tokio::test]
async fn the_style_sheet_is_kept_for_ever_under_its_version_only() {
    let (_, headers, _) = ask(&super::assets::STYLE.address(), &[]).await;
    assert!(headers["cache-control"].to_str().is_ok_and(|value| value.contains("immutable")));
    let (_, headers, _) = ask("/assets/style.css?v=old", &[]).await;
    assert_eq!(headers["cache-control"], "private, no-cache");
    let tag = headers["etag"].to_str().unwrap_or_default();
    assert_eq!(ask("/assets/style.css", &[("if-none-match", tag)]).await.0, 304);
}

#[tokio::test]
async fn what_the_service_announces_stands_above_all_else_on_the_start_page() {
    let state = crate::api::tests::state(true);
    assert!(!ask_of(&state, "/", &[]).await.2.contains("Announcement"));
    let links =
        vec![(HOSTILE.to_owned(), "/environments/shop.web.production?at=2026-11-20T12:00:00Z".to_owned())];
    state.announcement.set(Notice { text: HOSTILE.into(), progress: Some((3600, 86_400)), links });
    let (_, _, page) = ask_of(&state, "/", &[]).await;
    sound(&page);
    let bar = "<progress value=\"3600\" max=\"86400\"";
    holds(&page, &[bar, "href=\"/environments/shop.web.production?at=2026-11-20T12:00:00Z\">"]);
    assert!(page.find("<progress") < page.find("<form class=\"bar\""));
    state.announcement.set(Notice { text: "done".into(), ..Notice::default() });
    let (_, _, page) = ask_of(&state, "/", &[]).await;
    assert!(page.contains("<p>done</p>") && !page.contains("<progress"));
}

/// A page as text; a template that cannot be rendered shows as nothing.
pub(super) fn text(page: &impl Template) -> String {
    page.render().unwrap_or_default()
}

#[test]
fn changes_lead_to_what_was_changed_as_it_was_then_and_stay_text() {
    use strandline_model::{EnvironmentId, Tier};
    let mut entry: strandline_protocol::FeedEntry = serde_json::from_value(serde_json::json!({
        "type": "deleted", "summary": HOSTILE, "by": HOSTILE, "environments": [], "clusters": [HOSTILE],
        "id": "9.3.1.x", "offset": 9, "observed_at": NOON, "lane": "changes", "what": "deleted",
        "resource": {"id": "u/1", "cluster": "eu&west", "group": "", "kind": "Pod", "namespace": "shop",
            "name": HOSTILE, "health": null, "reason": "", "message": "", "changed_by": null, "parts": []},
        "follow_ups": 1200,
    }))
    .unwrap_or_else(|error| panic!("{error}"));
    entry.environments = (0..8)
        .map(|n| strandline_protocol::FeedEnvironment {
            id: EnvironmentId::new(format!("shop.web.{n}{HOSTILE}")),
            project: "shop/web".into(),
            name: HOSTILE.into(),
            tier: Tier::Production,
            region: HOSTILE.into(),
        })
        .collect();
    let query = "group=shop&by=alice&controllers=true&type=spec,deleted";
    let page = changes::rendered(&request("/changes", query), &listed(vec![entry]));
    sound(&page);
    for part in [
        "/resources/u%2F1?at=8&#38;cluster=eu%26west",
        "1,200 changes by controllers followed",
        "and 2 more",
        "href=\"/changes?by=alice&#38;controllers=true&#38;type=spec%2Cdeleted\"",
        "<option value=\"spec,deleted\" selected>",
        "/api/v1/changes?group=shop&#38;by=alice&#38;controllers=true&#38;type=spec%2Cdeleted&#38;format=atom",
        "continue=token",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let nothing = changes::rendered(&request("/changes", ""), &listed(vec![]));
    sound(&nothing);
    assert!(nothing.contains("No changes match"), "{nothing}");
}

#[test]
fn images_lead_to_their_environments_and_workloads_and_stay_text() {
    let mut hostile = image_use("nginx:1.27");
    hostile.short = HOSTILE.into();
    hostile.region = HOSTILE.into();
    hostile.intervals[0].until = Some(NOON);
    hostile.intervals[0].until_offset = Some(strandline_model::Offset::new(1000));
    hostile.workloads_total = 9;
    let request = request("/images", "image=nginx&from=7d&at=1234");
    let page = images::rendered(&request, vec![image_use("nginx:1.27"), hostile]);
    sound(&page);
    for part in [
        "/images?at=1234&#38;image=docker.io%2Flibrary%2Fnginx%3A1.27",
        "/environments/shop.web.production?at=1234",
        "/resources/web?at=1234&#38;cluster=eu-west",
        // What no longer has it may be gone.
        "/environments/shop.web.production?at=999",
        "/resources/web?at=999&#38;cluster=eu-west",
        "and 8 more",
        "continue=token",
        "value=\"nginx\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let nothing = images::rendered(&request, vec![]);
    sound(&nothing);
    assert!(nothing.contains("No environment that you have access to"), "{nothing}");
}
