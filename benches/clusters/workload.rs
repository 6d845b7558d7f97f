//! The objects of a small cluster: namespaces of sixteen workloads, each a Deployment with its ReplicaSet, Service, EndpointSlice
//! and eight Pods, and of some ConfigMaps. Bodies are small, since all of the fleet is in memory.

use serde_json::{Value, json};

use crate::common::objects::uid;

/// Objects of a workload.
pub(crate) const WORKLOAD: u64 = 12;
/// Its Pods.
pub(crate) const PODS: u64 = 8;
/// Workloads in a namespace.
pub(crate) const WORKLOADS: u64 = 16;
/// Objects in a namespace, the last of them ConfigMaps.
pub(crate) const NAMESPACE: u64 = 200;

/// A workload of a cluster, with what its Pods say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) cluster: u64,
    pub(crate) namespace: u64,
    pub(crate) number: u64,
    /// A bit for each Pod that is ready.
    pub(crate) ready: u8,
    /// Microseconds since 1970 at which this came to be.
    pub(crate) at: u64,
}

/// The name of a namespace, which is an environment in its cluster.
pub(crate) fn namespace(number: u64) -> String {
    format!("team-{number}")
}

/// A ConfigMap of a namespace.
pub(crate) fn config_map(cluster: u64, number: u64, place: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("settings-{place}"), "namespace": namespace(number)},
        "data": {"log.level": "info", "upstream": format!("http://upstream-{cluster}.example.com:8080"),
            "features": "search,checkout,reviews"},
    })
}

impl Workload {
    /// All its objects, owners first.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let own = [self.deployment(), self.replica_set(), self.service(), self.endpoint_slice()];
        own.into_iter().chain((0..PODS).map(|pod| self.pod(pod))).collect()
    }

    /// What a Pod that turns brings with it: itself, and those that count it.
    pub(crate) fn turned(&self, pod: u64) -> [Value; 4] {
        [self.pod(pod), self.endpoint_slice(), self.replica_set(), self.deployment()]
    }

    fn name(&self) -> String {
        format!("web-{}", self.number)
    }

    /// A name for one of its objects, counted from its Deployment on, that no other cluster has.
    fn uid(&self, object: u64) -> String {
        uid(((self.cluster * 1000 + self.namespace) * WORKLOADS + self.number) * WORKLOAD + object)
    }

    fn is_ready(&self, pod: u64) -> bool {
        self.ready >> pod & 1 == 1
    }

    fn metadata(&self, name: &str, object: u64, owner: Option<(&str, &str, u64)>) -> Value {
        let mut metadata = json!({
            "name": name, "namespace": namespace(self.namespace), "uid": self.uid(object),
            "labels": {"app.kubernetes.io/name": self.name(), "app.kubernetes.io/managed-by": "Helm",
                "helm.sh/chart": format!("web-4.2.{}", self.number % 5)},
        });
        if let Some((kind, name, object)) = owner {
            let uid = self.uid(object);
            metadata["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid,
                "controller": true, "blockOwnerDeletion": true}]);
        }
        metadata
    }

    /// When this came to be, in the words of a condition: by it is known how long it takes until it can be asked for.
    fn stamp(&self) -> String {
        format!("{}{}", super::lag::STAMP, self.at)
    }

    fn containers(&self) -> Value {
        json!([{
            "name": "web", "image": format!("registry.example.com/shop/web:4.2.{}", self.number % 5),
            "imagePullPolicy": "IfNotPresent", "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
            "envFrom": [{"configMapRef": {"name": format!("settings-{}", self.number % 8)}}],
            "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 5},
        }])
    }

    fn selector(&self) -> Value {
        json!({"app.kubernetes.io/name": self.name()})
    }

    fn template(&self) -> Value {
        json!({"metadata": {"labels": self.selector()},
            "spec": {"containers": self.containers(), "restartPolicy": "Always"}})
    }

    fn replicas(&self) -> Value {
        let (ready, all) = (u64::from(self.ready.count_ones()), PODS);
        let available = if ready > all / 2 { "True" } else { "False" };
        json!({"observedGeneration": 1, "replicas": all, "updatedReplicas": all, "readyReplicas": ready,
            "availableReplicas": ready, "unavailableReplicas": all - ready,
            "conditions": [{"type": "Available", "status": available, "message": self.stamp()}]})
    }

    fn deployment(&self) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": self.metadata(&self.name(), 0, None),
            "spec": {"replicas": PODS, "selector": {"matchLabels": self.selector()}, "template": self.template(),
                "progressDeadlineSeconds": 600},
            "status": self.replicas(),
        })
    }

    fn replica_set(&self) -> Value {
        let (name, owner) = (format!("{}-5d9c8b", self.name()), self.name());
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": self.metadata(&name, 1, Some(("Deployment", &owner, 0))),
            "spec": {"replicas": PODS, "selector": {"matchLabels": self.selector()}, "template": self.template()},
            "status": self.replicas(),
        })
    }

    fn service(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": self.metadata(&self.name(), 2, None),
            "spec": {"type": "ClusterIP", "selector": self.selector(),
                "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]},
        })
    }

    fn endpoint_slice(&self) -> Value {
        let name = format!("{}-x7k2p", self.name());
        let mut metadata = self.metadata(&name, 3, None);
        metadata["labels"]["kubernetes.io/service-name"] = self.name().into();
        metadata["annotations"] = json!({"endpoints.kubernetes.io/last-change-trigger-time": self.stamp()});
        let endpoint = |pod: u64| {
            json!({"addresses": [format!("10.1.{}.{pod}", self.number)], "conditions": {"ready": self.is_ready(pod)},
                "targetRef": {"kind": "Pod", "namespace": namespace(self.namespace), "name": self.pod_name(pod),
                    "uid": self.uid(4 + pod)}})
        };
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, "addressType": "IPv4",
            "endpoints": (0..PODS).map(endpoint).collect::<Vec<_>>(),
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        })
    }

    fn pod_name(&self, pod: u64) -> String {
        format!("{}-5d9c8b-{pod}", self.name())
    }

    fn pod(&self, pod: u64) -> Value {
        let (name, owner) = (self.pod_name(pod), format!("{}-5d9c8b", self.name()));
        let is_ready = self.is_ready(pod);
        let ready = if is_ready { "True" } else { "False" };
        let image = format!("registry.example.com/shop/web:4.2.{}", self.number % 5);
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": self.metadata(&name, 4 + pod, Some(("ReplicaSet", &owner, 1))),
            "spec": {"containers": self.containers(), "restartPolicy": "Always", "serviceAccountName": "default",
                "nodeName": format!("node-{}", pod % 5)},
            "status": {"phase": "Running", "podIP": format!("10.1.{}.{pod}", self.number),
                "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Initialized", "status": "True"},
                    {"type": "Ready", "status": ready},
                    {"type": "ContainersReady", "status": ready, "message": self.stamp()}],
                "containerStatuses": [{"name": "web", "ready": is_ready, "started": true, "restartCount": 0, "image": image,
                    "imageID": format!("registry.example.com/shop/web@sha256:{:064x}", self.number % 5),
                    "state": {"running": {"startedAt": "2026-11-20T12:00:00Z"}}}]},
        })
    }
}
