//! Custom kinds of a cluster, and what becomes of each.

use serde_json::{Value, json};
use strandline_model::Kind;

use super::NAMESPACES;
use crate::control_plane::harness::ControlPlane;
use crate::server::Result;

/// Instances of each kind.
const INSTANCES: usize = 3;
/// Groups over which the kinds are spread, so that one vanishes while its neighbours stay.
const GROUPS: usize = 4;
/// Kinds that go through the storm together: one of each fate.
const TOGETHER: usize = Fate::ALL.len();

/// When something is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Before,
    InTheStorm,
    /// While nobody watches.
    Unwatched,
}

/// What becomes of a kind in the storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Its instances change.
    Stays,
    /// It is removed with its instances.
    Removed,
    /// It is removed and created again as it was.
    Again,
    /// It comes back in another version.
    OtherVersion,
    /// It comes back with instances outside of namespaces.
    OtherScope,
}

impl Fate {
    const ALL: [Fate; 5] = [Fate::Stays, Fate::Removed, Fate::Again, Fate::OtherVersion, Fate::OtherScope];
}

/// A custom kind.
pub(super) struct CustomKind {
    n: usize,
    fate: Fate,
}

impl CustomKind {
    pub(super) fn new(n: usize) -> Self {
        CustomKind { n, fate: Fate::ALL[n % Fate::ALL.len()] }
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::new(self.group(), format!("Wave{}", self.n))
    }

    fn group(&self) -> String {
        format!("g{}.storm.example", self.n % GROUPS)
    }

    /// The name of its definition.
    fn name(&self) -> String {
        format!("wave{}s.{}", self.n, self.group())
    }

    fn shape(&self, time: Time) -> (&'static str, bool) {
        match self.fate {
            Fate::OtherVersion if time != Time::Before => ("v2", true),
            Fate::OtherScope if time != Time::Before => ("v1", false),
            _ => ("v1", true),
        }
    }

    fn definition(&self, time: Time) -> Value {
        let (version, namespaced) = self.shape(time);
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name()},
            "spec": {
                "group": self.group(),
                "scope": if namespaced { "Namespaced" } else { "Cluster" },
                "names": {"kind": self.kind().kind, "plural": format!("wave{}s", self.n)},
                "versions": [{
                    "name": version,
                    "served": true,
                    "storage": true,
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        })
    }

    /// What comes while nobody watches is one less, so that one end is seen by nothing but a list.
    fn instances(&self, time: Time) -> impl Iterator<Item = Value> {
        let (version, namespaced) = self.shape(time);
        let count = INSTANCES - usize::from(time == Time::Unwatched);
        (0..count).map(move |n| {
            let mut metadata = json!({"name": format!("wave-{n}")});
            if namespaced {
                metadata["namespace"] = NAMESPACES[n % NAMESPACES.len()].into();
            }
            json!({
                "apiVersion": format!("{}/{version}", self.group()),
                "kind": self.kind().kind,
                "metadata": metadata,
                "spec": {"height": n + 10 * time as usize},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            })
        })
    }
}

/// Creates kinds with their instances.
pub(super) async fn create(plane: &ControlPlane, kinds: &[CustomKind]) -> Result<()> {
    sow(plane, &kinds.iter().collect::<Vec<_>>(), Time::Before).await
}

/// Lets every kind meet its fate.
pub(super) async fn storm(plane: &ControlPlane, kinds: &[CustomKind]) -> Result<()> {
    for kinds in kinds.chunks(TOGETHER) {
        let leaving: Vec<_> = kinds.iter().filter(|kind| kind.fate != Fate::Stays).collect();
        remove(plane, &leaving).await?;
        let coming: Vec<_> = kinds.iter().filter(|kind| kind.fate != Fate::Removed).collect();
        sow(plane, &coming, Time::InTheStorm).await?;
    }
    Ok(())
}

/// Replaces what the storm has left, each kind by one of the same name.
pub(super) async fn replace(plane: &ControlPlane, kinds: &[CustomKind]) -> Result<()> {
    let left: Vec<_> = kinds.iter().filter(|kind| kind.fate != Fate::Removed).collect();
    remove(plane, &left).await?;
    sow(plane, &left, Time::Unwatched).await
}

async fn remove(plane: &ControlPlane, kinds: &[&CustomKind]) -> Result<()> {
    if kinds.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = kinds.iter().map(|kind| kind.name()).collect();
    let delete = ["delete", "customresourcedefinition"];
    plane.kubectl(&delete.into_iter().chain(names.iter().map(String::as_str)).collect::<Vec<_>>()).await?;
    Ok(())
}

async fn sow(plane: &ControlPlane, kinds: &[&CustomKind], time: Time) -> Result<()> {
    if kinds.is_empty() {
        return Ok(());
    }
    plane.apply(&list(kinds.iter().map(|kind| kind.definition(time)))).await?;
    let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    plane.until_established(&names).await?;
    let instances = list(kinds.iter().flat_map(|kind| kind.instances(time)));
    // Established is said a little before it is served, and kubectl remembers what a kind was before.
    let mut tries = 0;
    loop {
        plane.kubectl(&["api-resources", "-o", "name"]).await?;
        match plane.apply(&instances).await {
            Ok(_) => return Ok(()),
            Err(error) if tries == 60 => return Err(error),
            Err(_) => tries += 1,
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
}

fn list(items: impl Iterator<Item = Value>) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items.collect::<Vec<_>>()}).to_string()
}
