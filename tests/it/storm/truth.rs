//! What kubectl says of a whole cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use strandline_model::{Kind, ResourceKey, Uid};
use strandline_redact::identify;
use strandline_watch::Selection;

use crate::control_plane::harness::ControlPlane;
use crate::server::Result;

/// Every object of every kind that is followed, as kubectl prints it.
pub(super) struct Truth {
    pub(super) cluster: &'static str,
    /// What the cluster serves and Strandline follows.
    pub(super) kinds: BTreeSet<Kind>,
    pub(super) objects: BTreeMap<(ResourceKey, Uid), Box<RawValue>>,
}

impl Truth {
    pub(super) async fn of(cluster: &'static str, plane: &ControlPlane) -> Result<Self> {
        let served = served(plane).await?;
        let names: Vec<&str> = served.values().map(String::as_str).collect();
        // In one question: several hundred would take a minute.
        let printed = plane.kubectl(&["get", &names.join(","), "-A", "-o", "json"]).await?;
        let mut objects = BTreeMap::new();
        for raw in serde_json::from_str::<List>(&printed)?.items {
            let TypeMeta { api_version, kind } = serde_json::from_str(raw.get())?;
            let identity = identify(raw.get())?;
            let key = ResourceKey {
                cluster: cluster.to_owned(),
                kind: Kind::from_api_version(&api_version, &kind),
                namespace: identity.namespace,
                name: identity.name,
            };
            objects.insert((key, identity.uid), raw);
        }
        Ok(Truth { cluster, kinds: served.into_keys().collect(), objects })
    }
}

#[derive(Deserialize)]
struct List {
    items: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta {
    api_version: String,
    kind: String,
}

/// The kinds that can be listed and watched and are followed, with the names by which kubectl knows them.
async fn served(plane: &ControlPlane) -> Result<BTreeMap<Kind, String>> {
    // Asking for these also makes kubectl forget what it knew of kinds that have changed.
    let printed = plane.kubectl(&["api-resources", "--verbs=list,watch", "--no-headers"]).await?;
    let selection = Selection::default();
    let mut served = BTreeMap::new();
    for line in printed.lines() {
        // NAME SHORTNAMES APIVERSION NAMESPACED KIND, of which the second may be missing.
        let mut words = line.split_whitespace();
        let (plural, mut rest) = (words.next().ok_or("an empty line")?, words.rev());
        let (kind, _, version) = (rest.next(), rest.next(), rest.next());
        let kind = Kind::from_api_version(version.ok_or("no version")?, kind.ok_or("no kind")?);
        if selection.follows(&kind) && !kind.is_event() {
            let name =
                if kind.group.is_empty() { plural.to_owned() } else { format!("{plural}.{}", kind.group) };
            served.insert(kind, name);
        }
    }
    Ok(served)
}
