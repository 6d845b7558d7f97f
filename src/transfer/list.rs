//! The items of a list in JSON, one at a time: a dump of a whole cluster need not fit into memory.

use std::fmt;
use std::io::Read;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::TransferError;

/// Takes an item with the `apiVersion` and the `kind` that the list gives its items; both may be empty.
type Take<'a> = &'a mut dyn FnMut(&str, &str, &str) -> Result<(), TransferError>;

/// Why a list was not read to its end.
pub(super) enum ListError {
    /// It is not a list, or not JSON.
    Unreadable(serde_json::Error),
    /// Whoever takes the items wants no more.
    Refused(TransferError),
}

/// Hands over each item of a list.
pub(super) fn each(reader: impl Read, take: Take<'_>) -> Result<(), ListError> {
    let mut refused = None;
    let list = List { take, refused: &mut refused };
    let mut json = serde_json::Deserializer::from_reader(reader);
    let read = list.deserialize(&mut json).and_then(|()| json.end());
    match (refused, read) {
        (Some(error), _) => Err(ListError::Refused(error)),
        (None, Err(error)) => Err(ListError::Unreadable(error)),
        (None, Ok(())) => Ok(()),
    }
}

struct List<'a> {
    take: Take<'a>,
    refused: &'a mut Option<TransferError>,
}

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut api_version, mut kind, mut items) = (String::new(), String::new(), false);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "apiVersion" => api_version = map.next_value()?,
                "kind" => kind = map.next_value()?,
                "items" => {
                    let of = kind.strip_suffix("List").unwrap_or_default();
                    let api_version = if of.is_empty() { "" } else { api_version.as_str() };
                    let (take, refused) = (&mut *self.take, &mut *self.refused);
                    map.next_value_seed(Items { take, refused, api_version, kind: of })?;
                    items = true;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if items { Ok(()) } else { Err(de::Error::missing_field("items")) }
    }
}

struct Items<'a> {
    take: Take<'a>,
    refused: &'a mut Option<TransferError>,
    api_version: &'a str,
    kind: &'a str,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Box<RawValue>>()? {
            if let Err(error) = (self.take)(self.api_version, self.kind, item.get()) {
                *self.refused = Some(error);
                return Err(de::Error::custom("stopped by the reader"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    /// What was taken before the list ended or broke off.
    fn taken(text: &str) -> (Vec<String>, bool) {
        let mut taken = Vec::new();
        let read = each(text.as_bytes(), &mut |api_version, kind, item| {
            taken.push(format!("{api_version} {kind} {item}"));
            Ok(())
        });
        (taken, read.is_ok())
    }

    #[test]
    fn items_come_one_by_one_with_what_their_list_says_of_them() {
        let of = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        for (text, items, whole) in [
            (
                r#"{"apiVersion":"v1","items":[{"a": 1},{"b":[2]}],"kind":"List"}"#,
                of(&["  {\"a\": 1}", "  {\"b\":[2]}"]),
                true,
            ),
            (
                r#"{"kind":"PodList","apiVersion":"v1","metadata":{"x":[]},"items":[{}]}"#,
                of(&["v1 Pod {}"]),
                true,
            ),
            (r#"{"kind":"List","items":[]} "#, of(&[]), true),
            (r#"{"items":[{},{"#, of(&["  {}"]), false),
            (r#"{"items":[{}]} x"#, of(&["  {}"]), false),
            (r#"{"items":[{}]"#, of(&["  {}"]), false),
            (r#"{"kind":"Pod"}"#, of(&[]), false),
            ("[]", of(&[]), false),
            ("", of(&[]), false),
        ] {
            assert_eq!(taken(text), (items, whole), "{text}");
        }
    }

    #[test]
    fn who_wants_no_more_gets_no_more() {
        let mut count = 0;
        let text = r#"{"items":[{},{},{}]}"#;
        let read = each(text.as_bytes(), &mut |_, _, _| {
            count += 1;
            let path = std::path::PathBuf::from("x");
            if count == 2 { Err(TransferError::Changed { path }) } else { Ok(()) }
        });
        assert!(matches!(read.err().unwrap(), ListError::Refused(TransferError::Changed { .. })));
        assert_eq!(count, 2);
    }
}
