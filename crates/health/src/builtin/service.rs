//! Service: a load balancer is awaited, anything else is there as soon as it is written.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let spec = object.spec_part(&["type"]);
    let (spec, status) = (Section::of(&spec, "spec"), Section::status(object));
    let balanced = spec.text("type")? == "LoadBalancer";
    if balanced && status.list("loadBalancer.ingress", "status.loadBalancer.ingress")?.next().is_none() {
        return Ok(Finding::progressing("LoadBalancerPending", ""));
    }
    Ok(Finding::healthy())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    #[test]
    fn only_a_load_balancer_is_awaited() {
        let balancer = |ingress: Value| json!({"loadBalancer": {"ingress": ingress}});
        let cases = [
            ("ClusterIP", json!({"loadBalancer": {}}), "Healthy []"),
            ("ExternalName", Value::Null, "Healthy []"),
            ("LoadBalancer", Value::Null, "Progressing [LoadBalancerPending]"),
            ("LoadBalancer", balancer(json!([])), "Progressing [LoadBalancerPending]"),
            ("LoadBalancer", balancer(json!([{}])), "Healthy []"),
        ];
        for (service_type, status, expected) in cases {
            let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": service_type}, "status": status});
            assert_eq!(line(&service), format!("builtin/Service: {expected}"), "{service_type} {status}");
        }
    }
}
