//! Namespaces that are environments.

use super::*;
use crate::catalog::NamespaceEnvironments;

fn shown(clusters: &str) -> Vec<Option<NamespaceEnvironments>> {
    let config = read(&format!("clusters:\n{clusters}")).unwrap();
    config.clusters.into_iter().map(|cluster| cluster.namespace_environments).collect()
}

#[test]
fn a_cluster_says_which_of_its_namespaces_are_environments() {
    let found = shown(
        "- {name: none, in_cluster: true}\n\
         - {name: all, in_cluster: true, exclude_namespaces: [kube-system], namespace_environments: {project: local}}\n\
         - {name: some, context: a, namespaces: [b, c], namespace_environments: {project: g/p, names: ['web-*', b]}}\n\
         - {name: ways, watchers: [{context: x, namespaces: [d]}, {context: y}], namespace_environments: {project: p}}\n",
    );
    let of = NamespaceEnvironments::whole;
    let names = vec!["web-*".parse().unwrap(), "b".parse().unwrap()];
    let watched = vec!["b".to_owned(), "c".to_owned()];
    assert_eq!(
        found,
        [
            None,
            Some(NamespaceEnvironments { excluded: vec!["kube-system".into()], ..of("all", "local") }),
            Some(NamespaceEnvironments { names, watched, listed: false, ..of("some", "g/p") }),
            Some(NamespaceEnvironments { watched: vec!["d".into()], ..of("ways", "p") }),
        ]
    );
}

#[test]
fn what_leads_to_no_environment_is_a_mistake() {
    check(
        "clusters:\n- name: a\n  in_cluster: true\n  namespace_environments: {project: /x}\n",
        &["4:37: invalid project path `/x`"],
        Some("use its full path, such as shop/web"),
    );
    check(
        "clusters:\n- name: a\n  in_cluster: true\n  exclude: [Namespace]\n  namespace_environments: {project: x}\n",
        &["4:13: `namespace_environments` needs the kind Namespace, which is excluded"],
        Some("do not exclude it"),
    );
    check(
        "clusters:\n- name: a\n  in_cluster: true\n  namespace_environments: {project: x, names: ['[']}\n",
        &["4:48: invalid name pattern `[`: unclosed `[`"],
        Some("write a namespace, or a pattern such as web-*"),
    );
    assert!(read("clusters: [{name: a, in_cluster: true, namespace_environments: {}}]\n").is_err());
}
