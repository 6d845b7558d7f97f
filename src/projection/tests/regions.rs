//! Where clusters are, by their Nodes and by the configuration, now and in the past.

use serde_json::{Value, json};

use super::inventories::{Write, object, written};
use super::*;

fn node(name: &str, labels: &Value) -> Value {
    object("v1", "Node", "", name, &json!({"labels": labels}))
}

fn region(region: &str) -> Value {
    json!({"topology.kubernetes.io/region": region})
}

fn declared(region: &str) -> Write {
    Write::Declare(vec![CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: region.into() })])
}

/// The region of the cluster after each write.
fn told(directory: &Path, writes: Vec<Write>) -> Vec<String> {
    let heads = written(directory, writes);
    let queries = testing::queries(directory, Arc::new(SystemClock));
    let region = |at: &Offset| {
        let clusters =
            block_on(queries.clusters(&Scope::everything(), At::Offset(*at), &PageRequest::default()))
                .unwrap();
        clusters.items.into_iter().find(|cluster| cluster.id == "one").map(|cluster| cluster.region).unwrap()
    };
    heads.iter().map(region).collect()
}

#[test]
fn a_cluster_is_where_its_nodes_say_while_they_agree() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (|labels: &Value| node("a", labels), |labels: &Value| node("b", labels));
    let old = json!({"failure-domain.beta.kubernetes.io/region": "eu-west-1"});
    let both = json!({"failure-domain.beta.kubernetes.io/region": "x", "topology.kubernetes.io/region": "eu-west-1"});
    let steps = [
        (declared(""), ""),
        (Write::Apply("one", a(&json!({}))), ""),
        (Write::Apply("one", a(&region("eu-west-1"))), "eu-west-1"),
        (Write::Apply("one", b(&json!({}))), "eu-west-1"),
        (Write::Apply("one", b(&old)), "eu-west-1"),
        (Write::Apply("one", b(&region("us-east-1"))), ""),
        (Write::Apply("one", b(&both)), "eu-west-1"),
        (Write::Apply("one", b(&region("us-east-1"))), ""),
        (Write::Delete("one", a(&json!({}))), "us-east-1"),
        (Write::Apply("two", node("c", &region("ap-south-1"))), "us-east-1"),
        (declared("us"), "us"),
        (Write::Apply("one", b(&region("us-west-2"))), "us"),
        (declared(""), "us-west-2"),
        (Write::Apply("one", b(&region(""))), ""),
        // A Node of another group is none.
        (
            Write::Apply(
                "one",
                object("example.org/v1", "Node", "", "d", &json!({"labels": region("mars")})),
            ),
            "",
        ),
    ];
    let (writes, expected): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
    assert_eq!(told(dir.path(), writes), expected);
    let incremental = dump(dir.path());
    build(dir.path(), RuleSet::default(), &Watermark::default()).unwrap();
    assert_eq!(dump(dir.path()), incremental);
}

#[test]
fn environments_that_look_at_a_cluster_are_told_when_its_region_changes() {
    let dir = tempfile::tempdir().unwrap();
    let CatalogFact::Environment(one) = environment("one", 0) else { panic!("it is an environment") };
    let facts = vec![
        CatalogFact::Environment(one),
        CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: String::new() }),
    ];
    written(dir.path(), vec![Write::Declare(facts)]);
    let touched = |version: u64, write: Write| {
        let mut before = Projector::open(dir.path(), RuleSet::default()).unwrap();
        testing::record(dir.path(), Arc::new(SystemClock), |appender| async move {
            super::inventories::one(&appender, version, write).await
        });
        before.step().unwrap().unwrap().environments.len()
    };
    assert_eq!(touched(2, Write::Apply("one", node("a", &json!({})))), 0);
    assert_eq!(touched(3, Write::Apply("one", node("a", &region("eu")))), 1);
    assert_eq!(touched(4, Write::Apply("one", node("b", &region("eu")))), 0);
    assert_eq!(touched(5, Write::Apply("one", node("b", &region("us")))), 1);
    assert_eq!(touched(6, Write::Apply("two", node("b", &region("us")))), 0);
}
