//! The volumes of StatefulSets and Pods, which name nobody that they belong to.

use serde_json::{Value, json};

use super::*;

/// The environment finds what carries `app: web` in `shop`; the claims carry nothing.
fn declared() -> Event {
    Event::Declare(vec![environment("shop/web", "production", &[("one", "shop", "web")])])
}

fn stateful_set(name: &str, templates: &[&str], more: &Value) -> Value {
    let claims: Vec<_> = templates.iter().map(|name| json!({"metadata": {"name": name}})).collect();
    let mut spec =
        json!({"replicas": 1, "volumeClaimTemplates": claims, "updateStrategy": {"type": "RollingUpdate"}});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"namespace": "shop", "name": name, "generation": 1, "labels": {"app": "web"}}, "spec": spec,
        "status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "currentReplicas": 1,
            "currentRevision": "a", "updateRevision": "a"}})
}

fn claim(name: &str, phase: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": name},
        "spec": {"volumeName": format!("pv-{name}")}, "status": {"phase": phase}})
}

fn object(body: Value) -> Event {
    Event::Object(body)
}

/// The members of the environment but for the StatefulSets and Pods, by name.
async fn claims(world: &World) -> Vec<String> {
    let (scope, filter, page) = (Scope::everything(), ResourceFilter::default(), whole());
    let id = EnvironmentId::of("shop/web", "production");
    let held =
        world.queries.ask(&scope, At::Now, ListEnvironmentResources::new(&id, &filter, &page)).await.unwrap();
    let claims = held.items.into_iter().filter(|item| item.key.kind.kind == "PersistentVolumeClaim");
    let mut names: Vec<_> = claims.map(|item| item.key.name).collect();
    names.sort();
    names
}

async fn edges(world: &World) -> Vec<(String, String, String, u64)> {
    let (scope, id) = (Scope::everything(), EnvironmentId::of("shop/web", "production"));
    let graph =
        world.queries.ask(&scope, At::Now, GetEnvironmentGraph::new(&id, &uncut())).await.unwrap().value;
    graph.edges.into_iter().map(|edge| (edge.from, edge.kind, edge.to, edge.count)).collect()
}

#[tokio::test]
async fn the_claims_of_a_stateful_set_belong_to_it_whichever_comes_first() {
    let web = stateful_set("web", &["data", "data-web", "logs"], &json!({}));
    let names = ["data-web-0", "data-web-1", "data-web-web-0", "logs-web-0"];
    let others = [
        "data-web-1-0",
        "data-web-x",
        "data-web-01",
        "data-web-",
        "data-web",
        "data-webs-0",
        "other-web-0",
        "web-0",
    ];
    let seen = |names: &[&str]| names.iter().map(|name| object(claim(name, "Bound"))).collect::<Vec<_>>();
    let sets = vec![object(web.clone())];
    for all in [
        [vec![declared()], sets.clone(), seen(&names), seen(&others)],
        [seen(&others), seen(&names), sets.clone(), vec![declared()]],
        [seen(&names), vec![declared()], sets.clone(), seen(&others)],
    ] {
        let mut world = World::new(all.concat());
        assert_eq!(claims(&world).await, names);
        let owned: Vec<_> = names
            .iter()
            .map(|name| {
                let (set, claim) = ("StatefulSet-shop-web", format!("PersistentVolumeClaim-shop-{name}"));
                (set.to_owned(), "owns".to_owned(), claim, 1)
            })
            .collect();
        assert_eq!(edges(&world).await, owned);
        // Another StatefulSet has the name that looks alike; and whoever goes leaves its claims to nobody.
        world.go_on([object(stateful_set("web-1", &["data"], &json!({})))]);
        assert_eq!(
            claims(&world).await,
            ["data-web-0", "data-web-1", "data-web-1-0", "data-web-web-0", "logs-web-0"]
        );
        world.go_on([Event::Gone(web.clone())]);
        assert_eq!(claims(&world).await, ["data-web-1-0"]);
        world.go_on([object(stateful_set("web", &["logs"], &json!({})))]);
        assert_eq!(claims(&world).await, ["data-web-1-0", "logs-web-0"]);
        world.rebuild();
        assert_eq!(claims(&world).await, ["data-web-1-0", "logs-web-0"]);
    }
}

#[tokio::test]
async fn claims_of_numbers_from_another_start_and_of_before_belong_too() {
    let numbered = stateful_set("web", &["data"], &json!({"replicas": 2, "ordinals": {"start": 5}}));
    let names = ["data-web-0", "data-web-2147483647", "data-web-5", "data-web-6"];
    let seen = names.iter().map(|name| object(claim(name, "Bound")));
    let world = World::new([declared(), object(numbered)].into_iter().chain(seen));
    assert_eq!(claims(&world).await, names);
}

#[tokio::test]
async fn a_lost_volume_shows_in_the_health_of_its_environment_and_in_why() {
    let id = EnvironmentId::of("shop/web", "production");
    let scope = Scope::everything();
    let set = stateful_set("web", &["data"], &json!({}));
    let mut world = World::new([declared(), object(set), object(claim("data-web-0", "Bound"))]);
    let health = async |world: &World| {
        world.queries.ask(&scope, At::Now, GetEnvironment::new(&id)).await.unwrap().value.health.state
    };
    assert_eq!(health(&world).await, Some(Health::Healthy));
    world.go_on([object(claim("data-web-0", "Lost"))]);
    assert_eq!(health(&world).await, Some(Health::Degraded));
    let why = world.queries.ask(&scope, At::Now, ExplainEnvironment::new(&id, 3)).await.unwrap().value;
    let steps = |path: &WhyPath| path.steps.iter().map(|step| step.key.name.clone()).collect::<Vec<_>>();
    assert_eq!(why.paths.iter().map(steps).collect::<Vec<_>>(), [["web", "data-web-0"]]);
    assert_eq!(why.roots, 1);
    world.go_on([object(claim("data-web-0", "Bound"))]);
    assert_eq!(health(&world).await, Some(Health::Healthy));
}

#[tokio::test]
async fn an_owner_that_is_wrong_as_well_is_told_once_with_the_way_below_it() {
    let (scope, id) = (Scope::everything(), EnvironmentId::of("shop/web", "production"));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [], "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]},
        "status": {"phase": "Failed"}});
    let world = World::new([declared(), object(pod), object(claim("web-scratch", "Lost"))]);
    let why = world.queries.ask(&scope, At::Now, ExplainEnvironment::new(&id, 3)).await.unwrap().value;
    let names: Vec<Vec<_>> =
        why.paths.iter().map(|path| path.steps.iter().map(|step| step.key.name.clone()).collect()).collect();
    assert_eq!((why.roots, names), (1, vec![vec!["web".to_owned(), "web-scratch".to_owned()]]));
}

#[tokio::test]
async fn the_claim_of_an_ephemeral_volume_is_made_for_its_pod_and_read_by_it() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p",
        "labels": {"app": "web"}}, "spec": {"containers": [],
        "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}, "status": {"phase": "Running"}});
    let mut made = claim("web-0-scratch", "Bound");
    made["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Pod", "name": "web-0", "uid": "p", "controller": true}]);
    for events in [[object(pod.clone()), object(made.clone())], [object(made.clone()), object(pod.clone())]] {
        let world = World::new([declared()].into_iter().chain(events));
        assert_eq!(claims(&world).await, ["web-0-scratch"]);
        let claim = "PersistentVolumeClaim-shop-web-0-scratch";
        // Its owner reference and its name say the same, which is one link.
        assert_eq!(
            edges(&world).await,
            [
                (claim.to_owned(), "mounts".to_owned(), "p".to_owned(), 1),
                ("p".to_owned(), "owns".to_owned(), claim.to_owned(), 1),
            ]
        );
    }
}

/// A policy that lets in all Pods of its namespace, or of all of them, is an edge or two, however many there are.
#[tokio::test]
async fn a_broad_peer_of_a_policy_is_one_edge() {
    let scope = Scope::everything();
    let pods: Vec<Thing> = (0..300).map(|n| Thing::pod("one", "shop", &format!("p{n}"))).collect();
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"namespace": "shop", "name": "open"},
        "spec": {"podSelector": {"matchLabels": {"app": "none"}}, "ingress": [{"from": [{"podSelector": {}}, {"namespaceSelector": {}}]}]}});
    let mut events = vec![object(namespace("shop")), object(namespace("infra")), object(policy)];
    events.extend(pods.iter().cloned().map(Event::Apply));
    let world = World::new(events);
    let uid = Uid::new("NetworkPolicy-shop-open");
    let found =
        world.queries.ask(&scope, At::Now, ListResourceEdges::new(&uid, None, &whole())).await.unwrap();
    let ends: Vec<_> = found.items.iter().map(|edge| (edge.edge.as_str(), edge.name.as_str())).collect();
    assert_eq!(ends, [("references", ""), ("references", "shop")]);
    let rows: i64 = world
        .view()
        .query_row("SELECT (SELECT count(*) FROM edge) + (SELECT count(*) FROM selected)", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(rows, 2);
}

/// What stands in annotations alone is noticed when nothing else changes.
#[tokio::test]
async fn an_edge_moves_with_the_annotation_in_which_it_stands() {
    let (scope, page) = (Scope::everything(), whole());
    let ingress = |class: &str| {
        object(
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"namespace": "shop", "name": "web",
            "annotations": {"kubernetes.io/ingress.class": class}}, "spec": {}}),
        )
    };
    let secret = |account: &str| {
        object(
            json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": {
            "namespace": "shop", "name": "token", "annotations": {"kubernetes.io/service-account.name": account}}}),
        )
    };
    let installed = |release: &str| {
        object(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "it",
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "releases"}}}),
        )
    };
    let revision = |release: &str, status: &str| {
        object(
            json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "metadata": {"namespace": "releases",
            "name": format!("sh.helm.release.v1.{release}.v1"),
            "labels": {"owner": "helm", "name": release, "status": status, "version": "1"}}}),
        )
    };
    let mut world = World::new([
        revision("a", "deployed"),
        revision("b", "deployed"),
        ingress("one"),
        secret("one"),
        installed("a"),
    ]);
    let ends = async |world: &World, uid: &str| {
        let found = world
            .queries
            .ask(&scope, At::Now, ListResourceEdges::new(&Uid::new(uid), None, &page))
            .await
            .unwrap();
        found.items.into_iter().map(|edge| format!("{} {}", edge.edge, edge.name)).collect::<Vec<_>>()
    };
    for (n, (class, release)) in [("one", "a"), ("two", "b")].into_iter().enumerate() {
        if n > 0 {
            world.go_on([ingress(class), secret(class), installed(release)]);
        }
        assert_eq!(ends(&world, "Ingress-shop-web").await, [format!("references {class}")]);
        assert_eq!(ends(&world, "Secret-shop-token").await, [format!("owns {class}")]);
        let name = format!("sh.helm.release.v1.{release}.v1");
        assert_eq!(ends(&world, "ConfigMap-shop-it").await, [format!("references {name}")]);
    }
    world.go_on([revision("b", "superseded")]);
    assert_eq!(ends(&world, "ConfigMap-shop-it").await, [""; 0]);
}
