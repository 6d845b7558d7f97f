//! Judges folders of kubeconfigs: whether their files are clusters, and whether what is configured of clusters finds one.

use std::collections::BTreeMap;

use super::report::Check;
use crate::config::Config;

const SUBJECT: &str = "cluster folders";

/// What the folders contain; nothing where there are none, for then an unknown cluster is a mistake in the configuration.
pub(super) fn check(config: &Config) -> Vec<Check> {
    let folders = &config.cluster_folders;
    if folders.paths.is_empty() {
        return Vec::new();
    }
    let of_files = config.clusters.iter().filter(|cluster| cluster.kubeconfig_digest.is_some()).count();
    let mut checks = vec![match of_files {
        0 => Check::warning(SUBJECT, "no clusters found")
            .hint("put a kubeconfig for each cluster into a folder of `cluster_folders`"),
        found => Check::ok(SUBJECT, format!("clusters: {found}")),
    }];
    checks.extend(folders.ignored.iter().map(|why| {
        Check::warning(SUBJECT, format!("a file is not a cluster: {why}"))
            .hint("a file is named as its cluster, such as us-east.yaml, and each name is used once")
    }));
    let mut unknown: BTreeMap<&str, &str> = BTreeMap::new();
    for environment in &config.environments {
        for target in &environment.targets {
            let known = |name: &str| config.clusters.iter().any(|cluster| cluster.name == name);
            if !target.cluster.is_empty() && !known(&target.cluster) {
                unknown.entry(&target.cluster).or_insert(environment.id.as_str());
            }
        }
    }
    checks.extend(unknown.into_iter().map(|(cluster, environment)| {
        Check::warning(SUBJECT, format!("no cluster `{cluster}`, which the environment {environment} names"))
            .hint("it has no resources from there until a file of that name is in a folder")
    }));
    checks
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn files_that_are_no_cluster_and_clusters_without_a_file_are_warnings() {
        let folder = tempfile::tempdir().unwrap();
        let environments = "environments: [{project: a/b, name: c, cluster: nowhere, namespace: d}]";
        let text = format!("cluster_folders: [{{path: '{}'}}]\n{environments}\n", folder.path().display());
        let lines = || -> Vec<String> {
            let config = crate::config::parse(&text, Path::new("x.yaml")).unwrap();
            check(&config).iter().map(|c| format!("{} {}", c.result.as_str(), c.message)).collect()
        };
        let missing = "warning no cluster `nowhere`, which the environment a.b.c names";
        assert_eq!(lines(), ["warning no clusters found", missing]);
        std::fs::write(folder.path().join("nowhere.yaml"), "").unwrap();
        std::fs::write(folder.path().join("read me"), "").unwrap();
        let found = lines();
        assert_eq!((found.len(), found[0].as_str()), (2, "ok clusters: 1"), "{found:?}");
        assert!(found[1].starts_with("warning a file is not a cluster: "), "{found:?}");
        let none = crate::config::parse("listen: 127.0.0.1:1\n", Path::new("x.yaml")).unwrap();
        assert!(check(&none).is_empty());
    }
}
