//! The table of kinds, fields and edges in the documentation, found by asking the code: of each sample every text is
//! changed in turn, and an edge that goes with it stands in that field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::hostile::samples;
use super::*;

const FILE: &str = "docs/relations.md";
const BEGIN: &str = "<!-- written by the_documented_table_is_what_the_code_tells -->";
const END: &str = "<!-- end -->";

/// Where the spec of a Pod stands in what makes Pods.
const POD_SPECS: [&str; 4] =
    ["/spec/jobTemplate/spec/template/spec/", "/spec/template/spec/", "/template/spec/", "/spec/"];

/// What stands before a field of such a spec until it is known whether all kinds have it.
const IN_PODS: &str = "in Pods: ";

/// How many kinds have such a spec.
const PODS: usize = 9;

fn is_pod_like(kind: &str) -> bool {
    let kinds: [&str; PODS] = [
        "Pod",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "ReplicationController",
        "Job",
        "CronJob",
        "PodTemplate",
    ];
    kinds.contains(&kind)
}

fn told_of(object: &Value) -> Vec<EdgeRef> {
    edges(&Object::parse(&object.to_string()).unwrap(), &Relations::default())
}

/// The places of all texts in a value, each as its steps.
fn texts(value: &Value, here: &[String], found: &mut Vec<Vec<String>>) {
    let below = |step: String| here.iter().cloned().chain([step]).collect::<Vec<_>>();
    match value {
        Value::String(_) => found.push(here.to_vec()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| texts(item, &below(n.to_string()), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| texts(member, &below(name.clone()), found));
        }
        _ => {}
    }
}

fn changed(object: &Value, at: &[String]) -> Value {
    let mut object = object.clone();
    let mut here = &mut object;
    for step in at {
        here = match here {
            Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
            other => &mut other[step.as_str()],
        };
    }
    *here = json!("zz-other");
    object
}

/// The steps that places share.
fn shared(places: &[Vec<String>]) -> Vec<String> {
    let first = places[0].iter().enumerate();
    let alike = first.take_while(|(n, step)| places.iter().all(|place| place.get(*n) == Some(step)));
    alike.map(|(_, step)| step.clone()).collect()
}

/// A place as it is read: `spec.volumes[].configMap.name`, or the label or annotation that it is.
fn written(place: &[String]) -> String {
    match place {
        [metadata, kind, name] if metadata == "metadata" && kind == "labels" => format!("label `{name}`"),
        [metadata, kind, name] if metadata == "metadata" && kind == "annotations" => {
            format!("annotation `{name}`")
        }
        _ => {
            let mut text = String::new();
            for step in place {
                match step.parse::<usize>() {
                    Ok(_) => text.push_str("[]"),
                    Err(_) if text.is_empty() => text.push_str(step),
                    Err(_) => text.push_str(&format!(".{step}")),
                }
            }
            format!("`{text}`")
        }
    }
}

/// The field in which an edge stands, given all texts without which it would be another.
fn field(kind: &str, mut places: Vec<Vec<String>>) -> String {
    let own = |place: &Vec<String>| {
        matches!(place.join("/").as_str(), "apiVersion" | "kind" | "metadata/namespace")
    };
    places.retain(|place| !own(place));
    let named = |place: &Vec<String>| place.join("/") != "metadata/name";
    if places.iter().any(named) {
        places.retain(named);
    }
    assert!(!places.is_empty(), "an edge of {kind} stands in no text");
    for place in &mut places {
        // Labels are asked for as a whole.
        if let Some(at) = place.iter().rposition(|step| step.to_lowercase().contains("selector")) {
            let items = place.get(at + 1).is_some_and(|step| step.parse::<usize>().is_ok());
            place.truncate(at + 1 + usize::from(items));
        }
    }
    let common = shared(&places);
    let all: BTreeSet<String> = match common.as_slice() {
        [] => places.iter().map(|place| written(place)).collect(),
        [one] if one == "spec" || one == "metadata" => places.iter().map(|place| written(place)).collect(),
        common => BTreeSet::from([written(common)]),
    };
    let text = all.into_iter().collect::<Vec<_>>().join(", ");
    let path = format!("/{}/", common.join("/"));
    let pod = POD_SPECS.iter().find_map(|spec| path.strip_prefix(spec)).filter(|_| is_pod_like(kind));
    match pod {
        Some(rest)
            if !matches!(common[1].as_str(), "serviceName" | "volumeClaimTemplates") && !rest.is_empty() =>
        {
            let steps: Vec<String> = rest.trim_end_matches('/').split('/').map(str::to_owned).collect();
            format!("{IN_PODS}{}", written(&steps).trim_start_matches('`'))
        }
        _ => text,
    }
}

fn table() -> String {
    let mut rows: BTreeMap<(String, String, String), Vec<String>> = BTreeMap::new();
    let mut order = Vec::new();
    for (sample, _) in samples() {
        let kind = sample["kind"].as_str().unwrap().to_owned();
        let mut places = Vec::new();
        texts(&sample, &[], &mut places);
        let others: Vec<_> =
            places.into_iter().map(|place| (told_of(&changed(&sample, &place)), place)).collect();
        for edge in told_of(&sample) {
            let holds = others.iter().filter(|(told, _)| !told.contains(&edge));
            let holds: Vec<Vec<String>> = holds.map(|(_, place)| place.clone()).collect();
            let any =
                holds.iter().any(|place| place.len() > 1 && place.last().is_some_and(|step| step == "kind"));
            let far = match &edge.far {
                Far::Uid { kind, .. } | Far::Key { kind, .. } | Far::Numbered { kind, .. } => {
                    kind.to_string()
                }
                Far::Matching { kind, .. } => format!("{kind} by labels"),
                Far::Every { kind } => format!("every {kind}"),
            };
            let by_name = holds.iter().flatten().any(|step| step == "resourceNames");
            let far = match &edge.far {
                Far::Matching { .. } if any => "what it names, by labels".to_owned(),
                Far::Every { .. } if any => "all of what it names".to_owned(),
                _ if any || by_name => "what it names".to_owned(),
                _ => far,
            };
            let arrow = match edge.direction {
                Direction::ToFar => "→",
                Direction::FromFar => "←",
            };
            let is_owner = holds.iter().any(|place| place.iter().any(|step| step == "ownerReferences"));
            let kind = if is_owner || kind == "Thing" { "any".to_owned() } else { kind.clone() };
            let row = (field(&kind, holds), format!("{arrow} {}", edge.kind), far);
            let kinds = rows.entry(row.clone()).or_insert_with(|| {
                order.push(row);
                Vec::new()
            });
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    let mut text = "| kind | field | edge | far end |\n|---|---|---|---|\n".to_owned();
    for row in order {
        let kinds = &rows[&row];
        let (field, edge, far) = row;
        let (kinds, field) = match (kinds.len(), field.strip_prefix(IN_PODS)) {
            (PODS, Some(field)) => ("Pod or template".to_owned(), format!("`{field}")),
            (_, Some(field)) => (kinds.join(", "), format!("`spec.{field}")),
            (_, None) => (kinds.join(", "), field),
        };
        text.push_str(&format!("| {kinds} | {field} | {edge} | {far} |\n"));
    }
    text
}

#[test]
fn the_documented_table_is_what_the_code_tells() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
    let text = std::fs::read_to_string(file).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    strandline_testkit::golden(FILE, &format!("{before}{BEGIN}\n{}{END}{after}", table()));
}
