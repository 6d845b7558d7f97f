//! Configuration files inside of a text, such as a kubeconfig or a `.env` in a ConfigMap.

use std::ops::Range;

use super::credential::{is_credential_member, is_harmless_value};

/// Where in a text of several lines values are given to names of credentials: `password: x`, `api_key=x`.
///
/// A single line is a sentence as often as it is a setting, so only what has several is read this way.
pub(super) fn settings(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !text.contains('\n') {
        return found;
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        found.extend(setting(line).map(|value| start + value.start..start + value.end));
        start += line.len();
    }
    found
}

/// The value in a line, if its name is that of a credential.
fn setting(line: &str) -> Option<Range<usize>> {
    let separator = line.find([':', '='])?;
    let name = line[..separator].trim_start_matches([' ', '\t', '-', '"', '\'']);
    let name = name.strip_prefix("export ").unwrap_or(name).trim_end_matches([' ', '\t', '"', '\'']);
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if name.is_empty() || !name.bytes().all(is_name) || !is_credential_member(name) {
        return None;
    }
    let rest = &line[separator + 1..];
    let start = separator + 1 + rest.len() - rest.trim_start().len();
    let value = inner(rest.trim());
    let text = rest.trim().get(value.clone())?;
    // What begins a block or a map has its value elsewhere.
    let elsewhere = text.starts_with(['|', '>', '{', '[', '&', '*', '!']) || matches!(text, "null" | "~");
    (!elsewhere && !is_harmless_value(text)).then_some(start + value.start..start + value.end)
}

/// A value without what surrounds it: quotes, a comment, or what ends a statement.
fn inner(text: &str) -> Range<usize> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return 1..text[1..].find(quote).map_or(text.len(), |end| end + 1);
    }
    let text = text.split(" #").next().unwrap_or(text);
    0..text.trim_end().trim_end_matches([',', ';']).len()
}
