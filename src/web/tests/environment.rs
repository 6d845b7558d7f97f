//! The page of an environment: why, health over time, and what is left out.

use std::sync::Arc;

use super::{ask_of, found, holds, request, sound, whole_page};
use crate::app::AppState;
use crate::format::fixtures::{entry, onset, timeline_page};
use crate::format::tests::{
    counted, folded_event, graph, health_history, owns, resource, snapshot, why, why_path,
};
use crate::web::environment::Shown;
use strandline_clock::SystemClock;
use strandline_model::{Health, Lane, Uid};
use strandline_protocol::{Edge, Entry, Graph, Group, HealthHistory, Tally, Timeline};
use strandline_query::testing::{self, Thing, apply_all, declare, facts, queries, record};
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ProjectorOptions};

#[test]
fn a_page_says_why_before_it_shows_the_tree() {
    let mut found = found(graph(vec![resource("Pod", "web-1-a", Some(Health::Degraded))], vec![]));
    assert!(!whole_page("tab=tree", &found).contains("id=\"why\""), "nothing is said where nothing is asked");
    let mut told = why(vec![why_path(&["web", "web-1", "web-1-a"])]);
    told.paths[0].steps[0].reason = "ProgressDeadlineExceeded".into();
    told.roots = 7;
    found.why = Some(told);
    let page = whole_page("at=1234&tab=tree", &found);
    holds(
        &page,
        &[
            "<h2 id=\"why\">Why Degraded</h2>",
            "href=\"/resources/web-1-a?at=1234&#38;cluster=eu-west\">web-1-a</a>",
            "<div class=\"path degraded\">",
            "<span class=\"quiet small\">ProgressDeadlineExceeded</span>",
            "<b>CrashLoopBackOff</b> back-off 5m restarting failed container",
            "mounts ConfigMap shop/web-config, which does not exist",
            "<a href=\"/api/v1/environments/shop.web.production/why?at=1234\">6 more</a>",
        ],
    );
    assert!(page.find("id=\"why\"") < page.find("class=\"tree\""));
    let mut blind = why(vec![]);
    blind.environment.health.state = Some(Health::Unknown);
    blind.environment.health.last_known = Some(Health::Healthy);
    found.environment.value = blind.environment.clone();
    found.why = Some(blind);
    holds(&whole_page("", &found), &["Why Unknown", "last known: Healthy"]);
}

/// A timeline in which nothing happened but health.
fn uneventful(health: HealthHistory) -> Timeline {
    let (buckets, totals) = (Vec::new(), Tally::default());
    Timeline { health, buckets, totals, ..timeline_page(3).timeline }
}

#[test]
fn what_happened_stands_in_lanes_that_lead_to_the_moment() {
    let mut found = found(graph(vec![], vec![]));
    let mut timeline = timeline_page(60).timeline;
    timeline.entries =
        vec![Entry { event: Some(folded_event("Warning", "BackOff")), ..entry(Lane::Events, "warned") }];
    found.shown = Shown::Timeline(timeline);
    let page = whole_page("tab=timeline", &found);
    holds(
        &page,
        &[
            "Timeline over 24h",
            "Changes <b>9</b>",
            "Warnings <b>2</b>",
            "Not watched</span>",
            "<a href=\"/environments/{id}?tab=timeline&#38;at=2026-11-20T12%3A00%3A00Z\" aria-label=\"",
            "<rect class=\"whole\" x=\"9833\"",
            "8 changes (0 created, 0 deleted), 2 warnings</title>",
            "BackOff ×5: Back-off restarting failed container",
            "1 newest event",
            "href=\"/api/v1/environments/shop.web.production/timeline\"",
        ],
    );
    assert!(!page.contains("Deployments <b>"), "no lane for what never happened");
    let columns: Vec<_> = page.split("<a ").filter(|link| link.contains("class=\"whole\"")).collect();
    let stops = columns.iter().filter(|link| !link.contains("tabindex=\"-1\"")).count();
    assert!(columns.len() > 2 && stops == 1, "{stops} tab stops of {} columns", columns.len());
}

#[test]
fn what_changed_before_stands_below_why() {
    let mut found = found(graph(vec![], vec![]));
    found.why = Some(why(vec![why_path(&["web"])]));
    found.onset = Some(onset());
    let page = whole_page("", &found);
    holds(
        &page,
        &[
            "Changes before it became Degraded",
            "in the 15m before",
            "<span class=\"tag\">cause</span> <a class=\"name\" href=\"/resources/web?cluster=eu-west\">Deployment/web</a> <a href=\"/resources/web/diff?at=",
            "cluster=eu-west\">changed spec",
            "/diff?from=2026-11-20T11%3A56%3A59Z\">Compare with before</a>",
            "<code>spec.replicas: 3 → 5</code>",
            "60s before</a>",
            "5 follow-up changes",
        ],
    );
    let mut vague = onset();
    (vague.not_before, vague.causes) = (vague.looked_at_since, vec![]);
    found.onset = Some(vague);
    holds(
        &whole_page("", &found),
        &[
            "It may have started as early as",
            "The cause is unknown: the recording has a gap in the 15m before.",
        ],
    );
}

#[test]
fn health_over_time_is_a_bar_with_words_and_figures() {
    let mut found = found(graph(vec![], vec![]));
    let mut health = health_history(&[(Some(Health::Degraded), 144), (Some(Health::Healthy), 2000)]);
    (health.flapping, health.worsened) = (true, 4);
    found.month = Some(health.clone());
    found.shown = Shown::Timeline(uneventful(health));
    let page = whole_page("at=1234&tab=timeline", &found);
    holds(
        &page,
        &[
            "aria-label=\"Over 24h: Degraded 10%, Healthy 90%\"",
            "<rect class=\"degraded\" x=\"9000\" width=\"1000\" height=\"10\"><title>Degraded for 144m from",
            "↯</span>Flapping",
            "4 incidents",
            "healthy of ",
            "/environments/{id}?tab=timeline&#38;at=1200",
            "2 newest intervals",
        ],
    );
    found.shown = Shown::Timeline(uneventful(health_history(&[])));
    assert!(!whole_page("tab=timeline", &found).contains("id=\"overtime\""), "no heading above nothing");
    found.shown = Shown::Timeline(uneventful(health_history(&[(None, 100)])));
    assert!(!whole_page("tab=timeline", &found).contains("id=\"overtime\""), "nor above what has no health");
    let bare = resource("Pod", "web", Some(Health::Degraded));
    let page =
        crate::web::resource::rendered(&request("/resources/{uid}", "cluster=c"), bare, snapshot(), vec![]);
    holds(&page, &["</span>Degraded 0.6% <span", "for <time", "of rule set 4", "<b>CrashLoopBackOff</b>"]);
}

#[test]
fn what_is_not_known_is_no_part_of_the_month() {
    let mut found = found(graph(vec![], vec![]));
    let times = [(Some(Health::Unknown), 120), (Some(Health::Degraded), 60), (Some(Health::Healthy), 540)];
    found.month = Some(health_history(&times));
    holds(&whole_page("", &found), &["90%</span> healthy of 12h recorded, but for 120m not known"]);
    found.month = Some(health_history(&[(Some(Health::Unknown), 120)]));
    assert!(!whole_page("", &found).contains("> healthy "), "nothing is known");
}

#[test]
fn what_a_page_leaves_out_is_linked_to() {
    let nodes = vec![
        resource("ReplicaSet", "web-1", Some(Health::Healthy)),
        resource("Pod", "web-1-a", Some(Health::Degraded)),
        resource("Service", "web", None),
    ];
    let selects = Edge { kind: "selects".into(), ..owns("web", "web-1-a") };
    let mut drawn = graph(nodes, vec![owns("web-1", "web-1-a"), selects]);
    drawn.groups = vec![
        counted("Pod", Some("web-1"), 4000),
        Group { health: Some(Health::Missing), cluster: "us".into(), ..counted("Job", None, 3) },
    ];
    drawn.truncated = true;
    let mut found = found(drawn);
    let page = whole_page("at=7&tab=tree", &found);
    holds(
        &page,
        &[
            "href=\"/environments/shop.web.production?at=1234&#38;tab=tree&#38;under=web-1&#38;cluster=eu-west&#38;collapse=none\"><b>… 4000 Pods",
            "href=\"/api/v1/environments/shop.web.production/resources?at=1234&#38;kind=Job&#38;order=health\"><b>3 Jobs",
            "in us</span>",
            "Missing</span> <span class=\"quiet small\">below",
            "<span class=\"quiet small\">selects Pod web-1-a</span>",
            "href=\"/environments/{id}?at=7&#38;tab=tree&#38;collapse=kind#view\">By kind",
        ],
    );
    let page = whole_page("tab=tree&under=web-1&cluster=eu-west&collapse=none", &found);
    holds(
        &page,
        &[
            "<h2 id=\"resources\">ReplicaSet web-1 and its descendants",
            "resources?kind=Pod&#38;order=health&#38;owner=web-1\"><b>… 4000 Pods",
            "<input type=\"hidden\" name=\"under\" value=\"web-1\">",
            "<input type=\"hidden\" name=\"collapse\" value=\"none\">",
            "aria-current=\"true\">Ungrouped",
        ],
    );
    let Shown::Tree(drawn) = &mut found.shown else { panic!("a tree") };
    drawn.groups.clear();
    drawn.nodes.remove(1);
    let page = whole_page("tab=tree&collapse=owner", &found);
    holds(&page, &["tab=tree&#38;under=web-1&#38;cluster=eu-west\">below: 1 Pod (Degraded)</a>"]);
}

#[test]
fn a_page_of_very_many_resources_stays_small() {
    let pods = (0..Graph::DEFAULT).map(|n| {
        let mut pod = resource("Pod", &format!("web-6c7d5f9b8d-{n:05}-production"), Some(Health::Degraded));
        pod.id = Uid::new(format!("6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0{n:05}"));
        (pod.reason, pod.message) =
            ("CrashLoopBackOff".into(), "back-off 5m0s restarting failed container".into());
        pod
    });
    let mut drawn = graph(pods.collect(), vec![]);
    drawn.groups = vec![counted("Pod", None, 19_500)];
    let page = whole_page("at=7&tab=tree", &found(drawn));
    assert!(page.len() < 300_000, "{} bytes for {} resources", page.len(), Graph::DEFAULT);
}

#[tokio::test]
async fn many_pods_are_counted_on_the_page_and_shown_below_their_owner() {
    const PODS: usize = 2_000;
    let data = tempfile::tempdir().expect("a temporary directory");
    let set = Thing { app: "web".into(), ..Thing::pod("east", "shop", "set").of("apps/v1", "ReplicaSet") };
    let pod = |n: usize| Thing {
        owner: set.uid.clone(),
        health: if n.is_multiple_of(700) { 2 } else { 0 },
        ..Thing::pod("east", "shop", &format!("web-{n:05}"))
    };
    let pods: Vec<Thing> = (0..PODS).map(pod).collect();
    record(data.path(), Arc::new(SystemClock), |appender| async move {
        declare(
            &appender,
            facts(&[testing::environment("shop/web", "production", &[("east", "shop", "web")])]),
        )
        .await;
        apply_all(&appender, 1, &[set]).await;
        apply_all(&appender, 2, &pods).await;
    });
    let mut projector =
        Projector::open(data.path(), ProjectorOptions::small(RuleSet::default())).expect("the view opens");
    while projector.step().expect("the view takes the log").is_some() {}
    let queries = queries(data.path(), Arc::new(SystemClock));
    let state = AppState { queries, ..crate::api::tests::state(true) };
    let page = async |query: &str| {
        let (status, _, page) =
            ask_of(&state, &format!("/environments/shop.web.production{query}"), &[]).await;
        assert_eq!(status, 200, "{query}: {page}");
        sound(&page);
        page
    };
    let whole = page("?tab=tree").await;
    assert!(whole.len() < 100_000, "{} bytes", whole.len());
    holds(&whole, &["<b>… 1950 Pods</b>", "Degraded", "all 2,000 below"]);
    assert!(whole.find("web-00700") < whole.find("web-00001"), "what failed stands first");
    let below = page("?tab=tree&under=shop-set&cluster=east&collapse=none").await;
    assert!(below.len() < 300_000, "{} bytes", below.len());
    holds(&below, &["<b>… 1501 Pods</b>", "ReplicaSet set and its descendants"]);
    let (status, ..) = ask_of(&state, "/environments/shop.web.production?under=nobody", &[]).await;
    assert_eq!(status, 404);
}
