//! What worlds declare, in clusters that somebody looks at.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use strandline_log::{AppendError, Appended, Appender};
use strandline_model::{
    CatalogFact, ClusterSpec, CoverageMark, EnvironmentSpec, Source, TargetSpec, WatchKey,
};

/// An environment that finds the resources with a label `app`, or all of a namespace where that is empty.
pub fn environment(project: &str, name: &str, targets: &[(&str, &str, &str)]) -> EnvironmentSpec {
    let target = |&(cluster, namespace, app): &(&str, &str, &str)| TargetSpec {
        cluster: cluster.into(),
        namespace: namespace.into(),
        labels: Some((!app.is_empty()).then(|| ("app".into(), app.into())).into_iter().collect()),
        ..TargetSpec::default()
    };
    EnvironmentSpec {
        region: if name.contains("us") { "us".into() } else { "eu".into() },
        targets: targets.iter().map(target).collect(),
        ..EnvironmentSpec::new(project, name)
    }
}

/// Environments as facts, with the clusters that they look at.
pub fn facts(environments: &[EnvironmentSpec]) -> Vec<CatalogFact> {
    let targets = environments.iter().flat_map(|environment| &environment.targets);
    let clusters: BTreeMap<_, _> = targets.map(|target| (&target.cluster, ())).collect();
    let cluster =
        |name: &String| CatalogFact::Cluster(ClusterSpec { name: name.clone(), region: "eu".into() });
    let clusters = clusters.into_keys().map(cluster);
    clusters.chain(environments.iter().cloned().map(CatalogFact::from)).collect()
}

/// Declares exactly these facts, and lets somebody look which kinds their clusters have.
pub async fn declare(appender: &Appender, facts: Vec<CatalogFact>) {
    declare_beside(appender, Source::Config, facts, &mut BTreeSet::new()).await.expect("the log takes it");
}

/// The same, but for clusters at which somebody looked before.
pub(super) async fn declare_beside(
    appender: &Appender,
    source: Source,
    facts: Vec<CatalogFact>,
    looked_at: &mut BTreeSet<String>,
) -> Result<Appended, AppendError> {
    for fact in &facts {
        let CatalogFact::Cluster(cluster) = fact else { continue };
        if looked_at.insert(cluster.name.clone()) {
            let discovery = WatchKey::discovery(&cluster.name, "");
            appender.mark(CoverageMark::watched(discovery, World::time(0))).await?;
        }
    }
    appender.declare(source, facts).await
}
