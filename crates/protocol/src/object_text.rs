//! A recorded object in an answer: JSON text that passes through as it was recorded.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use strandline_object::json::is_plain;

/// A recorded object as JSON text. An answer holds the recorded bytes; who needs a part of it parses it.
///
/// What a strict reader could not parse, such as half of a surrogate pair or a depth of thousands, is a JSON string of the
/// recorded text instead, so that an answer can always be read.
#[derive(Clone, Debug)]
pub struct ObjectText(Box<RawValue>);

impl ObjectText {
    /// Takes a recorded body.
    pub fn new(body: &str) -> Self {
        let text = serde_json::from_str::<&RawValue>(body).ok();
        let text = text.filter(|_| is_plain(body) || serde_json::from_str::<Readable>(body).is_ok());
        let escaped = || RawValue::from_string(Value::from(body).to_string()).unwrap_or_default();
        ObjectText(text.map_or_else(escaped, ToOwned::to_owned))
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The object, parsed.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }
}

/// Any JSON that can be parsed, of which nothing is kept.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Unlike what is ignored, what is asked for has to be right: escapes, numbers and the depth.
        deserializer.deserialize_any(Readable)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Readable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Readable, A::Error> {
        while items.next_element::<Readable>()?.is_some() {}
        Ok(Readable)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Readable, A::Error> {
        while members.next_entry::<Readable, Readable>()?.is_some() {}
        Ok(Readable)
    }
}

impl From<&Value> for ObjectText {
    fn from(value: &Value) -> Self {
        ObjectText::new(&value.to_string())
    }
}

impl PartialEq for ObjectText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() || self.value() == other.value()
    }
}

impl Serialize for ObjectText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ObjectText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not as a raw value: it stands beside a flattened structure, through which raw values do not come.
        Value::deserialize(deserializer).map(|value| ObjectText::from(&value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_object_passes_through_as_it_was_recorded() {
        let recorded = r#"{"b": 1.50,  "a":"\u00e9"}"#;
        let text = ObjectText::new(recorded);
        assert_eq!(serde_json::to_string(&text).ok().as_deref(), Some(recorded));
        let read: Option<ObjectText> = serde_json::from_str(recorded).ok();
        assert_eq!(read, Some(text));
    }

    #[test]
    fn what_is_no_json_is_given_as_its_text() {
        let deep = "[".repeat(500) + &"]".repeat(500);
        for body in ["", "no \"JSON\"", "{\"a\":1} {}", r#"{"\ud800":1}"#, r#"["\udc00"]"#, "[1e999]", &deep]
        {
            assert_eq!(ObjectText::new(body).value(), Value::String(body.to_owned()));
        }
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            "(-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][-+]?[0-9]{1,4})?|true|false|null)",
            "\"([a-eu ]|\\\\[nt\"\\\\/]|\\\\u[dD][89abcdef][0-9]{2}|\\\\u00[0-9]{2}){0,6}\"",
            (90_usize..140).prop_map(|depth| "[".repeat(depth) + &"]".repeat(depth)),
            (90_usize..400).prop_map(|digits| "9".repeat(digits)),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[{}]", items.join(" ,"))),
                prop::collection::vec(inner, 0..4).prop_map(|values| {
                    let members = values.iter().enumerate().map(|(n, value)| format!("\"k{n}\" :{value}"));
                    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_plain_can_be_read_and_what_cannot_is_a_text(text in json()) {
            let read = serde_json::from_str::<Readable>(&text).is_ok();
            prop_assert!(read || !is_plain(&text), "{}", text);
            let shown = ObjectText::new(&text);
            prop_assert_eq!(shown.as_str() == text, read);
            prop_assert!(serde_json::from_str::<Value>(shown.as_str()).is_ok());
        }
    }
}
