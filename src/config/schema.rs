//! The JSON Schema of the configuration, made from the types that read it.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::file::File;

/// The JSON Schema (2020-12) of the configuration file.
pub fn schema() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<File>();
    let mut schema = Value::from(schema);
    drop_empty_defaults(&mut schema);
    schema
}

/// Takes out the defaults that say no more than that a key can be left out.
fn drop_empty_defaults(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            let is_empty = |value: &Value| match value {
                Value::Array(items) => items.is_empty(),
                Value::Object(keys) => keys.is_empty(),
                Value::String(text) => text.is_empty(),
                Value::Null => true,
                Value::Bool(_) | Value::Number(_) => false,
            };
            if keys.get("default").is_some_and(is_empty) {
                Map::shift_remove(keys, "default");
            }
            keys.values_mut().for_each(drop_empty_defaults);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty_defaults),
        _ => {}
    }
}
