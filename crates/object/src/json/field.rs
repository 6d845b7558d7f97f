//! Fields of objects as people write them: a JSON path, or names with dots between them.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::path::{Budget, Path};

/// How many values one look into an object may visit.
const VALUES_MAX: usize = 100_000;

/// Where to look in an object: `spec.replicas`, `spec.template.spec.containers[name=web].image`,
/// `metadata.labels['app.kubernetes.io/name']`, or a JSON path such as `$.spec.ports[*].port`.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    text: String,
    path: Path,
}

impl Field {
    /// What stands there, in the order of lists and of names; none when to look would cost too much.
    pub fn find<'v>(&self, object: &'v Value) -> Option<Vec<&'v Value>> {
        self.path.find(object, &mut Budget(VALUES_MAX))
    }
}

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why: &str| {
            format!(
                "`{text}` {why}; write spec.replicas, spec.containers[name=web].image or $.spec.ports[*].port"
            )
        };
        let bare = text.trim();
        let bare = bare.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(bare);
        let path = if bare.starts_with('$') { bare.to_owned() } else { json_path(bare).map_err(wrong)? };
        let path = Path::parse(&path).map_err(wrong)?;
        Ok(Field { text: text.to_owned(), path })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Names with dots as a JSON path.
fn json_path(text: &str) -> Result<String, &'static str> {
    let mut path = String::from("$");
    let mut rest = text.strip_prefix('.').unwrap_or(text);
    let mut first = true;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = bracket_end(inner).ok_or("has an unclosed bracket")?;
            path.push_str(&bracket(&inner[..end])?);
            rest = &inner[end + 1..];
        } else {
            let named =
                if first { rest } else { rest.strip_prefix('.').ok_or("has no dot after a bracket")? };
            let (name, after) = name(named);
            if name.is_empty() {
                return Err("has a part without a name");
            }
            path.push_str(&if name == "*" { "[*]".to_owned() } else { format!("[{}]", quoted(&name)) });
            rest = after;
        }
        first = false;
    }
    if first { Err("contains no field") } else { Ok(path) }
}

/// A name up to the next dot or bracket; a backslash takes the meaning of the letter after it.
fn name(text: &str) -> (String, &str) {
    let (mut name, mut escaped) = (String::new(), false);
    for (at, letter) in text.char_indices() {
        match letter {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '.' | '[' if !escaped => return (name, &text[at..]),
            _ => name.push(letter),
        }
        escaped = false;
    }
    (name, "")
}

/// Where the bracket closes that opened before; brackets within quotes are letters.
fn bracket_end(inner: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in inner.char_indices() {
        match (quote, letter) {
            (None, ']') => return Some(at),
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    None
}

/// What stands in brackets: a place, a star, a name in quotes, or `key=value` for the items of which that holds.
fn bracket(inner: &str) -> Result<String, &'static str> {
    let inner = inner.trim();
    let digits = inner.strip_prefix('-').unwrap_or(inner);
    if inner == "*" || (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())) {
        return Ok(format!("[{inner}]"));
    }
    if let Some(name) = unquoted(inner) {
        return Ok(format!("[{}]", quoted(name)));
    }
    let (key, value) =
        inner.split_once('=').ok_or("has brackets without an index, a quoted name or key=value")?;
    let (key, value) = (key.trim(), value.trim());
    let (key, text) = (unquoted(key).unwrap_or(key), unquoted(value));
    if key.is_empty() {
        return Err("has a condition without a key");
    }
    let (of, equals) = (quoted(key), quoted(text.unwrap_or(value)));
    // What looks like a number or a truth value may be meant as such, or as text.
    let plain = text.is_none() && (value.parse::<i64>().is_ok() || matches!(value, "true" | "false"));
    Ok(match plain {
        true => format!("[?@[{of}]=={equals}||@[{of}]=={value}]"),
        false => format!("[?@[{of}]=={equals}]"),
    })
}

fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn deployment() -> Value {
        json!({
            "metadata": {"labels": {"app.kubernetes.io/name": "web", "it's": "odd"}},
            "spec": {"replicas": 3, "template": {"spec": {"containers": [
                {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}, {"containerPort": 443}]},
                {"name": "log", "image": "log:2", "tty": true, "ports": [{"containerPort": "80"}]},
            ]}}},
        })
    }

    #[test]
    fn fields_are_found_as_people_write_them() {
        let object = deployment();
        for (text, expected) in [
            ("spec.replicas", json!([3])),
            (".spec.replicas", json!([3])),
            ("{.spec.replicas}", json!([3])),
            ("$.spec.replicas", json!([3])),
            ("spec.template.spec.containers[name=web].image", json!(["web:1"])),
            ("spec.template.spec.containers[name='log'].image", json!(["log:2"])),
            ("spec.template.spec.containers[0].image", json!(["web:1"])),
            ("spec.template.spec.containers[-1].image", json!(["log:2"])),
            ("spec.template.spec.containers[*].image", json!(["web:1", "log:2"])),
            ("spec.template.spec.containers.*.image", json!(["web:1", "log:2"])),
            ("spec.template.spec.containers[tty=true].name", json!(["log"])),
            ("spec.template.spec.containers[*].ports[containerPort=80].containerPort", json!([80, "80"])),
            ("spec.template.spec.containers[*].ports[containerPort='80'].containerPort", json!(["80"])),
            ("metadata.labels['app.kubernetes.io/name']", json!(["web"])),
            ("metadata.labels[\"app.kubernetes.io/name\"]", json!(["web"])),
            (r"metadata.labels.app\.kubernetes\.io/name", json!(["web"])),
            ("metadata.labels[\"it's\"]", json!(["odd"])),
            ("spec.paused", json!([])),
            ("spec.replicas.more", json!([])),
        ] {
            let field: Field = text.parse().unwrap();
            assert_eq!(json!(field.find(&object).unwrap()), expected, "{text}");
            assert_eq!(field.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_field_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "contains no field"),
            ("spec..a", "without a name"),
            ("spec.", "without a name"),
            ("spec[", "unclosed bracket"),
            ("spec[a]", "has brackets without"),
            ("spec[0]a", "has no dot"),
            ("spec[=a]", "without a key"),
            ("$.spec[", "is not a JSON path"),
            ("$.a[?match(@.b, 'c')]", "calls a function"),
        ] {
            let refused = text.parse::<Field>().unwrap_err();
            assert!(refused.contains(&format!("`{text}`")) && refused.contains(why), "{refused}");
        }
        let object = json!({"a": vec![json!(vec![0; 400]); 400]});
        assert_eq!("$..*..*".parse::<Field>().unwrap().find(&object), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"[a-c\.\[\]\*='"\\0-9$ ]{0,24}"#) {
            if let Ok(field) = text.parse::<Field>() {
                let _ = field.find(&deployment());
            }
        }

        #[test]
        fn any_name_is_found_in_quotes(name in r"[a-zA-Z0-9 ./_':@é-]{1,12}") {
            let object = json!({name.clone(): 7});
            let field: Field = format!("[\"{name}\"]").parse().unwrap();
            prop_assert_eq!(field.find(&object).unwrap(), vec![&object[&name]]);
        }
    }
}
