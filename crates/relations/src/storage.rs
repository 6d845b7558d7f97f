//! Volumes, the claims on them, their classes, attachments and snapshots.
//!
//! Which volume a claim got is said by both of them, and means the same edge: the volume is what the claim stands on.

use super::EdgeKind::References;
use super::Far;
use super::told::{Defaults, REFERENCE, Told, named, referenced};
use strandline_object::Object;
use strandline_object::json::{Picked, Shape};

const CLASSES: &str = "storage.k8s.io";
const SNAPSHOTS: &str = "snapshot.storage.k8s.io";

const CLAIM: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("volumeName", Shape::Text),
        ("storageClassName", Shape::Text),
        ("volumeAttributesClassName", Shape::Text),
        ("dataSource", REFERENCE),
        ("dataSourceRef", REFERENCE),
    ]),
)]);

const VOLUME: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("claimRef", REFERENCE),
        ("storageClassName", Shape::Text),
        ("volumeAttributesClassName", Shape::Text),
        (
            "csi",
            Shape::Members(&[
                ("driver", Shape::Text),
                ("controllerPublishSecretRef", REFERENCE),
                ("nodeStageSecretRef", REFERENCE),
                ("nodePublishSecretRef", REFERENCE),
                ("controllerExpandSecretRef", REFERENCE),
                ("nodeExpandSecretRef", REFERENCE),
            ]),
        ),
    ]),
)]);

/// The Secrets that a driver reads at the steps of a volume's life.
const SECRETS: [&str; 5] = [
    "controllerPublishSecretRef",
    "nodeStageSecretRef",
    "nodePublishSecretRef",
    "controllerExpandSecretRef",
    "nodeExpandSecretRef",
];

const ATTACHMENT: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("attacher", Shape::Text),
        ("nodeName", Shape::Text),
        ("source", Shape::Members(&[("persistentVolumeName", Shape::Text)])),
    ]),
)]);

const SNAPSHOT: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[
        ("driver", Shape::Text),
        ("volumeSnapshotClassName", Shape::Text),
        ("volumeSnapshotRef", REFERENCE),
        (
            "source",
            Shape::Members(&[
                ("persistentVolumeClaimName", Shape::Text),
                ("volumeSnapshotContentName", Shape::Text),
            ]),
        ),
    ]),
)]);

/// Classes name their driver at the top, a CSINode those of its Node, and a CSIStorageCapacity its class.
const OF_DRIVER: Shape = Shape::Members(&[
    ("provisioner", Shape::Text),
    ("driver", Shape::Text),
    ("driverName", Shape::Text),
    ("storageClassName", Shape::Text),
    ("spec", Shape::Members(&[("drivers", Shape::Each(&Shape::Members(&[("name", Shape::Text)])))])),
]);

/// A PersistentVolumeClaim stands on its volume, its class, and what it was filled from.
pub(super) fn claim(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&CLAIM);
    let spec = picked.get("spec");
    told.from(References, named("", "PersistentVolume", "", spec.text_of("volumeName")));
    classes(told, spec);
    // What is claimed without a group is a PersistentVolumeClaim of the core group.
    let defaults = Defaults { group: "", kind: "", namespace: &object.metadata.namespace };
    for source in ["dataSource", "dataSourceRef"] {
        told.from(References, referenced(spec.get(source), defaults));
    }
}

/// A PersistentVolume bears its claim, the very one where it tells the uid.
pub(super) fn volume(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&VOLUME);
    let spec = picked.get("spec");
    let claim = Defaults { group: "", kind: "PersistentVolumeClaim", namespace: "" };
    told.to(References, referenced(spec.get("claimRef"), claim));
    classes(told, spec);
    told.from(References, driver(spec.get("csi").text_of("driver")));
    for secret in SECRETS {
        let defaults = Defaults { group: "", kind: "Secret", namespace: "" };
        told.from(References, referenced(spec.get("csi").get(secret), defaults));
    }
}

/// A VolumeAttachment brings a volume to a Node.
pub(super) fn attachment(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&ATTACHMENT);
    let spec = picked.get("spec");
    let volume = spec.get("source").text_of("persistentVolumeName");
    told.from(References, named("", "PersistentVolume", "", volume));
    told.from(References, named("", "Node", "", spec.text_of("nodeName")));
    told.from(References, driver(spec.text_of("attacher")));
}

/// A VolumeSnapshot stands on what it was taken of; a VolumeSnapshotContent bears its snapshot.
pub(super) fn snapshot(told: &mut Told, object: &Object<'_>) {
    let namespace = &*object.metadata.namespace;
    let picked = object.pick(&SNAPSHOT);
    let spec = picked.get("spec");
    let source = spec.get("source");
    let claim = source.text_of("persistentVolumeClaimName");
    told.from(References, named("", "PersistentVolumeClaim", namespace, claim));
    let content = source.text_of("volumeSnapshotContentName");
    told.from(References, named(SNAPSHOTS, "VolumeSnapshotContent", "", content));
    let snapshot = Defaults { group: SNAPSHOTS, kind: "VolumeSnapshot", namespace: "" };
    told.to(References, referenced(spec.get("volumeSnapshotRef"), snapshot));
    let class = spec.text_of("volumeSnapshotClassName");
    told.from(References, named(SNAPSHOTS, "VolumeSnapshotClass", "", class));
    told.from(References, driver(spec.text_of("driver")));
}

/// A class of storage, of attributes or of snapshots, and what tells of the drivers on a Node or of the room they have.
pub(super) fn of_driver(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&OF_DRIVER);
    match &*object.kind {
        "StorageClass" => told.from(References, driver(picked.text_of("provisioner"))),
        "VolumeAttributesClass" => told.from(References, driver(picked.text_of("driverName"))),
        "VolumeSnapshotClass" => told.from(References, driver(picked.text_of("driver"))),
        "CSIStorageCapacity" => {
            told.from(References, named(CLASSES, "StorageClass", "", picked.text_of("storageClassName")));
        }
        _ => {
            for one in picked.get("spec").items_of("drivers") {
                told.from(References, driver(one.text_of("name")));
            }
        }
    }
}

/// A driver by its name. Those that are built into Kubernetes, and provisioners that are none, have a slash in theirs.
pub(super) fn driver(name: Option<&str>) -> Option<Far> {
    named(CLASSES, "CSIDriver", "", name)
}

fn classes(told: &mut Told, spec: &Picked<'_>) {
    told.from(References, named(CLASSES, "StorageClass", "", spec.text_of("storageClassName")));
    let class = spec.text_of("volumeAttributesClassName");
    told.from(References, named(CLASSES, "VolumeAttributesClass", "", class));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::told;

    fn object(version: &str, kind: &str, namespace: &str, spec: &Value) -> Vec<String> {
        told(
            &json!({"apiVersion": version, "kind": kind, "metadata": {"namespace": namespace, "name": "it"}, "spec": spec}),
        )
    }

    #[test]
    fn a_claim_and_its_volume_tell_the_same_edge() {
        let claim = json!({"volumeName": "pv-1", "storageClassName": "fast", "volumeAttributesClassName": "gold",
            "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"},
            "dataSourceRef": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}});
        assert_eq!(
            object("v1", "PersistentVolumeClaim", "shop", &claim),
            [
                "<- references PersistentVolume /pv-1",
                "<- references StorageClass.storage.k8s.io /fast",
                "<- references VolumeAttributesClass.storage.k8s.io /gold",
                "<- references VolumeSnapshot.snapshot.storage.k8s.io shop/s",
            ]
        );
        let bound = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop", "name": "db", "uid": "c-1"});
        let volume = json!({"claimRef": bound, "storageClassName": "fast",
            "csi": {"driver": "x", "nodeStageSecretRef": {"name": "key", "namespace": "kube-system"}}});
        assert_eq!(
            object("v1", "PersistentVolume", "", &volume),
            [
                "-> references PersistentVolumeClaim db c-1",
                "<- references StorageClass.storage.k8s.io /fast",
                "<- references CSIDriver.storage.k8s.io /x",
                "<- references Secret kube-system/key",
            ]
        );
        let reserved = json!({"claimRef": {"namespace": "shop", "name": "db"}, "storageClassName": ""});
        assert_eq!(
            object("v1", "PersistentVolume", "", &reserved),
            ["-> references PersistentVolumeClaim shop/db"]
        );
    }

    #[test]
    fn classes_and_nodes_name_their_drivers() {
        let driver = "<- references CSIDriver.storage.k8s.io /csi.example.org";
        let at_the_top = |version: &str, kind: &str, field: &str, name: &str| {
            told(&json!({"apiVersion": version, "kind": kind, "metadata": {"name": "it"}, field: name}))
        };
        for (version, kind, field) in [
            ("storage.k8s.io/v1", "StorageClass", "provisioner"),
            ("storage.k8s.io/v1", "VolumeAttributesClass", "driverName"),
            ("snapshot.storage.k8s.io/v1", "VolumeSnapshotClass", "driver"),
        ] {
            assert_eq!(at_the_top(version, kind, field, "csi.example.org"), [driver], "{kind}");
            assert!(at_the_top(version, kind, field, "kubernetes.io/aws-ebs").is_empty(), "{kind}");
        }
        let node = json!({"drivers": [{"name": "csi.example.org", "nodeID": "n"}, {"name": "other.example.org"}, {}]});
        assert_eq!(
            object("storage.k8s.io/v1", "CSINode", "", &node),
            [driver, "<- references CSIDriver.storage.k8s.io /other.example.org"]
        );
        let capacity = at_the_top("storage.k8s.io/v1", "CSIStorageCapacity", "storageClassName", "fast");
        assert_eq!(capacity, ["<- references StorageClass.storage.k8s.io /fast"]);
    }

    #[test]
    fn a_claim_is_filled_from_another() {
        let spec = json!({"dataSource": {"kind": "PersistentVolumeClaim", "name": "old"},
            "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "old", "namespace": "before"}});
        assert_eq!(
            object("v1", "PersistentVolumeClaim", "shop", &spec),
            [
                "<- references PersistentVolumeClaim shop/old",
                "<- references PersistentVolumeClaim before/old"
            ]
        );
    }

    #[test]
    fn attachments_and_snapshots_name_what_they_are_of() {
        let attachment =
            json!({"attacher": "x", "nodeName": "node-1", "source": {"persistentVolumeName": "pv-1"}});
        assert_eq!(
            object("storage.k8s.io/v1", "VolumeAttachment", "", &attachment),
            [
                "<- references PersistentVolume /pv-1",
                "<- references Node /node-1",
                "<- references CSIDriver.storage.k8s.io /x"
            ]
        );
        let snapshot =
            json!({"volumeSnapshotClassName": "daily", "source": {"persistentVolumeClaimName": "db"}});
        assert_eq!(
            object("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "shop", &snapshot),
            [
                "<- references PersistentVolumeClaim shop/db",
                "<- references VolumeSnapshotClass.snapshot.storage.k8s.io /daily",
            ]
        );
        let imported = json!({"source": {"volumeSnapshotContentName": "content"}});
        assert_eq!(
            object("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "shop", &imported),
            ["<- references VolumeSnapshotContent.snapshot.storage.k8s.io /content"]
        );
        let content = json!({"volumeSnapshotRef": {"namespace": "shop", "name": "s"}, "source": {"snapshotHandle": "h"}});
        assert_eq!(
            object("snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", "", &content),
            ["-> references VolumeSnapshot.snapshot.storage.k8s.io shop/s"]
        );
    }
}
