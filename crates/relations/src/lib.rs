//! The edges that an object itself tells of.
//!
//! Each object names its own ends, so edges are found one object at a time and in any order of arrival; what
//! the other end is called stands in [`Far`] until it arrives. Pure: no clock, no store.
//!
//! An edge goes from cause to dependent. What is named is the cause of what names it, unless naming is acting: who
//! selects, routes or scales is the cause, and so is a binding, a role or a policy that is put on something, and a volume
//! that bears a claim. Which kinds tell of which edges by which fields stands in `docs/relations.md`, written from this code
//! by `the_documented_table_is_what_the_code_tells`.
//!
//! What is missing, has another type, or can name nothing tells of nothing.
//!
//! Why: docs/decisions/0013-each-object-declares-its-own-edges.md.

#![warn(missing_docs)]

mod access;
mod applications;
pub mod container_images;
mod declarations;
mod extensions;
mod gateway;
mod ingress;
mod owners;
mod pods;
mod policies;
mod relations;
mod releases;
mod resource_names;
mod scaling;
mod selector;
mod storage;
mod told;
mod traffic;

use serde::{Deserialize, Serialize};

use strandline_model::{Kind, Uid, stored};
use strandline_object::Object;
use strandline_object::gitlab_deployment;
use strandline_syntax::LabelSelector;
use strandline_syntax::keywords;
use told::Told;

pub use pods::repeats_its_maker;
pub use relations::{MAX_BYTES as MAX_RELATIONS_BYTES, MAX_RELATIONS, RelationError, Relations};

/// The most edges one object may tell of; what goes beyond is left out, the owners being kept first.
///
/// No sound object comes near it, and a hostile one must not fill the view.
pub const MAX_EDGES: usize = 1000;

/// Fields at the top of an object that change most often or are largest, and that no built-in edge is found in; of
/// `metadata` only name, labels, owners and [`annotations_read`] are.
pub const UNREAD: [&str; 4] = ["metadata", "status", "data", "binaryData"];

/// What a link from cause to dependent means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// The dependent exists because of the cause and goes with it.
    Owns = 0,
    /// The cause picks the dependent by its labels.
    Selects = 1,
    /// The cause sends traffic to the dependent.
    Routes = 2,
    /// The dependent reads the cause as volume or environment.
    Mounts = 3,
    /// The cause sets how many of the dependent there are.
    Scales = 4,
    /// The one names the other.
    References = 5,
}

keywords!(
    EdgeKind, "relation kind", Exact,
    Owns => "owns",
    Selects => "selects",
    Routes => "routes",
    Mounts => "mounts",
    Scales => "scales",
    References => "references",
);

stored!(EdgeKind, "kind of edge", Owns, Selects, Routes, Mounts, Scales, References,);

/// Which end of an edge the object that tells of it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The far end is the cause, this object the dependent.
    FromFar,
    /// This object is the cause, the far end the dependent.
    ToFar,
}

/// The other end of an edge, as the object names it; it need not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Far {
    /// One incarnation.
    Uid {
        /// Its identity.
        uid: Uid,
        /// Its group and kind, as claimed.
        kind: Kind,
        /// Its name, as claimed.
        name: String,
    },
    /// Whatever stands under this name in the object's cluster.
    Key {
        /// Group and kind.
        kind: Kind,
        /// Namespace; empty for what is cluster-scoped.
        namespace: String,
        /// Name.
        name: String,
    },
    /// Whatever carries labels that match, as long as it does.
    Matching {
        /// Group and kind.
        kind: Kind,
        /// Namespace; empty for all of them.
        namespace: String,
        /// What the labels have to be like.
        selector: LabelSelector,
    },
    /// Whatever has a name of this series: the stem, a dash and a number, as `data-db-0`.
    Numbered {
        /// Group and kind; one of [`numbered`].
        kind: Kind,
        /// Namespace.
        namespace: String,
        /// What stands before the number.
        stem: String,
    },
    /// Everything of a kind in the object's cluster.
    Every {
        /// Group and kind.
        kind: Kind,
    },
}

/// An edge as one of its ends tells of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeRef {
    /// What the link means.
    pub kind: EdgeKind,
    /// Which end is the cause.
    pub direction: Direction,
    /// The other end.
    pub far: Far,
}

/// The stem of a name that is one of a series, where objects of this kind are told by their series: what a controller calls
/// by a number is written without leading zeros, and whatever else a name ends in is part of another name.
pub fn numbered<'n>(kind: &Kind, name: &'n str) -> Option<&'n str> {
    let (stem, number) = name.rsplit_once('-').filter(|_| *kind == Kind::new("", "PersistentVolumeClaim"))?;
    let digits = number.len() <= 10 && number.bytes().all(|byte| byte.is_ascii_digit());
    let plain = number == "0" || !number.starts_with('0');
    (digits && plain && !number.is_empty() && !stem.is_empty()).then_some(stem)
}

/// The annotations in which built-in edges of an object are found; most objects have none.
pub fn annotations_read(object: &Object<'_>) -> impl Iterator<Item = &'static str> {
    let of_kind: &[&str] = match (object.group(), &*object.kind) {
        ("", "Secret") => &access::TOKEN_ANNOTATIONS,
        ("networking.k8s.io" | "extensions", "Ingress") => &ingress::CLASS_ANNOTATIONS,
        _ => &[],
    };
    let of_release: &[&str] = if releases::is_of_release(object) { &releases::ANNOTATIONS } else { &[] };
    of_kind.iter().chain(of_release).copied()
}

/// The edges an object tells of, each once, at most [`MAX_EDGES`] of them: its owners first, what users' relations
/// find last.
///
/// In the order of what matters more, which depends on nothing but what the object says.
pub fn edges(object: &Object<'_>, relations: &Relations) -> Vec<EdgeRef> {
    let mut told = Told::default();
    owners::tell(&mut told, object);
    built_in(&mut told, object);
    releases::tell(&mut told, object);
    relations.tell(&mut told, object);
    told.into_edges()
}

/// What kinds of Kubernetes itself tell by their fields.
fn built_in(told: &mut Told, object: &Object<'_>) {
    match (object.group(), &*object.kind) {
        ("", "Pod") => pods::pod(told, object),
        ("apps.kruise.io", "StatefulSet") => pods::workload(told, object),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("", "ReplicationController")
        | ("batch", "Job") => pods::workload(told, object),
        ("batch", "CronJob") => pods::cron_job(told, object),
        ("", "PodTemplate") => pods::pod_template(told, object),
        ("", "Service") => traffic::service(told, object),
        ("", "Endpoints") => traffic::endpoints(told, object),
        ("discovery.k8s.io", "EndpointSlice") => traffic::endpoint_slice(told, object),
        ("policy", "PodDisruptionBudget") => policies::disruption_budget(told, object),
        ("networking.k8s.io", "NetworkPolicy") => policies::network_policy(told, object),
        ("networking.k8s.io" | "extensions", "Ingress") => ingress::ingress(told, object),
        ("networking.k8s.io", "IngressClass") => ingress::class(told, object),
        ("gateway.networking.k8s.io" | "gateway.networking.x-k8s.io", kind) => match kind {
            "GatewayClass" | "Gateway" | "ListenerSet" | "XListenerSet" => gateway::gateway(told, object),
            "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute" | "UDPRoute" => gateway::route(told, object),
            "BackendTLSPolicy" => gateway::backend_policy(told, object),
            _ => {}
        },
        ("", "PersistentVolumeClaim") => storage::claim(told, object),
        ("", "PersistentVolume") => storage::volume(told, object),
        ("storage.k8s.io", "VolumeAttachment") => storage::attachment(told, object),
        ("storage.k8s.io", "StorageClass" | "VolumeAttributesClass" | "CSINode" | "CSIStorageCapacity") => {
            storage::of_driver(told, object);
        }
        ("snapshot.storage.k8s.io", "VolumeSnapshotClass") => storage::of_driver(told, object),
        ("snapshot.storage.k8s.io", "VolumeSnapshot" | "VolumeSnapshotContent") => {
            storage::snapshot(told, object);
        }
        ("", "ServiceAccount") => access::account(told, object),
        ("", "Secret") => access::token(told, object),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => access::role(told, object),
        ("app.k8s.io", "Application") => applications::application(told, object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => access::binding(told, object),
        ("autoscaling", "HorizontalPodAutoscaler") | ("autoscaling.k8s.io", "VerticalPodAutoscaler") => {
            scaling::autoscaler(told, object);
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => extensions::definition(told, object),
        ("apiregistration.k8s.io", "APIService") => extensions::api_service(told, object),
        ("admissionregistration.k8s.io", kind) => match kind {
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
                extensions::webhooks(told, object);
            }
            _ => extensions::policy_binding(told, object),
        },
        (gitlab_deployment::GROUP, gitlab_deployment::DEPLOYMENT) => declarations::deployment(told, object),
        (gitlab_deployment::GROUP, gitlab_deployment::MONITORING) => declarations::monitoring(told, object),
        _ => {}
    }
}

#[cfg(test)]
mod tests;

/// What the first page of the crate shows, which has to be true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FirstPage;
