//! Where in an object something stands.

use std::fmt::{self, Write};

/// What tells an element of a list from its neighbours: fields with their values, the first of them always there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementKey(pub(super) Vec<(String, String)>);

/// An element of a list: where it stood, where it stands, and by what it is told apart, where anything does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
    pub(super) key: Option<ElementKey>,
}

impl Element {
    /// Its place in the state that people look at: the later one, if it is there.
    pub(super) fn index(&self) -> usize {
        self.after.or(self.before).unwrap_or(0)
    }
}

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Member(String),
    Element(Element),
}

/// Which state a pointer leads through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// Writes steps for people: `spec.containers[name=web].image`, `metadata.labels[app.kubernetes.io/name]`.
pub(super) fn readable(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        match step {
            Step::Member(name) if is_plain(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Step::Member(name) => out.push_str(&format!("[{}]", bare_or_quoted(name))),
            Step::Element(element) => match &element.key {
                Some(key) => out.push_str(&format!("[{key}]")),
                None => out.push_str(&format!("[{}]", element.index())),
            },
        }
    }
    out
}

impl fmt::Display for ElementKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (field, value)) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_char(',')?;
            }
            let number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
            write!(f, "{field}={}", if number { value.clone() } else { bare_or_quoted(value) })?;
        }
        Ok(())
    }
}

/// Whether a member's name needs no brackets.
pub(super) fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// A text within brackets: as it is where it cannot be mistaken for something else, or else as a JSON string.
fn bare_or_quoted(text: &str) -> String {
    let bare = (1..=200).contains(&text.len())
        && !text.bytes().all(|b| b.is_ascii_digit())
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '~'));
    if bare { text.to_owned() } else { strandline_object::json::quote(text) }
}

/// Writes steps as RFC 6901 has it.
pub(super) fn pointer(steps: &[Step], side: Side) -> String {
    let mut out = String::new();
    for step in steps {
        match step {
            Step::Member(name) => push_member(&mut out, name),
            Step::Element(element) => {
                let index = match side {
                    Side::Before => element.before.or(element.after),
                    Side::After => element.after.or(element.before),
                };
                push_index(&mut out, index.unwrap_or(0));
            }
        }
    }
    out
}

/// Adds a member to a pointer.
pub(super) fn push_member(pointer: &mut String, name: &str) {
    pointer.push('/');
    for letter in name.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Adds an element to a pointer.
pub(super) fn push_index(pointer: &mut String, index: usize) {
    pointer.push('/');
    pointer.push_str(&index.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> Step {
        Step::Member(name.to_owned())
    }

    fn keyed(pairs: &[(&str, &str)]) -> Step {
        let pairs = pairs.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned()));
        Step::Element(Element { before: Some(3), after: Some(1), key: Some(ElementKey(pairs.collect())) })
    }

    #[test]
    fn paths_read_well_and_cannot_be_mistaken() {
        let cases = [
            (vec![], "", ""),
            (vec![member("spec"), member("replicas")], "spec.replicas", "/spec/replicas"),
            (
                vec![member("spec"), member("containers"), keyed(&[("name", "web")]), member("image")],
                "spec.containers[name=web].image",
                "/spec/containers/1/image",
            ),
            (
                vec![member("ports"), keyed(&[("containerPort", "80"), ("protocol", "TCP")])],
                "ports[containerPort=80,protocol=TCP]",
                "/ports/1",
            ),
            (
                vec![member("metadata"), member("labels"), member("app.kubernetes.io/name")],
                "metadata.labels[app.kubernetes.io/name]",
                "/metadata/labels/app.kubernetes.io~1name",
            ),
            (vec![member("0"), member("*"), member("a=b")], "[\"0\"][\"*\"][\"a=b\"]", "/0/*/a=b"),
            (vec![member(""), member("a~b")], "[\"\"][a~b]", "//a~0b"),
            (
                vec![member("args"), Step::Element(Element { before: Some(0), after: Some(2), key: None })],
                "args[2]",
                "/args/2",
            ),
        ];
        for (steps, path, pointed) in cases {
            assert_eq!(readable(&steps), path);
            assert_eq!(pointer(&steps, Side::After), pointed);
        }
        assert_eq!(pointer(&[member("c"), keyed(&[("name", "a")])], Side::Before), "/c/3");
    }
}
