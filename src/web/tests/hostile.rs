//! Objects that no sound cluster has: whatever they are, the rest goes on and answers stay bounded.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod times;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::app::AppState;
use crate::format::{Step, Tree};
use strandline_clock::testing::ManualClock;
use strandline_log::{Appender, Batch, Observed, Phase};
use strandline_model::{
    At, CatalogFact, EnvironmentId, Health, Kind, Offset, ResourceVersion, Source, Uid, WatchKey,
};
use strandline_protocol::{Answer, Graph, ResourceDetail, Version, VersionChange};
use strandline_query::testing::{block_on, environment, queries, record, uncut};
use strandline_query::{
    GetEnvironmentGraph, GetResource, ListResourceVersions, PageRequest, Queries, QueryError, Scope,
};
use strandline_redact::{Rules, TypeMeta, clean};
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ProjectorOptions};

const CLUSTERS: [&str; 2] = ["east", "west"];

/// Clusters whose objects are given as they stand on the wire; those with the label `app: web` in the namespace
/// `shop` make the environment.
struct Hostile {
    directory: TempDir,
    clock: Arc<ManualClock>,
    queries: Queries,
    version: u64,
}

/// What happens to an object.
enum Told {
    Applied(String),
    Deleted(Value),
}

/// An object with its owners, by uid, and whether it matches.
fn object(kind: &str, name: &str, uid: &str, owners: &[&str], matches: bool) -> Value {
    let owners: Vec<_> = owners.iter().map(|uid| json!({"kind": "A", "name": "a", "uid": uid})).collect();
    let labels = if matches { json!({"app": "web"}) } else { json!({}) };
    json!({"apiVersion": "v1", "kind": kind, "metadata": {
        "name": name, "namespace": "shop", "uid": uid, "resourceVersion": "1", "labels": labels,
        "ownerReferences": owners}})
}

fn pod(uid: &str, owners: &[&str], matches: bool) -> Value {
    object("Pod", uid, uid, owners, matches)
}

impl Hostile {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        let queries = queries(directory.path(), clock.clone());
        let targets = [("east", "shop", "web"), ("west", "shop", "web")];
        let spec = environment("shop/web", "production", &targets);
        let facts = vec![CatalogFact::from(spec)];
        record(directory.path(), clock.clone(), |appender| async move {
            appender.declare(Source::Config, facts).await.unwrap();
        });
        Hostile { directory, clock, queries, version: 0 }
    }

    /// Lets objects of one kind be told by the watch of a cluster, each in a newer version.
    fn tell(&mut self, cluster: &str, kind: &str, told: Vec<Told>) {
        let watch = WatchKey { cluster: cluster.into(), kind: Kind::new("", kind), namespace: String::new() };
        let rules = Rules::new([7; 32]);
        let mut observed = Vec::new();
        for told in told {
            self.version += 1;
            let version = ResourceVersion::new(self.version.to_string());
            observed.push(match told {
                Told::Applied(raw) => {
                    let mut seen = clean(&raw, TypeMeta { api_version: "v1", kind }, &rules).unwrap();
                    seen.resource_version = version;
                    Observed::Applied(seen)
                }
                Told::Deleted(object) => {
                    let text = |name: &str| object["metadata"][name].as_str().unwrap().to_owned();
                    let (namespace, name, uid) = (text("namespace"), text("name"), Uid::new(text("uid")));
                    Observed::Deleted { namespace, name, uid, resource_version: version }
                }
            });
        }
        record(self.directory.path(), self.clock.clone(), |appender| append(appender, watch, observed));
        let mut projector =
            Projector::open(self.directory.path(), ProjectorOptions::small(RuleSet::default())).unwrap();
        while projector.step().unwrap().is_some() {}
    }

    fn apply(&mut self, cluster: &str, kind: &str, objects: impl IntoIterator<Item = Value>) {
        let told = objects.into_iter().map(|object| Told::Applied(object.to_string())).collect();
        self.tell(cluster, kind, told);
    }

    fn graph(&self) -> Graph {
        let (scope, id) = (Scope::everything(), EnvironmentId::of("shop/web", "production"));
        block_on(self.queries.ask(&scope, At::Now, GetEnvironmentGraph::new(&id, &uncut()))).unwrap().value
    }

    /// Uids of the members, in order, after checking that list, counts and tree agree with the graph.
    fn members(&self) -> Vec<String> {
        let graph = self.graph();
        let counted = graph.environment.health.counts.total();
        assert!(graph.truncated || counted == graph.nodes.len() as u64, "counts and graph agree");
        let mut drawn = 0;
        Tree::new(&graph, false).walk(|step| drawn += usize::from(matches!(step, Step::Enter { .. })));
        assert_eq!(drawn, graph.nodes.len() + graph.groups.len(), "each is drawn once");
        let (status, page) = self.ask("/environments/shop.web.production");
        assert!(status == 200 && page.trim_end().ends_with("</html>"), "{status} {page}");
        let (status, page) = self.ask("/environments/shop.web.production?tab=tree");
        assert!(status == 200 && page.trim_end().ends_with("</html>"), "{status} {page}");
        let (status, file) = self.ask("/environments/shop.web.production/graph.svg");
        assert!(status == 200 && file.trim_end().ends_with("</svg>"), "{status} {file}");
        let mut uids: Vec<_> = graph.nodes.iter().map(|node| node.resource.id.to_string()).collect();
        uids.sort();
        uids
    }

    /// What the whole site answers; where it leads elsewhere, what it answers there.
    fn ask(&self, path: &str) -> (u16, String) {
        use http_body_util::{BodyExt, Empty};
        use tower_service::Service;
        let clock = self.clock.clone();
        let state = AppState { queries: self.queries.clone(), clock, ..crate::api::tests::state(true) };
        let mut site = warp::service(crate::site::site(&state));
        let mut ask = async |path: &str| {
            let request = http::Request::get(path).body(Empty::<bytes::Bytes>::new()).unwrap();
            let Ok(response) = site.call(request).await;
            response
        };
        block_on(async {
            let mut response = ask(path).await;
            if let Some(elsewhere) = response.headers().get(http::header::LOCATION).cloned() {
                // Another query of the same page.
                let page = path.split('?').next().unwrap_or_default();
                response = ask(&format!("{page}{}", elsewhere.to_str().unwrap())).await;
            }
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            (status, String::from_utf8(body.to_vec()).unwrap())
        })
    }

    fn detail(&self, uid: &str, cluster: Option<&str>) -> Result<Answer<ResourceDetail>, QueryError> {
        block_on(self.queries.ask(&Scope::everything(), At::Now, GetResource::new(&Uid::new(uid), cluster)))
    }
}

async fn append(appender: Appender, watch: WatchKey, observed: Vec<Observed>) {
    let epoch = appender.begin(strandline_log::Begin::new(&watch, false)).await.unwrap().epoch;
    for chunk in observed.chunks(500) {
        let (watch, observed) = (watch.clone(), chunk.to_vec());
        appender.append(Batch { watch, epoch, phase: Phase::Watch, observed, cursor: None }).await.unwrap();
    }
}

#[test]
fn owners_that_make_no_tree_are_survived() {
    let mut world = Hostile::new();
    let elsewhere = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": "elsewhere", "namespace": "other", "uid": "elsewhere", "resourceVersion": "1",
        "labels": {"app": "web"}}});
    world.apply(
        "east",
        "Pod",
        [
            pod("circle-a", &["circle-b"], true),
            pod("circle-b", &["circle-c"], false),
            pod("circle-c", &["circle-a"], false),
            pod("self", &["self"], true),
            pod("orphan", &["nobody"], true),
            pod("stray", &["nobody"], false),
            pod("shared", &["circle-a", "self", "self", ""], false),
            elsewhere,
            pod("below-elsewhere", &["elsewhere"], false),
        ],
    );
    let all = ["circle-a", "circle-b", "circle-c", "orphan", "self", "shared"];
    assert_eq!(world.members(), all);
    world.apply("east", "Pod", [pod("circle-a", &["circle-b"], false)]);
    assert_eq!(world.members(), ["orphan", "self", "shared"], "what upholds only itself has left");
    world.tell("east", "Pod", vec![Told::Deleted(pod("self", &[], false))]);
    assert_eq!(world.members(), ["orphan"]);
}

/// Every object owns every other, and one of them matches.
#[test]
fn where_everything_owns_everything_the_last_match_still_counts() {
    let uids: Vec<_> = (0..60).map(|n| format!("u{n:02}")).collect();
    let owners: Vec<_> = uids.iter().map(String::as_str).collect();
    let mut world = Hostile::new();
    world.apply("east", "Pod", uids.iter().map(|uid| pod(uid, &owners, uid == "u30")));
    assert_eq!(world.members(), uids);
    world.apply("east", "Pod", [pod("u30", &owners, false)]);
    assert_eq!(world.members(), [""; 0]);
    world.apply("east", "Pod", [pod("u59", &owners, true)]);
    assert_eq!(world.members(), uids);
}

#[test]
fn a_chain_of_ten_thousand_comes_and_goes_as_one() {
    const LENGTH: usize = 10_000;
    let name = |n: usize| format!("c{n:05}");
    let link = |n: usize| {
        let owner = n.checked_sub(1).map(name);
        pod(&name(n), &owner.iter().map(String::as_str).collect::<Vec<_>>(), false)
    };
    let top = |matches| pod(&name(0), &[], matches);
    let mut world = Hostile::new();
    // The lowest come first, so that nothing is known to belong until the top arrives.
    world.apply("east", "Pod", (1..LENGTH).rev().map(link));
    assert_eq!(world.graph().nodes.len(), 0);
    world.apply("east", "Pod", [top(true)]);
    let graph = world.graph();
    assert_eq!((graph.nodes.len(), graph.truncated), (Graph::LIMIT, true));
    assert_eq!(graph.environment.health.counts.total(), LENGTH as u64);
    world.members();
    world.apply("east", "Pod", [top(false)]);
    assert_eq!(world.members(), [""; 0]);
}

#[test]
fn fifty_thousand_children_are_counted_and_drawn_as_far_as_it_makes_sense() {
    const CHILDREN: usize = 50_000;
    let mut world = Hostile::new();
    world.apply("east", "Pod", [pod("owner", &[], true)]);
    world.apply("east", "Pod", (0..CHILDREN).map(|n| pod(&format!("c{n:05}"), &["owner"], false)));
    let graph = world.graph();
    assert_eq!((graph.nodes.len(), graph.truncated), (Graph::LIMIT, true));
    assert_eq!(graph.environment.health.counts.total(), CHILDREN as u64 + 1);
    world.members();
    world.tell("east", "Pod", vec![Told::Deleted(pod("owner", &[], true))]);
    assert_eq!(world.members(), [""; 0]);
}

#[test]
fn a_uid_that_is_not_unique_is_told_apart_by_its_cluster() {
    let mut world = Hostile::new();
    for cluster in CLUSTERS {
        world.apply(
            cluster,
            "Pod",
            [pod("twin", &[], true), pod(&format!("{cluster}-child"), &["twin"], false)],
        );
    }
    assert_eq!(world.members(), ["east-child", "twin", "twin", "west-child"]);
    let refused = world.detail("twin", None).unwrap_err();
    assert!(matches!(refused, QueryError::Ambiguous { ref keys, .. } if keys.len() == 2), "{refused}");
    for cluster in CLUSTERS {
        let twin = world.detail("twin", Some(cluster)).unwrap().value.resource;
        assert_eq!(twin.key.cluster, cluster);
    }
    world.tell("east", "Pod", vec![Told::Deleted(pod("twin", &[], true))]);
    assert_eq!(world.members(), ["twin", "west-child"], "a child follows the owner in its own cluster only");
}

#[test]
fn a_uid_that_two_objects_of_one_cluster_carry_loses_neither() {
    let mut world = Hostile::new();
    world.apply(
        "east",
        "Pod",
        [object("Pod", "a", "twin", &[], true), object("Pod", "b", "twin", &[], true)],
    );
    world.apply("east", "ConfigMap", [object("ConfigMap", "a", "twin", &[], true)]);
    world.apply("east", "Pod", [pod("child", &["twin"], false)]);
    assert_eq!(world.members(), ["child", "twin", "twin", "twin"]);
    let refused = world.detail("twin", Some("east")).unwrap_err();
    assert!(matches!(refused, QueryError::Ambiguous { ref keys, .. } if keys.len() == 3), "{refused}");
    world.tell("east", "Pod", vec![Told::Deleted(object("Pod", "a", "twin", &[], true))]);
    assert_eq!(world.members(), ["child", "twin", "twin"], "the others stay, and what they own");
}

#[test]
fn objects_that_are_huge_deep_or_garbled_are_told_like_others() {
    let long = "x".repeat(1_500_000);
    let labels: BTreeMap<_, _> = (0..64_000).map(|n| (format!("l{n}"), "v")).collect();
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let with = |uid: &str, metadata: &str, rest: &str| {
        format!(
            r#"{{"metadata":{{"name":"{uid}","namespace":"shop","uid":"{uid}","resourceVersion":"1",
            "labels":{{"app":"web"}}{metadata}}}{rest}}}"#
        )
    };
    let labelled = {
        let mut object = pod("labelled", &[], true);
        object["metadata"]["labels"]
            .as_object_mut()
            .unwrap()
            .extend(labels.into_iter().map(|(k, v)| (k, json!(v))));
        object.to_string()
    };
    let garbled = [
        with("annotated", &format!(r#","annotations":{{"a":"{long}"}}"#), ""),
        labelled,
        with("deep", "", &format!(r#","spec":{},"status":{}"#, deep(200), deep(200))),
        with("deepest", "", &format!(r#","spec":{}"#, deep(9_000))),
        with("nul", r#","annotations":{"a\u0000b":"c\u0000d"}"#, r#","spec":{"x":"\u0000"}"#),
        with(
            "surrogate",
            r#","annotations":{"a":"\ud800"},"generation":"7""#,
            r#","spec":{"\udc00":"\ud83d"}"#,
        ),
        with(
            "numbers",
            r#","generation":"x","creationTimestamp":7"#,
            r#","spec":{"replicas":"3"},"status":[]"#,
        ),
        with("repeated", "", r#","spec":{"a":1},"spec":{"a":2},"status":"Running""#),
    ];
    let mut world = Hostile::new();
    world.tell("east", "Pod", garbled.into_iter().map(Told::Applied).collect());
    let uids = ["annotated", "deep", "deepest", "labelled", "nul", "numbers", "repeated", "surrogate"];
    assert_eq!(world.members(), uids);
    for uid in uids {
        let detail = world.detail(uid, None).unwrap().value;
        assert!(!detail.object.value().is_null(), "{uid}");
        for path in [format!("/resources/{uid}"), format!("/api/v1/resources/{uid}/history?bodies=true")] {
            let (status, body) = world.ask(&path);
            assert!(status == 200 && body.contains(uid), "{path}: {status}");
        }
    }
}

/// What of an answer tells one life of a name from the next.
fn life(version: &Version) -> (u64, bool) {
    (version.offset.get(), version.change == VersionChange::Deleted)
}

#[test]
fn a_name_used_again_is_another_life() {
    let mut world = Hostile::new();
    let named = |uid: &str| object("Pod", "web", uid, &[], true);
    world.apply("east", "Pod", [named("first")]);
    // Its end was seen, that of the second was missed.
    world.tell("east", "Pod", vec![Told::Deleted(named("first"))]);
    world.apply("east", "Pod", [named("second"), named("third")]);
    // The same name elsewhere is something else.
    world.apply("east", "ConfigMap", [object("ConfigMap", "web", "settings", &[], true)]);
    world.apply("west", "Pod", [object("Pod", "web", "western", &[], true)]);
    assert_eq!(world.members(), ["settings", "third", "western"]);
    let history = |uid: &str| {
        let (scope, uid, page) = (Scope::everything(), Uid::new(uid), PageRequest::default());
        let page =
            block_on(world.queries.ask(&scope, At::Now, ListResourceVersions::new(&uid, None, false, &page)))
                .unwrap();
        page.items.iter().map(life).collect::<Vec<_>>()
    };
    assert_eq!(history("first"), [(3, true), (2, false)]);
    assert_eq!(history("second"), [(5, true), (4, false)]);
    assert_eq!(history("third"), [(6, false)]);
    let then = |offset: u64| {
        let (scope, id) = (Scope::everything(), EnvironmentId::of("shop/web", "production"));
        let graph = block_on(world.queries.ask(
            &scope,
            At::Offset(Offset::new(offset)),
            GetEnvironmentGraph::new(&id, &uncut()),
        ));
        graph.unwrap().value.nodes.iter().map(|node| node.resource.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!([then(2), then(3), then(4)], [vec!["first".to_owned()], vec![], vec!["second".to_owned()]]);
}

#[test]
fn who_applied_each_version_is_told_and_a_finalizer_is_waited_for() {
    let mut world = Hostile::new();
    let managed = |manager: &str, operation: &str, minute: u32, deleting: bool| {
        let mut object = pod("web", &[], true);
        object["metadata"]["finalizers"] = json!(["example.dev/wait"]);
        object["metadata"]["annotations"] = json!({"by": manager});
        if deleting {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:00Z");
        }
        object["metadata"]["managedFields"] = json!([
            {"manager": "founder", "operation": "Update", "time": "2026-11-20T08:00:00Z"},
            {"manager": manager, "operation": operation, "time": format!("2026-11-20T09:{minute:02}:00Z"),
             "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}},
        ]);
        Told::Applied(object.to_string())
    };
    let (first, second) = (managed("helm", "Apply", 1, false), managed("argocd", "Apply", 2, false));
    world.tell("east", "Pod", vec![first, second, managed("kubectl", "Update", 3, true)]);
    assert_eq!(world.members(), ["web"], "what waits for a finalizer is still there");
    let (scope, page) = (Scope::everything(), PageRequest::default());
    let history = block_on(world.queries.ask(
        &scope,
        At::Now,
        ListResourceVersions::new(&Uid::new("web"), None, true, &page),
    ));
    let told = history.unwrap().items.into_iter().map(|version| {
        let by = version.changed_by.unwrap();
        let body = version.object.unwrap().value();
        assert!(body["metadata"].get("managedFields").is_none(), "{body}");
        format!("{} {} {}", by.manager, by.operation, by.time.unwrap())
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "kubectl Update 2026-11-20T09:03:00Z",
            "argocd Apply 2026-11-20T09:02:00Z",
            "helm Apply 2026-11-20T09:01:00Z",
        ]
    );
    world.tell("east", "Pod", vec![Told::Deleted(pod("web", &[], true))]);
    assert_eq!(world.members(), [""; 0]);
    let health = world.graph().environment.health.state;
    assert_ne!(health, Some(Health::Unknown), "an empty environment is known to be empty");
}
