//! Finds what looks like a credential anywhere in an object and replaces it, in one walk without a tree.
//!
//! The shapes looked for: pairs `{"name": …, "value": …}` as in a container's env or in parameters of
//! custom resources; members named like a password; flags and assignments in commands; Secrets embedded in
//! other objects; and any string that shows by itself what it is (a private key, a token, a URL with a
//! password).

use std::borrow::Cow;
use std::ops::Range;

use super::credential::{assignments, is_credential_member, is_credential_name, is_harmless_value, tokens};
use super::{Mask, secret};
use crate::json::{Lexer, Token, quote, unquote};

/// The object with every credential hidden; the same text where there is none.
pub(super) fn credentials<'a>(body: &'a str, mask: Mask<'_>) -> Cow<'a, str> {
    let mut walk = Walk { body, mask, frames: Vec::with_capacity(16), edits: Vec::new() };
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
            None => Place::Top,
            Some(parent) => match (parent.place, &*unquote(&self.body[parent.key.clone()])) {
                (Place::Top, "metadata") => Place::Metadata,
                (Place::Metadata, "annotations") => Place::Other,
                (Place::Metadata, _) => Place::Metadata,
                (Place::Command, _) if !parent.object => Place::Command,
                (_, key) if parent.object && !object && is_command(key) => Place::Command,
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
        if let Some(parent) = self.frames.last_mut()
            && matches!(&*unquote(&self.body[parent.key.clone()]), "data" | "stringData")
            && frame.object
        {
            parent.data.push(frame.start..end);
        }
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
    if command {
        found.extend(assignments(text));
        found.sort_by_key(|range| range.start);
    }
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

/// Whether a member of this name holds a command or its arguments.
fn is_command(key: &str) -> bool {
    ["command", "args", "cmd", "entrypoint", "script"].iter().any(|ending| {
        key.len() >= ending.len()
            && key.as_bytes()[key.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
    })
}
