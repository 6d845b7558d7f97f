//! How custom kinds are defined, as the watch of their definitions sees it. Where a definition changes, objects may look
//! otherwise without an event.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use strandline_log::Observed;
use strandline_model::Kind;

/// The definitions of one cluster's kinds; clones share them.
#[derive(Clone, Debug)]
pub(super) struct Definitions {
    known: Arc<Mutex<BTreeMap<Kind, Known>>>,
    /// How long the servers of a cluster may take a kind as it is defined.
    settle: Duration,
}

#[derive(Clone, Debug)]
struct Known {
    text: String,
    since: Instant,
}

impl Definitions {
    pub(super) fn new(settle: Duration) -> Self {
        Definitions { known: Arc::default(), settle }
    }

    /// Takes over the definitions among what a watch saw.
    pub(super) fn update(&self, observed: &[Observed]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for object in observed {
            let Observed::Applied(object) = object else { continue };
            let Some((kind, text)) = definition(&object.body) else { continue };
            if known.get(&kind).is_none_or(|known| known.text != text) {
                known.insert(kind, Known { text, since: Instant::now() });
            }
        }
    }

    /// How a kind is defined, once the cluster had the time to serve it that way.
    pub(super) fn settled(&self, kind: &Kind) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(kind).filter(|known| known.since.elapsed() >= self.settle)?;
        Some(known.text.clone())
    }
}

/// The kind that an object defines, with its stored version and its generation in a text.
fn definition(body: &str) -> Option<(Kind, String)> {
    #[derive(Deserialize)]
    struct Definition {
        metadata: Metadata,
        spec: Spec,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        generation: i64,
    }
    #[derive(Deserialize)]
    struct Spec {
        group: String,
        names: Names,
        #[serde(default)]
        versions: Vec<Version>,
    }
    #[derive(Deserialize)]
    struct Names {
        kind: String,
    }
    #[derive(Deserialize)]
    struct Version {
        name: String,
        #[serde(default)]
        storage: bool,
    }
    let Definition { metadata, spec } = serde_json::from_str(body).ok()?;
    let stored = spec.versions.into_iter().find(|version| version.storage).map(|version| version.name);
    let text = format!("stored {} generation {}", stored.unwrap_or_default(), metadata.generation);
    Some((Kind::new(spec.group, spec.names.kind), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_its_stored_version_and_its_generation() {
        let body = r#"{"metadata":{"generation":7},"spec":{"group":"acme.example","names":{"kind":"Widget"},
            "versions":[{"name":"v2","storage":false},{"name":"v1","storage":true}]}}"#;
        let expected = (Kind::new("acme.example", "Widget"), "stored v1 generation 7".to_owned());
        assert_eq!(definition(body), Some(expected));
        assert_eq!(definition(r#"{"metadata":{},"spec":7}"#), None);
    }
}
