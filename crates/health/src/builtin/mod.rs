//! Kinds that Kubernetes itself brings, each with the rule that its API calls for.
//!
//! Where Argo CD judges a kind, it is judged here in the same way and with the same message, in every version
//! in which the kind was ever served. The other rules are our own.

mod api_service;
mod autoscaler;
mod certificate_signing_request;
mod cron_job;
mod custom_resource_definition;
mod daemon_set;
mod deployment;
mod gateway;
mod gitlab_deployment;
mod ingress;
mod job;
mod namespace;
mod node;
mod persistent_volume;
mod persistent_volume_claim;
mod pod;
mod pod_disruption_budget;
mod replica_set;
mod resource_claim;
mod rule;
mod service;
mod silent;
mod stateful_set;
mod surplus;
mod volume_attachment;
mod volume_snapshot;
mod workflow;

pub(super) use silent::has_no_health;

#[cfg(test)]
use super::tests;
use rule::Rule;
use strandline_object::gitlab_deployment::{DEPLOYMENT, GROUP};

/// The rule for a kind, with its name.
pub(super) fn rule(group: &str, kind: &str) -> Option<(&'static str, Rule)> {
    Some(match (group, kind) {
        ("", "Namespace") => ("builtin/Namespace", namespace::judge),
        ("", "Node") => ("builtin/Node", node::judge),
        ("", "PersistentVolume") => ("builtin/PersistentVolume", persistent_volume::judge),
        ("", "PersistentVolumeClaim") => ("builtin/PersistentVolumeClaim", persistent_volume_claim::judge),
        ("", "Pod") => ("builtin/Pod", pod::judge),
        ("", "ReplicationController") => ("builtin/ReplicationController", replica_set::judge),
        ("", "Service") => ("builtin/Service", service::judge),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            ("builtin/CustomResourceDefinition", custom_resource_definition::judge)
        }
        ("apiregistration.k8s.io", "APIService") => ("builtin/APIService", api_service::judge),
        ("apps" | "extensions", kind) => return workload(kind).or_else(|| ingress(group, kind)),
        // The one kind that is not Kubernetes' own and yet has a rule of its own in Argo CD's engine.
        ("argoproj.io", "Workflow") => ("builtin/Workflow", workflow::judge),
        ("autoscaling", "HorizontalPodAutoscaler") => ("builtin/HorizontalPodAutoscaler", autoscaler::judge),
        ("batch", "CronJob") => ("builtin/CronJob", cron_job::judge),
        ("batch", "Job") => ("builtin/Job", job::judge),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            ("builtin/CertificateSigningRequest", certificate_signing_request::judge)
        }
        ("gateway.networking.k8s.io" | "gateway.networking.x-k8s.io", kind) => return gateway::rule(kind),
        (GROUP, DEPLOYMENT) => ("builtin/GitLabDeployment", gitlab_deployment::judge),
        ("networking.k8s.io", _) => return ingress(group, kind),
        ("policy", "PodDisruptionBudget") => ("builtin/PodDisruptionBudget", pod_disruption_budget::judge),
        ("resource.k8s.io", "ResourceClaim") => ("builtin/ResourceClaim", resource_claim::judge),
        ("snapshot.storage.k8s.io", "VolumeSnapshot") => ("builtin/VolumeSnapshot", volume_snapshot::judge),
        ("snapshot.storage.k8s.io", "VolumeSnapshotContent") => {
            ("builtin/VolumeSnapshotContent", volume_snapshot::judge)
        }
        ("storage.k8s.io", "VolumeAttachment") => ("builtin/VolumeAttachment", volume_attachment::judge),
        _ => return None,
    })
}

fn workload(kind: &str) -> Option<(&'static str, Rule)> {
    Some(match kind {
        "DaemonSet" => ("builtin/DaemonSet", daemon_set::judge),
        "Deployment" => ("builtin/Deployment", deployment::judge),
        "ReplicaSet" => ("builtin/ReplicaSet", replica_set::judge),
        "StatefulSet" => ("builtin/StatefulSet", stateful_set::judge),
        _ => return None,
    })
}

fn ingress(group: &str, kind: &str) -> Option<(&'static str, Rule)> {
    let ours = kind == "Ingress" && matches!(group, "extensions" | "networking.k8s.io");
    ours.then_some(("builtin/Ingress", ingress::judge))
}
