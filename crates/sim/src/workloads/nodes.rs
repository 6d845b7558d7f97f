//! Nodes.

use serde_json::{Value, json};

use super::metadata::{Identity, Metadata};
use crate::api_server::seconds;
use strandline_model::Timestamp;

/// A node's state.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) identity: Identity,
    pub(crate) region: String,
    pub(crate) zone: String,
    pub(crate) address: String,
    pub(crate) ready: bool,
    pub(crate) ready_since: Timestamp,
    /// Whether no Pod may be placed here.
    pub(crate) cordoned: bool,
    pub(crate) heartbeat: Timestamp,
    /// How many Pods were ever placed here; gives them their addresses.
    pub(crate) seats: u32,
    pub(crate) version: &'static str,
}

/// The object of a node.
pub(crate) fn node(node: &Node) -> Value {
    let name = &node.identity.name;
    let mut spec = json!({"providerID": format!("aws:///{}/{}", node.zone, node.identity.uid)});
    if node.cordoned {
        spec["unschedulable"] = true.into();
        spec["taints"] = json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]);
    }
    Metadata::of(&node.identity)
        .labels(json!({
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": "m7i.2xlarge",
            "topology.kubernetes.io/region": node.region,
            "topology.kubernetes.io/zone": node.zone,
        }))
        .annotations(json!({"node.alpha.kubernetes.io/ttl": "0"}))
        .object("v1", "Node", json!({"spec": spec, "status": status(node)}))
}

fn status(node: &Node) -> Value {
    let capacity = |cpu: &str, memory: &str| json!({"cpu": cpu, "memory": memory, "ephemeral-storage": "83873772Ki", "pods": "110"});
    json!({
        "capacity": capacity("8", "32386488Ki"),
        "allocatable": capacity("7910m", "31369656Ki"),
        "conditions": conditions(node),
        "addresses": [
            {"type": "InternalIP", "address": node.address},
            {"type": "Hostname", "address": node.identity.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "kernelVersion": "6.12.40",
            "osImage": "Bottlerocket OS 1.50.0",
            "containerRuntimeVersion": "containerd://2.1.4",
            "kubeletVersion": node.version,
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    })
}

fn conditions(node: &Node) -> Value {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        let since = if kind == "Ready" { node.ready_since } else { node.identity.created };
        json!({
            "type": kind,
            "status": status,
            "lastHeartbeatTime": seconds(node.heartbeat),
            "lastTransitionTime": seconds(since),
            "reason": reason,
            "message": message,
        })
    };
    let ready = if node.ready {
        condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")
    } else {
        condition("Ready", "False", "KubeletNotReady", "container runtime is down")
    };
    json!([
        condition(
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available"
        ),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ready,
    ])
}
