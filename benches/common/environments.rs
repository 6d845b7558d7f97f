//! The environments of the objects in [`objects`](super::objects): one for each workload and one for each namespace.

use strandline_model::{CatalogFact, ClusterSpec, EnvironmentSpec, Labels, TargetSpec};

use super::objects::{PER_NAMESPACE, WORKLOAD, namespace};

/// How many environments so many objects have.
pub(crate) const fn count(objects: u64) -> u64 {
    objects.div_ceil(WORKLOAD) + objects.div_ceil(PER_NAMESPACE)
}

/// An environment for each workload, by its label, and one for each namespace; with the cluster they are in.
pub(crate) fn catalog(objects: u64) -> Vec<CatalogFact> {
    let cluster = ClusterSpec { name: "bench".to_owned(), region: "eu".to_owned() };
    let target = |object: u64, labels: Labels| TargetSpec {
        cluster: "bench".to_owned(),
        namespace: namespace(object),
        labels: Some(labels),
        ..TargetSpec::default()
    };
    let environment = |project: String, name: &str, target: TargetSpec| EnvironmentSpec {
        targets: vec![target],
        ..EnvironmentSpec::new(&project, name)
    };
    let workloads = (0..objects).step_by(WORKLOAD as usize).map(|object| {
        let instance = format!("web-{}", object / WORKLOAD);
        let labels = Labels::from_iter([("app.kubernetes.io/instance".to_owned(), instance)]);
        environment(format!("shop/web-{object}"), "production", target(object, labels))
    });
    let namespaces = (0..objects)
        .step_by(PER_NAMESPACE as usize)
        .map(|object| environment(format!("shop/all-{object}"), "staging", target(object, Labels::new())));
    let environments = workloads.chain(namespaces).map(CatalogFact::from);
    std::iter::once(CatalogFact::Cluster(cluster)).chain(environments).collect()
}
