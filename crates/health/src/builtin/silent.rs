//! Kinds that only hold data or rules: they have no state that could be good or bad.

use strandline_object::gitlab_deployment;

/// Whether a built-in kind has no health.
pub(crate) fn has_no_health(group: &str, kind: &str) -> bool {
    match group {
        "" => matches!(
            kind,
            "ConfigMap"
                | "Endpoints"
                | "Event"
                | "LimitRange"
                | "PodTemplate"
                | "ResourceQuota"
                | "Secret"
                | "ServiceAccount"
        ),
        "authentication.k8s.io"
        | "authorization.k8s.io"
        | "discovery.k8s.io"
        | "events.k8s.io"
        | "metrics.k8s.io"
        | "rbac.authorization.k8s.io" => true,
        "admissionregistration.k8s.io" => {
            ["WebhookConfiguration", "Binding", "Policy"].iter().any(|end| kind.ends_with(end))
        }
        "apps" => kind == "ControllerRevision",
        "certificates.k8s.io" => kind == "ClusterTrustBundle",
        "coordination.k8s.io" => matches!(kind, "Lease" | "LeaseCandidate"),
        "flowcontrol.apiserver.k8s.io" => matches!(kind, "FlowSchema" | "PriorityLevelConfiguration"),
        "gateway.networking.k8s.io" => kind == "ReferenceGrant",
        "networking.k8s.io" => matches!(kind, "IPAddress" | "IngressClass" | "NetworkPolicy"),
        "extensions" => matches!(kind, "NetworkPolicy" | "PodSecurityPolicy"),
        "node.k8s.io" => kind == "RuntimeClass",
        gitlab_deployment::GROUP => kind == gitlab_deployment::MONITORING,
        "policy" => kind == "PodSecurityPolicy",
        "resource.k8s.io" => {
            matches!(kind, "DeviceClass" | "DeviceTaintRule" | "ResourceClaimTemplate" | "ResourceSlice")
        }
        "scheduling.k8s.io" => kind == "PriorityClass",
        "snapshot.storage.k8s.io" => kind == "VolumeSnapshotClass",
        "storage.k8s.io" => matches!(
            kind,
            "CSIDriver" | "CSINode" | "CSIStorageCapacity" | "StorageClass" | "VolumeAttributesClass"
        ),
        _ => false,
    }
}
