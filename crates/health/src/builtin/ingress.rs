//! Ingress: there once a controller has given it an address.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let addresses = Section::status(object).list("loadBalancer.ingress", "status.loadBalancer.ingress")?;
    Ok(if addresses.count() == 0 { Finding::progressing("AddressPending", "") } else { Finding::healthy() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn an_address_is_awaited() {
        let ingress =
            |status| json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "status": status});
        assert_eq!(line(&ingress(json!({}))), "builtin/Ingress: Progressing [AddressPending]");
        let addressed = json!({"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}});
        assert_eq!(line(&ingress(addressed)), "builtin/Ingress: Healthy []");
    }
}
