//! Objects that are not what they should be: every field of every kind, with every other type in its place.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::*;

/// An object of each kind that tells of edges, with all the fields that do, and how many edges that makes.
pub(super) fn samples() -> Vec<(Value, usize)> {
    let samples = include_str!("samples.json");
    let samples: Vec<Value> = serde_json::from_str(samples).unwrap();
    let split = |mut sample: Value| {
        let count = sample.as_object_mut().and_then(|members| members.remove("edges"));
        (sample, usize::try_from(count.unwrap().as_u64().unwrap()).unwrap())
    };
    samples.into_iter().map(split).collect()
}

/// The edges of an object by what is built in.
fn told_by(object: &Object<'_>) -> Vec<EdgeRef> {
    edges(object, &Relations::default())
}

/// What stands in for a value that is nested too deep to be built.
const DEEP: &str = "@deep@";

/// What is put where something else belongs.
pub(crate) fn others() -> [Value; 8] {
    [json!(null), json!(""), json!(7), json!([]), json!({}), json!(true), json!(DEEP), json!("a/b")]
}

/// An object's text with deep nesting where [`DEEP`] stands.
pub(crate) fn text(object: &Value) -> String {
    let deep = format!("{}{}", "{\"name\":[".repeat(2_000), "]}".repeat(2_000));
    object.to_string().replace(&format!("\"{DEEP}\""), &deep)
}

/// The object with each value in it replaced in turn.
pub(crate) fn replaced(object: &Value, by: &Value) -> Vec<Value> {
    let mut all = vec![by.clone()];
    match object {
        Value::Object(members) => {
            for (name, value) in members {
                all.extend(replaced(value, by).into_iter().map(|other| {
                    let mut members = members.clone();
                    members.insert(name.clone(), other);
                    Value::Object(members)
                }));
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                all.extend(replaced(value, by).into_iter().map(|other| {
                    let mut items = items.clone();
                    items[place] = other;
                    Value::Array(items)
                }));
            }
        }
        _ => {}
    }
    all
}

#[test]
fn every_sample_tells_all_it_can() {
    for (sample, count) in samples() {
        assert_eq!(told_by(&Object::parse(&text(&sample)).unwrap()).len(), count, "{sample}");
    }
}

#[test]
fn nothing_is_found_where_nobody_reads() {
    for (sample, _) in samples() {
        let mut other = sample.clone();
        for field in UNREAD.into_iter().filter(|field| *field != "metadata") {
            other[field] = sample["spec"].clone();
        }
        for (name, value) in [("kubernetes.io/service-name", "web"), ("volume.name", "v")] {
            other["metadata"]["annotations"][name] = json!(value);
        }
        other["metadata"]["generation"] = json!(7);
        let tell = |object: &Value| told_by(&Object::parse(&text(object)).unwrap());
        assert_eq!(tell(&other), tell(&sample), "{sample}");
    }
}

#[test]
fn another_type_in_any_place_tells_less_and_never_panics() {
    let others = others();
    for (sample, count) in samples() {
        for other in &others {
            for object in replaced(&sample, other).iter().filter(|object| object.is_object()) {
                let text = text(object);
                let told = told_by(&Object::parse(&text).unwrap());
                let unique: HashSet<_> = told.iter().collect();
                assert_eq!(unique.len(), told.len(), "each edge once: {object}");
                assert!(told.len() <= count + 1, "{told:#?} of {object}");
            }
        }
    }
}

/// The same object with the members of every object turned round by `by`.
pub(crate) fn turned(value: &Value, by: usize) -> Value {
    match value {
        Value::Object(members) => {
            let mut turned: Vec<_> =
                members.iter().map(|(name, value)| (name.clone(), self::turned(value, by))).collect();
            let middle = by % turned.len().max(1);
            turned.rotate_left(middle);
            Value::Object(turned.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| turned(item, by)).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(strandline_testkit::cases(16))]

    #[test]
    fn the_order_of_fields_says_nothing(by in 1..20_usize) {
        for (sample, _) in samples() {
            let (one, other) = (text(&sample), text(&turned(&sample, by)));
            prop_assert_eq!(told_by(&Object::parse(&one).unwrap()), told_by(&Object::parse(&other).unwrap()));
        }
    }
}
