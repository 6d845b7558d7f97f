//! Edges against what the objects of each moment tell, whatever came first, changed or went.

use serde_json::{Value, json};

use super::*;
use strandline_object::Object;
use strandline_protocol::{Collapse, FarEnd, Graph};
use strandline_query::GraphFilter;
use strandline_query::{GetEnvironmentGraph, ListResourceEdges};
use strandline_relations::{Direction, Far, Relations, edges};

/// What happens to one of a few objects that select, own, mount and scale each other.
#[derive(Clone, Debug)]
enum Happens {
    Applied { object: usize, variant: usize, incarnation: usize },
    Deleted { object: usize },
}

/// Group with version, kind and name of each object.
const THINGS: [(&str, &str, &str); 17] = [
    ("v1", "Service", "s0"),
    ("v1", "Service", "s1"),
    ("networking.k8s.io/v1", "NetworkPolicy", "n0"),
    ("v1", "Pod", "p0"),
    ("v1", "Pod", "p1"),
    ("v1", "Pod", "p2"),
    ("v1", "Pod", "p3"),
    ("v1", "ConfigMap", "c0"),
    ("v1", "ConfigMap", "c1"),
    ("apps/v1", "ReplicaSet", "r0"),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "h0"),
    ("example.org/v1", "Group", "g0"),
    ("apps/v1", "StatefulSet", "d"),
    ("apps/v1", "StatefulSet", "d-1"),
    ("v1", "PersistentVolumeClaim", "data-d-0"),
    ("v1", "PersistentVolumeClaim", "data-d-1-0"),
    ("v1", "PersistentVolumeClaim", "data-d-x"),
];

/// A kind of which an instance owns the Pods it selects and the ConfigMap it names: relations that a user wrote.
const RELATIONS: &str = "relations:
  - name: grouped
    edge: owns
    object: {group: example.org, kind: Group}
    direction: to_target
    selector: $.spec.selector
    target: {kind: Pod}
  - name: configured
    edge: owns
    object: {group: example.org, kind: Group}
    direction: to_target
    path: $.spec.config
    target: {kind: ConfigMap}
";

fn happens() -> impl Strategy<Value = Vec<Happens>> {
    let applied = (0..THINGS.len(), 0..12_usize, 0..2_usize)
        .prop_map(|(object, variant, incarnation)| Happens::Applied { object, variant, incarnation });
    let one =
        prop_oneof![6 => applied, 1 => (0..THINGS.len()).prop_map(|object| Happens::Deleted { object })];
    prop::collection::vec(one, 1..60)
}

fn body(object: usize, variant: usize, incarnation: usize) -> Value {
    let (api_version, kind, name) = THINGS[object];
    let labels = [json!({}), json!({"app": "a"}), json!({"app": "b"}), json!({"app": "a", "tier": "x"})];
    let selectors = [json!(null), json!({"app": "a"}), json!({"tier": "x", "app": "a"}), json!({})];
    let policies = [
        json!({}),
        json!({"matchLabels": {"app": "b"}}),
        json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}),
        json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}),
    ];
    let owners = if variant % 3 == 1 {
        json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r0", "uid": format!("r0-{}", variant % 2)}])
    } else {
        json!([])
    };
    let spec = match kind {
        "Service" => json!({"selector": selectors[variant % 4]}),
        "NetworkPolicy" => json!({"podSelector": policies[variant % 4],
            "ingress": [{"from": [{"podSelector": policies[variant / 4]}]}]}),
        "StatefulSet" => {
            let claims = ["data", "data-d", "d"].map(|name| json!({"metadata": {"name": name}}));
            json!({"serviceName": "s0", "volumeClaimTemplates": claims[..variant % 4]})
        }
        "Pod" => {
            json!({"containers": [], "volumes": [{"name": "v", "configMap": {"name": format!("c{}", variant % 3)}}]})
        }
        "HorizontalPodAutoscaler" => {
            json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("r{}", variant % 2)}})
        }
        _ => {
            json!({"selector": {"matchLabels": selectors[1 + variant % 2]}, "config": format!("c{}", variant % 3)})
        }
    };
    json!({"apiVersion": api_version, "kind": kind, "metadata": {
        "name": name, "namespace": "shop", "uid": format!("{name}-{incarnation}"),
        "labels": if kind == "Pod" { labels[variant / 3].clone() } else { json!({}) },
        "ownerReferences": if kind == "Pod" { owners } else { json!([]) },
    }, "spec": spec})
}

async fn play_all(appender: Appender, all: Vec<Happens>) {
    appender.declare(Source::Config, vec![environment("all", 0)]).await.unwrap();
    for (version, happens) in all.iter().enumerate() {
        let (object, observed) = match happens {
            Happens::Applied { object, variant, incarnation } => {
                let body = body(*object, *variant, *incarnation);
                let (name, uid) = (THINGS[*object].2, format!("{}-{incarnation}", THINGS[*object].2));
                (*object, Observed::Applied(observation("shop", name, &uid, version as u64, &body)))
            }
            Happens::Deleted { object } => {
                let name = THINGS[*object].2;
                let deleted = Observed::Deleted {
                    namespace: "shop".into(),
                    name: name.into(),
                    uid: Uid::new(format!("{name}-{}", version % 2)),
                    resource_version: ResourceVersion::new(version.to_string()),
                };
                (*object, deleted)
            }
        };
        let (api_version, kind, _) = THINGS[object];
        let kind = Kind::from_api_version(api_version, kind);
        let watch = WatchKey { cluster: "one".into(), kind, namespace: String::new() };
        let epoch = appender.begin(Begin::new(&watch, false)).await.unwrap().epoch;
        let batch = Batch { watch, epoch, phase: Phase::UpToDate, observed: vec![observed], cursor: None };
        appender.append(batch).await.unwrap();
    }
}

/// An edge by the uids of its ends.
type Link = (String, String, String);

/// What the objects tell of each other.
fn naive(objects: &[(ResourceKey, String)], relations: &Relations) -> BTreeSet<Link> {
    let parsed: Vec<_> = objects.iter().map(|(key, body)| (key, Object::parse(body).unwrap())).collect();
    let uid = |object: &Object<'_>| object.metadata.uid.to_string();
    let mut links = BTreeSet::new();
    for (_, object) in &parsed {
        for edge in edges(object, relations) {
            for (key, far) in &parsed {
                let is_far = match &edge.far {
                    Far::Uid { uid, .. } => far.metadata.uid == uid.as_str(),
                    Far::Key { kind, namespace, name } => {
                        key.kind == *kind && key.namespace == *namespace && key.name == *name
                    }
                    Far::Every { kind } => key.kind == *kind,
                    Far::Numbered { kind, namespace, stem } => {
                        // Told apart from the code: nothing but digits, and no zero before others.
                        let number = key.name.strip_prefix(&format!("{stem}-"));
                        key.kind == *kind
                            && key.namespace == *namespace
                            && number.is_some_and(|n| n.parse::<u32>().is_ok_and(|m| m.to_string() == n))
                    }
                    Far::Matching { kind, namespace, selector } => {
                        key.kind == *kind
                            && (namespace.is_empty() || key.namespace == *namespace)
                            && selector.matches(|name| far.metadata.label(name))
                    }
                };
                if is_far && uid(object) != uid(far) {
                    let (from, to) = match edge.direction {
                        Direction::ToFar => (uid(object), uid(far)),
                        Direction::FromFar => (uid(far), uid(object)),
                    };
                    links.insert((from, to, edge.kind.to_string()));
                }
            }
        }
    }
    links
}

fn graph_at(queries: &Queries, offset: Offset) -> Graph {
    let filter = GraphFilter { collapse: Collapse::None, limit: Graph::LIMIT, ..GraphFilter::default() };
    let (scope, id) = (Scope::everything(), EnvironmentId::new("all"));
    block_on(queries.ask(&scope, At::Offset(offset), GetEnvironmentGraph::new(&id, &filter))).unwrap().value
}

/// The edges of one resource, as its own list tells them.
fn listed(queries: &Queries, offset: Offset, uid: &Uid) -> BTreeSet<Link> {
    let (scope, page) = (Scope::everything(), PageRequest { limit: PageRequest::MAX, after: None });
    let found =
        block_on(queries.ask(&scope, At::Offset(offset), ListResourceEdges::new(uid, None, &page))).unwrap();
    let ends = found.items.into_iter().filter_map(|edge| Some((edge.id?.to_string(), edge.far, edge.edge)));
    let link = |(far, end, kind): (String, FarEnd, String)| match end {
        FarEnd::Cause => (far, uid.to_string(), kind),
        FarEnd::Dependent => (uid.to_string(), far, kind),
    };
    ends.map(link).collect()
}

proptest! {
    #![proptest_config(strandline_testkit::cases(24))]

    #[test]
    fn edges_are_what_the_objects_of_each_moment_tell(all in happens()) {
        let directory = tempfile::tempdir().unwrap();
        testing::record(directory.path(), Arc::new(SystemClock), |appender| play_all(appender, all.clone()));
        let rules = RuleSet { relations: Relations::parse(RELATIONS).unwrap(), ..RuleSet::default() };
        let mut projector = Projector::open(directory.path(), ProjectorOptions::small(rules.clone())).unwrap();
        while projector.step().unwrap().is_some() {}
        let queries = testing::queries(directory.path(), Arc::new(SystemClock));
        let mut objects: BTreeMap<ResourceId, (ResourceKey, String)> = BTreeMap::new();
        for record in LogReader::open(directory.path()).unwrap().after(Offset::ZERO, 1000).unwrap() {
            match record.change {
                Change::Applied { id, key, body, .. } => _ = objects.insert(id, (key, body.to_string())),
                Change::Deleted { id, .. } => _ = objects.remove(&id),
                _ => {}
            }
            let graph = graph_at(&queries, record.offset);
            let drawn: BTreeSet<Link> =
                graph.edges.iter().map(|edge| (edge.from.clone(), edge.to.clone(), edge.kind.clone())).collect();
            let told = naive(&objects.values().cloned().collect::<Vec<_>>(), &rules.relations);
            prop_assert_eq!(&drawn, &told, "at {}", record.offset);
            // What has an owner stands below one.
            for node in &graph.nodes {
                let uid = node.resource.id.to_string();
                let owners: Vec<_> = told.iter().filter(|(_, to, kind)| *to == uid && kind == "owns").collect();
                let below = node.parent.as_ref().map(Uid::to_string);
                prop_assert_eq!(below.is_some(), !owners.is_empty(), "{} at {}", &uid, record.offset);
                prop_assert!(below.iter().all(|below| owners.iter().any(|(from, ..)| from == below)));
                let own: BTreeSet<Link> =
                    told.iter().filter(|(from, to, _)| *from == uid || *to == uid).cloned().collect();
                prop_assert_eq!(listed(&queries, record.offset, &node.resource.id), own, "{} at {}", &uid, record.offset);
            }
        }
    }
}
