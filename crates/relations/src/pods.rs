//! Pods, and the workloads that make them: what they read, run as and run on.
//!
//! A template tells what its Pods will tell, so that a missing ConfigMap shows where no Pod could be made of it.
//! What a workload makes with the same template, such as a Deployment's ReplicaSets, says nothing new and tells
//! nothing.
//!
//! A StatefulSet makes a PersistentVolumeClaim for each of its templates and Pods, called `TEMPLATE-NAME-N`, and names itself
//! in none of them unless a retention policy says so. All of that name are its own, whatever their number: what is left
//! when it is scaled down is used again.

use super::storage::driver;
use super::told::{Told, named};
use super::{EdgeKind, Far};
use strandline_object::Object;
use strandline_object::json::{Picked, Shape};

const NAMED: Shape = Shape::Members(&[("name", Shape::Text)]);
const SECRET_NAME: Shape = Shape::Members(&[("secretName", Shape::Text)]);
const SECRET_REF: Shape = Shape::Members(&[("secretRef", NAMED)]);

const CONTAINER: Shape = Shape::Members(&[
    (
        "env",
        Shape::Each(&Shape::Members(&[(
            "valueFrom",
            Shape::Members(&[("configMapKeyRef", NAMED), ("secretKeyRef", NAMED)]),
        )])),
    ),
    ("envFrom", Shape::Each(&Shape::Members(&[("configMapRef", NAMED), ("secretRef", NAMED)]))),
]);

const SOURCE: Shape =
    Shape::Members(&[("configMap", NAMED), ("secret", NAMED), ("clusterTrustBundle", NAMED)]);

const VOLUME: Shape = Shape::Members(&[
    ("configMap", NAMED),
    ("secret", SECRET_NAME),
    ("name", Shape::Text),
    ("persistentVolumeClaim", Shape::Members(&[("claimName", Shape::Text)])),
    ("ephemeral", Shape::Members(&[("volumeClaimTemplate", Shape::Members(&[]))])),
    ("projected", Shape::Members(&[("sources", Shape::Each(&SOURCE))])),
    ("csi", Shape::Members(&[("driver", Shape::Text), ("nodePublishSecretRef", NAMED)])),
    ("azureFile", SECRET_NAME),
    ("cephfs", SECRET_REF),
    ("flexVolume", SECRET_REF),
    ("iscsi", SECRET_REF),
    ("rbd", SECRET_REF),
    ("scaleIO", SECRET_REF),
    ("storageos", SECRET_REF),
]);

/// Volumes whose driver reads a Secret by `secretRef`.
const WITH_SECRET_REF: [&str; 6] = ["cephfs", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"];

const POD_SPEC: Shape = Shape::Members(&[
    ("nodeName", Shape::Text),
    ("serviceAccountName", Shape::Text),
    ("serviceAccount", Shape::Text),
    ("priorityClassName", Shape::Text),
    ("runtimeClassName", Shape::Text),
    ("imagePullSecrets", Shape::Each(&NAMED)),
    (
        "resourceClaims",
        Shape::Each(&Shape::Members(&[
            ("resourceClaimName", Shape::Text),
            ("resourceClaimTemplateName", Shape::Text),
        ])),
    ),
    ("volumes", Shape::Each(&VOLUME)),
    ("containers", Shape::Each(&CONTAINER)),
    ("initContainers", Shape::Each(&CONTAINER)),
    ("ephemeralContainers", Shape::Each(&CONTAINER)),
]);

const TEMPLATE: Shape = Shape::Members(&[("spec", POD_SPEC)]);
const POD: Shape = Shape::Members(&[("spec", POD_SPEC)]);
const POD_TEMPLATE: Shape = Shape::Members(&[("template", TEMPLATE)]);
const WORKLOAD: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("serviceName", Shape::Text),
        ("template", TEMPLATE),
        ("volumeClaimTemplates", Shape::Each(&Shape::Members(&[("metadata", NAMED)]))),
    ]),
)]);
const CRON_JOB: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[(
        "jobTemplate",
        Shape::Members(&[("spec", Shape::Members(&[("template", TEMPLATE)]))]),
    )]),
)]);

/// A Pod, with the claims that are made for its ephemeral volumes and go with it.
pub(super) fn pod(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&POD);
    let spec = picked.get("spec");
    for volume in spec.items_of("volumes") {
        let Picked::Members(_) = volume.get("ephemeral") else { continue };
        let name = volume.text_of("name").map(|volume| format!("{}-{volume}", object.metadata.name));
        let claim = claim(&object.metadata.namespace, name.as_deref());
        told.to(EdgeKind::Owns, claim.clone());
        told.from(EdgeKind::Mounts, claim);
    }
    pod_spec(told, object, spec);
}

/// What makes Pods of a `spec.template`; a StatefulSet names its Service besides, and owns the claims it makes.
pub(super) fn workload(told: &mut Told, object: &Object<'_>) {
    if repeats_its_maker(object) {
        return;
    }
    let picked = object.pick(&WORKLOAD);
    let spec = picked.get("spec");
    if object.kind == "StatefulSet" {
        let namespace = &object.metadata.namespace;
        for template in spec.items_of("volumeClaimTemplates") {
            let template = template.get("metadata").text_of("name").filter(|name| !name.is_empty());
            let stem = template.map(|template| format!("{template}-{}", object.metadata.name));
            told.to(EdgeKind::Owns, series(claim(namespace, stem.as_deref())));
        }
        told.from(EdgeKind::References, named("", "Service", namespace, spec.text_of("serviceName")));
    }
    pod_spec(told, object, spec.get("template").get("spec"));
}

/// A CronJob, whose template makes Jobs.
pub(super) fn cron_job(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&CRON_JOB);
    let job = picked.get("spec").get("jobTemplate").get("spec");
    pod_spec(told, object, job.get("template").get("spec"));
}

/// A template that stands by itself.
pub(super) fn pod_template(told: &mut Told, object: &Object<'_>) {
    pod_spec(told, object, object.pick(&POD_TEMPLATE).get("template").get("spec"));
}

/// Whether a workload made it that tells of the same template, so that it repeats what its maker tells.
pub fn repeats_its_maker(object: &Object<'_>) -> bool {
    object.metadata.owner_references.iter().any(|owner| {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        owner.controller && matches!((group, &*owner.kind), ("apps", "Deployment") | ("batch", "CronJob"))
    })
}

fn pod_spec(told: &mut Told, object: &Object<'_>, spec: &Picked<'_>) {
    use EdgeKind::References;
    let namespace = &*object.metadata.namespace;
    let account = spec.text_of("serviceAccountName").or(spec.text_of("serviceAccount"));
    told.from(References, named("", "Node", "", spec.text_of("nodeName")));
    told.from(References, named("", "ServiceAccount", namespace, account));
    let class = spec.text_of("priorityClassName");
    told.from(References, named("scheduling.k8s.io", "PriorityClass", "", class));
    told.from(References, named("node.k8s.io", "RuntimeClass", "", spec.text_of("runtimeClassName")));
    for volume in spec.items_of("volumes") {
        mounted(told, namespace, volume);
    }
    for containers in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec.items_of(containers) {
            environment(told, namespace, container);
        }
    }
    for secret in spec.items_of("imagePullSecrets") {
        told.from(References, named("", "Secret", namespace, secret.text_of("name")));
    }
    for claim in spec.items_of("resourceClaims") {
        for (kind, field) in
            [("ResourceClaim", "resourceClaimName"), ("ResourceClaimTemplate", "resourceClaimTemplateName")]
        {
            told.from(References, named("resource.k8s.io", kind, namespace, claim.text_of(field)));
        }
    }
}

fn mounted(told: &mut Told, namespace: &str, volume: &Picked<'_>) {
    if told.is_full() {
        return;
    }
    let name = volume.get("persistentVolumeClaim").text_of("claimName");
    told.from(EdgeKind::Mounts, claim(namespace, name));
    told.from(EdgeKind::Mounts, config_map(namespace, volume.get("configMap")));
    for source in volume.get("projected").items_of("sources") {
        told.from(EdgeKind::Mounts, config_map(namespace, source.get("configMap")));
        told.from(EdgeKind::Mounts, secret(namespace, source.get("secret")));
        let bundle = source.get("clusterTrustBundle").text_of("name");
        told.from(EdgeKind::Mounts, named("certificates.k8s.io", "ClusterTrustBundle", "", bundle));
    }
    for holder in ["secret", "azureFile"] {
        let name = volume.get(holder).text_of("secretName");
        told.from(EdgeKind::Mounts, named("", "Secret", namespace, name));
    }
    let csi = volume.get("csi");
    told.from(EdgeKind::References, driver(csi.text_of("driver")));
    told.from(EdgeKind::Mounts, secret(namespace, csi.get("nodePublishSecretRef")));
    for driver in WITH_SECRET_REF {
        told.from(EdgeKind::Mounts, secret(namespace, volume.get(driver).get("secretRef")));
    }
}

fn environment(told: &mut Told, namespace: &str, container: &Picked<'_>) {
    if told.is_full() {
        return;
    }
    for from in container.items_of("envFrom") {
        told.from(EdgeKind::Mounts, config_map(namespace, from.get("configMapRef")));
        told.from(EdgeKind::Mounts, secret(namespace, from.get("secretRef")));
    }
    for variable in container.items_of("env") {
        let from = variable.get("valueFrom");
        told.from(EdgeKind::Mounts, config_map(namespace, from.get("configMapKeyRef")));
        told.from(EdgeKind::Mounts, secret(namespace, from.get("secretKeyRef")));
    }
}

fn claim(namespace: &str, name: Option<&str>) -> Option<Far> {
    named("", "PersistentVolumeClaim", namespace, name)
}

/// All whose names go on from this one with a number.
fn series(far: Option<Far>) -> Option<Far> {
    match far? {
        Far::Key { kind, namespace, name } => Some(Far::Numbered { kind, namespace, stem: name }),
        _ => None,
    }
}

fn config_map(namespace: &str, reference: &Picked<'_>) -> Option<Far> {
    named("", "ConfigMap", namespace, reference.text_of("name"))
}

fn secret(namespace: &str, reference: &Picked<'_>) -> Option<Far> {
    named("", "Secret", namespace, reference.text_of("name"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::told;

    fn spec() -> Value {
        json!({
            "nodeName": "node-1", "serviceAccountName": "web", "serviceAccount": "old",
            "priorityClassName": "high", "runtimeClassName": "gvisor",
            "imagePullSecrets": [{"name": "registry"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-1"}, {"resourceClaimTemplateName": "gpus"}],
            "volumes": [
                {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "b", "configMap": {"name": "settings", "optional": true}},
                {"name": "c", "secret": {"secretName": "tls"}},
                {"name": "d", "projected": {"sources": [
                    {"configMap": {"name": "kube-root-ca.crt"}}, {"secret": {"name": "extra"}},
                    {"clusterTrustBundle": {"name": "roots"}}, {"serviceAccountToken": {"path": "token"}}]}},
                {"name": "e", "csi": {"driver": "x", "nodePublishSecretRef": {"name": "csi"}}},
                {"name": "f", "azureFile": {"secretName": "azure"}},
                {"name": "g", "rbd": {"secretRef": {"name": "ceph"}}},
                {"name": "h", "emptyDir": {}},
            ],
            "containers": [{"name": "web", "image": "web:1",
                "env": [{"name": "A", "value": "1"},
                    {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "env", "key": "b"}}},
                    {"name": "C", "valueFrom": {"secretKeyRef": {"name": "tls", "key": "c"}}}],
                "envFrom": [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "credentials"}}]}],
            "initContainers": [{"envFrom": [{"secretRef": {"name": "init"}}]}],
            "ephemeralContainers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "debug"}}}]}],
        })
    }

    const TOLD: [&str; 21] = [
        "<- references Node /node-1",
        "<- references ServiceAccount shop/web",
        "<- references PriorityClass.scheduling.k8s.io /high",
        "<- references RuntimeClass.node.k8s.io /gvisor",
        "<- mounts PersistentVolumeClaim shop/data",
        "<- mounts ConfigMap shop/settings",
        "<- mounts Secret shop/tls",
        "<- mounts ConfigMap shop/kube-root-ca.crt",
        "<- mounts Secret shop/extra",
        "<- mounts ClusterTrustBundle.certificates.k8s.io /roots",
        "<- references CSIDriver.storage.k8s.io /x",
        "<- mounts Secret shop/csi",
        "<- mounts Secret shop/azure",
        "<- mounts Secret shop/ceph",
        "<- mounts Secret shop/credentials",
        "<- mounts ConfigMap shop/env",
        "<- mounts Secret shop/init",
        "<- mounts ConfigMap shop/debug",
        "<- references Secret shop/registry",
        "<- references ResourceClaim.resource.k8s.io shop/gpu-1",
        "<- references ResourceClaimTemplate.resource.k8s.io shop/gpus",
    ];

    #[test]
    fn a_pod_tells_what_it_reads_runs_as_and_runs_on() {
        let metadata = json!({"namespace": "shop", "name": "web-0", "uid": "p"});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec()});
        assert_eq!(told(&pod), TOLD);
        let old = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop"}, "spec": {"serviceAccount": "old"}});
        assert_eq!(told(&old), ["<- references ServiceAccount shop/old"]);
    }

    #[test]
    fn a_template_tells_what_its_pods_will() {
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": spec()});
        let metadata = json!({"namespace": "shop", "name": "web", "uid": "w"});
        for (version, kind) in [
            ("apps/v1", "Deployment"),
            ("apps/v1", "StatefulSet"),
            ("apps/v1", "DaemonSet"),
            ("apps/v1", "ReplicaSet"),
            ("v1", "ReplicationController"),
            ("batch/v1", "Job"),
        ] {
            let workload = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"template": template}});
            assert_eq!(told(&workload), TOLD, "{kind}");
        }
        let jobs = json!({"jobTemplate": {"spec": {"template": template}}});
        let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": jobs});
        assert_eq!(told(&cron), TOLD);
        let alone =
            json!({"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata, "template": template});
        assert_eq!(told(&alone), TOLD);
    }

    #[test]
    fn what_a_workload_made_leaves_it_to_the_workload() {
        let made = |version: &str, kind: &str, owner: (&str, &str), controller: bool| {
            let owner = json!({"apiVersion": owner.0, "kind": owner.1, "name": "o", "uid": "o", "controller": controller});
            let metadata = json!({"namespace": "shop", "uid": "m", "ownerReferences": [owner]});
            told(&json!({"apiVersion": version, "kind": kind, "metadata": metadata,
                "spec": {"template": {"spec": {"serviceAccountName": "web"}}}}))
            .len()
        };
        assert_eq!(made("apps/v1", "ReplicaSet", ("apps/v1", "Deployment"), true), 1);
        assert_eq!(made("batch/v1", "Job", ("batch/v1", "CronJob"), true), 1);
        assert_eq!(made("apps/v1", "ReplicaSet", ("apps/v1", "Deployment"), false), 2);
        assert_eq!(made("apps/v1", "ReplicaSet", ("argoproj.io/v1alpha1", "Rollout"), true), 2);
    }

    #[test]
    fn a_stateful_set_names_its_service() {
        let set = |kind: &str| {
            json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"namespace": "shop"},
                "spec": {"serviceName": "db", "template": {}}})
        };
        assert_eq!(told(&set("StatefulSet")), ["<- references Service shop/db"]);
        assert!(told(&set("Deployment")).is_empty());
    }

    #[test]
    fn a_stateful_set_owns_the_claims_that_it_calls_by_number() {
        let set = |version: &str, templates: serde_json::Value| {
            told(
                &json!({"apiVersion": version, "kind": "StatefulSet", "metadata": {"namespace": "shop", "name": "db"},
                "spec": {"serviceName": "db", "volumeClaimTemplates": templates}}),
            )
        };
        let named = |name: &str| json!({"metadata": {"name": name}});
        let templates =
            json!([named("data"), named("data-db"), named("data"), named(""), named("a/b"), {}, 7]);
        for version in ["apps/v1", "apps.kruise.io/v1beta1"] {
            assert_eq!(
                set(version, templates.clone()),
                [
                    "-> owns PersistentVolumeClaim shop/data-db-N",
                    "-> owns PersistentVolumeClaim shop/data-db-db-N",
                    "<- references Service shop/db",
                ]
            );
        }
        assert_eq!(set("apps/v1", json!(null)), ["<- references Service shop/db"]);
    }

    #[test]
    fn names_of_a_series_end_in_a_number_and_nothing_like_it() {
        let claim = strandline_model::Kind::new("", "PersistentVolumeClaim");
        for (name, stem) in [
            ("data-db-0", Some("data-db")),
            ("data-db-10", Some("data-db")),
            ("data-db-1-0", Some("data-db-1")),
            ("data-db-2147483647", Some("data-db")),
            ("data-db-01", None),
            ("data-db-00", None),
            ("data-db-", None),
            ("data-db", None),
            ("data-db-x", None),
            ("data-db-\u{0661}", None),
            ("data-db-99999999999", None),
            ("-0", None),
            ("0", None),
        ] {
            assert_eq!(super::super::numbered(&claim, name), stem, "{name}");
        }
        assert_eq!(super::super::numbered(&strandline_model::Kind::new("", "Pod"), "db-0"), None);
    }

    #[test]
    fn a_pod_owns_and_reads_the_claims_of_its_ephemeral_volumes() {
        let volumes = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "other", "emptyDir": {}}, {"ephemeral": {}}, {"name": "a/b", "ephemeral": {}}, {"name": "x", "ephemeral": 7}]);
        let spec = json!({"volumes": volumes});
        let metadata = json!({"namespace": "shop", "name": "web-0"});
        assert_eq!(
            told(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})),
            [
                "-> owns PersistentVolumeClaim shop/web-0-scratch",
                "<- mounts PersistentVolumeClaim shop/web-0-scratch",
            ]
        );
        let template = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
            "spec": {"template": {"spec": spec}}});
        assert!(told(&template).is_empty(), "how a template's Pods are called is not known");
    }

    #[test]
    fn a_pod_with_more_volumes_than_fit_keeps_what_it_runs_as() {
        let volumes: Vec<_> = (0..100_000).map(|n| json!({"configMap": {"name": format!("c{n}")}})).collect();
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop"},
            "spec": {"volumes": volumes, "serviceAccountName": "web"}});
        let told = told(&pod);
        assert_eq!(told.len(), super::super::MAX_EDGES);
        assert_eq!(told[..2], ["<- references ServiceAccount shop/web", "<- mounts ConfigMap shop/c0"]);
    }
}
