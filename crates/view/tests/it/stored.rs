//! What the view keeps as numbers and words: pinned, and never read as something milder.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::*;
use strandline_log::ChangeType;
use strandline_query::testing::{Event, Remark, Thing, World};
use strandline_query::{CoverageFilter, GetOverview, GraphFilter, TimelineFilter};
use strandline_query::{
    ExplainEnvironment, GetEnvironment, GetEnvironmentGraph, GetEnvironmentTimeline, GetResource,
    ListCoverage, ListEnvironments, ListProjects, ListResourceEdges,
};
use strandline_relations::EdgeKind;

/// Every number that stands in log or view. A new value gets a number that was never used; none ever gets another one.
const NUMBERS: [(&str, &str, i64); 31] = [
    ("type of change", "Applied", 1),
    ("type of change", "Deleted", 2),
    ("type of change", "Coverage", 3),
    ("type of change", "Declared", 4),
    ("type of change", "Withdrawn", 5),
    ("type of change", "Clock", 6),
    ("type of change", "Erased", 7),
    ("state of coverage", "Watched", 0),
    ("state of coverage", "Gap", 1),
    ("state of coverage", "Excluded", 2),
    ("kind of edge", "Owns", 0),
    ("kind of edge", "Selects", 1),
    ("kind of edge", "Routes", 2),
    ("kind of edge", "Mounts", 3),
    ("kind of edge", "Scales", 4),
    ("kind of edge", "References", 5),
    ("kind of happening", "Changed", 0),
    ("kind of happening", "Created", 1),
    ("kind of happening", "Joined", 2),
    ("kind of happening", "Deleted", 3),
    ("kind of happening", "Parted", 4),
    ("kind of happening", "Said", 5),
    ("kind of happening", "Warned", 6),
    ("kind of happening", "Deployed", 7),
    ("kind of happening", "Progressed", 8),
    ("health", "Healthy", 0),
    ("health", "Suspended", 1),
    ("health", "Progressing", 2),
    ("health", "Missing", 3),
    ("health", "Degraded", 4),
    ("health", "Unknown", 5),
];

#[test]
fn every_stored_number_is_pinned() {
    fn all<T: Stored + std::fmt::Debug>() -> Vec<(&'static str, &'static str, i64)> {
        for (value, word, number) in T::NUMBERS {
            assert_eq!((value.number(), format!("{value:?}").as_str()), (*number, *word));
            assert_eq!(T::of_number(*number).map(Stored::number), Some(*number));
        }
        assert!(T::of_number(-1).is_none() && T::of_number(99).is_none());
        T::NUMBERS.iter().map(|(_, word, number)| (T::WHAT, *word, *number)).collect()
    }
    let found =
        [all::<ChangeType>(), all::<CoverageState>(), all::<EdgeKind>(), all::<Happening>(), all::<Health>()]
            .concat();
    assert_eq!(found, NUMBERS);
    assert!(numbers().contains("health of a member: none = -1\n"));
    assert_eq!(EdgeKind::ALL.map(|kind| kind.number()), [0, 1, 2, 3, 4, 5]);
}

fn object(api_version: &str, kind: &str, name: &str, labels: &Value, more: Value) -> Event {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {
        "name": name, "namespace": "shop", "labels": labels, "creationTimestamp": "2026-11-20T00:00:00Z"}});
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    Event::Object(object)
}

/// A small history in which each number that a view can hold is written.
fn small_history() -> Vec<Event> {
    let app = json!({"app": "web"});
    let none = json!({});
    let cluster = |kind: &str, gap| Event::Mark {
        cluster: "one".into(),
        kind: kind.into(),
        namespace: String::new(),
        gap,
    };
    let owned = Thing {
        owner: "Deployment-shop-web".into(),
        ..Thing::pod("one", "shop", "web-0").of("apps/v1", "ReplicaSet")
    };
    let deployment = |status, finished_at| {
        CatalogFact::Deployment(Box::new(DeploymentSpec {
            id: DeploymentId(7),
            environment: EnvironmentId::of("shop/web", "production"),
            project: "shop/web".into(),
            status,
            reference: "main".into(),
            tag: false,
            sha: String::new(),
            job: None,
            user: String::new(),
            created_at: None,
            finished_at,
            agent: None,
            authorization: None,
        }))
    };
    let catalog = |deployment| {
        let cluster = ClusterSpec { name: "one".into(), region: "eu".into() };
        let project = ProjectSpec { path: "shop/web".into(), number: Some(42), ..ProjectSpec::default() };
        let environment = testing::environment("shop/web", "production", &[("one", "shop", "web")]);
        Event::Catalog(vec![
            CatalogFact::Cluster(cluster),
            CatalogFact::Project(project),
            CatalogFact::from(environment),
            deployment,
        ])
    };
    let pod = |phase: &str| {
        let spec = json!({"volumes": [{"name": "v", "configMap": {"name": "settings"}}], "containers": []});
        object(
            "v1",
            "Pod",
            "web-1",
            &json!({"app": "web"}),
            json!({"spec": spec, "status": {"phase": phase}}),
        )
    };
    let odd =
        |name: &str, health: Value| object("example.org/v1", "Thing", name, &json!({"app": "web"}), health);
    vec![
        cluster("Pod", false),
        Event::Cover { cluster: "one".into(), kind: Kind::new("", "Secret"), state: CoverageState::Excluded },
        catalog(deployment(DeploymentStatus::Running, None)),
        object("apps/v1", "Deployment", "web", &app, json!({"spec": {"replicas": 0}, "status": {}})),
        Event::Apply(owned.clone()),
        object("v1", "Service", "web", &app, json!({"spec": {"selector": {"app": "web"}}})),
        object("v1", "ConfigMap", "settings", &none, json!({"data": {}})),
        pod("Running"),
        pod("Failed"),
        object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "web",
            &app,
            json!({"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}),
        ),
        object(
            "networking.k8s.io/v1",
            "Ingress",
            "web",
            &app,
            json!({"spec": {"ingressClassName": "nginx",
                "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}}),
        ),
        object("batch/v1", "CronJob", "nightly", &app, json!({"spec": {"suspend": true}, "status": {}})),
        odd("gone", json!({"status": {"health": {"status": "Missing"}}})),
        odd("odd", json!({"status": {"health": {"status": "Unknown"}}})),
        Event::Say(Remark { about: owned.clone(), reason: "Created", count: 1, by_name: false }),
        Event::Say(Remark { about: owned.clone(), reason: "BackOff", count: 2, by_name: false }),
        catalog(deployment(DeploymentStatus::Success, Some(World::time(9)))),
        // It loses its label, and parts; it gets it again, and joins.
        object("apps/v1", "Deployment", "web", &none, json!({"spec": {"replicas": 0}, "status": {}})),
        object("apps/v1", "Deployment", "web", &app, json!({"spec": {"replicas": 1}, "status": {}})),
        Event::Delete(owned),
        Event::Gone(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "settings"}}),
        ),
        cluster("Pod", true),
    ]
}

/// Digests say nothing to a reader, and another way of making them is no other meaning.
const DIGESTS: [&str; 4] = ["hash", "identity", "links", "images"];
/// Tables that hold nothing else, or the version of the rules alone.
const LEFT_OUT: [&str; 3] = ["label_place", "selector_anchor", "rule_set"];

/// A view in readable text: each table, its columns, and its rows in their order.
fn shown(view: &Connection) -> String {
    let mut text = String::new();
    let mut tables =
        view.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").unwrap();
    let names: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for name in names.iter().filter(|name| !LEFT_OUT.contains(&name.as_str())) {
        let mut statement = view.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let told = |(_, column): &(usize, &String)| !DIGESTS.contains(&column.as_str());
        let headings: Vec<&str> =
            columns.iter().enumerate().filter(told).map(|(_, name)| name.as_str()).collect();
        writeln!(text, "\n{name}: {}", headings.join(", ")).unwrap();
        let row = |row: &rusqlite::Row<'_>| {
            let value = |(place, _): (usize, &String)| match row.get_ref(place).unwrap() {
                rusqlite::types::ValueRef::Null => "-".to_owned(),
                rusqlite::types::ValueRef::Integer(OPEN) => "open".to_owned(),
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                rusqlite::types::ValueRef::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
                other => format!("{other:?}"),
            };
            Ok(columns.iter().enumerate().filter(told).map(value).collect::<Vec<_>>().join(" | "))
        };
        let mut rows: Vec<String> = statement.query_map([], row).unwrap().map(Result::unwrap).collect();
        rows.sort();
        rows.iter().for_each(|row| writeln!(text, "  {row}").unwrap());
    }
    text
}

#[test]
fn the_view_of_a_small_history_is_the_one_that_is_kept() {
    let world = World::new(small_history());
    let view = Connection::open(path(world.directory())).unwrap();
    let text = format!("What the numbers mean:\n{}{}", numbers(), shown(&view));
    for (sql, expected) in [
        ("SELECT count(DISTINCT kind) FROM (SELECT kind FROM edge UNION SELECT kind FROM selected)", 6),
        ("SELECT count(DISTINCT what) FROM happening", 9),
        ("SELECT count(DISTINCT state) FROM coverage", 3),
        ("SELECT count(DISTINCT health) FROM version WHERE health IS NOT NULL", 6),
        ("SELECT count(DISTINCT matches) FROM membership", 2),
    ] {
        let found: i64 = view.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(found, expected, "{sql}\n{text}");
    }
    strandline_testkit::golden("crates/view/tests/it/stored.txt", &text);
}

/// Puts something nobody knows into a view, and tells what is answered.
fn refused(sql: &str, ask: impl AsyncFnOnce(&Queries) -> Option<strandline_query::QueryError>) -> String {
    let world = World::new(small_history());
    let changed = Connection::open(path(world.directory())).unwrap().execute(sql, []).unwrap();
    assert!(changed > 0, "{sql} changes nothing");
    world.queries.reopen();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(ask(&world.queries));
    match error {
        Some(error @ strandline_query::QueryError::Damaged(_)) => error.to_string(),
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn a_number_or_word_that_nobody_knows_is_told_and_never_read_as_a_milder_one() {
    let scope = Scope::everything();
    let page = PageRequest { limit: 500, after: None };
    let id = EnvironmentId::of("shop/web", "production");
    let uid = Uid::new("Pod-shop-web-1");
    let any = EnvironmentFilter::default();
    let told = [
        refused("UPDATE version SET health = 9", async |queries| {
            queries.ask(&scope, At::Now, GetResource::new(&uid, None)).await.err()
        }),
        refused("UPDATE stretch_health SET state = 6", async |queries| {
            queries.ask(&scope, At::Now, GetEnvironment::new(&id)).await.err()
        }),
        refused("UPDATE edge SET kind = 6", async |queries| {
            queries.ask(&scope, At::Now, ListResourceEdges::new(&uid, None, &page)).await.err()
        }),
        refused("UPDATE selected SET kind = 6", async |queries| {
            queries.ask(&scope, At::Now, GetEnvironmentGraph::new(&id, &GraphFilter::default())).await.err()
        }),
        refused("UPDATE coverage SET state = 3", async |queries| {
            queries.ask(&scope, At::Now, ListCoverage::new(&CoverageFilter::default(), &page)).await.err()
        }),
        refused("UPDATE happening SET what = 9", async |queries| {
            queries
                .ask(&scope, At::Now, GetEnvironmentTimeline::new(&id, &TimelineFilter::default(), &page))
                .await
                .err()
        }),
        refused("UPDATE membership SET health = -2", async |queries| {
            queries.ask(&scope, At::Now, ExplainEnvironment::new(&id, 3)).await.err()
        }),
        refused("UPDATE environment SET tier = 'moon'", async |queries| {
            queries.ask(&scope, At::Now, ListEnvironments::new(&any, &page)).await.err()
        }),
        refused("UPDATE project SET source = 'moon'", async |queries| {
            queries.ask(&scope, At::Now, ListProjects::new(&page)).await.err()
        }),
        refused("UPDATE stretch_health SET missing = -1", async |queries| {
            queries.ask(&scope, At::Now, GetEnvironment::new(&id)).await.err()
        }),
        refused("UPDATE stretch_health SET no_health = -9223372036854775808", async |queries| {
            queries.ask(&scope, At::Now, GetOverview::default()).await.err()
        }),
    ];
    let expected = [
        "column `version.health` contains `9`, an unknown health",
        "column `stretch_health.state` contains `6`, an unknown health",
        "column `edge.kind` contains `6`, an unknown kind of edge",
        "column `selected.kind` contains `6`, an unknown kind of edge",
        "column `coverage.state` contains `3`, an unknown state of coverage",
        "column `happening.what` contains `9`, an unknown kind of happening",
        "column `membership.health` contains `-2`, an unknown health",
        "column `environment.tier` contains `moon`, an unknown tier",
        "column `project.source` contains `moon`, an unknown source of the catalog",
        "column `stretch_health.missing` contains `-1`, an unknown count",
        "column `stretch_health.no_health` contains `-9223372036854775808`, an unknown count",
    ];
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected) && told.contains("`strandline rebuild`"), "{told}");
    }
}

#[test]
fn a_projector_that_meets_what_nobody_knows_has_the_view_built_anew() {
    for (sql, named) in [
        ("UPDATE membership SET health = 9", "`membership.health` contains `9`"),
        ("UPDATE version SET health = 9", "`version.health` contains `9`"),
        (
            "INSERT OR REPLACE INTO member_count SELECT environment_id, kind_id, 9, total, counted FROM member_count",
            "`member_count.health` contains `9`",
        ),
        ("UPDATE member_count SET total = -5", "`member_count.total` contains `-"),
    ] {
        let mut world = World::new(small_history());
        let changed = Connection::open(path(world.directory())).unwrap().execute(sql, []).unwrap();
        assert!(changed > 0, "{sql} changes nothing");
        let pod =
            Thing { app: "web".into(), uid: "Pod-shop-web-1".into(), ..Thing::pod("one", "shop", "web-1") };
        let appender = world.write();
        block_on(testing::apply_all(&appender, 100, &[pod]));
        drop(appender);
        let mut projector = Projector::open(world.directory(), RuleSet::default()).unwrap();
        let error = loop {
            match projector.step() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{sql} is passed over"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains(named) && error.is_mended_by_rebuild(), "{error}");
        drop(projector);
        world.rebuild();
        world.go_on([]);
    }
}
