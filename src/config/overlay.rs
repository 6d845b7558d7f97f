//! What the environment puts over the file: `STRANDLINE__RETENTION__AGE=7d` is `retention: {age: 7d}`.
//!
//! Two underscores separate keys; a number is a place in a list; the last part `FILE` reads the value from a file, as secrets
//! are mounted. Values are read as YAML. Without such variables the file is read as it is, with its places.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Map, Value};

use strandline_syntax::diagnostics::{Mistake, of_syntax};

/// What the names of these variables begin with.
pub(super) const PREFIX: &str = "STRANDLINE__";

/// More than this no value has.
const VALUE_MAX: u64 = 1024 * 1024;

/// The longest list that a number may name a place in.
const PLACES_MAX: usize = 10_000;

/// What the environment says, by variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlay {
    variables: Vec<Variable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    path: Vec<String>,
    value: String,
    /// Whether the value is text as it is, and no YAML.
    is_text: bool,
}

impl Overlay {
    /// What this process was given.
    ///
    /// # Errors
    /// With every variable that cannot be meant.
    pub fn of_process() -> Result<Self, Vec<Mistake>> {
        Self::of(std::env::vars_os())
    }

    /// Of these variables; those of others are passed over.
    ///
    /// # Errors
    /// With every variable that cannot be meant.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self, Vec<Mistake>> {
        let (mut found, mut mistakes) = (Vec::new(), Vec::new());
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)).map(str::to_owned) else {
                continue;
            };
            match Variable::read(&name, value) {
                Ok(variable) => found.push(variable),
                Err(why) => mistakes.push(mistake(&name, why)),
            }
        }
        // In the order of their keys, and of places in lists: what is said of one list goes on where another ends.
        found.sort_by(|one, other| place(&one.path).cmp(&place(&other.path)));
        if mistakes.is_empty() { Ok(Overlay { variables: found }) } else { Err(mistakes) }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// The names of the variables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| variable.name.as_str())
    }

    /// A document with what the environment puts over it.
    pub(super) fn apply(&self, mut document: Value) -> Result<Value, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        for variable in &self.variables {
            let set = variable.parsed().and_then(|value| put(&mut document, &variable.path, value));
            if let Err(why) = set {
                mistakes.push(mistake(&variable.name, why));
            }
        }
        if mistakes.is_empty() { Ok(document) } else { Err(mistakes) }
    }
}

impl Variable {
    fn read(name: &str, value: OsString) -> Result<Self, String> {
        let mut path: Vec<String> =
            name[PREFIX.len()..].split("__").map(|part| part.to_ascii_lowercase()).collect();
        if path.iter().any(String::is_empty) {
            return Err(
                "a part of its name is empty: write the keys with two underscores between them".to_owned()
            );
        }
        let value = value.into_string().map_err(|_| "its value is not UTF-8".to_owned())?;
        let is_text = path.len() > 1 && path.last().is_some_and(|last| last == "file");
        let value = if is_text {
            path.pop();
            of_file(Path::new(&value))?
        } else {
            value
        };
        Ok(Variable { name: name.to_owned(), path, value, is_text })
    }

    fn parsed(&self) -> Result<Value, String> {
        if self.is_text {
            return Ok(Value::String(self.value.clone()));
        }
        // An error of the parser could quote a value that is secret.
        serde_saphyr::from_str(&self.value)
            .map_err(|error| format!("its value is no YAML: {}", of_syntax(&error).code))
    }
}

/// The text of a file without the line end that editors put there.
fn of_file(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let bytes = std::fs::metadata(path).map_err(failed)?.len();
    if bytes > VALUE_MAX {
        return Err(format!("{} has {bytes} bytes; the limit is {VALUE_MAX}", path.display()));
    }
    Ok(std::fs::read_to_string(path).map_err(failed)?.trim_end().to_owned())
}

fn place(path: &[String]) -> Vec<(Option<usize>, &str)> {
    path.iter().map(|part| (part.parse().ok(), part.as_str())).collect()
}

/// Puts a value where a path leads.
fn put(document: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    let Some((part, rest)) = path.split_first() else {
        *document = value;
        return Ok(());
    };
    if let Ok(place) = part.parse::<usize>() {
        if document.is_null() {
            *document = Value::Array(Vec::new());
        }
        let Value::Array(items) = document else {
            return Err(format!("`{part}` is a place in a list, and there is no list"));
        };
        if place > items.len() || place > PLACES_MAX {
            return Err(format!(
                "place {place} of a list that has {} entries; use {}",
                items.len(),
                items.len()
            ));
        }
        if place == items.len() {
            items.push(Value::Null);
        }
        return put(&mut items[place], rest, value);
    }
    if document.is_null() {
        *document = Value::Object(Map::new());
    }
    let Value::Object(keys) = document else {
        return Err(format!("`{part}` is a key, and what it is put into has none"));
    };
    put(keys.entry(part.clone()).or_insert(Value::Null), rest, value)
}

fn mistake(name: &str, why: String) -> Mistake {
    Mistake { line: 0, column: 0, code: "bad_variable", message: format!("{name}: {why}"), hint: None }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use serde_json::json;

    use super::*;

    fn overlay(variables: &[(&str, &str)]) -> Result<Overlay, Vec<Mistake>> {
        Overlay::of(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())))
    }

    fn why(mistakes: Vec<Mistake>) -> String {
        mistakes.into_iter().map(|mistake| mistake.message).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn variables_are_put_over_the_file() {
        let file = json!({"retention": {"age": "30d", "size": "1GiB"}, "clusters": [{"name": "eu"}]});
        let variables = [
            ("HOME", "/nowhere"),
            ("STRANDLINE_CONFIG", "x.yaml"),
            ("STRANDLINE__RETENTION__AGE", "7d"),
            ("STRANDLINE__CLUSTERS__1__URL", "http://127.0.0.1:1"),
            ("STRANDLINE__CLUSTERS__1__NAME", "us"),
            ("STRANDLINE__HOSTS", "[a, b]"),
            ("STRANDLINE__QUOTAS__AGENTS", "5"),
            ("STRANDLINE__ACCESS__ALLOW_ANONYMOUS_READ", "true"),
        ];
        let overlay = overlay(&variables).unwrap();
        assert_eq!(overlay.names().count(), 6);
        let expected = json!({
            "retention": {"age": "7d", "size": "1GiB"},
            "clusters": [{"name": "eu"}, {"name": "us", "url": "http://127.0.0.1:1"}],
            "access": {"allow_anonymous_read": true}, "hosts": ["a", "b"], "quotas": {"agents": 5},
        });
        assert_eq!(overlay.apply(file).unwrap(), expected);
        let over_nothing = self::overlay(&[("STRANDLINE__QUOTAS__AGENTS", "5")]).unwrap();
        assert_eq!(over_nothing.apply(Value::Null).unwrap(), json!({"quotas": {"agents": 5}}));
    }

    #[test]
    fn a_value_can_be_in_a_file_and_is_text_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hash");
        std::fs::write(&path, "sha256: [7\n").unwrap();
        let name = "STRANDLINE__ACCESS__TOKENS__0__HASH__FILE";
        let found = overlay(&[(name, path.to_str().unwrap())]).unwrap().apply(Value::Null).unwrap();
        assert_eq!(found, json!({"access": {"tokens": [{"hash": "sha256: [7"}]}}));
        let missing = overlay(&[(name, "/nowhere/hash")]).unwrap_err();
        assert!(why(missing).starts_with(&format!("{name}: cannot read /nowhere/hash: ")));
    }

    #[test]
    fn what_cannot_be_meant_names_its_variable_and_no_value() {
        let refused = |variables: &[(&str, &str)]| {
            let applied =
                overlay(variables).and_then(|overlay| overlay.apply(json!({"hosts": ["a"], "data": "d"})));
            why(applied.unwrap_err())
        };
        assert!(
            refused(&[("STRANDLINE__HOSTS__3", "b")])
                .contains("STRANDLINE__HOSTS__3: place 3 of a list that has 1")
        );
        assert!(refused(&[("STRANDLINE__DATA__X", "b")]).contains("STRANDLINE__DATA__X: `x` is a key"));
        assert!(refused(&[("STRANDLINE__DATA__0", "b")]).contains("no list"));
        assert!(refused(&[("STRANDLINE____X", "b")]).contains("a part of its name is empty"));
        let told = refused(&[("STRANDLINE__DATA", "[CANARY")]);
        assert!(
            told.contains("STRANDLINE__DATA: its value is no YAML") && !told.contains("CANARY"),
            "{told}"
        );
    }
}
