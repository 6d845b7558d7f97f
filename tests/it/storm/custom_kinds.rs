//! Custom kinds of a cluster, and what becomes of each.

use serde_json::{Value, json};
use strandline::model::Kind;

use super::NAMESPACES;
use crate::control_plane::harness::ControlPlane;
use crate::server::Result;

/// Instances of each kind.
const INSTANCES: usize = 3;
/// Groups over which the kinds are spread, so that one vanishes while its neighbours stay.
const GROUPS: usize = 4;
/// Kinds that go through the storm together: one of each fate.
const TOGETHER: usize = Fate::ALL.len();

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

    /// Version and scope before the storm or after it.
    fn shape(&self, after: bool) -> (&'static str, bool) {
        match self.fate {
            Fate::OtherVersion if after => ("v2", true),
            Fate::OtherScope if after => ("v1", false),
            _ => ("v1", true),
        }
    }

    fn definition(&self, after: bool) -> Value {
        let (version, namespaced) = self.shape(after);
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

    fn instances(&self, after: bool) -> impl Iterator<Item = Value> {
        let (version, namespaced) = self.shape(after);
        (0..INSTANCES).map(move |n| {
            let mut metadata = json!({"name": format!("wave-{n}")});
            if namespaced {
                metadata["namespace"] = NAMESPACES[n % NAMESPACES.len()].into();
            }
            json!({
                "apiVersion": format!("{}/{version}", self.group()),
                "kind": self.kind().kind,
                "metadata": metadata,
                "spec": {"height": if after { n + 10 } else { n }},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            })
        })
    }
}

/// Creates kinds with their instances.
pub(super) async fn create(plane: &ControlPlane, kinds: &[CustomKind]) -> Result<()> {
    sow(plane, &kinds.iter().collect::<Vec<_>>(), false).await
}

/// Lets every kind meet its fate.
pub(super) async fn storm(plane: &ControlPlane, kinds: &[CustomKind]) -> Result<()> {
    for kinds in kinds.chunks(TOGETHER) {
        let leaving: Vec<String> =
            kinds.iter().filter(|kind| kind.fate != Fate::Stays).map(CustomKind::name).collect();
        if !leaving.is_empty() {
            let names = leaving.iter().map(String::as_str);
            let delete: Vec<&str> = ["delete", "customresourcedefinition"].into_iter().chain(names).collect();
            plane.kubectl(&delete).await?;
        }
        let coming: Vec<_> = kinds.iter().filter(|kind| kind.fate != Fate::Removed).collect();
        sow(plane, &coming, true).await?;
    }
    Ok(())
}

async fn sow(plane: &ControlPlane, kinds: &[&CustomKind], after: bool) -> Result<()> {
    if kinds.is_empty() {
        return Ok(());
    }
    plane.apply(&list(kinds.iter().map(|kind| kind.definition(after)))).await?;
    let names: Vec<String> =
        kinds.iter().map(|kind| format!("customresourcedefinition/{}", kind.name())).collect();
    let wait = ["wait", "--for=condition=Established", "--timeout=120s"];
    plane.kubectl(&wait.into_iter().chain(names.iter().map(String::as_str)).collect::<Vec<_>>()).await?;
    let instances = list(kinds.iter().flat_map(|kind| kind.instances(after)));
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
