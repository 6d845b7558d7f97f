//! What client generators need of the document: they name a class after each schema, and have no good name for what has none.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::document;

/// A schema that stands within another or within an operation, and where.
struct Nested<'d> {
    place: String,
    schema: &'d Value,
}

/// Everything below a value that may be a schema; at a place directly below `schemas` it has a name.
fn walk<'d>(place: String, value: &'d Value, found: &mut Vec<Nested<'d>>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, _)| !name.starts_with("example")) {
                walk(format!("{place}/{name}"), member, found);
            }
            found.push(Nested { place, schema: value });
        }
        Value::Array(items) => items.iter().for_each(|item| walk(place.clone(), item, found)),
        _ => {}
    }
}

fn schemas() -> Vec<Nested<'static>> {
    let mut found = Vec::new();
    walk(String::new(), document(), &mut found);
    found
}

impl Nested<'_> {
    fn is_named(&self) -> bool {
        self.place.strip_prefix("/components/schemas/").is_some_and(|name| !name.contains('/'))
    }

    fn is_of(&self, name: &str) -> bool {
        let of = &self.schema["type"];
        of == name || of.as_array().is_some_and(|types| types.contains(&json!(name)))
    }
}

#[test]
fn every_object_has_a_name() {
    // An object that holds whatever its caller likes needs none.
    let is_open = |schema: &Value| schema.get("properties").is_none() && schema["type"] == "object";
    let nameless =
        schemas().into_iter().filter(|one| one.is_of("object") && !one.is_named() && !is_open(one.schema));
    let places: Vec<_> = nameless.map(|one| one.place).collect();
    assert_eq!(places, [""; 0], "give it a name in `components/schemas`, and refer to it");
}

#[test]
fn every_choice_that_stands_twice_has_a_name() {
    let mut nameless = BTreeMap::<String, Vec<String>>::new();
    for one in schemas().into_iter().filter(|one| one.schema["enum"].is_array()) {
        nameless.entry(one.schema["enum"].to_string()).or_default().push(one.place);
    }
    // A parameter is one for every operation that takes it.
    let of_several = |places: &Vec<String>| {
        let in_parameter = |place: &String| place.starts_with("/components/parameters/");
        places.len() > 1 || places.iter().any(in_parameter)
    };
    nameless.retain(|_, places| of_several(places));
    assert!(nameless.is_empty(), "give them a name in `components/schemas`, and refer to it: {nameless:#?}");
}

#[test]
fn what_may_be_null_is_an_alternative_to_what_has_a_name() {
    let merged = |one: &Nested<'_>| {
        one.is_of("null")
            && (one.is_of("object") || one.schema.get("enum").is_some())
            && one.schema.is_object()
    };
    let places: Vec<_> = schemas().into_iter().filter(merged).map(|one| one.place).collect();
    assert_eq!(places, [""; 0], "use `oneOf` with a reference and `type: 'null'`");
}

#[test]
fn no_member_of_a_body_has_a_default() {
    // Generators then ask for it, though callers may leave it out.
    let of_schema = |one: &Nested<'_>| one.place.starts_with("/components/schemas/") && !one.is_named();
    let schemas = schemas().into_iter().filter(of_schema);
    let places: Vec<_> =
        schemas.filter(|one| one.schema.get("default").is_some()).map(|one| one.place).collect();
    assert_eq!(places, [""; 0], "say in its description what holds without it");
}
