//! As much of JSON Schema as the document uses; a keyword it does not know is an error, so nothing passes unread.

use serde_json::Value;

/// Keywords that say nothing about what is valid.
const ANNOTATIONS: [&str; 4] = ["description", "example", "examples", "default"];

/// All ways in which a value breaks a schema of the document, each with the place in the value.
pub(super) fn violations(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(document, schema, value, "", &mut found);
    found
}

/// What `#/…` points to.
pub(super) fn resolve<'d>(document: &'d Value, reference: &str) -> &'d Value {
    let pointer = reference.strip_prefix('#').unwrap_or(reference);
    document.pointer(pointer).unwrap_or_else(|| panic!("{reference} points nowhere"))
}

fn check(document: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { panic!("the schema at {place} is no object") };
    for (keyword, rule) in keywords {
        let broken = match keyword.as_str() {
            "$ref" => {
                let target = resolve(document, rule.as_str().unwrap_or_default());
                check(document, target, value, place, found);
                false
            }
            "type" => !types(rule).iter().any(|name| is_of(name, value)),
            "enum" => !rule.as_array().is_some_and(|words| words.contains(value)),
            "format" => rule != "date-time" || value.as_str().is_some_and(|text| !is_time(text)),
            "minimum" => value.as_i64().zip(rule.as_i64()).is_some_and(|(value, least)| value < least),
            "maximum" => value.as_i64().zip(rule.as_i64()).is_some_and(|(value, most)| value > most),
            "maxLength" => {
                let most = rule.as_u64().unwrap_or(0) as usize;
                value.as_str().is_some_and(|text| text.chars().count() > most)
            }
            "pattern" => {
                let rule = rule.as_str().unwrap_or_default();
                let pattern = regex::Regex::new(rule).unwrap_or_else(|error| panic!("{rule}: {error}"));
                value.as_str().is_some_and(|text| !pattern.is_match(text))
            }
            "minItems" => {
                let least = rule.as_u64().unwrap_or(0) as usize;
                value.as_array().is_some_and(|items| items.len() < least)
            }
            "maxItems" => {
                let most = rule.as_u64().unwrap_or(0) as usize;
                value.as_array().is_some_and(|items| items.len() > most)
            }
            "oneOf" => {
                let choices = rule.as_array().map(Vec::as_slice).unwrap_or_default();
                choices.iter().filter(|choice| violations(document, choice, value).is_empty()).count() != 1
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(document, rule, item, &format!("{place}/{index}"), found);
                }
                false
            }
            "required" | "properties" | "additionalProperties" => false,
            annotation if ANNOTATIONS.contains(&annotation) => false,
            unknown => panic!("the schema at `{place}` uses `{unknown}`, which this check does not know"),
        };
        if broken {
            found.push(format!("`{place}` breaks {keyword}: {rule}, it is {value}"));
        }
    }
    if let Value::Object(members) = value {
        check_members(document, schema, members, place, found);
    }
}

fn check_members(
    document: &Value,
    schema: &Value,
    members: &serde_json::Map<String, Value>,
    place: &str,
    found: &mut Vec<String>,
) {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            found.push(format!("`{place}` lacks {name}"));
        }
    }
    for (name, member) in members {
        let place = format!("{place}/{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(rule), _) => check(document, rule, member, &place, found),
            (None, Value::Bool(false)) => found.push(format!("`{place}` is not in the document")),
            (None, rule @ Value::Object(_)) => check(document, rule, member, &place, found),
            (None, _) => {}
        }
    }
}

fn types(rule: &Value) -> Vec<&str> {
    match rule {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("`{other}` is not a type in use"),
    }
}

fn is_time(text: &str) -> bool {
    text.ends_with('Z') && text.parse::<strandline_model::Timestamp>().is_ok()
}

#[test]
fn drift_is_seen() {
    let schema = serde_json::json!({
        "type": "object", "additionalProperties": false, "required": ["a"],
        "properties": { "a": { "type": ["integer", "null"], "minimum": 0 }, "b": { "type": "string", "format": "date-time" } }
    });
    let broken = |value: Value| violations(&Value::Null, &schema, &value).len();
    assert_eq!(broken(serde_json::json!({ "a": 1, "b": "2026-11-20T12:00:00Z" })), 0);
    assert_eq!(broken(serde_json::json!({ "a": null })), 0);
    assert_eq!(broken(serde_json::json!({ "a": -1, "c": 1 })), 2);
    assert_eq!(broken(serde_json::json!({ "b": "noon" })), 2);
    assert_eq!(broken(serde_json::json!([])), 1);
}
