//! Folders of kubeconfigs.

use super::*;
use strandline_watch::{ClusterAccess, ConnectSettings};

#[test]
fn each_file_of_a_folder_is_a_cluster_with_the_keys_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["eu-1.yaml", "own.yaml", "us-1"] {
        std::fs::write(folder.path().join(name), "no kubeconfig: [").unwrap();
    }
    let keys = "exclude: [Secret], namespaces: [web], region: eu, namespace_environments: {project: local}";
    let config = read(&format!(
        "clusters: [{{name: own, context: a}}]\n\
         cluster_folders: [{{path: '{}', {keys}}}]\n\
         environments: [{{project: a/b, name: c, cluster: later, namespace: d}}]\n",
        folder.path().display()
    ))
    .unwrap();
    let names: Vec<_> = config.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    assert_eq!(names, ["own", "eu-1", "us-1"], "a file replaces no cluster that is configured by name");
    assert_eq!(config.cluster_folders.ignored.len(), 1, "{:?}", config.cluster_folders.ignored);
    let eu = &config.clusters[1];
    let access = ClusterAccess::Kubeconfig { path: Some(folder.path().join("eu-1.yaml")), context: None };
    let connect = ConnectSettings { self_contained: true, ..ConnectSettings::new(access) };
    assert_eq!(eu.watchers[0].connect, connect);
    assert_eq!((eu.watchers[0].namespaces.as_slice(), eu.region.as_str()), (&["web".to_owned()][..], "eu"));
    assert!(!eu.selection.exclude.is_empty() && eu.kubeconfig_digest.is_some());
    assert_eq!(eu.namespace_environments.as_ref().unwrap().cluster, "eu-1");
    assert_eq!(config.clusters[0].kubeconfig_digest, None);
}

#[test]
fn a_folder_that_cannot_be_read_and_keys_that_make_no_sense_are_mistakes() {
    let nowhere = "the folder /nowhere cannot be read: No such file or directory (os error 2)";
    check(
        "cluster_folders:\n- path: /nowhere\n",
        &[&format!("2:9: {nowhere}")],
        Some("create it, with a kubeconfig for each cluster, and let this user read it"),
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    check(
        &format!("cluster_folders:\n- path: {path}\n  labels: 'a='\n  exclude: ['*']\n- path: {path}\n")
            .replace("  exclude: ['*']\n", ""),
        &[&format!("4:9: duplicate folder `{path}`")],
        None,
    );
    assert!(read(&format!("cluster_folders: [{{path: '{path}', context: a}}]\n")).is_err());
}
