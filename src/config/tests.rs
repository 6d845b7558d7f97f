//! Configurations, good and bad, with the exact words they are answered with.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod tokens;

use super::*;
use crate::model::{EnvironmentState, Tier};

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
    assert_eq!(config.clusters[1].watchers[0].access, ClusterAccess::Kubeconfig { path, context: None });
    assert_eq!(config.clusters[2].watchers[0].access, ClusterAccess::InCluster);
    assert!(config.clusters.iter().all(|cluster| cluster.watchers.len() == 1 && cluster.labels.is_empty()));
    let told: Vec<_> =
        config.environments.iter().map(|e| (e.id.as_str(), e.tier, e.region.as_str())).collect();
    assert_eq!(
        told,
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
    check("lissten: x\n", &["1:1: unknown key `lissten`"], Some("did you mean `listen`?"));
    check(
        "clusters:\n  - name: one\n    regoin: eu\n",
        &["3:5: unknown key `regoin`"],
        Some("did you mean `region`?"),
    );
    check(
        "clusters:\n  - name: one\n    entirely_else: eu\n",
        &["3:5: unknown key `entirely_else`"],
        Some(
            "the keys here are name, region, context, kubeconfig, in_cluster, url, namespaces, allow_exec_plugins, \
             watchers, include, exclude, exclude_namespaces, labels",
        ),
    );
    let error = read("clusters:\n  - region: eu\n").unwrap_err().to_string();
    assert!(error.contains("the key `name` is missing"), "{error}");
    assert!(read("clusters: 7\n").is_err() && read("{").is_err() && read("listen: [1]").is_err());
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
            "1:9: `nowhere` is not an address and port such as 127.0.0.1:7979",
            "4:34: there is no cluster `oen`",
            "5:22: the environment `a.b` stands in line 4 already",
            "5:50: `Not_One` is not a namespace",
            "6:31: `prod` is not a tier; it is one of production, staging, testing, development, other",
            "7:22: the key `namespace` is missing",
        ],
        Some("did you mean `one`?"),
    );
}

#[test]
fn a_cluster_is_reached_in_one_way() {
    check(
        "clusters: [{name: one, url: 'http://x', context: y}]\n",
        &["1:19: the cluster `one` is to be reached in several ways"],
        Some("keep one of `context` (with `kubeconfig`), `in_cluster` and `url`"),
    );
    check(
        "clusters: [{name: one, url: 'ftp://x'}]\n",
        &["1:29: `ftp://x` is not an http or https address"],
        None,
    );
    check(
        "clusters: [{name: one}, {name: one}, {name: 'a b'}]\n",
        &["1:32: the cluster `one` stands in line 1 already", "1:45: `a b` is not a name for a cluster"],
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
        &["3:22: `labels` speak of nothing here"],
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
    let kubeconfig = |file: &str, context: Option<&str>| ClusterAccess::Kubeconfig {
        path: Some(Path::new("/etc/strandline").join(file)),
        context: context.map(str::to_owned),
    };
    let watcher = |access, allow_exec_plugins, namespaces: &[&str]| WatcherConfig {
        access,
        allow_exec_plugins,
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
    assert_eq!(texts(&cluster.include), ["Lease.coordination.k8s.io"]);
    assert_eq!(texts(&cluster.exclude), ["*.metrics.k8s.io", "Secret"]);
    assert_eq!(cluster.labels.to_string(), "app.gitlab.com/project_id,tier!=test");
    assert_eq!(cluster.exclude_namespaces, ["kube-system", "shared"]);
    let watched = ["team-a", "shared", "any", "kube-system"].map(|namespace| cluster.watches(namespace));
    assert_eq!(watched, [true, true, true, false]);
}

#[test]
fn watchers_and_keys_of_the_cluster_exclude_each_other() {
    check(
        "clusters: [{name: one, namespaces: [a], watchers: [{context: b}]}]\n",
        &["1:19: the cluster `one` has `watchers` and a `namespaces` of its own"],
        Some("move `namespaces` to one of the `watchers`"),
    );
    check(
        "clusters: [{name: one, watchers: [{context: b, in_cluster: true}]}]\n",
        &["1:35: a watcher of the cluster `one` is to be reached in several ways"],
        Some("keep one of `context` (with `kubeconfig`), `in_cluster` and `url`"),
    );
    check(
        "clusters: [{name: one, watchers: [{contxt: b}]}]\n",
        &["1:36: unknown key `contxt`"],
        Some("did you mean `context`?"),
    );
}

#[test]
fn nothing_is_watched_twice() {
    check(
        "clusters:\n- name: one\n  watchers:\n  - namespaces: [a]\n  - namespaces: [b, a]\n  - context: x\n  - context: y\n",
        &[
            "5:21: the namespace `a` stands in line 4 already",
            "7:5: the watcher in line 6 watches the whole cluster already",
        ],
        Some("each namespace is watched once"),
    );
}

#[test]
fn what_is_left_out_must_be_there_to_be_left_out() {
    check(
        "clusters: [{name: one, namespaces: [a], exclude_namespaces: [b]}]\n",
        &["1:62: `exclude_namespaces` speaks of nothing: only some namespaces are watched"],
        Some("remove it, or let a watcher without `namespaces` watch the whole cluster"),
    );
    check(
        "clusters: [{name: one, exclude_namespaces: [a]}]\nenvironments:\n\
         - {project: x, name: y, cluster: one, namespace: a}\n",
        &["3:50: the namespace `a` of cluster `one` is not watched"],
        Some("take it out of the cluster's `exclude_namespaces`"),
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
  ignore:
    - kind: Job.batch
    - {kind: Pod, labels: 'tier in (debug,canary)'}
";
    let config = parse(text, &folder.path().join("strandline.yaml")).unwrap();
    assert_eq!(config.rules.progressing_grace, std::time::Duration::from_secs(150));
    assert!(!config.rules.relations.is_empty());
    let label = |name: &str| (name == "tier").then_some("debug");
    assert!(!config.rules.counts(&crate::model::Kind::new("", "Pod"), label));
    assert!(config.rules.counts(&crate::model::Kind::new("apps", "Deployment"), label));
    assert_eq!(parse("{}", Path::new("x")).unwrap().rules, crate::ruleset::RuleSet::default());
}

#[test]
fn rules_that_are_none_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.yaml"), "relations:\n  - {name: a, edge: owned}\n").unwrap();
    let cases = [
        ("health: {progressing_grace: soon}", "1:29: `soon` is not a duration"),
        ("health: {ignore: [{}]}", "1:19: an entry of `ignore` has neither `kind` nor `labels`"),
        ("health: {ignore: [{kind: pods}]}", "`pods` is not a kind"),
        ("health: {ignore: [{labels: 'a b'}]}", "`b` is not one of"),
        ("health: {grace: 1m}", "unknown key `grace`"),
        ("relations: none.yaml", "none.yaml cannot be read"),
        ("relations: bad.yaml", "bad.yaml:2:"),
    ];
    for (text, expected) in cases {
        let told = parse(text, &folder.path().join("strandline.yaml")).unwrap_err().to_string();
        assert!(told.contains(expected), "{text}: {told}");
    }
}

#[test]
fn kinds_and_labels_are_checked() {
    check(
        "clusters: [{name: one, include: [Pod, pods], exclude: ['*.']}]\n",
        &[
            "1:39: `pods` is not a kind; write Kind, Kind.group or *.group",
            "1:56: `*.` is not a kind; write Kind, Kind.group or *.group",
        ],
        Some("such as Secret, Lease.coordination.k8s.io or *.metrics.k8s.io"),
    );
    let hint = Some("write it as for `kubectl get -l`, such as \"app=web,tier!=test\"");
    let wrong = "`>` is not one of =, ==, !=, in and notin";
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
    assert_eq!(missing.hint().as_deref(), Some("name the file with --relations"));
    std::fs::write(&path, "relations: [{name: a, path: b}]").unwrap();
    let mistaken = read_relations(&path).unwrap_err().to_string();
    assert!(mistaken.starts_with(&format!("{}:1:", path.display())), "{mistaken}");
    std::fs::write(&path, "relations: []").unwrap();
    assert!(read_relations(&path).unwrap().is_empty());
}

#[test]
fn an_inventory_takes_the_place_of_labels_and_of_the_namespace() {
    let text = format!(
        "{CLUSTER}projects:\n  - {{path: shop/web, id: 42}}\nenvironments:\n\
         - {{project: shop/web, name: a, cluster: one, inventory: shop-1}}\n\
         - {{project: shop/web, name: b, cluster: one, namespace: x, inventory: 'argocd:team/shop', labels: {{a: b}}}}\n\
         - {{project: shop/web, name: c, targets: [{{cluster: one, inventory: 'helm:x/web'}}, {{cluster: one, namespace: x}}]}}\n\
         - {{project: shop/web, name: d, cluster: one, namespace: x, flux_resource_path: HelmRelease/web}}\n\
         - {{project: shop/web, name: e, cluster: one, \
             flux_resource_path: kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/app}}\n"
    );
    let config = read(&text).unwrap();
    let told: Vec<String> = config
        .environments
        .iter()
        .flat_map(|environment| &environment.targets)
        .map(|target| {
            let inventory = target.inventory.as_ref().map(ToString::to_string).unwrap_or_default();
            format!(
                "{}/{} {} {inventory}",
                target.cluster,
                target.namespace,
                target.labels.as_ref().map_or(0, |labels| labels.len())
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "one/ 0 cli-utils:shop-1",
            "one/x 1 argocd:team_shop",
            "one/ 0 helm:x/web",
            "one/x 0 ",
            "one/x 0 flux-helmrelease:x/web",
            "one/ 0 flux-kustomization:flux-system/app",
        ]
    );
}

#[test]
fn a_wrong_inventory_is_told_with_its_place() {
    let with =
        |environment: &str| format!("{CLUSTER}environments:\n- {{project: a, name: b, {environment}}}\n");
    check(
        &with("cluster: one, inventory: 'argo:x'"),
        &["3:50: `argo:x` is not an inventory"],
        Some(
            "write cli-utils:ID, flux-kustomization:NAMESPACE/NAME, flux-helmrelease:NAMESPACE/NAME, argocd:APP or \
             helm:NAMESPACE/RELEASE",
        ),
    );
    check(
        &with("cluster: one, flux_resource_path: HelmRelease/web"),
        &["3:59: `HelmRelease/web` does not say in which namespace it is"],
        Some(
            "write the whole path, such as kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/app",
        ),
    );
    check(
        &with("cluster: one, inventory: x, flux_resource_path: Kustomization/a, namespace: n"),
        &["3:50: `inventory` and `flux_resource_path` both say whose the resources are"],
        Some("keep one of them"),
    );
    check(
        &with("inventory: x, targets: [{cluster: one, namespace: n}]"),
        &["3:36: `inventory` speaks of nothing here"],
        Some("give each of the `targets` its own `inventory`"),
    );
    check(
        &with("targets: [{cluster: one}]"),
        &["3:45: the key `namespace` is missing"],
        Some("only what has an `inventory` is found without one"),
    );
    check(
        &with("inventory: x"),
        &[
            "3:22: an environment needs a `cluster` and a `namespace`, or `targets`",
            "3:36: `inventory` speaks of nothing here",
        ],
        Some("with an `inventory` the `namespace` may be left out"),
    );
}

#[test]
fn agents_come_from_folders_or_by_name_and_connect_to_clusters() {
    let text = "
clusters:
  - {name: us, context: us}
  - {name: eu, context: eu}
projects:
  - {path: shop/web, id: 42, default_branch: main, labels: {team: shop}}
agents:
  - {project: ops/agents, path: ./agents, clusters: {production: us}}
  - {project: ops/other, clusters: {staging: eu}}
environments:
  - {project: shop/web, name: production}
  - {project: shop/web, name: staging, agent: 'ops/other:staging', namespace: web, state: stopped,
     metadata: {labels: {criticality: high}}, external_url: 'https://web.example.com', dynamic: true,
     auto_stop_at: '2026-12-01T00:00:00Z'}
";
    let config = read(text).unwrap();
    let folder = &config.agent_folders[0];
    assert_eq!(
        (folder.project.as_str(), folder.path.as_path()),
        ("ops/agents", Path::new("/etc/strandline/./agents"))
    );
    let clusters: Vec<_> =
        folder.clusters.iter().map(|(agent, cluster)| (agent.as_str(), cluster.as_str())).collect();
    assert_eq!(
        clusters,
        [("eu", "eu"), ("production", "us"), ("us", "us")],
        "else the cluster of the same name"
    );
    let agent = &config.agents[0];
    assert_eq!((agent.id.to_string().as_str(), agent.cluster.as_str()), ("ops/other:staging", "eu"));
    assert!(config.environments[0].targets.is_empty(), "deployments will tell");
    let staging = &config.environments[1];
    assert_eq!(
        staging.targets[0].agent.as_ref().map(ToString::to_string).as_deref(),
        Some("ops/other:staging")
    );
    assert_eq!((staging.state, staging.settings.dynamic), (EnvironmentState::Stopped, true));
    assert_eq!(staging.labels.get("criticality").map(String::as_str), Some("high"));
    let facts: Vec<_> =
        config.catalog().iter().map(|fact| format!("{} {}", fact.kind(), fact.name())).collect();
    assert_eq!(
        facts,
        [
            "cluster us",
            "cluster eu",
            "project shop/web",
            "agent ops/other:staging",
            "environment shop.web.production",
            "environment shop.web.staging",
        ]
    );
}

#[test]
fn what_is_wrong_with_agents_and_projects_is_told_with_its_place() {
    check(
        &format!("{CLUSTER}agents:\n  - {{project: ops/agents}}\n"),
        &["3:15: an entry of `agents` needs a `path` or `clusters`"],
        Some("`path` is a checkout with .gitlab/agents; `clusters` names agents"),
    );
    check(
        &format!("{CLUSTER}agents:\n  - {{project: '/ops', clusters: {{production: two}}}}\n"),
        &["3:15: `/ops` is not the path of a project", "3:46: there is no cluster `two`"],
        Some("write its full path, such as shop/web"),
    );
    check(
        &format!(
            "{CLUSTER}projects:\n  - {{path: a/b, id: 1}}\n  - {{path: a/b, id: 2}}\n  - {{path: a/c, id: 1}}\n"
        ),
        &[
            "4:12: the project `a/b` stands in line 3 already",
            "5:12: the projects `a/b` and `a/c` have the same `id`",
        ],
        Some("the label app.gitlab.com/project_id could not tell their resources apart"),
    );
    let with = |rest: &str| format!("{CLUSTER}environments:\n  - {{project: a, name: b, {rest}}}\n");
    check(
        &with("cluster: one, agent: 'a/b:c', namespace: x"),
        &["3:48: a target has either a `cluster` or an `agent`, which tells its cluster"],
        Some("keep one of them"),
    );
    check(
        &with("agent: 'a/b', namespace: x"),
        &["3:34: `a/b` is not an agent, which is written as path/to/project:agent-name"],
        None,
    );
    check(
        &with("cluster: one, namespace: x, state: paused"),
        &["3:62: `paused` is not a state of environments; it is one of available, stopping, stopped"],
        None,
    );
}

#[test]
fn views_are_read_and_every_mistake_in_them_has_its_line() {
    let text = "
views:
  - name: production-by-region
    title: Production by region
    filter: {tier: [production], labels: \"team=payments\", group: [shop], name: ['production/*'], state: [stopped]}
    group_by: [region, 'label:team']
  - {name: all}
";
    let views = read(text).unwrap().views;
    assert_eq!((views[0].title.as_str(), views[1].title.as_str()), ("Production by region", "all"));
    assert_eq!(views[0].filter.tiers, [Tier::Production]);
    assert_eq!(views[0].filter.labels.to_string(), "team=payments");
    assert_eq!(
        views[0].group_by.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["region", "label:team"]
    );
    assert_eq!(views[1].filter, Default::default());
    check(
        "views:
  - name: a b
  - {name: one, filter: {tier: [prod]}}
  - {name: one, group_by: [tier, state, moon]}
  - {name: two, group_by: [tier, tier], filter: {name: ['a[']}}
  - {name: three, filter: {labels: 'a b'}}
",
        &[
            "2:11: `a b` is not a name for a view",
            "3:33: `prod` is not a tier; it is one of production, staging, testing, development, other",
            "4:12: the view `one` stands in line 3 already",
            "4:41: `moon` is not what environments can be grouped by; it is one of tier, region, project, group, \
             cluster, agent, health, state, label:NAME",
            "5:28: `group_by`: `tier` is given twice",
            "5:57: `a[` is not a pattern for names: a `[` is never closed",
            "6:39: `b` is not one of =, ==, !=, in and notin",
        ],
        Some("use letters, digits, `-`, `_` and `.`"),
    );
    check("views: [{title: x}]\n", &["1:10: the key `name` is missing"], None);
}
