//! JSON as text: what can be told, cut and replaced without building a tree.
//!
//! Objects of a cluster are read far more often than they are understood. The lexer below walks them once,
//! in place, at any depth and without recursion. It trusts that the text was validated before; on anything
//! else it still ends and never panics, only its answer means nothing.

mod cursor;
mod envelope;
mod field;
mod path;
mod pick;
mod plain;
mod scan;

pub use envelope::Envelope;
pub use field::Field;
pub use path::{Budget, Path};
pub use pick::{Picked, Shape, pick, pick_value};
pub use plain::is_plain;

use cursor::Cursor;
use scan::string_end;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `}` or `]`
    Close,
    /// A member's name, with its quotes.
    Key,
    /// A string, with its quotes.
    Text,
    /// A number, `true`, `false` or `null`.
    Atom,
    /// `,`
    Comma,
}

/// Walks JSON text token by token.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    objects: Vec<bool>,
    key_next: bool,
    escaped: bool,
}

impl<'a> Lexer<'a> {
    /// Begins at the start of the text.
    pub fn new(text: &'a str) -> Self {
        Lexer {
            bytes: text.as_bytes(),
            at: 0,
            objects: Vec::with_capacity(16),
            key_next: false,
            escaped: false,
        }
    }

    /// Whether the string that came last has escapes: what it says is what is written where it has none.
    pub fn has_escapes(&self) -> bool {
        self.escaped
    }

    fn structure(&mut self, byte: u8) -> Option<Token> {
        let token = match byte {
            b'{' | b'[' => {
                self.objects.push(byte == b'{');
                self.key_next = byte == b'{';
                if byte == b'{' { Token::Object } else { Token::Array }
            }
            b'}' | b']' => {
                self.objects.pop();
                self.key_next = false;
                Token::Close
            }
            b',' => {
                self.key_next = self.objects.last().copied().unwrap_or(false);
                Token::Comma
            }
            _ => return None,
        };
        Some(token)
    }
}

impl Iterator for Lexer<'_> {
    type Item = (Token, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(&byte) = self.bytes.get(self.at)
            && matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b':')
        {
            self.at += 1;
        }
        let start = self.at;
        let byte = *self.bytes.get(start)?;
        if byte == b'"' {
            (self.at, self.escaped) = string_end(self.bytes, start);
            let token = if self.key_next { Token::Key } else { Token::Text };
            self.key_next = false;
            return Some((token, start..self.at));
        }
        if let Some(token) = self.structure(byte) {
            self.at += 1;
            return Some((token, start..self.at));
        }
        let rest = &self.bytes[start..];
        let end = rest.iter().position(|b| {
            matches!(b, b',' | b'}' | b']' | b'{' | b'[' | b'"' | b' ' | b'\t' | b'\r' | b'\n')
        });
        self.at = start + end.unwrap_or(rest.len());
        Some((Token::Atom, start..self.at))
    }
}

/// What a string token says; its text between the quotes where the escapes make no sense.
pub fn unquote(raw: &str) -> Cow<'_, str> {
    let inner = raw.strip_prefix('"').map_or(raw, |rest| rest.strip_suffix('"').unwrap_or(rest));
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    serde_json::from_str::<String>(raw).map_or(Cow::Borrowed(inner), Cow::Owned)
}

/// Writes a string token.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_quoted(&mut quoted, text);
    quoted
}

/// Writes a string token at the end of a text.
pub fn push_quoted(to: &mut String, text: &str) {
    if text.bytes().any(|byte| byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        to.push_str(&serde_json::Value::from(text).to_string());
        return;
    }
    to.push('"');
    to.push_str(text);
    to.push('"');
}

/// Whether containers are nested deeper than `limit`.
pub fn deeper_than(text: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    Lexer::new(text).any(|(token, _)| {
        match token {
            Token::Object | Token::Array => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > limit
    })
}

/// The items of a list out of a text that was read as JSON before, each as text; nothing for what is no list.
pub fn items_of_valid(text: &str) -> impl Iterator<Item = &str> {
    let mut cursor = Cursor::new(text);
    let is_list = cursor.enter(b'[');
    std::iter::from_fn(move || (is_list && cursor.has_item()).then(|| cursor.value()))
}

/// An object's members in their order, the values as text.
///
/// Of members with the same name the last one counts, as in Kubernetes, at the place of the first.
#[derive(Clone, Debug, Default)]
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Members<'a> {
    /// Reads an object; an error when the text is not one.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Reads an object out of a text that was read as JSON before: its members are skipped unread.
    ///
    /// # Errors
    /// When the text is not an object, or a name has escapes that make no sense.
    pub fn of_valid(text: &'a str) -> Result<Self, serde_json::Error> {
        let mut cursor = Cursor::new(text);
        if !cursor.enter(b'{') {
            return Self::parse(text);
        }
        Members::entering(&mut cursor, |_, _| false)
    }

    /// The same of members with these names only.
    ///
    /// # Errors
    /// As [`Members::of_valid`].
    pub fn named(text: &'a str, names: &[&str]) -> Result<Self, serde_json::Error> {
        let mut cursor = Cursor::new(text);
        if !cursor.enter(b'{') {
            return Self::parse(text);
        }
        let mut members = Vec::new();
        while let Some(name) = cursor.name() {
            let (name, value) = (name.read()?, cursor.value());
            if names.contains(&name.as_ref()) {
                members.push((name, value));
            }
        }
        Ok(Members(last_of_each(members)))
    }

    /// Reads the members of the object that was entered last. Values that `read`, given the name, has read to their end are not passed
    /// over once more.
    fn entering(
        cursor: &mut Cursor<'a>,
        mut read: impl FnMut(&str, &mut Cursor<'a>) -> bool,
    ) -> Result<Self, serde_json::Error> {
        let mut members = Vec::with_capacity(16);
        while let Some(name) = cursor.name() {
            let name = name.read()?;
            let value = cursor.value_by(|cursor| read(&name, cursor));
            members.push((name, value));
        }
        Ok(Members(last_of_each(members)))
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The members that are strings, unquoted.
    pub fn texts(self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        let strings = self.0.into_iter().filter(|(_, raw)| raw.starts_with('"'));
        strings.map(|(name, raw)| (name, unquote(raw)))
    }

    /// The members of a member that is an object, in a text that was read as JSON before.
    pub fn members(&self, name: &str) -> Option<Members<'a>> {
        Members::of_valid(self.get(name)?).ok()
    }

    /// The value of a member, if it is there and is a `T`.
    pub fn read<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// The value of a member that is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).filter(|raw| raw.starts_with('"')).map(unquote)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de str)> = Vec::new();
                while let Some(Name(key)) = map.next_key()? {
                    members.push((key, map.next_value::<&'de RawValue>()?.get()));
                }
                Ok(Members(last_of_each(members)))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

/// A member's name, borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
        Borrowed::deserialize(deserializer).map(|name| Name(name.0))
    }
}

fn last_of_each<'a>(members: Vec<(Cow<'a, str>, &'a str)>) -> Vec<(Cow<'a, str>, &'a str)> {
    let few = members.len() <= 32;
    if few && members.iter().enumerate().all(|(at, (key, _))| members[..at].iter().all(|(k, _)| k != key)) {
        return members;
    }
    let mut places: HashMap<Cow<'a, str>, usize> = HashMap::with_capacity(members.len());
    let mut kept: Vec<(Cow<'a, str>, &'a str)> = Vec::with_capacity(members.len());
    for (key, value) in members {
        if let Some(&place) = places.get(&key) {
            kept[place].1 = value;
        } else {
            places.insert(key.clone(), kept.len());
            kept.push((key, value));
        }
    }
    kept
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn strings_that_look_like_structure_are_strings() {
        let text = r#"{"a{":"}\"]", "b" : [1, -2.5e7 ,null,"x,y"]}"#;
        let tokens: Vec<_> = Lexer::new(text).map(|(token, at)| (token, &text[at])).collect();
        use Token::*;
        let expected = [
            (Object, "{"),
            (Key, r#""a{""#),
            (Text, r#""}\"]""#),
            (Comma, ","),
            (Key, r#""b""#),
            (Array, "["),
            (Atom, "1"),
            (Comma, ","),
            (Atom, "-2.5e7"),
            (Comma, ","),
            (Atom, "null"),
            (Comma, ","),
            (Text, r#""x,y""#),
            (Close, "]"),
            (Close, "}"),
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn a_list_is_split_into_its_items() {
        let items = |text| items_of_valid(text).collect::<Vec<_>>();
        let text = r#"[1,{"a":"],"} , "x\"]" ,[[]], null]"#;
        assert_eq!(items(text), ["1", r#"{"a":"],"}"#, r#""x\"]""#, "[[]]", "null"]);
        assert!(items("[]").is_empty() && items("{}").is_empty() && items("").is_empty());
    }

    #[test]
    fn the_last_of_equal_members_counts() {
        let members = Members::parse(r#"{"a":1,"b":2,"\u0061":3}"#).unwrap();
        assert_eq!(members.0, [("a".into(), "3"), ("b".into(), "2")]);
        assert!(Members::parse("[]").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_walked_to_its_end(text in ".{0,200}|[\\[\\]{}\",:\\\\a1 ]{0,200}") {
            let mut last = 0;
            for (_, at) in Lexer::new(&text) {
                prop_assert!(at.start >= last && at.end > at.start && text.get(at.clone()).is_some());
                last = at.end;
            }
            let _ = Members::parse(&text).is_ok();
            let _ = unquote(&text);
        }

        #[test]
        fn an_object_that_is_valid_is_read_without_reading_its_members(
            texts in prop::collection::vec(("[a-c\"\\\\é]{0,3}", "[ -~é\n]{0,12}", any::<bool>()), 0..6), broken in any::<bool>(),
        ) {
            let members = texts.iter().map(|(key, text, nested)| match nested {
                true => format!(r#"{}: [{{"x":{}}}, -1.5e3 ,null]"#, quote(key), quote(text)),
                false => format!("{} :{}", quote(key), quote(text)),
            });
            let text = format!("{{ {}}}", members.collect::<Vec<_>>().join(" ,"));
            prop_assert_eq!(Members::of_valid(&text).unwrap().0, Members::parse(&text).unwrap().0);
            let text = text.replacen(char::is_alphabetic, if broken { r"\ud800" } else { "x" }, 1);
            if serde_json::from_str::<&RawValue>(&text).is_ok() {
                prop_assert_eq!(
                    Members::of_valid(&text).map(|read| read.0).ok(), Members::parse(&text).map(|read| read.0).ok()
                );
            }
        }

        #[test]
        fn any_text_is_split_into_members(text in ".{0,200}|[\\[\\]{}\",:\\\\a1 ]{0,200}") {
            let _ = (Members::of_valid(&text).is_ok(), items_of_valid(&text).count());
        }

        #[test]
        fn quoting_is_undone(text in any::<String>()) {
            let quoted = quote(&text);
            prop_assert_eq!(&quoted, &serde_json::Value::from(text.as_str()).to_string());
            prop_assert_eq!(unquote(&quoted), text);
        }
    }
}
