//! Finds what looks like a credential anywhere in an object and replaces it, in one walk without a tree.
//!
//! The walk knows where a value stands: beside its name (`{"name": …, "value": …}`), below the name of a credential, in a
//! command, in a Secret inside of another object. What a name announces, [`names`](super::names) says; what a value looks
//! like, [`shapes`](super::shapes); what is found within a text, [`text`](super::text). A string that is JSON itself is
//! walked in the same way.

use std::borrow::Cow;
use std::ops::Range;

use super::frame::{Frame, Place};
use super::names::{Meaning, Style};
use super::remembered::{Key, Member, Remembered, is_login_name};
use super::shapes::{Shape, hides, is_login, shape};
use super::text::{Setting, hidden};
use super::{Mask, secret, shell};
use strandline_object::digest::{Digest, Noise, NoiseScan, digest};
use strandline_object::json::{Lexer, Token, quote, unquote};

/// The object with every credential hidden, the same text where there is none, and the digest of that.
pub(super) fn credentials<'a>(body: &'a str, mask: Mask<'_>, noise: &Noise) -> (Cow<'a, str>, Digest) {
    let mut remembered = Remembered::take(mask.names);
    // Nearly always nothing is hidden: then the tokens that were looked at are those of the digest.
    let mut scan = NoiseScan::new(noise);
    let masked = walked(body, mask, Place::Top, &mut remembered, |token, at| scan.step(body, token, at));
    remembered.give_back();
    match masked {
        Some(masked) => {
            let digest = digest(&masked, noise);
            (Cow::Owned(masked), digest)
        }
        None => (Cow::Borrowed(body), scan.digest(body)),
    }
}

/// The text with every credential hidden, none where there is none; `on_token` gets each token that is looked at.
fn walked(
    body: &str,
    mask: Mask<'_>,
    outermost: Place,
    remembered: &mut Remembered,
    mut on_token: impl FnMut(Token, &Range<usize>),
) -> Option<String> {
    let (frames, edits) = (Vec::with_capacity(16), Vec::new());
    let mut walk = Walk { body, mask, outermost, remembered, makes_secrets: false, frames, edits };
    let mut lexer = Lexer::new(body);
    while let Some((token, at)) = lexer.next() {
        on_token(token, &at);
        walk.step(token, at, lexer.has_escapes());
    }
    let mut edits = walk.edits;
    if edits.is_empty() {
        return None;
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
    Some(masked)
}

struct Walk<'a, 'm> {
    body: &'a str,
    mask: Mask<'m>,
    remembered: &'m mut Remembered,
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
    fn step(&mut self, token: Token, at: Range<usize>, has_escapes: bool) {
        match token {
            Token::Object | Token::Array => self.open(token == Token::Object, at.start),
            Token::Close => {
                if let Some(frame) = self.frames.pop() {
                    self.close(&frame, at.end);
                }
            }
            Token::Key => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.key = self.remembered.key(&self.body[at]);
                }
            }
            Token::Text => {
                let raw = &self.body[at.clone()];
                let plain = raw.get(1..raw.len() - 1).filter(|_| !has_escapes);
                let text = plain.map_or_else(|| unquote(raw), Cow::Borrowed);
                self.text(at, &text);
            }
            Token::Atom => self.atom(at),
            Token::Comma => {}
        }
    }

    /// The name of the current member of the innermost container.
    fn key(&self) -> Key {
        self.frames.last().map_or(Key::NONE, |frame| frame.key)
    }

    /// What that name announces.
    fn meaning(&self) -> Meaning {
        self.frames.last().map_or(Meaning::Nothing, |frame| match frame.reference && frame.key.is_harmless {
            true => Meaning::Nothing,
            false => frame.key.meaning,
        })
    }

    fn open(&mut self, object: bool, start: usize) {
        let key = self.key();
        let (mut place, mut above, mut all, mut reference) = (self.outermost, Meaning::Nothing, false, false);
        if let Some(parent) = self.frames.last() {
            let (from, of_object, inherited, of_all) =
                (parent.place, parent.object, parent.above, parent.all);
            reference = parent.reference && !of_object;
            place = match (from, key.member) {
                (Place::Top, Member::Metadata) => Place::Metadata,
                (Place::Metadata, Member::Annotations) => Place::Other,
                (Place::Metadata, _) => Place::Metadata,
                (Place::Labels, _) => Place::Labels,
                (_, Member::Properties) if of_object && object => Place::Schema,
                (Place::Command, _) if !of_object => Place::Command,
                (_, Member::Labels) if of_object && object => Place::Labels,
                _ if of_object && !object && key.is_command => Place::Command,
                (_, Member::Template) if self.makes_secrets => Place::SecretTemplate,
                _ => Place::Other,
            };
            if of_object {
                let meaning = if from == Place::Schema { Meaning::Nothing } else { self.meaning() };
                (above, all) = (meaning, key.is_plural);
                if meaning == Meaning::Nothing
                    && inherited > Meaning::Nothing
                    && (key.is_value || of_all)
                    && !key.is_harmless
                {
                    (above, all) = (inherited, of_all);
                }
                reference = key.is_reference;
            } else {
                (above, all) = (inherited, of_all);
            }
        }
        self.frames.push(Frame { above, all, reference, ..Frame::new(place, object, start) });
    }

    fn close(&mut self, frame: &Frame, end: usize) {
        if frame.named > Meaning::Nothing && !frame.is_condition {
            for value in &frame.values {
                let text = unquote(&self.body[value.clone()]);
                if !self.hide_if(value, &text, frame.named) && frame.names_login && is_login(&text) {
                    self.hide(value.clone(), &text);
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
        match parent.key.member {
            Member::Data => parent.data.push(frame.start..end),
            // No other kind than Secret calls anything so, be it said or not; but schemas tell of it.
            Member::StringData if !in_schema => {
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

    /// A string, and what it says.
    fn text(&mut self, at: Range<usize>, text: &str) {
        let Some(frame) = self.frames.last() else { return };
        if matches!(frame.place, Place::Metadata | Place::Labels) {
            if frame.object && frame.place == Place::Metadata {
                self.note(&at, text);
            }
            return;
        }
        let mut setting = if frame.place == Place::Command { Setting::Command } else { Setting::Other };
        if frame.object {
            let key = frame.key;
            self.note(&at, text);
            if key.member == Member::LastApplied {
                return self.hide(at, text);
            }
            let meaning = self.meaning_of_value();
            if self.hide_if(&at, text, meaning) {
                return;
            }
            if meaning > Meaning::Nothing && key.is_login && is_login(text) {
                return self.hide(at, text);
            }
            if key.is_command {
                setting = Setting::Command;
            } else if key.is_prose {
                setting = Setting::Prose;
            }
        } else if setting == Setting::Command {
            if self.argument(&at, text) {
                return;
            }
        } else {
            let above = frame.above;
            if self.hide_if(&at, text, above) {
                return;
            }
        }
        self.search(at, text, setting);
    }

    /// What the value under the current name is, by the name itself or by the one above.
    fn meaning_of_value(&self) -> Meaning {
        let meaning = self.meaning();
        let Some(frame) = self.frames.last() else { return meaning };
        if frame.place == Place::Schema {
            return Meaning::Nothing;
        }
        if meaning == Meaning::Nothing && frame.above > Meaning::Nothing && !frame.reference {
            if frame.key.is_value {
                return frame.above;
            }
            if frame.all && !frame.key.is_harmless {
                return frame.above.min(Meaning::Probable);
            }
        }
        meaning
    }

    /// Remembers what a member says of those beside it.
    fn note(&mut self, at: &Range<usize>, text: &str) {
        let names = self.mask.names;
        let Some(frame) = self.frames.last_mut() else { return };
        match frame.key.member {
            Member::ApiVersion => frame.api_version = at.clone(),
            Member::Kind => {
                frame.kind = at.clone();
                let kind = &self.body[at.clone()];
                if frame.place == Place::Top && kind.ends_with("Secret\"") && kind.len() > "\"Secret\"".len()
                {
                    self.makes_secrets = true;
                }
            }
            Member::Type => frame.kind_of_data = at.clone(),
            Member::Condition => frame.is_condition = true,
            _ if frame.key.is_naming => {
                frame.named = frame.named.max(names.meaning(text, Style::Member));
                frame.names_login |= is_login_name(text);
            }
            _ if frame.key.is_value => frame.values.push(at.clone()),
            _ => {}
        }
    }

    /// An element of a command; true where nothing is left to search.
    fn argument(&mut self, at: &Range<usize>, text: &str) -> bool {
        let names = self.mask.names;
        let Some(frame) = self.frames.last_mut() else { return false };
        frame.words.push(at.clone());
        let (flag, login) =
            (std::mem::replace(&mut frame.flag, Meaning::Nothing), std::mem::take(&mut frame.login));
        if text.starts_with('-') && !text.contains(['=', ' ', ':']) {
            frame.flag = names.meaning(text, Style::Variable);
            frame.login = matches!(text, "-u" | "--user" | "--proxy-user" | "--userpwd" | "--login");
            return false;
        }
        // `requirepass x` is given without dashes, too.
        if !text.contains(['=', ' ', ':', '/'])
            && text.len() > 6
            && names.meaning(text, Style::Member) == Meaning::Certain
            && (text.ends_with("pass") || text.ends_with("auth") || text.ends_with("pw"))
        {
            frame.flag = Meaning::Probable;
            return false;
        }
        if (login && is_login(text)) || (flag > Meaning::Nothing && hides(flag, text)) {
            self.hide(at.clone(), text);
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
        let text = &self.body[at.clone()];
        if !frame.object {
            let above = frame.above;
            self.hide_if(&at, text, above);
            return;
        }
        self.note(&at, text);
        let meaning = self.meaning_of_value();
        self.hide_if(&at, text, meaning);
    }

    /// Hides a whole value that has to be hidden under a name of this meaning.
    fn hide_if(&mut self, at: &Range<usize>, text: &str, meaning: Meaning) -> bool {
        if meaning == Meaning::Nothing {
            return false;
        }
        // A document is searched: a file is no credential because its name has the word in it.
        let hidden = hides(meaning, text)
            && (meaning == Meaning::Certain || !text.trim_end().contains('\n'))
            && !(meaning < Meaning::Certain && is_document(text));
        if hidden {
            self.edits.push(Edit { at: at.clone(), text: quote(&self.mask.hide(text)), whole: true });
        }
        hidden
    }

    /// Hides a whole value.
    fn hide(&mut self, at: Range<usize>, text: &str) {
        if shape(text) > Shape::Reference {
            self.edits.push(Edit { at, text: quote(&self.mask.hide(text)), whole: true });
        }
    }

    /// Hides what in a string shows that it is a credential.
    fn search(&mut self, at: Range<usize>, text: &str, setting: Setting) {
        let is_command = text.starts_with("#!") || (text.starts_with('-') && text.contains(' '));
        let setting = if is_command { Setting::Command } else { setting };
        if self.remembered.is_clear(text, setting) {
            return;
        }
        let masked = if is_document(text) {
            // Each level of quoting doubles the backslashes, so documents in documents soon end.
            let outermost = if setting == Setting::Command { Place::Command } else { Place::Other };
            walked(text, self.mask, outermost, self.remembered, |_, _| {})
        } else {
            hidden(text, setting, self.mask)
        };
        match masked {
            Some(masked) => self.edits.push(Edit { at, text: quote(&masked), whole: false }),
            None => self.remembered.note_clear(text, setting),
        }
    }
}

/// Whether a text is a JSON object or array.
fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
