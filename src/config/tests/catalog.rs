//! Inventories, agents, projects and views.

use super::*;

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
    let reported: Vec<String> = config
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
        reported,
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
        &["3:59: `HelmRelease/web` has no namespace"],
        Some(
            "write the full path, such as kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/app",
        ),
    );
    check(
        &with("cluster: one, inventory: x, flux_resource_path: Kustomization/a, namespace: n"),
        &["3:50: `inventory` and `flux_resource_path` are mutually exclusive"],
        Some("remove one of them"),
    );
    check(
        &with("inventory: x, targets: [{cluster: one, namespace: n}]"),
        &["3:36: `inventory` has no effect here"],
        Some("give each of the `targets` its own `inventory`"),
    );
    check(
        &with("targets: [{cluster: one}]"),
        &["3:45: the key `namespace` is missing"],
        Some("it is optional only with an `inventory`"),
    );
    check(
        &with("inventory: x"),
        &[
            "3:22: an environment needs a `cluster` and a `namespace`, or `targets`",
            "3:36: `inventory` has no effect here",
        ],
        Some("with an `inventory`, `namespace` is optional"),
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
    let led = |config: &Config| -> Vec<String> {
        let clusters = config.agent_folders[0].clusters.iter();
        clusters.map(|(agent, cluster)| format!("{agent} to {cluster}")).collect()
    };
    assert_eq!(led(&config), ["production to us"], "whoever names a file names no cluster");
    let by_name = text.replace("path: ./agents,", "path: ./agents, clusters_by_name: true,");
    assert_eq!(led(&read(&by_name).unwrap()), ["eu to eu", "production to us", "us to us"]);
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
        Some("set `path` to a checkout with .gitlab/agents, or list agents under `clusters`"),
    );
    check(
        &format!("{CLUSTER}agents:\n  - {{project: a/b, clusters_by_name: true, clusters: {{c: one}}}}\n"),
        &["3:38: `clusters_by_name` has no effect without `path`"],
        Some("it applies to agents whose files are in a checkout"),
    );
    check(
        &format!("{CLUSTER}agents:\n  - {{project: '/ops', clusters: {{production: two}}}}\n"),
        &["3:15: invalid project path `/ops`", "3:46: no cluster `two`"],
        Some("use its full path, such as shop/web"),
    );
    check(
        &format!(
            "{CLUSTER}projects:\n  - {{path: a/b, id: 1}}\n  - {{path: a/b, id: 2}}\n  - {{path: a/c, id: 1}}\n"
        ),
        &[
            "4:12: duplicate project `a/b`, first in line 3",
            "5:12: the projects `a/b` and `a/c` have the same `id`",
        ],
        Some("the label app.gitlab.com/project_id cannot distinguish their resources"),
    );
    let with = |rest: &str| format!("{CLUSTER}environments:\n  - {{project: a, name: b, {rest}}}\n");
    check(
        &with("cluster: one, agent: 'a/b:c', namespace: x"),
        &["3:48: a target has either a `cluster` or an `agent`"],
        Some("remove one of them"),
    );
    check(
        &with("agent: 'a/b', namespace: x"),
        &["3:34: invalid agent `a/b`; write path/to/project:agent-name"],
        None,
    );
    check(
        &with("cluster: one, namespace: x, state: paused"),
        &["3:62: invalid environment state `paused`; use one of available, stopping, stopped"],
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
    let views = read(text).unwrap().presentation.views;
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
            "2:11: invalid view name `a b`",
            "3:33: invalid tier `prod`; use one of production, staging, testing, development, other",
            "4:12: duplicate view `one`, first in line 3",
            "4:41: cannot group by `moon`; use one of tier, region, project, group, cluster, agent, health, state, \
             label:NAME",
            "5:28: `group_by`: `tier` is repeated",
            "5:57: invalid name pattern `a[`: unclosed `[`",
            "6:39: expected one of =, ==, !=, in and notin, found `b`",
        ],
        Some("use letters, digits, `-`, `_` and `.`"),
    );
    check("views: [{title: x}]\n", &["1:10: the key `name` is missing"], None);
}
