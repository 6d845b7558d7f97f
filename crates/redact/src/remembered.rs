//! What names of members mean to the walk over an object, and which texts have nothing in them, remembered from one object to
//! the next: those of a cluster name the same few hundred members and say mostly the same.
//!
//! A thread remembers for itself. Each name or text has one place, by its hash, and whatever comes there next takes it: so
//! memory is bounded, and a cluster that names members without end makes cleaning as slow as it is without remembering,
//! and no slower. Only texts in which no credential was found are kept.

use std::cell::Cell;

use super::names::{
    Meaning, Names, Style, is_harmless_name, is_naming, is_plural, is_reference_name, is_value_name,
};
use super::text::Setting;
use strandline_object::json::unquote;

/// Holds the whole object once more, also where it was taken out above.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Names that the walk knows by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Metadata,
    Annotations,
    Properties,
    Labels,
    Template,
    Data,
    StringData,
    LastApplied,
    ApiVersion,
    Kind,
    Type,
    Condition,
    Other,
}

/// What the name of a member says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) member: Member,
    /// What a value under it is.
    pub(super) meaning: Meaning,
    pub(super) is_value: bool,
    pub(super) is_naming: bool,
    pub(super) is_harmless: bool,
    pub(super) is_reference: bool,
    pub(super) is_plural: bool,
    pub(super) is_command: bool,
    pub(super) is_prose: bool,
    pub(super) is_login: bool,
}

impl Key {
    /// What is in a list has no name.
    pub(super) const NONE: Key = Key {
        member: Member::Other,
        meaning: Meaning::Nothing,
        is_value: false,
        is_naming: false,
        is_harmless: false,
        is_reference: false,
        is_plural: false,
        is_command: false,
        is_prose: false,
        is_login: false,
    };

    /// Of a string token.
    fn of(raw: &str, names: &Names) -> Self {
        let name = &*unquote(raw);
        Key {
            member: match name {
                "metadata" => Member::Metadata,
                "annotations" => Member::Annotations,
                "properties" => Member::Properties,
                "labels" | "matchLabels" | "nodeSelector" => Member::Labels,
                "template" => Member::Template,
                "data" => Member::Data,
                "stringData" => Member::StringData,
                LAST_APPLIED => Member::LastApplied,
                "apiVersion" => Member::ApiVersion,
                "kind" => Member::Kind,
                "type" => Member::Type,
                "operator" | "effect" | "topologyKey" => Member::Condition,
                _ => Member::Other,
            },
            meaning: names.meaning(name, Style::Member),
            is_value: is_value_name(name),
            is_naming: is_naming(name),
            is_harmless: is_harmless_name(name),
            is_reference: is_reference_name(name),
            is_plural: is_plural(name),
            is_command: ends_with_any(name, &["command", "args", "cmd", "entrypoint", "script"]),
            is_prose: is_prose(name),
            is_login: is_login_name(name),
        }
    }
}

/// Whether a member of this name holds sentences for people.
fn is_prose(key: &str) -> bool {
    matches!(
        key,
        "message" | "description" | "note" | "reason" | "summary" | "title" | "help" | "comment" | "runbook"
    )
}

/// Whether `user:password` is to be expected under this name.
pub(super) fn is_login_name(key: &str) -> bool {
    ends_with_any(key, &["auth", "login", "authorization", "userinfo"])
}

/// Whether a name ends so, in whatever case.
fn ends_with_any(name: &str, endings: &[&str]) -> bool {
    let name = name.as_bytes();
    endings.iter().any(|ending| {
        name.len()
            .checked_sub(ending.len())
            .is_some_and(|at| name[at..].eq_ignore_ascii_case(ending.as_bytes()))
    })
}

/// Places for names, and for texts; a power of two each.
const KEYS: usize = 2048;
const TEXTS: usize = 4096;

/// Longer ones are read each time.
const LONGEST: usize = 54;

/// A name or a text, with its length; an empty one is none.
#[derive(Clone, Copy)]
struct Short {
    length: u8,
    bytes: [u8; LONGEST],
}

impl Short {
    const NONE: Short = Short { length: 0, bytes: [0; LONGEST] };

    fn of(text: &[u8]) -> Self {
        let mut short = Short { length: text.len() as u8, ..Self::NONE };
        short.bytes[..text.len()].copy_from_slice(text);
        short
    }

    fn is(&self, text: &[u8]) -> bool {
        usize::from(self.length) == text.len() && self.bytes[..text.len()] == *text
    }
}

/// The place of a text among so many.
fn place(text: &[u8], places: usize) -> usize {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = text.len() as u64;
    let mut rest = text;
    while let Some((word, others)) = rest.split_first_chunk::<8>() {
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
        rest = others;
    }
    let tail = rest.iter().fold(0_u64, |tail, &byte| tail << 8 | u64::from(byte));
    hash = (hash.rotate_left(5) ^ tail).wrapping_mul(FACTOR);
    (hash >> 40) as usize & (places - 1)
}

/// What a thread remembers, by the names that operators chose.
#[derive(Default)]
pub(super) struct Remembered {
    names: Names,
    keys: Vec<(Short, Key)>,
    texts: Vec<(Short, Option<Setting>)>,
}

thread_local! {
    static OF_THREAD: Cell<Option<Box<Remembered>>> = const { Cell::new(None) };
}

impl Remembered {
    /// What this thread remembers, for the time of an object.
    pub(super) fn take(names: &Names) -> Box<Remembered> {
        match OF_THREAD.take() {
            Some(remembered) if remembered.names == *names => remembered,
            _ => Box::new(Remembered {
                names: names.clone(),
                keys: vec![(Short::NONE, Key::NONE); KEYS],
                texts: vec![(Short::NONE, None); TEXTS],
            }),
        }
    }

    /// Remembers it for the next object.
    pub(super) fn give_back(self: Box<Self>) {
        OF_THREAD.set(Some(self));
    }

    /// What a name says, which is a string token.
    pub(super) fn key(&mut self, raw: &str) -> Key {
        let bytes = raw.as_bytes();
        if bytes.len() > LONGEST {
            return Key::of(raw, &self.names);
        }
        let place = place(bytes, KEYS);
        match self.keys.get_mut(place) {
            Some((short, key)) if short.is(bytes) => *key,
            Some(kept) => {
                *kept = (Short::of(bytes), Key::of(raw, &self.names));
                kept.1
            }
            None => Key::of(raw, &self.names),
        }
    }

    /// Whether it is known that a text read so has no credential in it.
    pub(super) fn is_clear(&self, text: &str, setting: Setting) -> bool {
        let bytes = text.as_bytes();
        bytes.len() <= LONGEST
            && self
                .texts
                .get(place(bytes, TEXTS))
                .is_some_and(|(short, read)| *read == Some(setting) && short.is(bytes))
    }

    /// Remembers that a text read so has no credential in it.
    pub(super) fn note_clear(&mut self, text: &str, setting: Setting) {
        let bytes = text.as_bytes();
        if bytes.len() <= LONGEST
            && let Some(kept) = self.texts.get_mut(place(bytes, TEXTS))
        {
            *kept = (Short::of(bytes), Some(setting));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_remembered_is_what_is_found_anew(
            keys in prop::collection::vec("\"(pass|token|data|kind|value|[a-cA-C_.]){0,4}\"", 1..60),
        ) {
            let hide = ["ab".to_owned(), "pass".to_owned()];
            for names in [Names::default(), Names::new(&hide, &[]), Names::new(&[], &hide)] {
                let mut remembered = Remembered::take(&names);
                for key in keys.iter().chain(&keys) {
                    prop_assert_eq!(remembered.key(key), Key::of(key, &names));
                }
                remembered.give_back();
            }
        }
    }

    #[test]
    fn a_text_is_clear_only_as_it_was_read() {
        let mut remembered = Remembered::take(&Names::default());
        remembered.note_clear("x y", Setting::Prose);
        assert!(remembered.is_clear("x y", Setting::Prose));
        assert!(!remembered.is_clear("x y", Setting::Command) && !remembered.is_clear("x z", Setting::Prose));
        let long = "x".repeat(LONGEST + 1);
        remembered.note_clear(&long, Setting::Prose);
        assert!(!remembered.is_clear(&long, Setting::Prose));
        remembered.give_back();
        assert!(Remembered::take(&Names::default()).is_clear("x y", Setting::Prose));
        let other = Names::new(&["x".to_owned()], &[]);
        assert!(!Remembered::take(&other).is_clear("x y", Setting::Prose));
    }
}
