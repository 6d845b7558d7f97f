//! Configurations, good and bad, with the exact words they are answered with.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod catalog;
mod cluster_folders;
mod diff;
mod hubs;
mod kubernetes;
mod links;
mod namespaces;
mod quotas;
mod redact;
mod retention;
mod schema;
mod tokens;
mod traces;

use std::path::{Path, PathBuf};

use super::file::LISTEN;
use super::*;
use strandline_model::{EnvironmentState, KindPattern, Tier};
use strandline_watch::{ClusterAccess, ConnectSettings};

const CLUSTER: &str = "clusters: [{name: one, url: 'http://127.0.0.1:1', region: eu}]\n";

fn read(text: &str) -> Result<Config, ConfigError> {
    parse(text, Path::new("/etc/strandline/config.yaml"))
}

/// The mistakes of a configuration, as they are printed, and the hint.
fn check(text: &str, expected: &[&str], hint: Option<&str>) {
    let error = read(text).unwrap_err();
    let expected: Vec<String> =
        expected.iter().map(|line| format!("/etc/strandline/config.yaml:{line}")).collect();
    assert_eq!(error.to_string(), expected.join("\n"), "{text}");
    assert_eq!(error.hint().as_deref(), hint, "{text}");
}

#[test]
fn what_is_left_out_has_a_default() {
    let text = "
clusters:
  - {name: us-east, context: prod, region: us}
  - {name: eu, kubeconfig: ./eu.yaml, region: eu}
  - {name: here, in_cluster: true}
projects:
  - {path: shop/web, id: 42}
environments:
  - {project: shop/web, name: production/us-region, cluster: us-east, namespace: web}
  - {project: shop/web, name: review/fix login, cluster: eu, namespace: web, labels: {app: web}}
  - {project: other, name: live, targets: [{cluster: eu, namespace: a}, {cluster: here, namespace: b}]}
";
    let config = read(text).unwrap();
    assert_eq!(config.listen, LISTEN.parse().unwrap());
    assert_eq!(config.data, Path::new("/etc/strandline/strandline-data"));
    let path = Some(PathBuf::from("/etc/strandline/./eu.yaml"));
    assert_eq!(
        config.clusters[1].watchers[0].connect.access,
        ClusterAccess::Kubeconfig { path, context: None }
    );
    assert_eq!(config.clusters[2].watchers[0].connect.access, ClusterAccess::InCluster);
    assert!(
        config
            .clusters
            .iter()
            .all(|cluster| cluster.watchers.len() == 1 && cluster.selection.labels.is_empty())
    );
    let reported: Vec<_> =
        config.environments.iter().map(|e| (e.id.as_str(), e.tier, e.region.as_str())).collect();
    assert_eq!(
        reported,
        [
            ("shop.web.production.us-region", Tier::Production, ""),
            ("shop.web.review.fix-login", Tier::Development, ""),
            ("other.live", Tier::Production, ""),
        ]
    );
    let labels = &config.environments[0].targets[0].labels;
    assert_eq!(*labels, None, "GitLab's own");
    assert_eq!(config.environments[1].targets[0].labels.as_ref().map(|labels| labels.len()), Some(1));
    assert!(config.environments[2].targets.iter().all(|target| target.labels.is_none()));
    assert!(read("{}").unwrap().clusters.is_empty());
}

#[test]
fn keys_that_are_wrong_or_missing_are_named() {
    check("lissten: x\n", &["1:1: unknown key"], Some("did you mean `listen`?"));
    check(
        "clusters:\n  - name: one\n    regoin: eu\n",
        &["3:5: unknown key"],
        Some("did you mean `region`?"),
    );
    check(
        "clusters:\n  - name: one\n    entirely_else: eu\n",
        &["3:5: unknown key"],
        Some(
            "valid keys are name, context, kubeconfig, in_cluster, url, allow_exec_plugins, watchers, region, \
             namespaces, include, exclude, exclude_namespaces, labels, namespace_environments",
        ),
    );
    let error = read("clusters:\n  - region: eu\n").unwrap_err().to_string();
    assert!(error.contains("the key `name` is missing"), "{error}");
    assert!(read("clusters: 7\n").is_err() && read("{").is_err() && read("listen: [1]").is_err());
}

#[test]
fn what_stands_in_a_file_that_is_not_ours_is_not_repeated() {
    for (text, expected) in [
        ("root:$6$CANARY:19000:0:99999:7:::\ndaemon:*:19000::::::\n", "c.yaml:1:1: unknown key"),
        ("CANARY_hunter2: x\n", "unknown key"),
        ("- CANARY\n", "expected"),
        ("CANARY: 1\nCANARY: 2\n", "c.yaml:"),
        ("{CANARY", "c.yaml:"),
        ("\"CANARY\n", "c.yaml:"),
        ("&CANARY x: *CANARY2\n", "c.yaml:"),
        ("!CANARY x\n", "c.yaml:"),
        ("clusters: CANARY\n", "expected"),
        ("clusters: [{name: {CANARY: 1}}]\n", "expected"),
    ] {
        let error = parse(text, Path::new("c.yaml")).unwrap_err();
        let reported = format!("{error} {:?} {error:?}", error.hint());
        assert!(reported.contains(expected) && !reported.contains("CANARY"), "{text}: {reported}");
    }
}

#[test]
fn every_mistake_is_told_with_its_line() {
    let text = format!(
        "listen: nowhere\n{CLUSTER}environments:\n\
         - {{project: a, name: b, cluster: oen, namespace: x}}\n\
         - {{project: a, name: b, cluster: one, namespace: Not_One}}\n\
         - {{project: a, name: c, tier: prod, cluster: one, namespace: x}}\n\
         - {{project: a, name: d, cluster: one}}\n"
    );
    check(
        &text,
        &[
            "1:9: invalid address and port `nowhere`; use one such as 127.0.0.1:7979",
            "4:34: no cluster `oen`",
            "5:22: duplicate environment `a.b`, first in line 4",
            "5:50: invalid namespace `Not_One`",
            "6:31: invalid tier `prod`; use one of production, staging, testing, development, other",
            "7:22: the key `namespace` is missing",
        ],
        Some("did you mean `one`?"),
    );
}

#[test]
fn a_cluster_is_reached_in_one_way() {
    check(
        "clusters: [{name: one, url: 'http://x', context: y}]\n",
        &["1:19: the cluster `one` has several connections"],
        Some("keep one of `context` (with `kubeconfig`), `in_cluster` and `url`"),
    );
    check("clusters: [{name: one, url: 'ftp://x'}]\n", &["1:29: invalid http or https URL `ftp://x`"], None);
    check(
        "clusters: [{name: one}, {name: one}, {name: 'a b'}]\n",
        &["1:32: duplicate cluster `one`, first in line 1", "1:45: invalid cluster name `a b`"],
        Some("use letters, digits, `-`, `_` and `.`"),
    );
}

#[test]
fn an_environment_looks_only_where_something_is_watched() {
    check(
        "clusters: [{name: one, in_cluster: true, namespaces: [a]}]\n\
         environments:\n- {project: x, name: y, cluster: one, namespace: b}\n",
        &["3:50: the namespace `b` of cluster `one` is not watched"],
        Some("add it to the cluster's `namespaces`"),
    );
    check(
        &format!(
            "{CLUSTER}environments:\n- {{project: x, name: y, labels: {{a: b}}, targets: [{{cluster: one, namespace: c}}]}}\n"
        ),
        &["3:22: `labels` have no effect here"],
        Some("give each of the `targets` its own `labels`"),
    );
}

#[test]
fn a_cluster_is_watched_in_several_ways() {
    let text = "
kubeconfig: fleet.yaml
clusters:
  - name: one
    watchers:
      - {context: team-a, namespaces: [team-a, shared]}
      - {kubeconfig: observer.yaml, allow_exec_plugins: true}
    include: [Lease.coordination.k8s.io]
    exclude: ['*.metrics.k8s.io', Secret]
    exclude_namespaces: [kube-system, shared]
    labels: ' app.gitlab.com/project_id,tier!=test '
environments:
  - {project: x, name: y, cluster: one, namespace: shared}
  - {project: x, name: z, cluster: one, namespace: any}
";
    let config = read(text).unwrap();
    let cluster = &config.clusters[0];
    let selection = &cluster.selection;
    let kubeconfig = |file: &str, context: Option<&str>| ClusterAccess::Kubeconfig {
        path: Some(Path::new("/etc/strandline").join(file)),
        context: context.map(str::to_owned),
    };
    let watcher = |access, allow_exec_plugins, namespaces: &[&str]| WatcherConfig {
        connect: ConnectSettings { allow_exec_plugins, ..ConnectSettings::new(access) },
        namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
    };
    assert_eq!(
        cluster.watchers,
        [
            watcher(kubeconfig("fleet.yaml", Some("team-a")), false, &["team-a", "shared"]),
            watcher(kubeconfig("observer.yaml", None), true, &[]),
        ]
    );
    let texts = |patterns: &[KindPattern]| patterns.iter().map(KindPattern::to_string).collect::<Vec<_>>();
    assert_eq!(texts(&selection.include), ["Lease.coordination.k8s.io"]);
    assert_eq!(texts(&selection.exclude), ["*.metrics.k8s.io", "Secret"]);
    assert_eq!(selection.labels.to_string(), "app.gitlab.com/project_id,tier!=test");
    assert_eq!(selection.exclude_namespaces, ["kube-system", "shared"]);
    let watched = ["team-a", "shared", "any", "kube-system"].map(|namespace| cluster.watches(namespace));
    assert_eq!(watched, [true, true, true, false]);
}

#[test]
fn watchers_and_keys_of_the_cluster_exclude_each_other() {
    check(
        "clusters: [{name: one, namespaces: [a], watchers: [{context: b}]}]\n",
        &["1:19: the cluster `one` has both `watchers` and `namespaces`"],
        Some("move `namespaces` to one of the `watchers`"),
    );
    check(
        "clusters: [{name: one, watchers: [{context: b, in_cluster: true}]}]\n",
        &["1:35: a watcher of the cluster `one` has several connections"],
        Some("keep one of `context` (with `kubeconfig`), `in_cluster` and `url`"),
    );
    check(
        "clusters: [{name: one, watchers: [{contxt: b}]}]\n",
        &["1:36: unknown key"],
        Some("did you mean `context`?"),
    );
}

#[test]
fn nothing_is_watched_twice() {
    check(
        "clusters:\n- name: one\n  watchers:\n  - namespaces: [a]\n  - namespaces: [b, a]\n  - context: x\n  - context: y\n",
        &[
            "5:21: duplicate namespace `a`, first in line 4",
            "7:5: the watcher in line 6 already watches the whole cluster",
        ],
        Some("list each namespace once"),
    );
}

#[test]
fn what_is_left_out_must_be_there_to_be_left_out() {
    check(
        "clusters: [{name: one, namespaces: [a], exclude_namespaces: [b]}]\n",
        &["1:62: `exclude_namespaces` has no effect: only some namespaces are watched"],
        Some("remove it, or let a watcher without `namespaces` watch the whole cluster"),
    );
    check(
        "clusters: [{name: one, exclude_namespaces: [a]}]\nenvironments:\n\
         - {project: x, name: y, cluster: one, namespace: a}\n",
        &["3:50: the namespace `a` of cluster `one` is not watched"],
        Some("remove it from the cluster's `exclude_namespaces`"),
    );
}

#[test]
fn rules_of_health_and_relations_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("relations.yaml"),
        "relations:\n  - {name: a, edge: owns, object: {group: example.org, kind: A}, direction: to_target, path: $.spec.b, target: {kind: Secret}}\n",
    )
    .unwrap();
    let text = "relations: relations.yaml
health:
  progressing_grace: 2m30s
  unschedulable_grace: 10m
  unreported_grace: 0s
  ignore:
    - kind: Job.batch
    - {kind: Pod, labels: 'tier in (debug,canary)'}
";
    let config = parse(text, &folder.path().join("strandline.yaml")).unwrap();
    assert_eq!(config.rules.progressing_grace, std::time::Duration::from_secs(150));
    let patience = config.rules.patience;
    assert_eq!(patience.unschedulable, Some(std::time::Duration::from_secs(600)));
    assert!(patience.unreported.is_zero());
    for off in ["never", "0s"] {
        let text = format!("health: {{unschedulable_grace: {off}}}");
        assert_eq!(parse(&text, Path::new("x")).unwrap().rules.patience.unschedulable, None, "{off}");
    }
    assert!(!config.rules.relations.is_empty());
    let label = |name: &str| (name == "tier").then_some("debug");
    assert!(!config.rules.counts(&strandline_model::Kind::new("", "Pod"), label));
    assert!(config.rules.counts(&strandline_model::Kind::new("apps", "Deployment"), label));
    assert_eq!(parse("{}", Path::new("x")).unwrap().rules, strandline_view::ruleset::RuleSet::default());
}

#[test]
fn rules_that_are_none_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.yaml"), "relations:\n  - {name: a, edge: owned}\n").unwrap();
    let cases = [
        ("health: {progressing_grace: soon}", "1:29: invalid duration `soon`"),
        ("health: {unschedulable_grace: no}", "1:31: invalid duration `no`"),
        ("health: {unreported_grace: never}", "1:28: invalid duration `never`"),
        ("health: {ignore: [{}]}", "1:19: an entry of `ignore` has neither `kind` nor `labels`"),
        ("health: {ignore: [{kind: pods}]}", "invalid kind `pods`"),
        ("health: {ignore: [{labels: 'a b'}]}", "found `b`"),
        ("health: {grace: 1m}", "1:10: unknown key"),
        ("relations: none.yaml", "none.yaml cannot be read"),
        ("relations: bad.yaml", "bad.yaml:2:"),
    ];
    for (text, expected) in cases {
        let reported = parse(text, &folder.path().join("strandline.yaml")).unwrap_err().to_string();
        assert!(reported.contains(expected), "{text}: {reported}");
    }
}

#[test]
fn kinds_and_labels_are_checked() {
    check(
        "clusters: [{name: one, include: [Pod, pods], exclude: ['*.']}]\n",
        &[
            "1:39: invalid kind `pods`; write Kind, Kind.group or *.group",
            "1:56: invalid kind `*.`; write Kind, Kind.group or *.group",
        ],
        Some("such as Secret, Lease.coordination.k8s.io or *.metrics.k8s.io"),
    );
    let hint = Some("write it as for `kubectl get -l`, such as \"app=web,tier!=test\"");
    let wrong = "expected one of =, ==, !=, in and notin, found `>`";
    for (labels, column) in [("a,b>1", 16), ("'a,b>1'", 17), ("\"a,b>1\"", 17), ("\"\\x61,b>1\"", 13)] {
        let text = format!("clusters:\n- name: one\n  labels:   {labels}\n");
        check(&text, &[&format!("3:{column}: {wrong}")], hint);
    }
}

#[test]
fn relations_are_read_from_a_file_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("relations.yaml");
    let missing = read_relations(&path).unwrap_err();
    assert_eq!(missing.hint().as_deref(), Some("set the file with --relations"));
    std::fs::write(&path, "relations: [{name: a, path: b}]").unwrap();
    let mistaken = read_relations(&path).unwrap_err().to_string();
    assert!(mistaken.starts_with(&format!("{}:1:", path.display())), "{mistaken}");
    std::fs::write(&path, "relations: []").unwrap();
    assert!(read_relations(&path).unwrap().is_empty());
}
