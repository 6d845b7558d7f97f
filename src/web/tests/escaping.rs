//! What clusters wrote is text, wherever it is shown.

use super::*;
use crate::format::fixtures::{entry_resource, timeline_page};
use crate::format::tests::{counted, health_history, owns, why_path};
use crate::web::shell::Shell;
use strandline_model::Lane;
use strandline_protocol::{Edge, Entry, Group, HealthHistory, Timeline};
use strandline_query::GraphFilter;

#[test]
fn nothing_that_clusters_wrote_is_more_than_text() {
    let mut bad = environment(HOSTILE, HOSTILE, Some(Health::Degraded));
    bad.name = HOSTILE.into();
    bad.targets[0].namespace = HOSTILE.into();
    start::sound_with_hostile_names(&bad);
    let mut node = resource(HOSTILE, HOSTILE, Some(Health::Degraded));
    node.terminating_since = Some(NOON);
    (node.reason, node.message) = (HOSTILE.into(), HOSTILE.repeat(200));
    let mut drawn = graph(vec![node.clone(), resource("Pod", "p", None)], vec![owns(HOSTILE, "p")]);
    drawn.environment = bad;
    drawn.groups = vec![Group { id: HOSTILE.into(), cluster: HOSTILE.into(), ..counted(HOSTILE, None, 7) }];
    drawn.edges.push(Edge { kind: HOSTILE.into(), ..owns(HOSTILE, "p") });
    let answer = Answer { value: drawn, metadata: blind_snapshot() };
    let mut said = folded_event(HOSTILE, HOSTILE);
    (said.note, said.component, said.key.kind.kind) = (HOSTILE.repeat(30), HOSTILE.into(), HOSTILE.into());
    (said.uid, said.key.cluster, said.key.name) = (Uid::new(HOSTILE), HOSTILE.into(), HOSTILE.into());
    let mut path = why_path(&[HOSTILE]);
    (path.steps[0].reason, path.steps[0].key.cluster) = (HOSTILE.into(), HOSTILE.into());
    (path.missing[0].name, path.missing[0].edge, path.skipped) = (HOSTILE.into(), HOSTILE.into(), 9);
    let mut health = health_history(&[(Some(Health::Degraded), 5)]);
    health.intervals[0].reason = HOSTILE.into();
    let drawn = answer.value.clone();
    let whole = EnvironmentData {
        environment: Answer { value: drawn.environment.clone(), metadata: answer.metadata },
        why: Some(why(vec![path])),
        onset: None,
        month: Some(health.clone()),
        left: None,
        deployments: vec![],
        shown: Shown::Graph(drawn.clone()),
    };
    let mut page = whole_page("at=5&under=p&cluster=eu-west", &whole);
    let page_of = |items: Vec<FoldedEvent>| Page {
        items,
        metadata: PageMetadata::new(snapshot(), Some(HOSTILE.into())),
    };
    for (tab, shown) in [
        ("graph", Shown::Graph(drawn.clone())),
        ("tree", Shown::Tree(drawn.clone())),
        ("timeline", Shown::Timeline(hostile_timeline(health))),
        ("events", Shown::Events(page_of(vec![said.clone()]))),
        (
            "images",
            Shown::Images(Page { items: vec![image_use(HOSTILE)], metadata: page_of(vec![]).metadata }),
        ),
        ("settings", Shown::Settings),
    ] {
        let whole = EnvironmentData { shown, ..found(drawn.clone()) };
        page = whole_page(&format!("tab={tab}"), &whole);
    }
    let shell = Shell::bare("");
    let drawing = crate::web::graph::draw(&shell, &drawn, &GraphFilter::default());
    let file = crate::web::graph::report_text(&drawing, &drawn, &snapshot());
    for forbidden in
        ["<script", "<img", "<a ", "href", "onerror=\"", " style=\"", "\u{202e}", "\u{1b}", "javascript:\""]
    {
        assert!(!file.contains(forbidden), "{forbidden} in\n{file}");
    }
    assert!(file.starts_with("<svg ") && file.contains("&#60;script"), "{file}");
    let events = vec![said];
    assert!(page.contains("&#60;script") || page.contains("&lt;script"));
    sound(&crate::web::resource::rendered(
        &request("/resources/{uid}", "cluster=c"),
        node,
        snapshot(),
        events,
    ));
}

/// A timeline whose names and messages are hostile.
fn hostile_timeline(health: HealthHistory) -> Timeline {
    let mut timeline = timeline_page(96).timeline;
    timeline.health = health;
    let mut resource = entry_resource(&resource(HOSTILE, HOSTILE, Some(Health::Degraded)));
    (resource.reason, resource.id) = (HOSTILE.into(), Uid::new(HOSTILE));
    timeline.entries = vec![Entry { resource: Some(resource), ..entry(Lane::Changes, "changed") }];
    timeline
}
