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
    let account = |keys: &str| {
        let text =
            format!("hubs: [{{name: a, url: 'http://127.0.0.1:1', source: managed_clusters{keys}}}]\n");
        read(&text).unwrap().hubs.remove(0).settings.source
    };
    assert_eq!(account(""), HubSource::ManagedClusters("strandline".to_owned()));
    assert_eq!(account(", service_account: a.b"), HubSource::ManagedClusters("a.b".to_owned()));
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
    let alone = "`service_account` has a meaning with the source `managed_clusters` alone";
    check(&hub("source: argocd, service_account: a"), &[&format!("2:77: {alone}")], Some("remove it"));
    let namespace = "2:81: `namespace` has no meaning with the source `managed_clusters`";
    let instead = Some("remove it; `selector` chooses among ManagedClusters");
    check(&hub("source: managed_clusters, namespace: a"), &[namespace], instead);
    // It is part of a field selector.
    let selector = hub("source: managed_clusters, service_account: 'a,metadata.namespace=b'");
    let name = "invalid name of a ManagedServiceAccount `a,metadata.namespace=b`";
    check(&selector, &[&format!("2:87: {name}")], Some("use lower-case letters, digits, `-` and `.`"));
    let twice = hub("source: argocd") + "- {name: fleet, source: argocd, in_cluster: true}\n";
    check(&twice, &["3:10: duplicate hub `fleet`, first in line 2"], None);
}
