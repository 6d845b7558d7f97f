//! What is said of the configuration elsewhere is made from the types that read it.

use serde_json::Value;
use strandline_testkit::golden;

use super::*;
use crate::config::schema;

/// The definition that a schema refers to, if it does.
fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let path = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    path.and_then(|path| root.pointer(path)).unwrap_or(schema)
}

/// The keys that a schema has, or its items, with what leads to them from its own key.
fn nested<'s>(root: &'s Value, schema: &'s Value) -> Option<(&'static str, &'s Value)> {
    let (join, inner) = match schema.get("items") {
        Some(items) => ("[].", resolve(root, items)),
        None => (".", resolve(root, schema)),
    };
    inner.get("properties").is_some().then_some((join, inner))
}

/// What the column of types says.
fn type_name(root: &Value, schema: &Value) -> String {
    if let Some(word) = schema.get("const") {
        return format!("`{}`", word.as_str().unwrap());
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().filter_map(Value::as_str);
        return words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choices = choices.iter().filter(|choice| choice["type"] != "null");
        return choices.map(|choice| type_name(root, choice)).collect::<Vec<_>>().join(" or ");
    }
    if nested(root, schema).is_some() {
        return if schema.get("items").is_some() { "list" } else { "mapping" }.to_owned();
    }
    if let Some(target) = schema["$ref"].as_str() {
        return target.rsplit('/').next().unwrap().replace('-', " ");
    }
    let plain = schema["type"].as_array().map_or(&schema["type"], |types| &types[0]);
    match plain.as_str().unwrap() {
        "array" => match type_name(root, &schema["items"]) {
            items if items.starts_with('`') => format!("list of {items}"),
            items => format!("list of {items}s"),
        },
        "string" => "text".to_owned(),
        "integer" => "number".to_owned(),
        "object" => "mapping".to_owned(),
        other => other.to_owned(),
    }
}

/// The rows of the keys of a definition; `before` leads to them.
fn rows(root: &Value, definition: &Value, before: &str, deep: bool, table: &mut String) {
    let required = definition["required"].as_array().cloned().unwrap_or_default();
    for (key, schema) in definition["properties"].as_object().unwrap() {
        let described =
            schema["description"].as_str().unwrap_or_else(|| panic!("{before}{key} has no meaning"));
        let described = described.replace('\n', " ");
        let (meaning, words) = described.split_once(" Default: ").unwrap_or((&described, "none."));
        let default = match &schema["default"] {
            _ if required.contains(&Value::from(key.as_str())) => "required".to_owned(),
            Value::Null => words.trim_end_matches('.').to_owned(),
            Value::String(value) => format!("`{value}`"),
            value => format!("`{value}`"),
        };
        let meaning = meaning.trim_end_matches('.');
        // What has a section of its own is described there.
        let shown = match nested(root, schema) {
            Some(_) if !deep => format!("[`{key}`](#{key})"),
            _ => format!("`{before}{key}`"),
        };
        table.push_str(&format!("| {shown} | {} | {default} | {meaning} |\n", type_name(root, schema)));
        if let Some((join, inner)) = nested(root, schema).filter(|_| deep) {
            rows(root, inner, &format!("{before}{key}{join}"), deep, table);
        }
    }
}

/// The table that a mark in the document asks for.
fn table(root: &Value, of: &str) -> String {
    let mut table = String::from("| key | type | default | meaning |\n|---|---|---|---|\n");
    match of {
        "the file" => rows(root, root, "", false, &mut table),
        "values" => {
            table = String::from("| type | written as |\n|---|---|\n");
            for (name, value) in root["$defs"].as_object().unwrap() {
                if value["type"] == "string" {
                    let written = value["description"].as_str().unwrap().replace('\n', " ");
                    table.push_str(&format!("| {} | {written} |\n", name.replace('-', " ")));
                }
            }
        }
        key => {
            let (_, inner) = nested(root, &root["properties"][key]).unwrap();
            rows(root, inner, "", true, &mut table);
        }
    }
    table
}

#[test]
fn the_schema_that_is_kept_is_the_one_of_the_types() {
    let text = serde_json::to_string_pretty(&schema()).unwrap();
    golden("api/config.schema.json", &(text + "\n"));
}

#[test]
fn the_tables_of_the_document_are_those_of_the_schema() {
    const PAGE: &str = "docs/configuration.md";
    let root = schema();
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap();
    let (mut text, mut lines, mut tables) = (String::new(), page.lines().peekable(), Vec::new());
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let mark = line.strip_prefix("<!-- keys of ").and_then(|rest| rest.strip_suffix(" -->"));
        if let Some(of) = mark {
            text.push('\n');
            text.push_str(&table(&root, of));
            while lines.next_if(|line| line.is_empty() || line.starts_with('|')).is_some() {}
            text.push('\n');
            tables.push(of);
        }
    }
    for (key, schema) in root["properties"].as_object().unwrap() {
        assert!(nested(&root, schema).is_none() || tables.contains(&key.as_str()), "no table of {key}");
    }
    golden(PAGE, &text);
}

/// The file that says what the schema's defaults are.
fn defaults(root: &Value, definition: &Value) -> Value {
    let keys = definition["properties"].as_object().unwrap().iter().filter_map(|(key, schema)| {
        let mapping = schema.get("items").is_none().then(|| nested(root, schema)).flatten();
        let value = match mapping {
            // What cannot be there without a value is not there.
            Some((_, inner)) if inner["required"].is_array() => return None,
            Some((_, inner)) => defaults(root, inner),
            None => schema.get("default")?.clone(),
        };
        Some((key.clone(), value))
    });
    keys.collect()
}

#[test]
fn the_defaults_of_the_schema_are_those_that_are_used() {
    let root = schema();
    let file = defaults(&root, &root);
    assert_eq!(file["retention"]["age"], "30d", "{file}");
    assert_eq!(read(&file.to_string()).unwrap(), read("{}").unwrap());
    let environment = &root["$defs"]["Environment"]["properties"];
    assert_eq!(environment["state"]["default"], EnvironmentState::default().as_str());
    for (key, words) in [
        ("tier", Tier::ALL.map(Tier::as_str).as_slice()),
        ("state", EnvironmentState::ALL.map(EnvironmentState::as_str).as_slice()),
    ] {
        let named: Vec<&str> =
            environment[key]["enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(named, words, "{key}");
    }
}

/// Where a value is other than a schema has it. Knows as much of JSON Schema as the schema of the configuration uses.
fn faults(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let schema = resolve(root, schema);
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = |choice: &Value| {
            let mut found = Vec::new();
            faults(root, choice, value, at, &mut found);
            found.is_empty()
        };
        return found.extend((!choices.iter().any(fits)).then(|| format!("{at}: none of the choices")));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value))
        || schema.get("const").is_some_and(|word| word != value)
    {
        found.push(format!("{at}: {value} is not one of the words"));
    }
    let own = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    let is_number = own == "integer" && types.contains(&Value::from("number"));
    if !is_number && !types.contains(&Value::from(own)) {
        return found.push(format!("{at}: {own} instead of {types:?}"));
    }
    for item in value.as_array().into_iter().flatten() {
        faults(root, &schema["items"], item, &format!("{at}[]"), found);
    }
    let Some(keys) = value.as_object() else { return };
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        found.extend((!keys.contains_key(key)).then(|| format!("{at}: no {key}")));
    }
    for (key, value) in keys {
        match schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]) {
            schema if schema.is_object() => faults(root, schema, value, &format!("{at}.{key}"), found),
            _ => found.push(format!("{at}: unknown key {key}")),
        }
    }
}

#[test]
fn the_examples_that_are_shipped_fit_the_schema() {
    let root = schema();
    let faults = |text: &str| {
        let (value, mut found) = (serde_saphyr::from_str(text).unwrap(), Vec::new());
        faults(&root, &root, &value, "", &mut found);
        found
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = std::fs::read_to_string(folder.join("examples/gitlab/strandline.yaml")).unwrap();
    let mut examples = vec![example];
    for page in
        ["README.md", "docs/operations/install.md", "docs/configuration.md", "docs/operations/security.md"]
    {
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        examples
            .extend(text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()));
    }
    // What Kubernetes and GitLab read is shown on these pages too.
    examples.retain(|text| !["apiVersion:", "deploy:"].iter().any(|word| text.contains(word)));
    assert!(examples.len() > 8, "the examples are where they were");
    for text in &examples {
        assert_eq!(faults(text), [""; 0], "{text}");
    }
    for (text, fault) in [
        ("{clusters: [{region: eu}]}", ".clusters[]: no name"),
        ("{retention: {kinds: {Pod: 3}}}", ".retention.kinds.Pod: integer instead of [String(\"string\")]"),
        ("{nope: 1}", ": unknown key nope"),
        (
            "{environments: [{project: a, name: b, tier: test}]}",
            ".environments[].tier: \"test\" is not one of the words",
        ),
    ] {
        assert_eq!(faults(text), [fault], "{text}");
    }
}
