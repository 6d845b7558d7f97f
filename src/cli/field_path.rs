//! JSON paths as kubectl takes them.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::error::{CliError, Exit};
use strandline_object::json::{Budget, Path};

/// How many values one path may look at: more than any answer has, and less than a path that multiplies them.
const VALUES_MAX: usize = 50_000_000;

/// The most paths that one with unions stands for.
const UNIONS_MAX: usize = 64;

/// A JSON path as kubectl takes it: `.a.b`, `a.b`, `{.a.b}` or `$.a.b`; a dot within a name is written `\.`, in brackets
/// with or without the backslash.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldPath {
    text: String,
    /// Several where there is a union such as `['metadata.name', 'spec']`.
    paths: Vec<Path>,
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for FieldPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(text).trim();
        let wrong = |why: &str| format!("`{text}` {why}; write a path such as .health.state");
        if bare.is_empty() {
            return Err(wrong("is empty"));
        }
        let standard = standard_paths(bare).map_err(wrong)?;
        let paths = standard.iter().map(|path| Path::parse(path)).collect::<Result<_, _>>().map_err(wrong)?;
        Ok(FieldPath { text: text.to_owned(), paths })
    }
}

impl FieldPath {
    /// What it finds, in the order of what a union names.
    pub(super) fn find<'v>(&self, root: &'v Value) -> Result<Vec<&'v Value>, CliError> {
        let mut budget = Budget(VALUES_MAX);
        let found: Option<Vec<_>> = self.paths.iter().map(|path| path.find(root, &mut budget)).collect();
        found.map(|found| found.concat()).ok_or_else(|| {
            CliError::new(format!("reading {}", self.text), "the path looks at too many values")
                .exit(Exit::Usage)
        })
    }

    /// What it finds first.
    pub(super) fn first<'v>(&self, root: &'v Value) -> Result<Option<&'v Value>, CliError> {
        Ok(self.find(root)?.first().copied())
    }
}

/// The paths as RFC 9535 writes them, in which names with dots or hyphens stand in brackets.
fn standard_paths(text: &str) -> Result<Vec<String>, &'static str> {
    let mut rest = text.strip_prefix(['$', '@']).unwrap_or(text);
    let mut paths = vec!["$".to_owned()];
    while !rest.is_empty() {
        if rest.starts_with('[') {
            let (inside, after) = rest.split_at(closing(rest).ok_or("has a bracket that is not closed")? + 1);
            let ways = in_brackets(inside);
            if paths.len() * ways.len() > UNIONS_MAX {
                return Err("has too many unions");
            }
            paths =
                ways.iter().flat_map(|way| paths.iter().map(move |path| format!("{path}{way}"))).collect();
            rest = after;
            continue;
        }
        let mut step = String::new();
        if let Some(after) = rest.strip_prefix("..") {
            step.push_str("..");
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
        }
        if let Some(after) = rest.strip_prefix('*') {
            step.push_str(if step.is_empty() { ".*" } else { "*" });
            rest = after;
        } else if !rest.is_empty() && !rest.starts_with('[') {
            let (name, after) = member(rest, &['.', '[']);
            step.push_str(&bracketed(&name));
            rest = after;
        }
        paths.iter_mut().for_each(|path| path.push_str(&step));
    }
    Ok(paths)
}

/// The name up to one of these, and what follows.
fn member<'t>(text: &'t str, ends: &[char]) -> (String, &'t str) {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if ends.contains(&c) => return (name, text.get(at..).unwrap_or_default()),
            '\\' => name.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => name.push(c),
        }
    }
    (name, "")
}

fn bracketed(name: &str) -> String {
    let escaped: String = name
        .chars()
        .flat_map(|c| matches!(c, '\'' | '\\').then_some('\\').into_iter().chain(std::iter::once(c)))
        .collect();
    format!("['{escaped}']")
}

/// Brackets as RFC 9535 has them. A name may have escaped dots; of several names each is a path, as with kubectl.
fn in_brackets(text: &str) -> Vec<String> {
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).trim();
    if inside.starts_with('?') {
        return vec![format!("[{}]", filter(inside))];
    }
    match names(inside).as_deref() {
        Some([name]) => vec![bracketed(&member(name, &[]).0)],
        Some(names) => names.iter().map(|name| steps(name)).collect(),
        None => vec![text.to_owned()],
    }
}

/// A path of names, one in brackets after the other.
fn steps(path: &str) -> String {
    let (mut out, mut rest) = (String::new(), path);
    while !rest.is_empty() {
        let (name, after) = member(rest, &['.']);
        out.push_str(&bracketed(&name));
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    out
}

/// Names between quotation marks with commas between them, as they are written; none of anything else.
fn names(text: &str) -> Option<Vec<&str>> {
    let (mut names, mut rest) = (Vec::new(), text);
    loop {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let inner = rest.get(1..)?;
        let mut escaped = false;
        let end = inner.char_indices().find(|(_, c)| {
            let ends = *c == quote && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        })?;
        names.push(inner.get(..end.0)?);
        rest = inner.get(end.0 + 1..)?.trim_start();
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// A filter whose names stand in brackets where RFC 9535 wants that.
fn filter(text: &str) -> String {
    const ENDS: [char; 15] = ['.', '[', ']', '(', ')', '=', '!', '<', '>', '&', '|', ' ', ',', '\'', '"'];
    let (mut out, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        if matches!(c, '\'' | '"') {
            let end = string_end(rest);
            let (string, after) = rest.split_at(end);
            // What is compared with may have other escapes; of names only dots are escaped.
            out.push_str(&string.replace("\\.", "."));
            rest = after;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        if c != '.' || rest.starts_with(['.', '*', '[']) {
            out.push(c);
            continue;
        }
        let written = rest;
        let (name, after) = member(rest, &ENDS);
        rest = after;
        let written = written.strip_suffix(after).unwrap_or(written);
        match written.contains(['\\', '/', '-']) {
            true => out.push_str(&bracketed(&name)),
            false => out.push_str(&format!(".{written}")),
        }
    }
    out
}

/// Behind the quotation mark that ends the string with which a text begins.
fn string_end(text: &str) -> usize {
    let quote = text.chars().next();
    let mut escaped = false;
    let mut chars = text.char_indices().skip(1);
    let end = chars.find(|(_, c)| {
        let ends = Some(*c) == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, c)| at + c.len_utf8())
}

/// Where the bracket ends with which a text begins.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 1 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}
