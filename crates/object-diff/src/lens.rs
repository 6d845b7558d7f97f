//! What of all differences is told.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::names::NameMap;
use super::path::Step;
use super::rule::PathRule;
use strandline_model::Kind;
use strandline_object::digest::Noise;
use strandline_syntax::keywords;

/// What a difference concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// What is asked for: the spec, and whatever else an object holds, such as data, rules or webhooks.
    Spec,
    /// Labels, annotations, owners, finalizers.
    Metadata,
    /// What the cluster says of it.
    Status,
    /// What changes with every write by itself, or has to differ between two environments.
    Noise,
}

keywords!(
    Class, "class of differences", Exact,
    Spec => "spec",
    Metadata => "metadata",
    Status => "status",
    Noise => "noise",
);

/// Whose two states are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Of one resource, or of one that took another's place.
    Versions,
    /// Of two resources of two environments.
    Environments,
}

/// What of all differences is told, and what counts as one.
#[derive(Clone, Debug, Serialize)]
pub struct Lens {
    classes: Vec<Class>,
    ignored: Vec<PathRule>,
    noise: Vec<PathRule>,
    pub(super) across: bool,
    pub(super) names: NameMap,
}

/// How a difference stands with a lens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Told(Class),
    /// Its class is not asked for.
    Hidden(Class),
    /// A rule says so.
    Ignored,
}

impl Lens {
    /// Tells `spec` and these classes.
    pub fn new(between: Between, include: &[Class]) -> Self {
        let across = between == Between::Environments;
        let mut noise = NOISE.clone();
        if across {
            noise.extend(DIFFERENT.iter().cloned());
        }
        let classes = [Class::Spec].into_iter().chain(include.iter().copied()).collect();
        Lens { classes, ignored: Vec::new(), noise, across, names: NameMap::default() }
    }

    /// Tells everything.
    pub fn whole() -> Self {
        Lens::new(Between::Versions, &Class::ALL)
    }

    /// Besides, ignores what these rules name.
    #[must_use]
    pub fn ignoring(mut self, rules: impl IntoIterator<Item = PathRule>) -> Self {
        self.ignored.extend(rules);
        self
    }

    /// Besides, takes texts for equal that are the same name here and there.
    #[must_use]
    pub fn mapping(self, names: NameMap) -> Self {
        Lens { names, ..self }
    }

    /// With the rules alone that speak of a kind.
    pub(super) fn on(&self, kind: &Kind) -> Lens {
        let of_kind = |rules: &[PathRule]| rules.iter().filter(|rule| rule.concerns(kind)).cloned().collect();
        Lens { ignored: of_kind(&self.ignored), noise: of_kind(&self.noise), ..self.clone() }
    }

    /// Whether rules of users hide something.
    pub(super) fn ignores(&self) -> bool {
        !self.ignored.is_empty()
    }

    /// Whether differences of a class are told.
    pub(super) fn tells(&self, class: Class) -> bool {
        self.classes.contains(&class)
    }

    /// How what these steps lead to stands; `within` noise all is noise.
    pub(super) fn standing(&self, steps: &[Step], within: Class) -> Standing {
        if self.ignored.iter().any(|rule| rule.names(steps)) {
            return Standing::Ignored;
        }
        let class = match steps {
            _ if within == Class::Noise || self.noise.iter().any(|rule| rule.names(steps)) => Class::Noise,
            [Step::Member(name), ..] if name == "metadata" => Class::Metadata,
            [Step::Member(name), ..] if name == "status" => Class::Status,
            _ => Class::Spec,
        };
        if self.tells(class) { Standing::Told(class) } else { Standing::Hidden(class) }
    }
}

/// What changes with every write by itself, and what another incarnation has of its own; besides what [`Noise`] says.
const ITSELF: &[&str] = &[
    "metadata.resourceVersion",
    "metadata.managedFields",
    "metadata.generation",
    "metadata.selfLink",
    "metadata.uid",
    "metadata.creationTimestamp",
    "metadata.annotations[endpoints.kubernetes.io/last-change-trigger-time]",
    "status.**.observedGeneration",
    "status.**.lastUpdateTime",
    "Lease.coordination.k8s.io:spec.renewTime",
];

/// What has to differ where two environments live beside each other: what the cluster gives out, and what is counted.
const BETWEEN: &[&str] = &[
    "metadata.name",
    "metadata.generateName",
    "metadata.namespace",
    "metadata.ownerReferences[*].uid",
    "metadata.labels[pod-template-hash]",
    "metadata.labels[controller-revision-hash]",
    "metadata.labels[controller-uid]",
    "metadata.labels[batch.kubernetes.io/controller-uid]",
    "metadata.labels[kubernetes.io/metadata.name]",
    "metadata.annotations[deployment.kubernetes.io/revision]",
    "metadata.annotations[pv.kubernetes.io/*]",
    "metadata.annotations[volume.kubernetes.io/*]",
    "metadata.annotations[volume.beta.kubernetes.io/*]",
    "spec.template.metadata.annotations[kubectl.kubernetes.io/restartedAt]",
    "spec.template.metadata.labels[pod-template-hash]",
    "spec.template.metadata.labels[controller-uid]",
    "spec.template.metadata.labels[batch.kubernetes.io/controller-uid]",
    "spec.selector.matchLabels[pod-template-hash]",
    "spec.selector.matchLabels[controller-uid]",
    "spec.selector.matchLabels[batch.kubernetes.io/controller-uid]",
    "Service:spec.clusterIP",
    "Service:spec.clusterIPs",
    "Service:spec.healthCheckNodePort",
    "Service:spec.ports[*].nodePort",
    "Pod:spec.nodeName",
    "PersistentVolumeClaim:spec.volumeName",
    "PersistentVolume:spec.claimRef.uid",
    "PersistentVolume:spec.claimRef.resourceVersion",
    "Namespace:spec.finalizers",
    "**.clientConfig.caBundle",
    "ServiceAccount:secrets",
];

static NOISE: LazyLock<Vec<PathRule>> = LazyLock::new(|| {
    let Noise { annotations, status_members } = Noise::default();
    let annotations = annotations.iter().map(|name| format!("metadata.annotations[{name}]"));
    let members = status_members.iter().map(|name| format!("status.**.{name}"));
    rules(ITSELF).chain(annotations.chain(members).filter_map(|rule| rule.parse().ok())).collect()
});

static DIFFERENT: LazyLock<Vec<PathRule>> = LazyLock::new(|| rules(BETWEEN).collect());

/// Our own rules; a test reads each of them.
fn rules(texts: &'static [&'static str]) -> impl Iterator<Item = PathRule> {
    texts.iter().filter_map(|text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_rules_can_be_read() {
        let Noise { annotations, status_members } = Noise::default();
        assert_eq!(NOISE.len(), ITSELF.len() + annotations.len() + status_members.len());
        assert_eq!(DIFFERENT.len(), BETWEEN.len());
    }

    #[test]
    fn classes_have_words() {
        for class in Class::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
        }
        let refused = "invalid class of differences `all`; use one of spec, metadata, status, noise";
        assert_eq!("all".parse::<Class>(), Err(refused.to_owned()));
    }
}
