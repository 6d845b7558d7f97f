//! Objects as people hand them over: YAML or JSON, many documents, one object a line, lists.

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use strandline_syntax::diagnostics::{of_syntax, reason_of_json};

/// An object, or why there is none, in the order of the input.
pub type Document = Result<Found, Unreadable>;

/// An object's JSON text with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The document that holds it, from 1.
    pub number: usize,
    /// The line on which that document begins, from 1.
    pub line: usize,
    /// The object.
    pub text: String,
}

impl Found {
    /// Says that this is no object after all.
    pub fn unreadable(&self, why: impl fmt::Display) -> Unreadable {
        Unreadable { number: self.number, line: self.line, why: why.to_string() }
    }
}

/// A document that is no object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which one, from 1.
    pub number: usize,
    /// Where it cannot be read on, from 1.
    pub line: usize,
    /// Why.
    pub why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document {}, line {}: {}", self.number, self.line, self.why)
    }
}

/// A piece of the input with the number of lines above it.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    text: &'a str,
    above: usize,
}

/// What went wrong in a piece: the line within it, from 1, and why.
type Fault = (usize, String);

/// All objects of a text; those of a list stand for themselves.
pub fn read(text: &str) -> Vec<Document> {
    let mut reader = Reader::default();
    for chunk in chunks(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        reader.chunk(chunk);
    }
    reader.documents
}

#[derive(Debug, Default)]
struct Reader {
    documents: Vec<Document>,
    /// How many documents were met; a list is one of them.
    met: usize,
}

impl Reader {
    fn chunk(&mut self, chunk: Piece<'_>) {
        if !chunk.text.trim_start().starts_with(['{', '[']) {
            return self.yaml(chunk);
        }
        // Where the whole cannot be read as JSON, each part that starts a line is tried for itself, so that one
        // broken line costs no other.
        match json(chunk.text) {
            Ok(found) => found.iter().for_each(|(line, raw)| self.raw(raw, chunk.above + line)),
            Err(_) => parts(chunk).for_each(|part| self.part(part)),
        }
    }

    fn part(&mut self, part: Piece<'_>) {
        match json(part.text) {
            Ok(found) => found.iter().for_each(|(line, raw)| self.raw(raw, part.above + line)),
            // JSON's loose sister is YAML; what neither can read is told in JSON's words.
            Err((line, why)) => match yaml(part.text) {
                Ok(value) => self.value(value, part.above),
                Err(_) => self.fault(part.above + line, why),
            },
        }
    }

    fn yaml(&mut self, chunk: Piece<'_>) {
        match yaml(chunk.text) {
            Ok(Value::Null) => {}
            Ok(value) => self.value(value, chunk.above),
            Err((line, why)) => self.fault(chunk.above + line, why),
        }
    }

    /// Takes JSON over as it stands, unless it is a list.
    fn raw(&mut self, raw: &RawValue, line: usize) {
        let text = raw.get();
        let may_be_list = !text.starts_with('{') || text.contains("\"items\"");
        match may_be_list.then(|| serde_json::from_str::<Value>(text)) {
            None => {
                self.met += 1;
                self.object(text.to_owned(), line);
            }
            Some(Ok(value)) => self.value(value, line - 1),
            Some(Err(error)) => self.fault(line, reason_of_json(&error)),
        }
    }

    fn value(&mut self, value: Value, above: usize) {
        match value {
            Value::Object(members) => {
                self.met += 1;
                let found = items(members).unwrap_or_else(|object| vec![Value::Object(object)]);
                found.iter().for_each(|object| self.object(object.to_string(), above + 1));
            }
            Value::Array(list) => list.into_iter().for_each(|value| self.value(value, above)),
            _ => self.fault(above + 1, "not an object".to_owned()),
        }
    }

    fn object(&mut self, text: String, line: usize) {
        self.documents.push(Ok(Found { number: self.met, line, text }));
    }

    fn fault(&mut self, line: usize, why: String) {
        self.met += 1;
        self.documents.push(Err(Unreadable { number: self.met, line, why }));
    }
}

/// The items of a list, each with the kind that the list implies; the object itself where it is none.
fn items(mut members: Map<String, Value>) -> Result<Vec<Value>, Map<String, Value>> {
    let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let named = members.get("metadata").and_then(|metadata| metadata.get("name")).is_some();
    let Some(of_kind) = kind.strip_suffix("List").filter(|_| !named).map(str::to_owned) else {
        return Err(members);
    };
    let Some(Value::Array(items)) = members.get_mut("items") else { return Err(members) };
    let mut items = std::mem::take(items);
    for item in items.iter_mut().filter_map(Value::as_object_mut).filter(|_| !of_kind.is_empty()) {
        item.entry("apiVersion").or_insert_with(|| api_version.clone().into());
        item.entry("kind").or_insert_with(|| of_kind.clone().into());
    }
    Ok(items)
}

/// The text between YAML's marks, which stand in no JSON and no block of YAML.
fn chunks(text: &str) -> Vec<Piece<'_>> {
    let is_mark = |line: &str| {
        let rest = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    cut(text, is_mark, true)
}

/// The text from each line that opens an object at its very start.
fn parts(chunk: Piece<'_>) -> impl Iterator<Item = Piece<'_>> {
    let parts = cut(chunk.text, |line| line.starts_with('{'), false);
    parts.into_iter().map(move |part| Piece { above: part.above + chunk.above, ..part })
}

/// Cuts before each line of a sort, or after it where the line itself says nothing; what is blank is left out.
fn cut(text: &str, opens: impl Fn(&str) -> bool, drop: bool) -> Vec<Piece<'_>> {
    let (mut pieces, mut start, mut above, mut at) = (Vec::new(), 0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if opens(line) {
            pieces.push(Piece { text: text.get(start..at).unwrap_or_default(), above });
            // `--- # a comment` says nothing more, `--- {a: b}` does.
            let silent = drop && line.get(3..).is_none_or(|rest| rest.trim().is_empty());
            (start, above) = match (silent, drop) {
                (true, _) => (at + line.len(), number + 1),
                (false, true) => (at + 3, number),
                (false, false) => (at, number),
            };
        }
        at += line.len();
    }
    pieces.push(Piece { text: text.get(start..).unwrap_or_default(), above });
    pieces.retain(|piece| !piece.text.trim().is_empty());
    pieces
}

/// JSON values one after the other, each with the line on which it begins.
fn json(text: &str) -> Result<Vec<(usize, &RawValue)>, Fault> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let mut found = Vec::new();
    let (mut line, mut counted) = (1, 0);
    while let Some(value) = stream.next() {
        let value = value.map_err(|error| (error.line(), reason_of_json(&error)))?;
        let start = stream.byte_offset().saturating_sub(value.get().len());
        line += text.get(counted..start).unwrap_or_default().matches('\n').count();
        counted = start;
        found.push((line, value));
    }
    Ok(found)
}

fn yaml(text: &str) -> Result<Value, Fault> {
    // Lists of a whole cluster are large; how deep and how often repeated stays bounded.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: 50_000_000, max_events: 100_000_000, max_depth: 100 },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let mistake = of_syntax(&error);
        (usize::try_from(mistake.line).unwrap_or(1).max(1), mistake.message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each object by its kind and name, each fault by its place.
    fn told(text: &str) -> Vec<String> {
        let member = |object: &Value, path: &str| {
            object.pointer(path).and_then(Value::as_str).unwrap_or("-").to_owned()
        };
        let told = |document: Document| match document {
            Ok(found) => {
                let object: Value = serde_json::from_str(&found.text).unwrap_or_default();
                format!("{} {}/{}", found.line, member(&object, "/kind"), member(&object, "/metadata/name"))
            }
            Err(problem) => problem.to_string(),
        };
        read(text).into_iter().map(told).collect()
    }

    #[test]
    fn yaml_comes_in_many_documents() {
        let text = "# objects\n---\nkind: A\nmetadata:\n  name: one\n---\n\n---\n# nothing\n--- {kind: B}\n...\nkind: C\ntext: |\n  ---\n  {\n";
        assert_eq!(told(text), ["3 A/one", "10 B/-", "12 C/-"]);
        assert_eq!(told("\u{feff}kind: A\r\n---\r\nkind: B\r\n"), ["1 A/-", "3 B/-"]);
        assert_eq!(told(""), [""; 0]);
    }

    #[test]
    fn json_comes_one_object_a_line_or_spread_or_as_a_list() {
        assert_eq!(told("{\"kind\":\"A\"}\n\n{\"kind\":\"B\"}\n"), ["1 A/-", "3 B/-"]);
        assert_eq!(told("{\n  \"kind\": \"A\"\n}\n{\n  \"kind\": \"B\"\n}"), ["1 A/-", "4 B/-"]);
        assert_eq!(told("[{\"kind\":\"A\"}, {\"kind\":\"B\"}]"), ["1 A/-", "1 B/-"]);
        assert_eq!(told("{kind: A}"), ["1 A/-"]);
    }

    #[test]
    fn a_list_stands_for_its_items() {
        let list = r#"{"apiVersion":"v1","kind":"List","items":[{"kind":"A"},{"kind":"B"}]}"#;
        assert_eq!(told(list), ["1 A/-", "1 B/-"]);
        assert_eq!(told("kind: PodList\nitems:\n- metadata: {name: web}\n"), ["1 Pod/web"]);
        assert_eq!(told("kind: AllowList\nmetadata: {name: it}\nitems: [1]\n"), ["1 AllowList/it"]);
        assert_eq!(told("kind: PodList\n"), ["1 PodList/-"]);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_costs_no_other() {
        let lines = told("{\"kind\":\"A\"}\n{\"kind\": \n{\"kind\":\"B\"}\n");
        assert_eq!(lines[0], "1 A/-");
        assert!(lines[1].starts_with("document 2, line "), "{lines:?}");
        assert_eq!(lines[2..], ["3 B/-"]);
        let documents = told("kind: A\n---\nkind: B\n bad: [\n---\n7\n---\nkind: C\n");
        assert_eq!(documents[0], "1 A/-");
        assert!(documents[1].starts_with("document 2, line 4: "), "{documents:?}");
        assert_eq!(documents[2..], ["document 3, line 6: not an object", "8 C/-"]);
    }
}
