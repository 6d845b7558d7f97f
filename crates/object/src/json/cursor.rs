//! A way through a text that was read as JSON before: what is not wanted is passed over unread.

use std::borrow::Cow;

use super::scan::{string_end, value_end};

/// A place in such a text. On anything else it still comes to the end, and never panics.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// A string: a value, or the name of a member.
#[derive(Clone, Copy)]
pub(super) struct Quoted<'a> {
    raw: &'a str,
    has_escapes: bool,
}

impl<'a> Quoted<'a> {
    /// What it says.
    ///
    /// # Errors
    /// When its escapes make no sense.
    pub(super) fn read(self) -> Result<Cow<'a, str>, serde_json::Error> {
        match self.has_escapes {
            true => serde_json::from_str::<String>(self.raw).map(Cow::Owned),
            false => Ok(Cow::Borrowed(self.raw.get(1..self.raw.len() - 1).unwrap_or_default())),
        }
    }
}

impl<'a> Cursor<'a> {
    /// At the beginning.
    pub(super) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0 }
    }

    /// The first byte of the value, the name or the bracket that comes next.
    pub(super) fn next_byte(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\r' | b'\n' | b':' | b',') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Goes into the container that comes next, which begins with this bracket; false where something else comes.
    pub(super) fn enter(&mut self, bracket: u8) -> bool {
        let enters = self.next_byte() == Some(bracket);
        self.at += usize::from(enters);
        enters
    }

    /// The name of the next member; none at the end of the object, which is passed.
    pub(super) fn name(&mut self) -> Option<Quoted<'a>> {
        let name = self.quoted();
        if name.is_none() {
            self.leave();
        }
        name
    }

    /// Passes the string that comes next; none where something else comes.
    pub(super) fn quoted(&mut self) -> Option<Quoted<'a>> {
        if self.next_byte() != Some(b'"') {
            return None;
        }
        let start = self.at;
        let has_escapes;
        (self.at, has_escapes) = string_end(self.text.as_bytes(), start);
        Some(Quoted { raw: self.text.get(start..self.at).unwrap_or("\"\""), has_escapes })
    }

    /// Whether the list has one more item; its end is passed.
    pub(super) fn has_item(&mut self) -> bool {
        match self.next_byte() {
            Some(b']') | None => {
                self.leave();
                false
            }
            Some(_) => true,
        }
    }

    fn leave(&mut self) {
        self.at = (self.at + 1).min(self.text.len());
    }

    /// Passes the value that comes next, as it stands in the text.
    pub(super) fn value(&mut self) -> &'a str {
        self.next_byte();
        let (bytes, start) = (self.text.as_bytes(), self.at);
        // Of what is no JSON at least a byte, so that it ends.
        self.at = value_end(bytes, start).max(start + 1).min(bytes.len());
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The same, read by `read` unless that says that it did not come to the end of the value.
    pub(super) fn value_by(&mut self, read: impl FnOnce(&mut Self) -> bool) -> &'a str {
        self.next_byte();
        let start = self.at;
        if read(self) {
            return self.text.get(start..self.at).unwrap_or_default();
        }
        self.at = start;
        self.value()
    }
}
