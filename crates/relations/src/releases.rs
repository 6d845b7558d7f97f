//! Releases of Helm, which keeps each revision in a Secret: what it installed is made by the revisions that stand.
//!
//! The Secret's body would list the objects, and is neither read nor recorded. But each object names its release in
//! annotations, and each Secret carries its release and its status as labels.

use std::collections::BTreeSet;

use super::EdgeKind::References;
use super::told::{Told, named, selected};
use strandline_object::Object;
use strandline_syntax::{Condition, LabelSelector, Requirement};

pub(super) const ANNOTATIONS: [&str; 2] = ["meta.helm.sh/release-name", "meta.helm.sh/release-namespace"];

/// Revisions that say nothing any more of what is there.
const PAST: [&str; 2] = ["superseded", "uninstalled"];

/// Whether Helm says that an object is of a release; what a controller makes of that carries copies of what was said.
pub(super) fn is_of_release(object: &Object<'_>) -> bool {
    object.metadata.label("app.kubernetes.io/managed-by") == Some("Helm")
        && !object.metadata.owner_references.iter().any(|owner| owner.controller)
}

/// What Helm installed stands on the revisions of its release.
pub(super) fn tell(told: &mut Told, object: &Object<'_>) {
    if !is_of_release(object) {
        return;
    }
    let [release, namespace] = ANNOTATIONS.map(|name| object.metadata.annotation(name).unwrap_or_default());
    // Both have to be names before anything is asked for by them.
    if named("", "Secret", &namespace, Some(&release)).is_none() || namespace.is_empty() {
        return;
    }
    let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<BTreeSet<_>>();
    let revisions = LabelSelector::new([
        Requirement { name: "name".into(), condition: Condition::In(values(&[&release])) },
        Requirement { name: "owner".into(), condition: Condition::In(values(&["helm"])) },
        Requirement { name: "status".into(), condition: Condition::NotIn(values(&PAST)) },
    ]);
    told.from(References, selected("", "Secret", &namespace, Some(revisions)));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::told;

    fn object(labels: &Value, annotations: &Value, owners: &Value) -> Vec<String> {
        told(&json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {
            "namespace": "shop", "name": "web", "uid": "w", "labels": labels, "annotations": annotations,
            "ownerReferences": owners}}))
    }

    #[test]
    fn what_helm_installed_names_the_revisions_that_stand() {
        let managed = json!({"app.kubernetes.io/managed-by": "Helm"});
        let release =
            json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "releases"});
        assert_eq!(
            object(&managed, &release, &json!([])),
            ["<- references Secret releases/[name=web,owner=helm,status notin (superseded,uninstalled)]"]
        );
        let made = json!([{"apiVersion": "example.org/v1", "kind": "Maker", "name": "m", "uid": "m", "controller": true}]);
        assert_eq!(
            object(&managed, &release, &made),
            ["<- owns Maker.example.org m m"],
            "a copy says nothing"
        );
        for (labels, annotations) in [
            (json!({}), release.clone()),
            (json!({"app.kubernetes.io/managed-by": "Other"}), release),
            (managed.clone(), json!({})),
            (managed.clone(), json!({"meta.helm.sh/release-name": "web"})),
            (managed, json!({"meta.helm.sh/release-name": "a/b", "meta.helm.sh/release-namespace": "x"})),
        ] {
            assert!(object(&labels, &annotations, &json!([])).is_empty(), "{labels} {annotations}");
        }
    }
}
