//! What a role may touch by name: kinds of Kubernetes itself by the plural that RBAC calls them by.
//!
//! Plurals of other kinds are known to discovery alone. Names in a ClusterRole count for kinds without a namespace: of the
//! others it says nothing of which namespace it will be bound in.

use super::Far;
use super::told::named;

/// Group, plural and kind of what is in no namespace.
const OF_CLUSTERS: [(&str, &str, &str); 23] = [
    ("", "namespaces", "Namespace"),
    ("", "nodes", "Node"),
    ("", "persistentvolumes", "PersistentVolume"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "apiservices", "APIService"),
    ("certificates.k8s.io", "clustertrustbundles", "ClusterTrustBundle"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "PriorityLevelConfiguration"),
    ("networking.k8s.io", "ingressclasses", "IngressClass"),
    ("node.k8s.io", "runtimeclasses", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"),
    ("scheduling.k8s.io", "priorityclasses", "PriorityClass"),
    ("storage.k8s.io", "csidrivers", "CSIDriver"),
    ("storage.k8s.io", "csinodes", "CSINode"),
    ("storage.k8s.io", "storageclasses", "StorageClass"),
    ("storage.k8s.io", "volumeattributesclasses", "VolumeAttributesClass"),
];

/// The same of what is in one.
const OF_NAMESPACES: [(&str, &str, &str); 25] = [
    ("", "configmaps", "ConfigMap"),
    ("", "endpoints", "Endpoints"),
    ("", "limitranges", "LimitRange"),
    ("", "persistentvolumeclaims", "PersistentVolumeClaim"),
    ("", "pods", "Pod"),
    ("", "podtemplates", "PodTemplate"),
    ("", "replicationcontrollers", "ReplicationController"),
    ("", "resourcequotas", "ResourceQuota"),
    ("", "secrets", "Secret"),
    ("", "serviceaccounts", "ServiceAccount"),
    ("", "services", "Service"),
    ("apps", "controllerrevisions", "ControllerRevision"),
    ("apps", "daemonsets", "DaemonSet"),
    ("apps", "deployments", "Deployment"),
    ("apps", "replicasets", "ReplicaSet"),
    ("apps", "statefulsets", "StatefulSet"),
    ("autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
    ("batch", "cronjobs", "CronJob"),
    ("batch", "jobs", "Job"),
    ("coordination.k8s.io", "leases", "Lease"),
    ("networking.k8s.io", "ingresses", "Ingress"),
    ("networking.k8s.io", "networkpolicies", "NetworkPolicy"),
    ("policy", "poddisruptionbudgets", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "rolebindings", "RoleBinding"),
    ("rbac.authorization.k8s.io", "roles", "Role"),
];

/// What stands under a name that a role in a namespace, or in none, gives for a resource of a group.
///
/// Of a subresource, such as `deployments/scale`, what it is of.
pub(super) fn of_role(group: &str, resource: &str, namespace: &str, name: &str) -> Option<Far> {
    let plural = resource.split_once('/').map_or(resource, |(plural, _)| plural);
    let find = |table: &[(&str, &'static str, &'static str)]| {
        table.iter().find(|(of, known, _)| *of == group && *known == plural).map(|(_, _, kind)| *kind)
    };
    if let Some(kind) = find(&OF_CLUSTERS) {
        return named(group, kind, "", Some(name));
    }
    named(group, find(&OF_NAMESPACES).filter(|_| !namespace.is_empty())?, namespace, Some(name))
}
