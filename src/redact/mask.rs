//! Finds what looks like a credential anywhere in an object and replaces it, in one walk without a tree.
//!
//! The shapes looked for: pairs `{"name": …, "value": …}` as in a container's env or in parameters of
//! custom resources; members named like a password; flags and assignments in commands; Secrets embedded in
//! other objects; and any string that shows by itself what it is (a private key, a token, a URL with a
//! password). A string that is JSON itself is walked in the same way.

use std::borrow::Cow;
use std::ops::Range;

use super::credential::{assignments, is_credential_member, is_credential_name, is_harmless_value, tokens};
use super::lines::settings;
use super::{Mask, secret};
use crate::json::{Lexer, Token, quote, unquote};

/// The object with every credential hidden; the same text where there is none.
pub(super) fn credentials<'a>(body: &'a str, mask: Mask<'_>) -> Cow<'a, str> {
    walked(body, mask, Place::Top)
}

fn walked<'a>(body: &'a str, mask: Mask<'_>, outermost: Place) -> Cow<'a, str> {
    let mut walk = Walk { body, mask, outermost, frames: Vec::with_capacity(16), edits: Vec::new() };
    for (token, at) in Lexer::new(body) {
        walk.step(token, at);
    }
    let mut edits = walk.edits;
    if edits.is_empty() {
        return Cow::Borrowed(body);
    }
    edits.sort_by_key(|(at, _)| (at.start, std::cmp::Reverse(at.end)));
    let mut masked = String::with_capacity(body.len());
    let mut from = 0;
    for (at, text) in edits {
        // What lies within a stretch already replaced is gone with it.
        if at.start >= from {
            masked.push_str(&body[from..at.start]);
            masked.push_str(&text);
            from = at.end;
        }
    }
    masked.push_str(&body[from..]);
    Cow::Owned(masked)
}

/// What a container is, as far as it decides what is looked for in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The object itself.
    Top,
    /// Its metadata: identity, labels and owners stay as they are.
    Metadata,
    /// A command with its arguments.
    Command,
    /// Values of a member that holds credentials, such as `password: [a, b]`.
    Credentials,
    /// Anything else.
    Other,
}

struct Frame {
    place: Place,
    object: bool,
    start: usize,
    /// The current member's name.
    key: Range<usize>,
    /// Whether a `name` or `key` in here is that of a credential.
    credential: bool,
    /// Strings under `value`.
    values: Vec<Range<usize>>,
    /// The strings under `apiVersion` and `kind`, and where `data` and `stringData` stand.
    api_version: Range<usize>,
    kind: Range<usize>,
    data: Vec<Range<usize>>,
    /// Whether the last string was a flag whose value follows.
    flag: bool,
}

struct Walk<'a, 'm> {
    body: &'a str,
    mask: Mask<'m>,
    /// What the outermost container is.
    outermost: Place,
    frames: Vec<Frame>,
    edits: Vec<(Range<usize>, String)>,
}

impl Walk<'_, '_> {
    fn step(&mut self, token: Token, at: Range<usize>) {
        match token {
            Token::Object | Token::Array => self.open(token == Token::Object, at.start),
            Token::Close => {
                if let Some(frame) = self.frames.pop() {
                    self.close(&frame, at.end);
                }
            }
            Token::Key => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.key = at;
                }
            }
            Token::Text => self.text(at),
            Token::Atom => self.atom(at),
            Token::Comma => {}
        }
    }

    fn open(&mut self, object: bool, start: usize) {
        let place = match self.frames.last() {
            None => self.outermost,
            Some(parent) => match (parent.place, &*unquote(&self.body[parent.key.clone()])) {
                (Place::Top, "metadata") => Place::Metadata,
                (Place::Metadata, "annotations") => Place::Other,
                (Place::Metadata, _) => Place::Metadata,
                (Place::Command, _) if !parent.object => Place::Command,
                (_, key) if parent.object && !object && is_command(key) => Place::Command,
                (_, key) if parent.object && !object && is_credential_member(key) => Place::Credentials,
                (Place::Credentials, _) if !parent.object => Place::Credentials,
                _ => Place::Other,
            },
        };
        self.frames.push(Frame {
            place,
            object,
            start,
            key: 0..0,
            credential: false,
            values: Vec::new(),
            api_version: 0..0,
            kind: 0..0,
            data: Vec::new(),
            flag: false,
        });
    }

    fn close(&mut self, frame: &Frame, end: usize) {
        if frame.credential {
            for value in &frame.values {
                self.hide(value.clone());
            }
        }
        if &self.body[frame.kind.clone()] == "\"Secret\"" && &self.body[frame.api_version.clone()] == "\"v1\""
        {
            for data in &frame.data {
                let hidden = secret::data(&self.body[data.clone()], self.mask);
                self.edits.push((data.clone(), hidden));
            }
        }
        let Some(parent) = self.frames.last().filter(|_| frame.object) else { return };
        match &*unquote(&self.body[parent.key.clone()]) {
            "data" => {
                if let Some(parent) = self.frames.last_mut() {
                    parent.data.push(frame.start..end);
                }
            }
            // No other kind than Secret calls anything so, be it said or not; but schemas tell of it.
            "stringData" if !self.in_schema() => {
                let hidden = secret::data(&self.body[frame.start..end], self.mask);
                self.edits.push((frame.start..end, hidden));
            }
            _ => {}
        }
    }

    /// Whether the current object lists the members that a schema allows.
    fn in_schema(&self) -> bool {
        let above = self.frames.len().checked_sub(2).and_then(|at| self.frames.get(at));
        above.is_some_and(|frame| &self.body[frame.key.clone()] == "\"properties\"")
    }

    fn text(&mut self, at: Range<usize>) {
        let Some(frame) = self.frames.last_mut() else { return };
        if frame.place == Place::Metadata {
            return;
        }
        let raw = &self.body[at.clone()];
        let key = unquote(&self.body[frame.key.clone()]);
        let mut command = frame.place == Place::Command;
        if frame.object {
            match &*key {
                "name" | "key" => frame.credential |= is_credential_name(&unquote(raw)),
                "value" => frame.values.push(at.clone()),
                "apiVersion" => frame.api_version = at.clone(),
                "kind" => frame.kind = at.clone(),
                _ => {}
            }
            if is_credential_member(&key) {
                return self.hide(at);
            }
            command |= is_command(&key);
        } else if frame.place == Place::Credentials {
            return self.hide(at);
        } else if command {
            let value_of_flag = std::mem::take(&mut frame.flag);
            let text = unquote(raw);
            if value_of_flag && !text.starts_with('-') {
                return self.hide(at);
            }
            frame.flag = text.starts_with('-') && !text.contains(['=', ' ']) && is_credential_name(&text);
        }
        self.search(at, command);
    }

    /// A password may be a number, too.
    fn atom(&mut self, at: Range<usize>) {
        let Some(frame) = self.frames.last_mut().filter(|frame| frame.object) else { return };
        let key = unquote(&self.body[frame.key.clone()]);
        if frame.place == Place::Metadata || &self.body[at.clone()] == "null" {
            return;
        }
        if key == "value" {
            frame.values.push(at);
        } else if is_credential_member(&key) {
            self.hide(at);
        }
    }

    /// Hides a whole value.
    fn hide(&mut self, at: Range<usize>) {
        let text = unquote(&self.body[at.clone()]);
        if !is_harmless_value(&text) {
            self.edits.push((at, quote(&self.mask.hide(&text))));
        }
    }

    /// Hides what in a string shows that it is a credential.
    fn search(&mut self, at: Range<usize>, command: bool) {
        let mut text = unquote(&self.body[at.clone()]);
        if is_document(&text) {
            // Each level of quoting doubles the backslashes, so documents in documents soon end.
            let outermost = if command { Place::Command } else { Place::Other };
            if let Cow::Owned(masked) = walked(&text, self.mask, outermost) {
                self.edits.push((at, quote(&masked)));
            }
            return;
        }
        // What is hidden may join its neighbours to a new credential (`://a` + token + `@`): repeated, so
        // that cleaning again would find nothing more.
        for _ in 0..MAX_ROUNDS {
            match hide_parts(&text, command, self.mask) {
                Some(masked) => text = Cow::Owned(masked),
                None => break,
            }
        }
        let quoted = match text {
            Cow::Owned(text) if text != unquote(&self.body[at.clone()]) => quote(&text),
            _ => return,
        };
        self.edits.push((at, quoted));
    }
}

/// More rounds than any real text takes.
const MAX_ROUNDS: usize = 8;

/// The text with the credentials in it hidden; none where it has none.
fn hide_parts(text: &str, command: bool, mask: Mask<'_>) -> Option<String> {
    let mut found = tokens(text);
    found.extend(settings(text));
    if command {
        found.extend(assignments(text));
    }
    found.sort_by_key(|range| range.start);
    if found.is_empty() {
        return None;
    }
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

/// Whether a text is a JSON object or array.
fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether a member of this name holds a command or its arguments.
fn is_command(key: &str) -> bool {
    ["command", "args", "cmd", "entrypoint", "script"].iter().any(|ending| {
        key.len() >= ending.len()
            && key.as_bytes()[key.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
    })
}
