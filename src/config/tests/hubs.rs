//! Hubs.

use super::*;
use strandline_watch::{ClusterAccess, HubSource};

#[test]
fn a_hub_is_read_with_what_all_of_its_clusters_have() {
    let config = read(
        "hubs:\n- {name: fleet, source: cluster_api, in_cluster: true, namespace: clusters, selector: 'tier=prod', exclude: [Secret]}\n\
         - {name: argo, source: secrets, url: 'http://127.0.0.1:1', key: config}\n\
         environments: [{project: a/b, name: c, cluster: later, namespace: d}]\n",
    )
    .unwrap();
    assert!(config.clusters.is_empty());
    let fleet = &config.hubs[0];
    assert_eq!(fleet.settings.connect.access, ClusterAccess::InCluster);
    assert_eq!(
        (&fleet.settings.source, fleet.settings.selector.as_str()),
        (&HubSource::ClusterApi, "tier=prod")
    );
    assert_eq!(fleet.settings.namespace.as_deref(), Some("clusters"));
    assert!(!fleet.template.selection.exclude.is_empty());
    assert_eq!(config.hubs[1].settings.source, HubSource::Secrets("config".to_owned()));
}

#[test]
fn a_hub_that_cannot_be_meant_is_a_mistake() {
    let hub = |keys: &str| format!("hubs:\n- {{name: fleet, url: 'http://127.0.0.1:1', {keys}}}\n");
    let hint = "a provider has a `name` and the `command` that gives its credentials";
    let needs = "2:10: the hub `fleet`: the source `cluster_profiles` needs `providers`";
    check(&hub("source: cluster_profiles"), &[needs], Some(hint));
    let alone = "`providers` have a meaning with the source `cluster_profiles` alone";
    let provider = "source: argocd, providers: [{name: a, command: b}]";
    check(&hub(provider), &[&format!("2:10: the hub `fleet`: {alone}")], Some(hint));
    assert!(read(&hub("source: argocd, key: a")).is_err());
    assert!(read(&hub("source: argocd, namespace: 'a/b'")).is_err());
    assert!(read(&hub("source: folder")).is_err());
    let twice = hub("source: argocd") + "- {name: fleet, source: argocd, in_cluster: true}\n";
    check(&twice, &["3:10: duplicate hub `fleet`, first in line 2"], None);
}
