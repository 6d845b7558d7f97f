//! What a simulated server serves.

use strandline_model::Kind;

/// A kind that a server serves, with what discovery shows about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedKind {
    /// Group and kind.
    pub kind: Kind,
    /// The one version served.
    pub version: String,
    /// Plural name, as it occurs in paths.
    pub plural: String,
    /// Short names that `kubectl` accepts.
    pub short_names: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether a custom resource definition defines it; such items keep their type fields in lists.
    pub custom: bool,
}

impl ServedKind {
    /// A kind that the server brings along.
    pub fn builtin(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        ServedKind {
            kind: Kind::new(group, kind),
            version: version.into(),
            plural: plural.into(),
            short_names: Vec::new(),
            namespaced,
            custom: false,
        }
    }

    /// A namespaced kind that a custom resource definition defines.
    pub fn custom(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        ServedKind { custom: true, ..ServedKind::builtin(group, version, kind, plural, true) }
    }

    /// The same kind with a short name.
    pub fn short(mut self, name: &str) -> Self {
        self.short_names.push(name.into());
        self
    }

    /// `v1`, or `group/version`.
    pub fn api_version(&self) -> String {
        if self.kind.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.kind.group, self.version)
        }
    }

    /// The singular name, as `kubectl` accepts it.
    pub(super) fn singular(&self) -> String {
        self.kind.kind.to_ascii_lowercase()
    }

    /// `pods` or `deployments.apps`, as error messages name it.
    pub(super) fn resource(&self) -> String {
        if self.kind.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.kind.group)
        }
    }

    /// Whether the real server counts generations of it.
    pub(super) fn has_generation(&self) -> bool {
        self.custom
            || matches!(
                self.kind.kind.as_str(),
                "Deployment"
                    | "ReplicaSet"
                    | "StatefulSet"
                    | "DaemonSet"
                    | "Job"
                    | "Ingress"
                    | "EndpointSlice"
                    | "CustomResourceDefinition"
                    | "PodDisruptionBudget"
            )
    }
}

/// The built-in kinds that a demo cluster serves.
pub fn builtin_kinds() -> Vec<ServedKind> {
    let kind = ServedKind::builtin;
    vec![
        kind("", "v1", "ConfigMap", "configmaps", true).short("cm"),
        kind("", "v1", "Event", "events", true).short("ev"),
        kind("", "v1", "Namespace", "namespaces", false).short("ns"),
        kind("", "v1", "Node", "nodes", false).short("no"),
        kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", true).short("pvc"),
        kind("", "v1", "Pod", "pods", true).short("po"),
        kind("", "v1", "Secret", "secrets", true),
        kind("", "v1", "Service", "services", true).short("svc"),
        kind("", "v1", "ServiceAccount", "serviceaccounts", true).short("sa"),
        kind("apps", "v1", "Deployment", "deployments", true).short("deploy"),
        kind("apps", "v1", "ReplicaSet", "replicasets", true).short("rs"),
        kind("apps", "v1", "StatefulSet", "statefulsets", true).short("sts"),
        kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true).short("hpa"),
        kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", true),
        kind("networking.k8s.io", "v1", "Ingress", "ingresses", true).short("ing"),
        kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false)
            .short("crd"),
    ]
}
