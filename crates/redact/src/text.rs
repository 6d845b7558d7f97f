//! Credentials within a text, by all that is known of them.

use std::ops::Range;

use super::assign::assignments;
use super::lines::settings;
use super::marks::marked;
use super::names::Names;
use super::shell::positions;
use super::urls::logins;
use super::{Mask, base64};

/// What a text is, as far as it decides how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    /// Sentences for people, in which `password: required` says nothing.
    Prose,
    /// A command, or one of its arguments.
    Command,
    /// Anything else, such as a file.
    Other,
}

/// More rounds than any real text takes.
const MAX_ROUNDS: usize = 8;

/// The text with the credentials in it hidden; none where it has none.
///
/// What is hidden may join its neighbours to a new credential (`://a` + token + `@`): repeated, so that cleaning again
/// would find nothing more.
pub(super) fn hidden(text: &str, setting: Setting, mask: Mask<'_>) -> Option<String> {
    if text.len() < 3 {
        return None;
    }
    if let Some(inner) = base64::text(text)
        && once(&inner, if inner.starts_with("#!") { Setting::Command } else { Setting::Other }, mask)
            .is_some()
    {
        return Some(mask.hide(text));
    }
    let mut masked = once(text, setting, mask)?;
    for _ in 1..MAX_ROUNDS {
        match once(&masked, setting, mask) {
            Some(again) if again != masked => masked = again,
            _ => break,
        }
    }
    (masked != text).then_some(masked)
}

fn once(text: &str, setting: Setting, mask: Mask<'_>) -> Option<String> {
    let mut found = places(text, setting, mask.names);
    if found.is_empty() {
        return None;
    }
    found.sort_unstable_by_key(|range| range.start);
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    let mut found = found.into_iter().peekable();
    while let Some(mut range) = found.next() {
        while let Some(next) = found.next_if(|next| next.start < range.end) {
            range.end = range.end.max(next.end);
        }
        masked.push_str(&text[from..range.start]);
        masked.push_str(&mask.hide(&text[range.clone()]));
        from = range.end;
    }
    masked.push_str(&text[from..]);
    Some(masked)
}

/// Where in a text credentials stand; they may overlap.
fn places(text: &str, setting: Setting, names: &Names) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // Most texts are a word or two: these bytes announce all that is looked for but marks.
    let (mut equals, mut colon, mut blank, mut other, mut line) = (false, false, false, false, false);
    for byte in text.bytes() {
        match byte {
            b'=' => equals = true,
            b':' => colon = true,
            b' ' => blank = true,
            b'>' | b',' | b'(' | b'\t' => other = true,
            b'\n' => line = true,
            _ => {}
        }
    }
    marked(text, &mut found);
    if colon || (equals && text.contains('@')) {
        logins(text, &mut found);
    }
    if equals || colon || blank || other {
        assignments(text, setting, names, &mut found);
        settings(text, setting, names, &mut found);
    } else if line {
        settings(text, setting, names, &mut found);
    }
    if setting == Setting::Command && blank {
        positions(text, &mut found);
    }
    found
}
