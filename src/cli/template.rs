//! Forms of output that people write themselves, as kubectl takes them: JSONPath templates, custom columns, and a field
//! to sort by.

use std::cmp::Ordering;
use std::str::FromStr;

use serde_json::Value;

use super::error::{CliError, Exit};
use super::field_path::FieldPath;
use super::table::{Cell, Table};
use crate::format::visible;

/// A JSONPath template of kubectl: text, `{.path}`, `{"text"}`, and `{range .path}…{end}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Path(FieldPath),
    Range(FieldPath, Vec<Part>),
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Without any braces only a path can be meant.
        if !text.contains('{') {
            return Ok(Template(vec![Part::Path(text.parse()?)]));
        }
        // Open ranges, the innermost last, each with what came before it.
        let mut open: Vec<(FieldPath, Vec<Part>)> = Vec::new();
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let end = action_end(after).ok_or_else(|| format!("`{{{after}` is not closed by a brace"))?;
            let (action, after) = after.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            let action = action.trim();
            if action == "end" {
                let (path, outer) = open.pop().ok_or("{end} without {range}")?;
                let inner = std::mem::replace(&mut parts, outer);
                parts.push(Part::Range(path, inner));
            } else if let Some(path) = action.strip_prefix("range ") {
                open.push((path.trim().parse()?, std::mem::take(&mut parts)));
            } else if action.starts_with(['"', '\'']) {
                parts.push(Part::Text(quoted(action)?));
            } else {
                parts.push(Part::Path(action.parse()?));
            }
        }
        if !open.is_empty() {
            return Err("{range} without {end}".to_owned());
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Template(parts))
    }
}

/// Where the brace is that ends an action.
fn action_end(text: &str) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '}') => return Some(at),
            _ => {}
        }
    }
    None
}

/// The text between quotation marks, with `\n`, `\t` and the like.
fn quoted(text: &str) -> Result<String, String> {
    let inner = text.get(1..text.len().saturating_sub(1)).filter(|_| text.len() >= 2);
    let closed = text.chars().next() == text.chars().next_back();
    let inner = inner.filter(|_| closed).ok_or_else(|| format!("{text} has no second quotation mark"))?;
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => {}
            },
            c => out.push(c),
        }
    }
    Ok(out)
}

impl Template {
    /// Fills it in: for programs byte by byte as kubectl does, for a terminal so that no text can steer it, and with the
    /// end of the line.
    pub(super) fn render(&self, root: &Value, on_terminal: bool) -> Result<String, CliError> {
        let mut out = String::new();
        render(&self.0, root, &mut out)?;
        if !on_terminal || out.is_empty() {
            return Ok(out);
        }
        let shown = |c: char| match c {
            '\n' | '\t' => c.to_string(),
            c => visible(c.encode_utf8(&mut [0; 4])).into_owned(),
        };
        let mut out: String = out.chars().map(shown).collect();
        if !out.ends_with('\n') {
            out.push('\n');
        }
        Ok(out)
    }
}

fn render(parts: &[Part], root: &Value, out: &mut String) -> Result<(), CliError> {
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Path(path) => {
                let found: Vec<String> = path.find(root)?.into_iter().map(text_of).collect();
                out.push_str(&found.join(" "));
            }
            Part::Range(path, inner) => {
                for value in path.find(root)? {
                    render(inner, value, out)?;
                }
            }
        }
    }
    Ok(())
}

/// A string as it is, anything else as JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Columns as `NAME:.path,…`.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomColumns(Vec<(String, FieldPath)>);

impl FromStr for CustomColumns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let column = |text: &str| {
            let (header, path) =
                text.split_once(':').filter(|(header, _)| !header.is_empty()).ok_or_else(|| {
                    format!("`{text}` is no column; write NAME:.path, such as HEALTH:.health.state")
                })?;
            Ok((header.to_owned(), path.parse()?))
        };
        split_columns(text).into_iter().map(column).collect::<Result<_, String>>().map(CustomColumns)
    }
}

/// At commas, but for those in brackets.
fn split_columns(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut columns) = (0_usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                columns.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    columns.push(text.get(start..).unwrap_or_default());
    columns
}

impl CustomColumns {
    /// A row for each item of a list, or one for an answer that is none.
    pub(super) fn table(&self, answer: &Value) -> Result<Table, CliError> {
        let items = match &answer["items"] {
            Value::Array(items) => items.as_slice(),
            _ => std::slice::from_ref(answer),
        };
        let cell = |path: &FieldPath, item: &Value| -> Result<Cell, CliError> {
            let found: Vec<String> = path.find(item)?.into_iter().map(text_of).collect();
            Ok(Cell::text(found.join(",")))
        };
        let row = |item| self.0.iter().map(|(_, path)| cell(path, item)).collect::<Result<_, _>>();
        let rows = items.iter().map(row).collect::<Result<_, _>>()?;
        Ok(Table::new(self.0.iter().map(|(header, _)| header.clone()), rows))
    }
}

/// Sorts the items of a list by what a path finds first in each; items in which it finds nothing come first, as with
/// kubectl, and equal ones keep their order.
pub(super) fn sort_items(answer: &mut Value, path: &FieldPath) -> Result<(), CliError> {
    let Value::Array(items) = answer["items"].take() else { return Ok(()) };
    let keyed: Result<Vec<_>, CliError> =
        items.into_iter().map(|item| Ok((path.first(&item)?.cloned(), item))).collect();
    let mut keyed = keyed?;
    if !keyed.is_empty() && keyed.iter().all(|(key, _)| key.is_none()) {
        return Err(CliError::new(format!("sorting by {path}"), "no item has such a field")
            .hint("`-o json` shows the fields")
            .exit(Exit::Usage));
    }
    keyed.sort_by(|(one, _), (other, _)| compare(one.as_ref(), other.as_ref()));
    answer["items"] = keyed.into_iter().map(|(_, item)| item).collect();
    Ok(())
}

fn compare(one: Option<&Value>, other: Option<&Value>) -> Ordering {
    match (one, other) {
        (Some(Value::Number(one)), Some(Value::Number(other))) => {
            one.as_f64().unwrap_or_default().total_cmp(&other.as_f64().unwrap_or_default())
        }
        (Some(Value::String(one)), Some(Value::String(other))) => one.cmp(other),
        (Some(one), Some(other)) => text_of(one).cmp(&text_of(other)),
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::cli::output::Paint;
    use serde_json::json;

    fn answer() -> Value {
        json!({"items": [
            {"id": "b", "n": 10, "labels": {"app.kubernetes.io/name": "web"}, "health": {"state": "Degraded"}},
            {"id": "a", "n": 9, "health": {"state": "Healthy"}, "targets": [{"cluster": "eu"}, {"cluster": "us"}]},
            {"id": "c"},
        ]})
    }

    #[test]
    fn templates_are_kubectls() {
        for (template, expected) in [
            ("{.items[*].id}", "b a c"),
            ("{.items[0].labels.app\\.kubernetes\\.io/name}", "web"),
            ("{.items[0].labels['app.kubernetes.io/name']}", "web"),
            ("{.items[0].labels['app\\.kubernetes\\.io/name']}", "web"),
            ("{.items[0]['labels'][\"app.kubernetes.io/name\"]}", "web"),
            ("{.items[?(@.labels.app\\.kubernetes\\.io/name==\"web\")].id}", "b"),
            ("{.items[?(@.labels['app\\.kubernetes\\.io/name'] == 'web')].id}", "b"),
            ("{.items[*]['id', 'health.state']}", "b a c Degraded Healthy"),
            ("{.items[0:2].id} {@.items[0].n}", "b a 10"),
            (
                "{range .items[*]}{.id}{\"\\t\"}{.health.state}{\"\\n\"}{end}",
                "b\tDegraded\na\tHealthy\nc\t\n",
            ),
            ("{range .items[*]}{.id}:{range .targets[*]}{.cluster},{end};{end}", "b:;a:eu,us,;c:;"),
            ("{.items[?(@.health.state==\"Degraded\")].id}", "b"),
            ("{.items[0].health}", "{\"state\":\"Degraded\"}"),
            ("{..cluster}", "eu us"),
            (".items[1].n", "9"),
            ("$.items[-1].id", "c"),
            ("n: {.items[1].n}", "n: 9"),
            ("{.nothing}", ""),
            ("{ .items[0].id }{'}'}", "b}"),
        ] {
            let parsed: Template = template.parse().unwrap();
            assert_eq!(parsed.render(&answer(), false).unwrap(), expected, "{template}");
        }
        for wrong in ["{.items", "{range .items[*]}{.id}", "{end}", "{.items[}", "{}", "{\"a}", ""] {
            assert!(wrong.parse::<Template>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn programs_get_each_text_as_it_is_and_terminals_none_that_steers_them() {
        let template: Template = "{.text}".parse().unwrap();
        for (text, raw, shown) in [
            ("web", "web", "web\n"),
            ("a: 1\n\tb\r\n", "a: 1\n\tb\r\n", "a: 1\n\tb\\r\n"),
            ("\u{1b}[2J\"'", "\u{1b}[2J\"'", "\\u{1b}[2J\"'\n"),
            ("", "", ""),
        ] {
            let answer = json!({ "text": text });
            assert_eq!(template.render(&answer, false).unwrap(), raw, "{text:?}");
            assert_eq!(template.render(&answer, true).unwrap(), shown, "{text:?}");
        }
    }

    #[test]
    fn columns_have_a_row_for_each_item() {
        let table = |columns: &str, answer: &Value| {
            let columns: CustomColumns = columns.parse().unwrap();
            columns.table(answer).unwrap().render(Paint(false), true)
        };
        assert_eq!(
            table("NAME:.id,HEALTH:.health.state,IN:.targets[*].cluster", &answer()),
            "NAME   HEALTH     IN\nb      Degraded   <none>\na      Healthy    eu,us\nc      <none>     <none>\n"
        );
        assert_eq!(table("ID:id,E:.x[0,1]", &json!({"id": "a\u{1b}"})), "ID        E\na\\u{1b}   <none>\n");
        for wrong in ["", "NAME", ":.id", "NAME:", "A:.id,", "A:.a["] {
            assert!(wrong.parse::<CustomColumns>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn items_are_sorted_by_numbers_and_by_text() {
        let sorted = |path: &str| {
            let mut answer = answer();
            sort_items(&mut answer, &path.parse().unwrap()).map(|()| {
                let ids: Vec<_> =
                    answer["items"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
                ids
            })
        };
        assert_eq!(sorted(".id").unwrap(), ["a", "b", "c"]);
        assert_eq!(sorted("{.n}").unwrap(), ["c", "a", "b"], "9 before 10, and what has none first");
        assert_eq!(sorted(".age").unwrap_err().exit, Exit::Usage);
        assert!(sort_items(&mut json!({"items": []}), &".age".parse().unwrap()).is_ok());
    }
}
