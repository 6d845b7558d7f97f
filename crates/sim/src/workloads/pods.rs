//! Pods at every stage of their lives.

use std::sync::Arc;

use serde_json::{Value, json};

use super::catalog::{Location, NEEDED, Shape, Template};
use super::containers::{pod_spec, template_annotations};
use super::metadata::{Identity, Metadata, merge, pod_labels};
use crate::api_server::seconds;
use strandline_model::Timestamp;

/// Where a Pod is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Created, on no node yet.
    Pending,
    /// On a node that has not looked at it yet.
    Scheduled,
    /// Its container is being created.
    Creating,
    /// Its image cannot be pulled; `true` while the next attempt is waited for.
    PullFailed(bool),
    /// Its container cannot be made from its configuration.
    ConfigFailed,
    /// Its program runs and does not answer yet.
    Starting,
    /// It answers.
    Ready,
    /// Its program ended.
    Exited,
    /// Its program ended too often, the next start is waited for.
    BackOff,
    /// Its program was stopped because the Pod is being deleted.
    Stopped,
}

/// How a program ended.
#[derive(Clone, Debug)]
pub(crate) struct Exit {
    pub(crate) code: i64,
    pub(crate) reason: &'static str,
    pub(crate) started: Timestamp,
    pub(crate) finished: Timestamp,
}

/// The node a Pod runs on.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) node: usize,
    pub(crate) node_name: String,
    pub(crate) node_address: String,
    pub(crate) zone: String,
    pub(crate) address: String,
}

/// What made a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    /// The ReplicaSet with this template hash of the deployment with this index in the site.
    ReplicaSet(usize, String),
    /// The stateful workload with this index in the site, for this ordinal.
    Stateful(usize, u32),
}

/// A Pod's state.
#[derive(Clone, Debug)]
pub(crate) struct Pod {
    pub(crate) identity: Identity,
    pub(crate) maker: Maker,
    pub(crate) owner: Identity,
    pub(crate) template: Arc<Template>,
    pub(crate) seat: Option<Seat>,
    pub(crate) stage: Stage,
    /// When this stage began.
    pub(crate) since: Timestamp,
    /// When the present run of the program began.
    pub(crate) started: Timestamp,
    /// When readiness last changed.
    pub(crate) ready_changed: Timestamp,
    pub(crate) scheduled: Timestamp,
    pub(crate) restarts: u32,
    pub(crate) last_exit: Option<Exit>,
    pub(crate) deleting: Option<Timestamp>,
    /// Counts the plans made for it, so that an outdated one is known.
    pub(crate) plan: u32,
}

impl Pod {
    /// Whether it answers.
    pub(crate) fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    /// Whether a controller counts it.
    pub(crate) const fn is_active(&self) -> bool {
        self.deleting.is_none()
    }

    const fn phase(&self) -> &'static str {
        match self.stage {
            Stage::Pending
            | Stage::Scheduled
            | Stage::Creating
            | Stage::PullFailed(_)
            | Stage::ConfigFailed => "Pending",
            Stage::Starting | Stage::Ready | Stage::Exited | Stage::BackOff => "Running",
            Stage::Stopped => "Succeeded",
        }
    }

    /// Whether its node has begun to work on it.
    const fn is_taken_up(&self) -> bool {
        !matches!(self.stage, Stage::Pending | Stage::Scheduled)
    }
}

/// The object of a Pod.
pub(crate) fn pod(location: &Location, pod: &Pod) -> Value {
    let component = pod.template.component;
    let labels = pod_labels(location, component);
    let (labels, api_version, kind) = match &pod.maker {
        Maker::ReplicaSet(_, hash) => {
            (merge(labels, json!({"pod-template-hash": hash})), "apps/v1", "ReplicaSet")
        }
        Maker::Stateful(_, ordinal) => {
            let own = json!({
                "apps.kubernetes.io/pod-index": ordinal.to_string(),
                "controller-revision-hash": format!("{}-{}", component.name, pod.template.hash),
                "statefulset.kubernetes.io/pod-name": pod.identity.name,
            });
            match component.shape {
                Shape::Database => (labels, "postgresql.example.dev/v1", "Cluster"),
                _ => (merge(labels, own), "apps/v1", "StatefulSet"),
            }
        }
    };
    Metadata::of(&pod.identity)
        .namespace(&location.namespace)
        .with("generateName", format!("{}-", pod.owner.name))
        .deleting(pod.deleting, 30)
        .labels(labels)
        .annotations(template_annotations(&pod.template))
        .owner(api_version, kind, &pod.owner)
        .object("v1", "Pod", json!({"spec": spec(location, pod), "status": status(location, pod)}))
}

fn spec(location: &Location, pod: &Pod) -> Value {
    let mut spec = pod_spec(location, &pod.template);
    if let Some(volumes) = spec["volumes"].as_array_mut() {
        if matches!(pod.maker, Maker::Stateful(..)) {
            volumes.push(json!({
                "name": "data",
                "persistentVolumeClaim": {"claimName": format!("data-{}", pod.identity.name)},
            }));
        }
        volumes.push(service_account_volume());
    }
    if let Some(mounts) = spec["containers"][0]["volumeMounts"].as_array_mut() {
        mounts.push(json!({
            "name": "kube-api-access",
            "readOnly": true,
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        }));
    }
    let tolerate = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    let tolerations = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].map(tolerate);
    spec["tolerations"] = json!(tolerations);
    spec["priority"] = 0.into();
    spec["preemptionPolicy"] = "PreemptLowerPriority".into();
    if let Some(seat) = &pod.seat {
        spec["nodeName"] = seat.node_name.as_str().into();
    }
    spec
}

fn service_account_volume() -> Value {
    json!({
        "name": "kube-api-access",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [
                    {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
                ]}},
            ],
            "defaultMode": 420,
        },
    })
}

fn status(location: &Location, pod: &Pod) -> Value {
    let mut status = json!({"phase": pod.phase()});
    if pod.seat.is_some() {
        status["conditions"] = conditions(pod);
    }
    status["qosClass"] = "Burstable".into();
    let Some(seat) = pod.seat.as_ref().filter(|_| pod.is_taken_up()) else { return status };
    status["hostIP"] = seat.node_address.as_str().into();
    status["hostIPs"] = json!([{"ip": seat.node_address}]);
    status["startTime"] = seconds(pod.scheduled).into();
    if pod.stage != Stage::Creating {
        status["podIP"] = seat.address.as_str().into();
        status["podIPs"] = json!([{"ip": seat.address}]);
    }
    status["containerStatuses"] = json!([container_status(location, pod)]);
    status
}

fn conditions(pod: &Pod) -> Value {
    let condition = |kind: &str, is_true: bool, since: Timestamp| {
        json!({
            "type": kind,
            "status": if is_true { "True" } else { "False" },
            "lastProbeTime": Value::Null,
            "lastTransitionTime": seconds(since),
        })
    };
    let scheduled = condition("PodScheduled", true, pod.scheduled);
    if !pod.is_taken_up() {
        return json!([scheduled]);
    }
    let ready = |kind: &str| {
        let mut condition = condition(kind, pod.is_ready(), pod.ready_changed);
        if pod.stage == Stage::Stopped {
            condition["reason"] = "PodCompleted".into();
        } else if !pod.is_ready() {
            let name = pod.template.component.name;
            condition["reason"] = "ContainersNotReady".into();
            condition["message"] = format!("containers with unready status: [{name}]").into();
        }
        condition
    };
    json!([
        condition("PodReadyToStartContainers", pod.stage != Stage::Creating, pod.scheduled),
        condition("Initialized", true, pod.scheduled),
        ready("Ready"),
        ready("ContainersReady"),
        scheduled,
    ])
}

fn container_status(location: &Location, pod: &Pod) -> Value {
    let template = &pod.template;
    let image = template.image(location);
    let running = matches!(pod.stage, Stage::Starting | Stage::Ready);
    let mut status = json!({
        "name": template.component.name,
        "state": state(location, pod, &image),
        "lastState": {},
        "ready": pod.is_ready(),
        "restartCount": pod.restarts,
        "image": image,
        "imageID": "",
        "started": running,
    });
    if matches!(pod.stage, Stage::Starting | Stage::Ready | Stage::Exited | Stage::BackOff | Stage::Stopped) {
        let repository = image.rsplit_once(':').map_or(image.as_str(), |(repository, _)| repository);
        let digest = blake3::hash(image.as_bytes()).to_hex();
        status["imageID"] = format!("{repository}@sha256:{digest}").into();
        status["containerID"] = container_id(pod).into();
    }
    if let Some(exit) = pod.last_exit.as_ref().filter(|_| pod.stage != Stage::Exited) {
        status["lastState"] = terminated(exit, pod);
    }
    status
}

/// What the kubelet says where the configuration lacks what a container needs.
pub(crate) fn lacks_key(location: &Location, component: &str) -> String {
    format!("couldn't find key {NEEDED} in ConfigMap {}/{component}-config", location.namespace)
}

fn state(location: &Location, pod: &Pod, image: &str) -> Value {
    let waiting = |reason: &str, message: Option<String>| match message {
        Some(message) => json!({"waiting": {"reason": reason, "message": message}}),
        None => json!({"waiting": {"reason": reason}}),
    };
    match pod.stage {
        Stage::Pending | Stage::Scheduled | Stage::Creating => waiting("ContainerCreating", None),
        Stage::PullFailed(true) => {
            waiting("ImagePullBackOff", Some(format!("Back-off pulling image \"{image}\"")))
        }
        Stage::PullFailed(false) => waiting(
            "ErrImagePull",
            Some(format!(
                "rpc error: code = NotFound desc = failed to pull and unpack image \"{image}\": not found"
            )),
        ),
        Stage::ConfigFailed => {
            let name = pod.template.component.name;
            waiting("CreateContainerConfigError", Some(lacks_key(location, name)))
        }
        Stage::Starting | Stage::Ready => json!({"running": {"startedAt": seconds(pod.started)}}),
        Stage::BackOff => {
            let wait = back_off_seconds(pod.restarts);
            let name = &pod.identity.name;
            waiting(
                "CrashLoopBackOff",
                Some(format!("back-off {wait}s restarting failed container in pod {name}")),
            )
        }
        Stage::Exited => pod.last_exit.as_ref().map_or_else(|| json!({}), |exit| terminated(exit, pod)),
        Stage::Stopped => {
            let (started, finished) = (pod.started, pod.since);
            terminated(&Exit { code: 0, reason: "Completed", started, finished }, pod)
        }
    }
}

/// How long the kubelet waits before it starts a program again.
pub(crate) fn back_off_seconds(restarts: u32) -> u64 {
    (10_u64 << restarts.saturating_sub(1).min(5)).min(300)
}

fn terminated(exit: &Exit, pod: &Pod) -> Value {
    json!({"terminated": {
        "exitCode": exit.code,
        "reason": exit.reason,
        "startedAt": seconds(exit.started),
        "finishedAt": seconds(exit.finished),
        "containerID": container_id(pod),
    }})
}

fn container_id(pod: &Pod) -> String {
    let of = format!("{}/{}", pod.identity.uid, pod.restarts);
    format!("containerd://{}", blake3::hash(of.as_bytes()).to_hex())
}
