//! What health and the graph read of the fleet's objects is not masked.

use std::time::Duration;

use serde_json::Value;
use strandline_health::assess;
use strandline_model::Timestamp;
use strandline_object::Object;
use strandline_redact::{Rules, TypeMeta, clean};
use strandline_relations::{Relations, edges};

use super::super::{Fleet, FleetOptions};

/// The values of an object by their paths.
fn values(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| values(value, &format!("{path}.{key}"), found));
        }
        Value::Array(items) => items.iter().for_each(|value| values(value, path, found)),
        value => found.push((path.to_owned(), value.clone())),
    }
}

/// How many values an object has, and those that are others once it is clean.
fn compared(object: &Value) -> (usize, Vec<String>) {
    let before = object.to_string();
    let after = clean(&before, TypeMeta { api_version: "", kind: "" }, &Rules::new([7; 32])).unwrap().body;
    let (old, new) = (Object::parse(&before).unwrap(), Object::parse(&after).unwrap());
    assert_eq!(assess(&old), assess(&new), "{before}\n{after}");
    assert_eq!(edges(&old, &Relations::default()), edges(&new, &Relations::default()), "{before}\n{after}");
    let (mut all, mut left) = (Vec::new(), Vec::new());
    values(object, "", &mut all);
    values(&serde_json::from_str(&after).unwrap(), "", &mut left);
    let dropped = ["managedFields", "last-applied-configuration"];
    all.retain(|(path, value)| !value.is_null() && !dropped.iter().any(|part| path.contains(part)));
    let differ = all.iter().filter(|one| !left.contains(one));
    (all.len(), differ.map(|(path, value)| format!("{path}: {value}")).collect())
}

#[test]
fn what_health_and_the_graph_read_stays_in_the_demo() {
    let fleet = Fleet::new(&FleetOptions {
        history: Duration::ZERO,
        ..FleetOptions::new(7, Timestamp::from_micros(1_760_000_000_000_000))
    });
    let (mut count, mut changed) = (0, Vec::new());
    for server in fleet.servers() {
        for kind in server.kinds().into_iter().filter(|kind| kind.kind.kind != "Secret") {
            for object in server.objects(&kind.kind.group, &kind.kind.kind) {
                let (values, differ) = compared(&object);
                count += values;
                changed.extend(differ);
            }
        }
    }
    changed.sort();
    changed.dedup();
    println!("{count} values; masked: {changed:#?}");
    assert!(count > 1000 && changed.len() * 200 <= count, "{changed:#?}");
}
