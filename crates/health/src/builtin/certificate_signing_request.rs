//! CertificateSigningRequest: done when the certificate is there, failed when someone said no.

use crate::fields::{Malformed, Section};
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    let status = Section::status(object);
    for refusal in ["Denied", "Failed"] {
        if let Some(condition) = status.condition(refusal)? {
            return Ok(Finding::new(Health::Degraded, refusal, condition.text("message")?));
        }
    }
    if !status.text("certificate")?.is_empty() {
        return Ok(Finding::new(Health::Healthy, "Issued", ""));
    }
    Ok(match status.condition("Approved")? {
        Some(_) => Finding::progressing("Approved", "Waiting for the certificate"),
        None => Finding::progressing("Pending", "Waiting for approval"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::line;

    #[test]
    fn a_request_goes_from_approval_to_certificate() {
        let condition = |of_type: &str| json!([{"type": of_type, "status": "True", "message": "why"}]);
        for (status, expected) in [
            (Value::Null, "Progressing [Pending] Waiting for approval"),
            (
                json!({"conditions": condition("Approved")}),
                "Progressing [Approved] Waiting for the certificate",
            ),
            (json!({"conditions": condition("Approved"), "certificate": "LS0="}), "Healthy [Issued]"),
            (json!({"conditions": condition("Denied")}), "Degraded [Denied] why"),
            (json!({"conditions": condition("Failed"), "certificate": "LS0="}), "Degraded [Failed] why"),
        ] {
            let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
                "status": status});
            assert_eq!(line(&request), format!("builtin/CertificateSigningRequest: {expected}"));
        }
    }
}
