//! Services: a load balancer waits for its address; the others are what they say.

use super::Finding;
use crate::object::Object;

pub(super) fn assess(object: &Object<'_>) -> Finding {
    if object.spec()["type"] != "LoadBalancer" {
        return Finding::healthy();
    }
    match object.status()["loadBalancer"]["ingress"].as_array() {
        Some(addresses) if !addresses.is_empty() => Finding::healthy(),
        _ => Finding::progressing("Waiting for the load balancer to get an address"),
    }
}
