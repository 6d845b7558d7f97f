//! Discovery: what is served, in the aggregated and in the legacy form.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::kinds::ServedKind;
use super::shared::Shared;
use super::status::Status;

/// The content type of aggregated discovery.
pub(super) const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Kinds by group and version; the core group has no name.
type Groups = BTreeMap<String, BTreeMap<String, Vec<Arc<ServedKind>>>>;

fn groups(shared: &Shared) -> Groups {
    let mut groups = Groups::new();
    for kind in shared.state().kinds() {
        let versions = groups.entry(kind.kind.group.clone()).or_default();
        versions.entry(kind.version.clone()).or_default().push(Arc::clone(kind));
    }
    groups
}

/// `/api` or `/apis` in one document; a stale group names no resources, as when its server does not answer.
pub(super) fn aggregated(shared: &Shared, core: bool) -> Value {
    let stale = shared.stale_groups();
    let items =
        groups(shared).into_iter().filter(|(group, _)| group.is_empty() == core).map(|(group, versions)| {
            let stale = stale.contains(&group);
            let versions: Vec<Value> = versions
                .into_iter()
                .map(|(version, kinds)| {
                    let kinds = kinds.iter().filter(|_| !stale);
                    let resources: Vec<Value> = kinds.map(|kind| aggregated_resource(kind)).collect();
                    let freshness = if stale { "Stale" } else { "Current" };
                    json!({"version": version, "resources": resources, "freshness": freshness})
                })
                .collect();
            json!({"metadata": {"name": group, "creationTimestamp": Value::Null}, "versions": versions})
        });
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items.collect::<Vec<_>>(),
    })
}

fn aggregated_resource(kind: &ServedKind) -> Value {
    let mut resource = json!({
        "resource": kind.plural,
        "responseKind": {"group": kind.kind.group, "version": kind.version, "kind": kind.kind.kind},
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular(),
        "verbs": ["get", "list", "watch"],
    });
    if !kind.short_names.is_empty() {
        resource["shortNames"] = json!(kind.short_names);
    }
    resource
}

/// The legacy answer of `/api`.
pub(super) fn core_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// The legacy answer of `/apis`.
pub(super) fn group_list(shared: &Shared) -> Value {
    let groups = groups(shared);
    let groups = groups.iter().filter(|(group, _)| !group.is_empty());
    let groups: Vec<Value> = groups.map(|(group, versions)| describe_group(group, versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// The legacy answer of `/apis/<group>`.
pub(super) fn group(shared: &Shared, name: &str) -> Result<Value, Status> {
    let groups = groups(shared);
    let versions = groups.get(name).filter(|_| !name.is_empty()).ok_or_else(Status::unknown_path)?;
    let mut described = describe_group(name, versions);
    described["kind"] = "APIGroup".into();
    described["apiVersion"] = "v1".into();
    Ok(described)
}

fn describe_group(group: &str, versions: &BTreeMap<String, Vec<Arc<ServedKind>>>) -> Value {
    let describe =
        |version: &String| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let versions: Vec<Value> = versions.keys().map(describe).collect();
    json!({"name": group, "preferredVersion": versions.last(), "versions": versions})
}

/// The legacy answer of `/api/v1` and `/apis/<group>/<version>`; a stale group's server does not answer.
pub(super) fn resources(shared: &Shared, group: &str, version: &str) -> Result<Value, Status> {
    if shared.stale_groups().contains(group) {
        return Err(Status::refused(503, None));
    }
    let groups = groups(shared);
    let kinds =
        groups.get(group).and_then(|versions| versions.get(version)).ok_or_else(Status::unknown_path)?;
    let resources: Vec<Value> = kinds
        .iter()
        .map(|kind| {
            json!({
                "name": kind.plural,
                "singularName": kind.singular(),
                "namespaced": kind.namespaced,
                "kind": kind.kind.kind,
                "verbs": ["get", "list", "watch"],
                "shortNames": kind.short_names,
            })
        })
        .collect();
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Ok(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }))
}

/// The answer of `/version`.
pub(super) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": "v1.36.0-strandline-demo",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    })
}
