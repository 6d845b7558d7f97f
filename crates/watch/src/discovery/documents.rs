//! The documents of discovery, in both of their forms.

use futures_util::{StreamExt, stream};
use serde::Deserialize;

use super::resources::{GroupVersion, Resource};
use crate::limits::Limits;
use crate::request::{Failure, collect, get, get_text};
use strandline_model::Kind;
use strandline_syntax::diagnostics::of_json;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// All group versions below `/api` or `/apis`.
pub(super) async fn group_versions(
    client: &kube::Client,
    path: &str,
    limits: &Limits,
) -> Result<Vec<GroupVersion>, Failure> {
    let body = get(client, path, AGGREGATED, limits).await?;
    match parse_root(&collect(body, limits.page_bytes, limits.idle).await?)? {
        Root::Aggregated(versions) => Ok(versions),
        Root::Legacy(versions) => Ok(legacy(client, limits, versions).await),
    }
}

/// The document at `/api` or `/apis`: everything at once, or the names of group versions to ask for.
pub(super) enum Root {
    Aggregated(Vec<GroupVersion>),
    Legacy(Vec<(String, String)>),
}

pub(super) fn parse_root(text: &str) -> Result<Root, Failure> {
    #[derive(Deserialize)]
    struct Typed {
        #[serde(default)]
        kind: String,
    }
    let problem = |error| Failure::Invalid(format!("discovery that cannot be read: {}", of_json(&error)));
    let typed: Typed = serde_json::from_str(text).map_err(problem)?;
    match typed.kind.as_str() {
        "APIGroupDiscoveryList" => Ok(Root::Aggregated(aggregated(text).map_err(problem)?)),
        "APIVersions" => {
            let core: CoreVersions = serde_json::from_str(text).map_err(problem)?;
            Ok(Root::Legacy(core.versions.into_iter().map(|version| (String::new(), version)).collect()))
        }
        "APIGroupList" => {
            let list: GroupList = serde_json::from_str(text).map_err(problem)?;
            Ok(Root::Legacy(
                list.groups.unwrap_or_default().into_iter().flat_map(GroupEntry::in_order).collect(),
            ))
        }
        other => Err(Failure::Invalid(format!("discovery answered with a `{other}`"))),
    }
}

#[derive(Deserialize)]
struct CoreVersions {
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    groups: Option<Vec<GroupEntry>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupEntry {
    name: String,
    #[serde(default)]
    versions: Vec<VersionEntry>,
    preferred_version: Option<VersionEntry>,
}

#[derive(Deserialize)]
struct VersionEntry {
    version: String,
}

impl GroupEntry {
    /// The group's versions, the preferred one first.
    fn in_order(self) -> Vec<(String, String)> {
        let preferred = self.preferred_version.map(|preferred| preferred.version);
        let mut versions: Vec<String> = self.versions.into_iter().map(|entry| entry.version).collect();
        versions.sort_by_key(|version| Some(version) != preferred.as_ref());
        versions.into_iter().map(|version| (self.name.clone(), version)).collect()
    }
}

fn aggregated(text: &str) -> Result<Vec<GroupVersion>, serde_json::Error> {
    let list: kube::client::APIGroupDiscoveryList = serde_json::from_str(text)?;
    let mut versions = Vec::new();
    for group in list.items {
        let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
        for version in group.versions {
            let stale = version.freshness.as_deref() == Some("Stale");
            let resources = version.resources.into_iter().filter_map(|resource| {
                let kind = resource.response_kind?;
                let own = kind.group.filter(|group| !group.is_empty());
                Some(Resource {
                    kind: Kind::new(
                        own.unwrap_or_else(|| name.clone()),
                        kind.kind.filter(|kind| !kind.is_empty())?,
                    ),
                    plural: resource.resource?,
                    namespaced: resource.scope.as_deref() == Some("Namespaced"),
                    verbs: resource.verbs,
                })
            });
            versions.push(GroupVersion {
                resources: resources.collect(),
                problem: stale.then(|| "the cluster itself cannot reach the group's server".to_owned()),
                group: name.clone(),
                version: version.version.unwrap_or_default(),
            });
        }
    }
    Ok(versions)
}

/// Asks for each group version by itself, as older clusters want it.
async fn legacy(
    client: &kube::Client,
    limits: &Limits,
    versions: Vec<(String, String)>,
) -> Vec<GroupVersion> {
    let ask = |(group, version): (String, String)| async move {
        let path =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let answer = match get_text(client, &path, limits).await {
            Ok(text) => resources(&group, &text)
                .map_err(|error| format!("an answer that cannot be read: {}", of_json(&error))),
            Err(failure) => Err(failure.to_string()),
        };
        match answer {
            Ok(resources) => GroupVersion { group, version, problem: None, resources },
            Err(problem) => GroupVersion { group, version, problem: Some(problem), resources: Vec::new() },
        }
    };
    stream::iter(versions).map(ask).buffered(4).collect().await
}

pub(super) fn resources(group: &str, text: &str) -> Result<Vec<Resource>, serde_json::Error> {
    #[derive(Deserialize)]
    struct List {
        resources: Option<Vec<Entry>>,
    }
    #[derive(Deserialize)]
    struct Entry {
        name: String,
        kind: String,
        #[serde(default)]
        group: String,
        #[serde(default)]
        namespaced: bool,
        #[serde(default)]
        verbs: Vec<String>,
    }
    let list: List = serde_json::from_str(text)?;
    let resource = |entry: Entry| Resource {
        kind: Kind::new(if entry.group.is_empty() { group } else { &entry.group }, entry.kind),
        plural: entry.name,
        namespaced: entry.namespaced,
        verbs: entry.verbs,
    };
    Ok(list.resources.unwrap_or_default().into_iter().map(resource).collect())
}
