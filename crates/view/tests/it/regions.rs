//! Where clusters are, by their Nodes and by the configuration, now and in the past.

use serde_json::{Value, json};

use super::inventories::{Write, object, written};
use super::*;
use strandline_query::ListClusters;

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
        let clusters = block_on(queries.ask(
            &Scope::everything(),
            At::Offset(*at),
            ListClusters::new(&PageRequest::default()),
        ))
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
    build(dir.path(), ProjectorOptions::small(RuleSet::default()), &Watermark::default()).unwrap();
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
        let mut before = Projector::open(dir.path(), ProjectorOptions::small(RuleSet::default())).unwrap();
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

/// What happens to three Nodes and to what is configured; a region is one of three, or none.
#[derive(Clone, Debug)]
enum Happens {
    Told { node: usize, region: usize },
    Gone { node: usize },
    Configured { region: usize },
}

const NODES: [&str; 3] = ["a", "b", "c"];
const REGIONS: [&str; 4] = ["", "eu", "us", "ap"];

fn happens() -> impl Strategy<Value = Vec<Happens>> {
    let one = prop_oneof![
        6 => (0..NODES.len(), 0..REGIONS.len()).prop_map(|(node, region)| Happens::Told { node, region }),
        2 => (0..NODES.len()).prop_map(|node| Happens::Gone { node }),
        1 => (0..REGIONS.len()).prop_map(|region| Happens::Configured { region }),
    ];
    prop::collection::vec(one, 1..30)
}

/// The configured region, else the only one that present Nodes say.
fn fold(all: &[Happens]) -> String {
    let (mut nodes, mut configured) = ([0; NODES.len()], 0);
    for one in all {
        match *one {
            Happens::Told { node, region } => nodes[node] = region,
            Happens::Gone { node } => nodes[node] = 0,
            Happens::Configured { region } => configured = region,
        }
    }
    let said: BTreeSet<usize> = nodes.into_iter().filter(|region| *region > 0).collect();
    let agreed = if said.len() == 1 { said.into_iter().sum() } else { 0 };
    REGIONS[if configured > 0 { configured } else { agreed }].to_owned()
}

proptest! {
    #![proptest_config(strandline_testkit::cases(24))]

    #[test]
    fn at_every_moment_a_region_is_what_a_fold_tells(all in happens()) {
        let dir = tempfile::tempdir().unwrap();
        let write = |one: &Happens| match *one {
            Happens::Told { node: n, region: r } => Write::Apply("one", node(NODES[n], &region(REGIONS[r]))),
            Happens::Gone { node: n } => Write::Delete("one", node(NODES[n], &json!({}))),
            Happens::Configured { region } => declared(REGIONS[region]),
        };
        let writes = std::iter::once(declared("")).chain(all.iter().map(write)).collect();
        let expected: Vec<String> = (0..=all.len()).map(|n| fold(&all[..n])).collect();
        prop_assert_eq!(told(dir.path(), writes), expected);
        let incremental = dump(dir.path());
        build(dir.path(), ProjectorOptions::small(RuleSet::default()), &Watermark::default()).unwrap();
        prop_assert_eq!(dump(dir.path()), incremental);
    }
}
