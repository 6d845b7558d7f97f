//! The configuration that is in effect, for people: with defaults, and without what is secret.

use serde_json::{Map, Value};

use super::schema::schema;
use strandline_redact::without_logins;

/// What replaces a secret.
const REDACTED: &str = "(redacted)";

/// A document with the defaults of what it leaves out, and without secrets.
pub fn printable(document: Value) -> Value {
    let schema = schema();
    let mut document = if document.is_null() { Value::Object(Map::new()) } else { document };
    fill(&mut document, &schema, &schema);
    redact(&mut document, false);
    document
}

/// The schema that a `$ref` leads to, or the one of several that describes anything.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|text| text.strip_prefix("#/$defs/")) {
        return resolved(&root["$defs"][name], root);
    }
    let one = schema["anyOf"].as_array().and_then(|all| all.iter().find(|one| one["type"] != "null"));
    one.map_or(schema, |one| resolved(one, root))
}

/// Puts defaults where an object says nothing; into entries of lists too.
fn fill(value: &mut Value, schema: &Value, root: &Value) {
    let schema = resolved(schema, root);
    match value {
        Value::Object(keys) => {
            for (name, of_key) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(found) = keys.get_mut(name) {
                    fill(found, of_key, root);
                } else if let Some(default) = of_key.get("default") {
                    keys.insert(name.clone(), default.clone());
                } else if resolved(of_key, root)["type"] == "object" {
                    let mut inner = Value::Object(Map::new());
                    fill(&mut inner, of_key, root);
                    // What has no default for something that it needs is absent by default.
                    let required = resolved(of_key, root)["required"].as_array();
                    let mut names = required.into_iter().flatten().filter_map(Value::as_str);
                    let is_whole = names.all(|name| inner.get(name).is_some());
                    if is_whole && inner.as_object().is_some_and(|inner| !inner.is_empty()) {
                        keys.insert(name.clone(), inner);
                    }
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, &schema["items"], root)),
        _ => {}
    }
}

/// Whether what is under a key is secret: a digest of a token too, since somebody could try guesses against it.
fn is_secret(key: &str) -> bool {
    let names = |word: &str| key.contains(word);
    !key.ends_with("_file") && (["secret", "password", "hash"].into_iter().any(names) || key == "token")
}

fn redact(value: &mut Value, secret: bool) {
    match value {
        Value::Object(keys) => {
            keys.iter_mut().for_each(|(key, value)| redact(value, secret || is_secret(key)));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, secret)),
        Value::String(text) if secret => REDACTED.clone_into(text),
        Value::String(text) => {
            let without = without_logins(text);
            *text = without;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_printed_has_defaults_and_no_secrets() {
        let printed = printable(json!({
            "clusters": [{"name": "eu", "url": "https://me:CANARY@example.com"}],
            "access": {"tokens": [{"name": "ci", "hash": "sha256:CANARY"}]},
            "retention": {"age": "7d"},
        }));
        assert_eq!(printed["retention"]["age"], "7d");
        assert_eq!(printed["retention"]["size"], "10GiB");
        assert_eq!(printed["listen"], "127.0.0.1:7979");
        assert_eq!(printed["metrics"]["environments_max"], 1000);
        assert_eq!(printed["access"]["tokens"][0]["hash"], REDACTED);
        assert_eq!(printed["access"]["tokens"][0]["name"], "ci");
        assert!(!printed.to_string().contains("CANARY"), "{printed}");
        assert_eq!(printable(Value::Null)["data"], "strandline-data");
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        let text = printable(json!({"clusters": [{"name": "eu", "url": "http://127.0.0.1:1"}]})).to_string();
        let read = crate::config::parse(&text, std::path::Path::new("x.yaml"));
        assert_eq!(read.map(|config| config.clusters.len()).map_err(|error| error.to_string()), Ok(1));
    }
}
