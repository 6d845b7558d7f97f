//! Finds what looks like a credential anywhere in an object and replaces it, in one walk without a tree.
//!
//! The walk knows where a value stands: beside its name (`{"name": …, "value": …}`), below the name of a credential, in a
//! command, in a Secret inside of another object. What a name announces, [`names`](super::names) says; what a value looks
//! like, [`shapes`](super::shapes); what is found within a text, [`text`](super::text). A string that is JSON itself is
//! walked in the same way.

use std::borrow::Cow;
use std::ops::Range;

use super::frame::{Frame, Place};
use super::names::{
    Meaning, Style, is_harmless_name, is_naming, is_plural, is_reference_name, is_value_name,
};
use super::shapes::{Shape, hides, is_login, shape};
use super::text::{Setting, hidden};
use super::{Mask, secret, shell};
use strandline_object::json::{Lexer, Token, quote, unquote};

/// Holds the whole object once more, also where it was taken out above.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object with every credential hidden; the same text where there is none.
pub(super) fn credentials<'a>(body: &'a str, mask: Mask<'_>) -> Cow<'a, str> {
    walked(body, mask, Place::Top)
}

fn walked<'a>(body: &'a str, mask: Mask<'_>, outermost: Place) -> Cow<'a, str> {
    let (frames, edits) = (Vec::with_capacity(16), Vec::new());
    let mut walk = Walk { body, mask, outermost, makes_secrets: false, frames, edits };
    for (token, at) in Lexer::new(body) {
        walk.step(token, at);
    }
    let mut edits = walk.edits;
    if edits.is_empty() {
        return Cow::Borrowed(body);
    }
    edits.sort_by_key(|edit| (edit.at.start, std::cmp::Reverse(edit.at.end), !edit.whole));
    let mut masked = String::with_capacity(body.len());
    let mut from = 0;
    for Edit { at, text, .. } in edits {
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

struct Walk<'a, 'm> {
    body: &'a str,
    mask: Mask<'m>,
    /// What the outermost container is.
    outermost: Place,
    /// Whether the object is of a kind that makes Secrets, such as a SealedSecret.
    makes_secrets: bool,
    frames: Vec<Frame>,
    edits: Vec<Edit>,
}

/// A value that is written anew.
struct Edit {
    at: Range<usize>,
    text: String,
    /// Whether all of it is decided, whatever else was found within.
    whole: bool,
}

impl<'a> Walk<'a, '_> {
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
                    frame.meaning = None;
                }
            }
            Token::Text => self.text(at),
            Token::Atom => self.atom(at),
            Token::Comma => {}
        }
    }

    /// The name of the current member of the innermost container.
    fn key(&self) -> Cow<'a, str> {
        self.frames.last().map_or(Cow::Borrowed(""), |frame| unquote(&self.body[frame.key.clone()]))
    }

    /// What that name announces.
    fn meaning(&mut self, key: &str) -> Meaning {
        let Some(frame) = self.frames.last_mut() else { return Meaning::Nothing };
        if let Some(meaning) = frame.meaning {
            return meaning;
        }
        let meaning = if frame.reference && is_harmless_name(key) {
            Meaning::Nothing
        } else {
            self.mask.names.meaning(key, Style::Member)
        };
        frame.meaning = Some(meaning);
        meaning
    }

    fn open(&mut self, object: bool, start: usize) {
        let key = self.key();
        let (mut place, mut above, mut all, mut reference) = (self.outermost, Meaning::Nothing, false, false);
        if let Some(parent) = self.frames.last() {
            let (from, of_object, inherited, of_all) =
                (parent.place, parent.object, parent.above, parent.all);
            reference = parent.reference && !of_object;
            place = match (from, &*key) {
                (Place::Top, "metadata") => Place::Metadata,
                (Place::Metadata, "annotations") => Place::Other,
                (Place::Metadata, _) => Place::Metadata,
                (Place::Labels, _) => Place::Labels,
                (_, "properties") if of_object && object => Place::Schema,
                (Place::Command, _) if !of_object => Place::Command,
                (_, "labels" | "matchLabels" | "nodeSelector") if of_object && object => Place::Labels,
                (_, key) if of_object && !object && is_command(key) => Place::Command,
                (_, "template") if self.makes_secrets => Place::SecretTemplate,
                _ => Place::Other,
            };
            if of_object {
                let meaning = if from == Place::Schema { Meaning::Nothing } else { self.meaning(&key) };
                (above, all) = (meaning, is_plural(&key));
                if meaning == Meaning::Nothing
                    && inherited > Meaning::Nothing
                    && (is_value_name(&key) || of_all)
                    && !is_harmless_name(&key)
                {
                    (above, all) = (inherited, of_all);
                }
                reference = is_reference_name(&key);
            } else {
                (above, all) = (inherited, of_all);
            }
        }
        self.frames.push(Frame { above, all, reference, ..Frame::new(place, object, start) });
    }

    fn close(&mut self, frame: &Frame, end: usize) {
        if frame.named > Meaning::Nothing && !frame.is_condition {
            for value in &frame.values {
                let is_login = frame.names_login && is_login(&unquote(&self.body[value.clone()]));
                if !self.hide_if(value.clone(), frame.named) && is_login {
                    self.hide(value.clone());
                }
            }
        }
        if frame.words.len() > 1 {
            self.positions(&frame.words);
        }
        let text = |at: &Range<usize>| unquote(&self.body[at.clone()]);
        let made = frame.place == Place::SecretTemplate;
        if !frame.data.is_empty()
            && (secret::is_secret(&text(&frame.api_version), &text(&frame.kind))
                || secret::is_type(&text(&frame.kind_of_data))
                || made)
        {
            for data in &frame.data {
                let hidden = secret::data(&self.body[data.clone()], self.mask, made);
                self.edits.push(Edit { at: data.clone(), text: hidden, whole: true });
            }
        }
        let in_schema = self.frames.last().is_some_and(|parent| parent.place == Place::Schema);
        let Some(parent) = self.frames.last_mut().filter(|parent| frame.object && parent.object) else {
            return;
        };
        match &*unquote(&self.body[parent.key.clone()]) {
            "data" => parent.data.push(frame.start..end),
            // No other kind than Secret calls anything so, be it said or not; but schemas tell of it.
            "stringData" if !in_schema => {
                let hidden = secret::data(
                    &self.body[frame.start..end],
                    self.mask,
                    parent.place == Place::SecretTemplate,
                );
                self.edits.push(Edit { at: frame.start..end, text: hidden, whole: true });
            }
            _ => {}
        }
    }

    fn text(&mut self, at: Range<usize>) {
        let Some(frame) = self.frames.last() else { return };
        if matches!(frame.place, Place::Metadata | Place::Labels) {
            if frame.object && frame.place == Place::Metadata {
                self.note(&at);
            }
            return;
        }
        let mut setting = if frame.place == Place::Command { Setting::Command } else { Setting::Other };
        if frame.object {
            let key = self.key();
            self.note(&at);
            if &*key == LAST_APPLIED {
                return self.hide(at);
            }
            let meaning = self.meaning_of_value(&key);
            if self.hide_if(at.clone(), meaning) {
                return;
            }
            if meaning > Meaning::Nothing && is_login_name(&key) && is_login(&unquote(&self.body[at.clone()]))
            {
                return self.hide(at);
            }
            if is_command(&key) {
                setting = Setting::Command;
            } else if is_prose(&key) {
                setting = Setting::Prose;
            }
        } else if setting == Setting::Command {
            if self.argument(&at) {
                return;
            }
        } else {
            let above = frame.above;
            if self.hide_if(at.clone(), above) {
                return;
            }
        }
        self.search(at, setting);
    }

    /// What the value under this name is, by the name itself or by the one above.
    fn meaning_of_value(&mut self, key: &str) -> Meaning {
        let meaning = self.meaning(key);
        let Some(frame) = self.frames.last() else { return meaning };
        if frame.place == Place::Schema {
            return Meaning::Nothing;
        }
        if meaning == Meaning::Nothing && frame.above > Meaning::Nothing && !frame.reference {
            if is_value_name(key) {
                return frame.above;
            }
            if frame.all && !is_harmless_name(key) {
                return frame.above.min(Meaning::Probable);
            }
        }
        meaning
    }

    /// Remembers what a member says of those beside it.
    fn note(&mut self, at: &Range<usize>) {
        let key = self.key();
        let names = self.mask.names;
        let Some(frame) = self.frames.last_mut() else { return };
        match &*key {
            "apiVersion" => frame.api_version = at.clone(),
            "kind" => {
                frame.kind = at.clone();
                let kind = &self.body[at.clone()];
                if frame.place == Place::Top && kind.ends_with("Secret\"") && kind.len() > "\"Secret\"".len()
                {
                    self.makes_secrets = true;
                }
            }
            "type" => frame.kind_of_data = at.clone(),
            "operator" | "effect" | "topologyKey" => frame.is_condition = true,
            key if is_naming(key) => {
                let name = unquote(&self.body[at.clone()]);
                frame.named = frame.named.max(names.meaning(&name, Style::Member));
                frame.names_login |= is_login_name(&name);
            }
            key if is_value_name(key) => frame.values.push(at.clone()),
            _ => {}
        }
    }

    /// An element of a command; true where nothing is left to search.
    fn argument(&mut self, at: &Range<usize>) -> bool {
        let names = self.mask.names;
        let text = unquote(&self.body[at.clone()]);
        let Some(frame) = self.frames.last_mut() else { return false };
        frame.words.push(at.clone());
        let (flag, login) =
            (std::mem::replace(&mut frame.flag, Meaning::Nothing), std::mem::take(&mut frame.login));
        if text.starts_with('-') && !text.contains(['=', ' ', ':']) {
            frame.flag = names.meaning(&text, Style::Variable);
            frame.login = matches!(&*text, "-u" | "--user" | "--proxy-user" | "--userpwd" | "--login");
            return false;
        }
        // `requirepass x` is given without dashes, too.
        if !text.contains(['=', ' ', ':', '/'])
            && text.len() > 6
            && names.meaning(&text, Style::Member) == Meaning::Certain
            && (text.ends_with("pass") || text.ends_with("auth") || text.ends_with("pw"))
        {
            frame.flag = Meaning::Probable;
            return false;
        }
        if (login && is_login(&text)) || (flag > Meaning::Nothing && hides(flag, &text)) {
            self.hide(at.clone());
            return true;
        }
        false
    }

    /// Passwords that a program takes by their place among its arguments.
    fn positions(&mut self, at: &[Range<usize>]) {
        let texts: Vec<Cow<'_, str>> = at.iter().map(|at| unquote(&self.body[at.clone()])).collect();
        let words: Vec<&str> = texts.iter().map(|text| &**text).collect();
        for (word, range) in shell::of_words(&words) {
            let text = words[word];
            let hidden = format!(
                "{}{}{}",
                &text[..range.start],
                self.mask.hide(&text[range.clone()]),
                &text[range.end..]
            );
            self.edits.push(Edit { at: at[word].clone(), text: quote(&hidden), whole: true });
        }
    }

    /// A password may be a number, too.
    fn atom(&mut self, at: Range<usize>) {
        let Some(frame) = self.frames.last() else { return };
        if matches!(frame.place, Place::Metadata | Place::Labels) || &self.body[at.clone()] == "null" {
            return;
        }
        if !frame.object {
            let above = frame.above;
            self.hide_if(at, above);
            return;
        }
        let key = self.key();
        self.note(&at);
        let meaning = self.meaning_of_value(&key);
        self.hide_if(at, meaning);
    }

    /// Hides a whole value that has to be hidden under a name of this meaning.
    fn hide_if(&mut self, at: Range<usize>, meaning: Meaning) -> bool {
        if meaning == Meaning::Nothing {
            return false;
        }
        let text = unquote(&self.body[at.clone()]);
        // A document is searched: a file is no credential because its name has the word in it.
        let hidden = hides(meaning, &text)
            && (meaning == Meaning::Certain || !text.trim_end().contains('\n'))
            && !(meaning < Meaning::Certain && is_document(&text));
        if hidden {
            self.edits.push(Edit { at, text: quote(&self.mask.hide(&text)), whole: true });
        }
        hidden
    }

    /// Hides a whole value.
    fn hide(&mut self, at: Range<usize>) {
        let text = unquote(&self.body[at.clone()]);
        if shape(&text) > Shape::Reference {
            self.edits.push(Edit { at, text: quote(&self.mask.hide(&text)), whole: true });
        }
    }

    /// Hides what in a string shows that it is a credential.
    fn search(&mut self, at: Range<usize>, setting: Setting) {
        let text = unquote(&self.body[at.clone()]);
        let is_command = text.starts_with("#!") || (text.starts_with('-') && text.contains(' '));
        let setting = if is_command { Setting::Command } else { setting };
        if is_document(&text) {
            // Each level of quoting doubles the backslashes, so documents in documents soon end.
            let outermost = if setting == Setting::Command { Place::Command } else { Place::Other };
            if let Cow::Owned(masked) = walked(&text, self.mask, outermost) {
                self.edits.push(Edit { at, text: quote(&masked), whole: false });
            }
            return;
        }
        if let Some(masked) = hidden(&text, setting, self.mask) {
            self.edits.push(Edit { at, text: quote(&masked), whole: false });
        }
    }
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

/// Whether a member of this name holds sentences for people.
fn is_prose(key: &str) -> bool {
    matches!(
        key,
        "message" | "description" | "note" | "reason" | "summary" | "title" | "help" | "comment" | "runbook"
    )
}

/// Whether `user:password` is to be expected under this name.
fn is_login_name(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["auth", "login", "authorization", "userinfo"].iter().any(|ending| key.ends_with(ending))
}
