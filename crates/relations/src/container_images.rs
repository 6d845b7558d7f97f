//! Which images an object runs, or has others run.
//!
//! The rule is one of structure: whatever stands beside a `name` as the `image` of an item of `containers`,
//! `initContainers` or `ephemeralContainers`, wherever that list stands. So custom kinds with a template are read like
//! Kubernetes' own. Pure: no clock, no store.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::repeats_its_maker;
use strandline_object::Object;
use strandline_object::json::{Picked, Shape};
use strandline_syntax::Image;

/// The lists that hold containers, with the list of the status that tells what became of them.
const LISTS: [(&str, &str); 3] = [
    ("containers", "containerStatuses"),
    ("initContainers", "initContainerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
];

/// What is wanted of a container.
const CONTAINERS: Shape = Shape::Each(&Shape::Members(&[("name", Shape::Text), ("image", Shape::Text)]));

/// An object's own containers; all else of a spec, which for Pods is most of them, is passed over.
const OWN: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[(LISTS[0].0, CONTAINERS), (LISTS[1].0, CONTAINERS), (LISTS[2].0, CONTAINERS)]),
)]);

/// Fields that hold no containers.
const PASSED_OVER: [&str; 6] = ["apiVersion", "kind", "metadata", "status", "data", "binaryData"];

/// The most images that are taken from one object.
const IMAGES_MAX: usize = 200;

/// What an object's status adds: whether all it runs has ended, and the digests by list and container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Running {
    ended: bool,
    digests: BTreeMap<(usize, String), String>,
}

impl Running {
    /// Reads a status, if it speaks of any of this: most do not, and to see that costs little.
    pub fn of(object: &Object<'_>) -> Self {
        let speaks = |text: &str| text.contains("\"phase\"") || text.contains("\"imageID\"");
        if !object.field("status").is_some_and(speaks) {
            return Running::default();
        }
        let status = object.status();
        let ended = matches!(status["phase"].as_str(), Some("Succeeded" | "Failed"));
        let told = LISTS.iter().enumerate().flat_map(|(list, (_, statuses))| {
            let items = status[*statuses].as_array().into_iter().flatten();
            items.filter_map(move |item| {
                let digest = Image::digest_of(item["imageID"].as_str()?)?;
                Some(((list, item["name"].as_str()?.to_owned()), digest.to_owned()))
            })
        });
        Running { ended, digests: told.take(IMAGES_MAX).collect() }
    }
}

/// The images of an object: of one that runs containers itself those, with the digests that its status tells, until
/// they have ended; of one with templates those of the templates, unless it wants no replicas or repeats what its
/// maker tells.
pub fn images(object: &Object<'_>, running: &Running) -> BTreeSet<Image> {
    let mut found = BTreeSet::new();
    if object.field("spec").is_some_and(mentions_images) {
        let picked = object.pick(&OWN);
        let lists = LISTS.map(|(list, _)| picked.get("spec").get(list));
        if lists.iter().any(|list| matches!(list, Picked::Each(_))) {
            if !running.ended {
                of_own(lists, running, &mut found);
            }
            return found;
        }
    }
    if repeats_its_maker(object) {
        return found;
    }
    for (name, text) in object.fields() {
        if PASSED_OVER.contains(&name) || !mentions_images(text) {
            continue;
        }
        let parsed: Value;
        let value = match name {
            "spec" => object.spec(),
            _ => {
                parsed = serde_json::from_str(text).unwrap_or_default();
                &parsed
            }
        };
        if value["replicas"].as_i64() != Some(0) {
            of_templates(value, &mut found);
        }
    }
    found
}

/// Most objects hold no image; to see that costs little.
fn mentions_images(text: &str) -> bool {
    text.contains("\"image\"")
}

/// Every list of containers in a value, at any depth that is read.
fn of_templates(value: &Value, found: &mut BTreeSet<Image>) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(members) => {
                of_containers(value, found);
                waiting.extend(members.values());
            }
            Value::Array(items) => waiting.extend(items),
            _ => {}
        }
    }
}

/// The images of an object's own containers, with the digests that run, where they are known.
fn of_own(lists: [&Picked<'_>; LISTS.len()], running: &Running, found: &mut BTreeSet<Image>) {
    for (list, containers) in lists.into_iter().enumerate() {
        for container in containers.items() {
            let (Some(name), Some(image)) = (container.text_of("name"), container.text_of("image")) else {
                continue;
            };
            take(image, running.digests.get(&(list, name.to_owned())), found);
        }
    }
}

/// The images of the lists of containers that stand in a value.
fn of_containers(value: &Value, found: &mut BTreeSet<Image>) {
    let lists = LISTS.iter().filter_map(|(list, _)| value[*list].as_array());
    for container in lists.flatten() {
        if let (Some(_), Some(image)) = (container["name"].as_str(), container["image"].as_str()) {
            take(image, None, found);
        }
    }
}

/// Takes in an image by the name that was asked for, with the digest of the one that runs, where it is known.
fn take(image: &str, running: Option<&String>, found: &mut BTreeSet<Image>) {
    let Some(image) = Image::parse(image).filter(|_| found.len() < IMAGES_MAX) else { return };
    match running {
        Some(digest) if *digest != image.digest => {
            // What was asked for by digest may be an index of which one image runs; both are found.
            if !image.digest.is_empty() {
                found.insert(image.clone());
            }
            found.insert(Image { digest: digest.clone(), ..image });
        }
        _ => {
            found.insert(image);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(object: &Value) -> Vec<String> {
        let text = object.to_string();
        let object = Object::parse(&text).unwrap();
        let shown = |image: Image| match (image.tag.is_empty(), image.digest.is_empty()) {
            (false, false) => format!("{}@{}", image.name(), image.digest),
            _ => image.name(),
        };
        images(&object, &Running::of(&object)).into_iter().map(shown).collect()
    }

    fn container(name: &str, image: &str) -> Value {
        json!({"name": name, "image": image})
    }

    #[test]
    fn images_are_found_by_structure() {
        let pod = json!({"containers": [container("a", "x.io/a:1"), container("b", "x.io/b:2")],
            "initContainers": [container("i", "x.io/i:3")], "volumes": [{"name": "v", "image": {"reference": "no"}}]});
        let all = ["x.io/a:1", "x.io/b:2", "x.io/i:3"];
        let template = json!({"template": {"spec": pod}});
        for (object, expected) in [
            (json!({"kind": "Pod", "spec": pod}), &all[..]),
            (json!({"kind": "Deployment", "spec": template}), &all),
            (json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": template}}}), &all),
            (json!({"kind": "PodTemplate", "template": {"spec": pod}}), &all),
            (json!({"kind": "Service", "apiVersion": "serving.knative.dev/v1", "spec": template}), &all),
            (json!({"kind": "Fleet", "spec": {"groups": [{"worker": template}, {"head": {}}]}}), &all),
            (json!({"kind": "Deployment", "spec": {"replicas": 0, "template": template["template"]}}), &[]),
            (json!({"kind": "ConfigMap", "data": {"containers": [container("a", "b")]}}), &[]),
            (json!({"kind": "Odd", "spec": {"containers": "a", "image": "b"}}), &[]),
            (
                json!({"kind": "Odd", "spec": {"containers": [7, {"image": "b"}, {"name": "c", "image": 7}]}}),
                &[],
            ),
            (json!({"kind": "Odd", "spec": {"image": "b", "name": "a"}}), &[]),
            (json!({"kind": "Odd", "spec": "\"image\""}), &[]),
        ] {
            assert_eq!(found(&object), expected, "{object}");
        }
    }

    #[test]
    fn what_a_deployment_made_repeats_nothing_and_what_another_made_tells() {
        let made = |kind: &str| {
            let owner =
                json!({"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "o", "controller": true});
            json!({"kind": "ReplicaSet", "metadata": {"ownerReferences": [owner]},
                "spec": {"template": {"spec": {"containers": [container("a", "x.io/a:1")]}}}})
        };
        assert_eq!(found(&made("Deployment")), [""; 0]);
        assert_eq!(found(&made("Rollout")), ["x.io/a:1"]);
    }

    #[test]
    fn a_pod_runs_what_its_status_tells_until_it_has_ended() {
        let (one, two) = (format!("sha256:{}", "1".repeat(64)), format!("sha256:{}", "2".repeat(64)));
        let pod = |phase: &str| {
            let statuses = json!([{"name": "a", "imageID": format!("x.io/a@{one}")}, {"name": "b", "imageID": ""},
                {"name": "c", "imageID": two}, {"name": "d", "imageID": one}]);
            json!({"kind": "Pod", "status": {"phase": phase, "containerStatuses": statuses}, "spec": {"containers": [
                container("a", "x.io/a:1"), container("b", "x.io/b:1"),
                container("c", &format!("x.io/c@{one}")), container("d", &format!("x.io/d@{one}")),
            ], "initContainers": [container("a", "x.io/i:1")]}})
        };
        let expected = [
            format!("x.io/a:1@{one}"),
            "x.io/b:1".to_owned(),
            format!("x.io/c@{one}"),
            format!("x.io/c@{two}"),
            format!("x.io/d@{one}"),
            "x.io/i:1".to_owned(),
        ];
        assert_eq!(found(&pod("Running")), expected);
        assert_eq!(found(&pod("Succeeded")), [""; 0]);
        assert_eq!(found(&pod("Failed")), [""; 0]);
    }

    #[test]
    fn a_crowd_of_containers_is_bounded() {
        let crowd: Vec<_> = (0..1000).map(|n| container("a", &format!("x.io/a:{n}"))).collect();
        assert_eq!(found(&json!({"kind": "Pod", "spec": {"containers": crowd}})).len(), IMAGES_MAX);
    }
}
