//! Membership by the marks of inventories, now and in the past.

use serde_json::{Value, json};

use super::*;
use strandline_query::CoverageFilter;
use strandline_query::{GetEnvironment, ListCoverage};

/// An object of a cluster, as JSON with everything it says.
pub(super) fn object(api_version: &str, kind: &str, namespace: &str, name: &str, metadata: &Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": format!("{kind}-{name}")}});
    let members = object["metadata"].as_object_mut().unwrap();
    members.extend(metadata.as_object().unwrap().clone());
    object
}

/// What is written to the log, one change each.
pub(super) enum Write {
    Declare(Vec<CatalogFact>),
    Apply(&'static str, Value),
    Delete(&'static str, Value),
    Mark(CoverageMark),
}

/// Writes and projects; tells the offset after each.
pub(super) fn written(directory: &Path, writes: Vec<Write>) -> Vec<Offset> {
    let heads = testing::record(directory, Arc::new(SystemClock), |appender| async move {
        let mut heads = Vec::new();
        for (version, write) in (1_u64..).zip(writes) {
            heads.push(one(&appender, version, write).await);
        }
        heads
    });
    project_in_bites(directory);
    heads
}

pub(super) async fn one(appender: &Appender, version: u64, write: Write) -> Offset {
    let (cluster, object, gone) = match write {
        Write::Declare(facts) => return appender.declare(Source::Config, facts).await.unwrap().head,
        Write::Mark(mark) => return appender.mark(mark).await.unwrap().head,
        Write::Apply(cluster, object) => (cluster, object, false),
        Write::Delete(cluster, object) => (cluster, object, true),
    };
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    let (namespace, name, uid) = (text("/metadata/namespace"), text("/metadata/name"), text("/metadata/uid"));
    let kind = Kind::from_api_version(&text("/apiVersion"), &text("/kind"));
    let watch = WatchKey { cluster: cluster.into(), kind, namespace: String::new() };
    let epoch = appender.begin(Begin::new(&watch, false)).await.unwrap().epoch;
    let observed = if gone {
        let resource_version = ResourceVersion::new(version.to_string());
        Observed::Deleted { namespace, name, uid: Uid::new(uid), resource_version }
    } else {
        Observed::Applied(observation(&namespace, &name, &uid, version, &object))
    };
    let batch = Batch { watch, epoch, phase: Phase::UpToDate, observed: vec![observed], cursor: None };
    appender.append(batch).await.unwrap().head
}

/// An environment that looks at these clusters, namespaces and inventories; no inventory where that is empty.
fn looking(targets: &[(&str, &str, &str)]) -> Write {
    let target = |(cluster, namespace, inventory): &(&str, &str, &str)| TargetSpec {
        cluster: (*cluster).into(),
        namespace: (*namespace).into(),
        labels: Some(BTreeMap::new()),
        inventory: (!inventory.is_empty()).then(|| inventory.parse().unwrap()),
        ..TargetSpec::default()
    };
    let CatalogFact::Environment(one) = environment("one", 0) else { panic!("it is an environment") };
    let one = EnvironmentSpec { targets: targets.iter().map(target).collect(), ..*one };
    Write::Declare(vec![CatalogFact::from(one)])
}

fn members(directory: &Path, at: Offset) -> Vec<String> {
    let queries = testing::queries(directory, Arc::new(SystemClock));
    block_on(told(&queries, at, "one")).map(|told| told.members.into_keys().collect()).unwrap_or_default()
}

fn tracked(kind: &str, group: &str, name: &str) -> Value {
    json!({"annotations": {"argocd.argoproj.io/tracking-id": format!("shop:{group}/{kind}:web/{name}")}})
}

const RBAC: &str = "rbac.authorization.k8s.io";

#[test]
fn a_mark_that_comes_or_goes_alone_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let marked = |metadata: &Value| Write::Apply("one", object("v1", "ConfigMap", "web", "a", metadata));
    let marks = tracked("ConfigMap", "", "a");
    let other = json!({"annotations": {"argocd.argoproj.io/tracking-id": "bank:/ConfigMap:web/a"}});
    let writes = vec![
        looking(&[("one", "", "argocd:shop")]),
        marked(&json!({})),
        marked(&marks),
        marked(&other),
        marked(&marks),
        Write::Delete("one", object("v1", "ConfigMap", "web", "a", &marks)),
        marked(&marks),
    ];
    let heads = written(dir.path(), writes);
    let counts: Vec<_> = heads.iter().map(|at| members(dir.path(), *at).len()).collect();
    assert_eq!(counts, [0, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn what_is_in_no_namespace_belongs_by_its_mark_and_what_is_below_by_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let role =
        object(&format!("{RBAC}/v1"), "ClusterRole", "", "reader", &tracked("ClusterRole", RBAC, "reader"));
    let web = object("apps/v1", "Deployment", "web", "web", &tracked("Deployment", "apps", "web"));
    let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "Deployment-web", "controller": true}]);
    let mut copied = tracked("Deployment", "apps", "web");
    copied["ownerReferences"] = owner;
    let below = object("apps/v1", "ReplicaSet", "web", "web-1", &copied);
    let stranger = object("v1", "ConfigMap", "web", "stranger", &json!({}));
    let writes = vec![
        looking(&[("one", "", "argocd:shop")]),
        Write::Apply("one", role.clone()),
        Write::Apply("one", below),
        Write::Apply("one", stranger),
        Write::Apply("one", web),
        Write::Apply("two", role),
        looking(&[("one", "web", "argocd:shop")]),
        looking(&[("two", "", "argocd:shop")]),
    ];
    let heads = written(dir.path(), writes);
    let at = |n: usize| members(dir.path(), heads[n]);
    assert_eq!(at(1), ["ClusterRole-reader"]);
    assert_eq!(at(3), ["ClusterRole-reader"], "a copied mark is none");
    assert_eq!(at(5), ["ClusterRole-reader", "Deployment-web", "ReplicaSet-web-1"]);
    assert_eq!(at(6), ["Deployment-web", "ReplicaSet-web-1"], "a namespace narrows");
    assert_eq!(at(7), ["ClusterRole-reader"], "each cluster has inventories of its own");
    assert_eq!(at(4), at(5), "the past stays as it was");
}

#[test]
fn nothing_belongs_by_an_empty_namespace_alone() {
    let dir = tempfile::tempdir().unwrap();
    let role = object(&format!("{RBAC}/v1"), "ClusterRole", "", "reader", &json!({}));
    let config = object("v1", "ConfigMap", "web", "a", &json!({}));
    let empty = || looking(&[("one", "", "")]);
    let writes = vec![empty(), Write::Apply("one", role), Write::Apply("one", config), looking(&[]), empty()];
    for at in written(dir.path(), writes) {
        assert_eq!(members(dir.path(), at), [""; 0], "at {at}");
    }
}

#[test]
fn several_targets_with_several_tools_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let flux = json!({"labels": {"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "apps",
            "app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "web-v2", "meta.helm.sh/release-namespace": "web"}});
    let both = object("v1", "Service", "web", "both", &flux);
    let kept = json!({"annotations": {"config.k8s.io/owning-inventory": "shop-1"}});
    let writes = vec![
        Write::Apply("one", both),
        Write::Apply("one", object("v1", "Service", "web", "kept", &kept)),
        Write::Apply("one", object("v1", "Service", "bank", "plain", &json!({}))),
        looking(&[("one", "", "flux-helmrelease:apps/web"), ("one", "web", "helm:web/web-v2")]),
        looking(&[("one", "web", "shop-1"), ("one", "bank", "")]),
        looking(&[("one", "bank", "shop-1")]),
    ];
    let heads = written(dir.path(), writes);
    assert_eq!(members(dir.path(), heads[3]), ["Service-both"]);
    assert_eq!(members(dir.path(), heads[4]), ["Service-kept", "Service-plain"]);
    assert_eq!(members(dir.path(), heads[5]), [""; 0]);
}

#[test]
fn whoever_looks_into_all_namespaces_is_concerned_by_the_gaps_of_each() {
    let dir = tempfile::tempdir().unwrap();
    let config = object("v1", "ConfigMap", "web", "a", &tracked("ConfigMap", "", "a"));
    let mark = |kind: &str| {
        let watch = WatchKey { cluster: "one".into(), kind: Kind::new("", kind), namespace: "bank".into() };
        Write::Mark(CoverageMark::gap(watch, Timestamp::from_micros(1), "forbidden", ""))
    };
    let cluster = CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: String::new() });
    let facts = |targets: &[(&str, &str, &str)]| {
        let Write::Declare(mut facts) = looking(targets) else { panic!("they are facts") };
        facts.push(cluster.clone());
        Write::Declare(facts)
    };
    let looked_at = CoverageMark::watched(WatchKey::discovery("one", ""), Timestamp::from_micros(1));
    let all = facts(&[("one", "", "argocd:shop")]);
    let writes = vec![
        Write::Mark(looked_at),
        all,
        Write::Apply("one", config),
        mark("Secret"),
        mark("ConfigMap"),
        facts(&[("one", "web", "argocd:shop")]),
    ];
    let heads = written(dir.path(), writes);
    let queries = testing::queries(dir.path(), Arc::new(SystemClock));
    let scope = Scope::projects(["shop/web".to_owned()]);
    let seen = heads[1..].iter().map(|at| {
        block_on(async {
            let (at, id) = (At::Offset(*at), EnvironmentId::new("one"));
            let answer = queries.ask(&scope, at, GetEnvironment::new(&id)).await.unwrap();
            let page = PageRequest { limit: 500, after: None };
            let watches =
                queries.ask(&scope, at, ListCoverage::new(&CoverageFilter::default(), &page)).await.unwrap();
            (answer.value.health.state, answer.metadata.coverage.gaps.len(), watches.items.len())
        })
    });
    let unknown = Some(Health::Unknown);
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [(None, 0, 1), (None, 0, 1), (None, 1, 2), (unknown, 2, 3), (None, 0, 1)]
    );
}
