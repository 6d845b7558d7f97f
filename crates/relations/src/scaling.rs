//! What sets how many there are of something, or how large it is.

use super::EdgeKind::Scales;
use super::told::{Defaults, REFERENCE, Told, referenced};
use strandline_object::Object;
use strandline_object::json::Shape;

const AUTOSCALER: Shape =
    Shape::Members(&[("spec", Shape::Members(&[("scaleTargetRef", REFERENCE), ("targetRef", REFERENCE)]))]);

/// A HorizontalPodAutoscaler of any version, or a VerticalPodAutoscaler, scales its target.
pub(super) fn autoscaler(told: &mut Told, object: &Object<'_>) {
    let field = if object.kind == "VerticalPodAutoscaler" { "targetRef" } else { "scaleTargetRef" };
    let defaults = Defaults { group: "", kind: "", namespace: &object.metadata.namespace };
    told.to(Scales, referenced(object.pick(&AUTOSCALER).get("spec").get(field), defaults));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::told;

    #[test]
    fn an_autoscaler_scales_its_target() {
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        for (version, kind, field) in [
            ("autoscaling/v1", "HorizontalPodAutoscaler", "scaleTargetRef"),
            ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "scaleTargetRef"),
            ("autoscaling/v2", "HorizontalPodAutoscaler", "scaleTargetRef"),
            ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "targetRef"),
        ] {
            let scaler = json!({"apiVersion": version, "kind": kind, "metadata": {"namespace": "shop"}, "spec": {field: target}});
            assert_eq!(told(&scaler), ["-> scales Deployment.apps shop/web"], "{version}");
        }
        let other = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"namespace": "shop"}, "spec": {"targetRef": target}});
        assert!(told(&other).is_empty());
    }
}
