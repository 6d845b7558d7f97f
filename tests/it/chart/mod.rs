//! The Helm chart and the plain manifests: what is rendered is what the program and a cluster accept.

mod helm;
mod image;
mod release;

use std::path::Path;

use strandline::config::parse;
use strandline_watch::ClusterAccess;

use crate::checkout::read;
use crate::server::Result;
use helm::{Helm, skip_without_helm};

/// A token's entry; the hash is of no token.
const TOKEN: &str =
    "config.access.tokens[0].hash=sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9";
const OF_ALL: [&str; 2] = ["config.access.tokens[0].name=admins", "config.access.tokens[0].everything=true"];

/// Values under which the chart makes all that it can make, and as little as it can.
const VALUES: [(&str, &[&str]); 8] = [
    ("defaults", &[]),
    (
        "everything",
        &[
            TOKEN,
            OF_ALL[0],
            OF_ALL[1],
            "config.hosts={strandline.example.com}",
            "ingress.enabled=true",
            "ingress.hosts[0].host=strandline.example.com",
            "httpRoute.enabled=true",
            "httpRoute.parentRefs[0].name=public",
            "metrics.serviceMonitor.enabled=true",
            "metrics.serviceMonitor.tokenSecret.name=strandline-metrics",
            "metrics.prometheusRule.enabled=true",
            "metrics.prometheusRule.disabled={StrandlineBackupOld}",
            "metrics.dashboards.enabled=true",
            "podDisruptionBudget.enabled=true",
            "networkPolicy.from[0].namespaceSelector.matchLabels.name=ingress",
            "rbac.secrets=true",
            "rbac.customGroups={argoproj.io}",
            "inCluster.excludeNamespaces={kube-node-lease}",
            "config.retention.age=7d",
        ],
    ),
    ("namespaces", &["rbac.clusterWide=false", "rbac.namespaces={default,kube-public}"]),
    ("own configuration", &["existingConfigSecret=strandline-config"]),
    ("kubeconfigs", &["kubeconfigs.existingSecret=fleet", "kubeconfigs.settings.region=eu"]),
    (
        "hub",
        &[
            "rbac.hubNamespaces={default}",
            "rbac.hubClusterProfiles={default,kube-public}",
            "rbac.hubManagedServiceAccounts={strandline}",
            "config.hubs[0].name=fleet",
            "config.hubs[0].source=cluster_api",
            "config.hubs[0].namespace=default",
            "config.hubs[0].in_cluster=true",
        ],
    ),
    ("no volume", &["persistence.enabled=false", "networkPolicy.enabled=false", "inCluster.project="]),
    ("names", &["fullnameOverride=records", "serviceAccount.name=reader", "persistence.existingClaim=data"]),
];

/// A text in a block of a manifest, without its indent.
fn block(rendered: &str, head: &str) -> Option<String> {
    let (_, rest) = rendered.split_once(head)?;
    let lines = rest.lines().skip(1).map_while(|line| line.strip_prefix("    "));
    Some(lines.map(|line| format!("{line}\n")).collect())
}

#[tokio::test]
async fn the_plain_manifests_are_what_the_chart_makes_of_its_defaults() -> Result<()> {
    if skip_without_helm("the_plain_manifests_are_what_the_chart_makes_of_its_defaults") {
        return Ok(());
    }
    let rendered = Helm::new()?.render().await?;
    let kept = read("deploy/manifests/strandline.yaml");
    assert!(
        rendered == kept,
        "run `just manifests`: deploy/manifests/strandline.yaml is not what deploy/render prints"
    );
    Ok(())
}

#[tokio::test]
async fn the_server_reads_the_configuration_that_the_chart_writes() -> Result<()> {
    if skip_without_helm("the_server_reads_the_configuration_that_the_chart_writes") {
        return Ok(());
    }
    let (helm, folder) = (Helm::new()?, tempfile::tempdir()?);
    std::fs::write(folder.path().join("eu-1.yaml"), "")?;
    helm.run(&["lint", "--strict", &helm.chart()]).await?;
    for (name, values) in VALUES {
        let rendered = helm.template("here", values).await?;
        let Some(text) = block(&rendered, "strandline.yaml: |") else {
            assert_eq!(name, "own configuration", "{rendered}");
            continue;
        };
        // Where the Secret is mounted.
        let text = text.replace("/etc/strandline-kubeconfigs", &folder.path().display().to_string());
        let config =
            parse(&text, Path::new("strandline.yaml")).map_err(|error| format!("{name}: {error}"))?;
        let [cluster, of_secret @ ..] = config.clusters.as_slice() else {
            return Err(format!("{name}: {text}").into());
        };
        let of_secret: Vec<_> = of_secret.iter().map(|of| (of.name.as_str(), of.region.as_str())).collect();
        let expected: &[_] = if name == "kubeconfigs" { &[("eu-1", "eu")] } else { &[] };
        assert_eq!(of_secret, expected, "{name}");
        assert_eq!(rendered.contains("mountPath: /etc/strandline-kubeconfigs"), name == "kubeconfigs");
        assert_eq!(cluster.watchers[0].connect.access, ClusterAccess::InCluster, "{name}");
        let secrets = cluster.selection.exclude.iter().any(|kind| kind.to_string() == "Secret");
        assert_eq!(secrets, name != "everything", "{name}: Secrets are left out unless they are asked for");
        assert_eq!(cluster.namespace_environments.is_some(), name != "no volume", "{name}");
        let namespaces: &[&str] = if name == "namespaces" { &["default", "kube-public"] } else { &[] };
        assert_eq!(cluster.watchers[0].namespaces, namespaces, "{name}");
        // What can be reached from elsewhere asks for a token.
        let exposed = rendered.contains("--listen=0.0.0.0:7979");
        assert_eq!(exposed, !config.access.tokens.is_empty(), "{name}");
        assert_eq!(rendered.contains("exec: {command: [/strandline, probe"), !exposed, "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn values_that_cannot_work_are_refused_with_what_to_do() -> Result<()> {
    if skip_without_helm("values_that_cannot_work_are_refused_with_what_to_do") {
        return Ok(());
    }
    let helm = Helm::new()?;
    let refused: [(&[&str], &str); 12] = [
        (
            &["kubeconfigs.existingSecret=fleet", "kubeconfigs.settings.path=/tmp"],
            "`kubeconfigs.settings.path` is set by the chart",
        ),
        (&["ingress.enabled=true"], "`ingress.enabled` needs `config.access.tokens`"),
        (&["httpRoute.enabled=true"], "`httpRoute.enabled` needs `config.access.tokens`"),
        (
            &["metrics.serviceMonitor.enabled=true"],
            "`metrics.serviceMonitor.enabled` needs `config.access.tokens`",
        ),
        (&["exposed=true"], "`exposed: true` needs `config.access.tokens`"),
        (&["rbac.clusterWide=false"], "`rbac.clusterWide: false` needs `rbac.namespaces`"),
        (&["replicas=2"], "additional properties 'replicas' not allowed"),
        (&["config.data=/tmp"], "at '/config'"),
        (&["image.digest=latest"], "at '/image/digest'"),
        (&["rbac.clusterWide=false", "rbac.namespaces={A_B}"], "at '/rbac/namespaces/0'"),
        (&["rbac.hubClusterProfiles={A_B}"], "at '/rbac/hubClusterProfiles/0'"),
        (&["rbac.hubManagedServiceAccounts={*}"], "at '/rbac/hubManagedServiceAccounts/0'"),
    ];
    for (values, reason) in refused {
        let error =
            helm.template("here", values).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(reason), "{values:?}: {error}");
    }
    Ok(())
}

/// A hub in the Pod's own cluster is read with the Pod's account, also where nothing else of that cluster is.
#[tokio::test]
async fn a_pod_that_may_read_a_hub_has_its_token() -> Result<()> {
    if skip_without_helm("a_pod_that_may_read_a_hub_has_its_token") {
        return Ok(());
    }
    let helm = Helm::new()?;
    for (hub, has) in [
        ("rbac.create=true", false),
        ("rbac.hubNamespaces={default}", true),
        ("rbac.hubClusterProfiles={default}", true),
        ("rbac.hubManagedServiceAccounts={strandline}", true),
    ] {
        let rendered = helm.template("here", &["inCluster.enabled=false", hub]).await?;
        let set = rendered.split("\n---").find(|part| part.contains("kind: StatefulSet"));
        let set = set.ok_or("no StatefulSet")?;
        assert!(set.contains(&format!("automountServiceAccountToken: {has}\n")), "{hub}: {set}");
    }
    Ok(())
}

/// What the running server reads again takes no new Pod; everything else does.
#[tokio::test]
async fn only_a_change_that_the_server_does_not_read_restarts_it() -> Result<()> {
    if skip_without_helm("only_a_change_that_the_server_does_not_read_restarts_it") {
        return Ok(());
    }
    let helm = Helm::new()?;
    let pod = async |more: &[&str]| -> Result<String> {
        let rendered = helm.template("here", &[&[TOKEN, OF_ALL[0]], more].concat()).await?;
        let (_, set) = rendered.split_once("kind: StatefulSet").ok_or("no StatefulSet")?;
        Ok(set.split("\n---").next().unwrap_or_default().to_owned())
    };
    let before = pod(&[OF_ALL[1]]).await?;
    assert_eq!(pod(&["config.access.tokens[0].projects={shop/web}"]).await?, before);
    assert_eq!(pod(&[OF_ALL[1], "config.retention.age=7d"]).await?, before);
    assert_eq!(pod(&[OF_ALL[1], "config.quotas.agents=7"]).await?, before);
    assert_ne!(pod(&[OF_ALL[1], "config.redact.names={pin}"]).await?, before);
    Ok(())
}
