//! The members of an object and of its metadata, in one pass.
//!
//! The managedFields in metadata are nearly half of what a cluster sends: who splits the object, its metadata, these and their
//! entries one after the other passes over them four times.

use super::Members;
use super::cursor::Cursor;

/// An object's members and those of its metadata.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    /// The object's own, as [`Members::of_valid`] reads them.
    pub members: Members<'a>,
    /// Those of its metadata; none where that is no object.
    pub metadata: Option<Members<'a>>,
    /// The entries of `metadata.managedFields`; none where one of them cannot be read.
    pub managed_fields: Vec<Members<'a>>,
}

impl<'a> Envelope<'a> {
    /// Reads an object out of a text that was read as JSON before.
    ///
    /// # Errors
    /// When the text is not an object, or a name in it or its metadata has escapes that make no sense.
    pub fn of_valid(text: &'a str) -> Result<Self, serde_json::Error> {
        let mut cursor = Cursor::new(text);
        if !cursor.enter(b'{') {
            let members = Members::parse(text)?;
            return Ok(Envelope { members, metadata: None, managed_fields: Vec::new() });
        }
        // Of members with the same name the last one counts.
        let (mut metadata, mut managed_fields) = (Ok(None), Vec::new());
        let members = Members::entering(&mut cursor, |name, cursor| {
            if name != "metadata" {
                return false;
            }
            managed_fields.clear();
            metadata = read_metadata(cursor, &mut managed_fields);
            matches!(metadata, Ok(Some(_)))
        })?;
        Ok(Envelope { members, metadata: metadata?, managed_fields })
    }
}

/// The members of what comes next, if it is an object.
fn read_metadata<'a>(
    cursor: &mut Cursor<'a>,
    managed_fields: &mut Vec<Members<'a>>,
) -> Result<Option<Members<'a>>, serde_json::Error> {
    if !cursor.enter(b'{') {
        return Ok(None);
    }
    let members = Members::entering(cursor, |name, cursor| {
        if name != "managedFields" {
            return false;
        }
        let entries = read_entries(cursor);
        let is_read = entries.is_some();
        *managed_fields = entries.unwrap_or_default();
        is_read
    });
    members.map(Some)
}

/// The members of each item of what comes next; none where it is no list of objects.
fn read_entries<'a>(cursor: &mut Cursor<'a>) -> Option<Vec<Members<'a>>> {
    if !cursor.enter(b'[') {
        return None;
    }
    let mut entries = Vec::new();
    while cursor.has_item() {
        if !cursor.enter(b'{') {
            return None;
        }
        entries.push(Members::entering(cursor, |_, _| false).ok()?);
    }
    Some(entries)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::super::items_of_valid;
    use super::*;

    /// The same by one look after the other.
    fn by_steps(text: &str) -> Option<Envelope<'_>> {
        let members = Members::of_valid(text).ok()?;
        let metadata = members.get("metadata").filter(|raw| raw.starts_with('{'));
        let metadata = metadata.map(Members::of_valid).transpose().ok()?;
        let managed = metadata.as_ref().and_then(|metadata| metadata.get("managedFields"));
        let entries = managed.into_iter().flat_map(items_of_valid);
        let entries = entries.map(|entry| Some(entry).filter(|entry| entry.starts_with('{')));
        let entries: Option<Vec<_>> = entries.map(|entry| Members::of_valid(entry?).ok()).collect();
        Some(Envelope { members, metadata, managed_fields: entries.unwrap_or_default() })
    }

    fn shown(envelope: Option<Envelope<'_>>) -> String {
        format!("{envelope:?}")
    }

    #[test]
    fn all_is_found_in_one_pass() {
        let text = r#"{"kind": "A", "metadata" : {"name":"a", "managedFields": [{"manager":"m","fieldsV1":{"f:a":{"f:b":[]}}} ,
            {"manager":"n"}], "uid": "u"} , "spec": [{}]}"#;
        let envelope = Envelope::of_valid(text).unwrap();
        let metadata = envelope.metadata.unwrap();
        assert_eq!(
            (metadata.text("name").as_deref(), metadata.text("uid").as_deref()),
            (Some("a"), Some("u"))
        );
        assert!(metadata.get("managedFields").unwrap().ends_with(r#"{"manager":"n"}]"#));
        let managers: Vec<_> = envelope.managed_fields.iter().map(|entry| entry.text("manager")).collect();
        assert_eq!(managers, [Some("m".into()), Some("n".into())]);
        assert_eq!(envelope.members.get("spec"), Some("[{}]"));
        assert!(envelope.members.get("metadata").unwrap().ends_with('}'));
    }

    #[test]
    fn what_is_odd_is_read_as_by_steps() {
        for text in [
            r#"{"metadata": {"managedFields": [1]}, "metadata": 7}"#,
            r#"{"metadata": 7, "metadata": {"name": "b", "managedFields": {}}}"#,
            r#"{"metadata": {"managedFields": [{"a": 1}], "managedFields": null}}"#,
            r#"{"metadata": {"managedFields": [{"a": 1}, 3, {"b": [{}]}], "name": "a"}, "b": 1}"#,
            r#"{"metadata": {"managedFields": [{"\ud800": {"a": 1}}, {"b": 2}], "name": "a"}, "b": 1}"#,
            r#"{"metadata": {"\ud800": {"a": 1}, "name": "a"}, "b": 1}"#,
            r#"{"metadata": {"\ud800": 1}, "metadata": {"name": "a"}}"#,
            r#"{"metadata": []}"#,
            "[]",
            "{}",
        ] {
            assert_eq!(shown(Envelope::of_valid(text).ok()), shown(by_steps(text)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_object_is_read_as_by_steps(text in r#"\{("(metadata|managedFields|a|\\ud800)": ?([0-9]|\[\{"a":1\}\]|\{("(managedFields|b)":(\[(\{"c":\[\]\},?){0,3}\]|\{\}|null|"x"),?){0,3}\}),? ?){0,4}\}"#) {
            let text = text.replace(",]", "]").replace(",}", "}");
            if serde_json::from_str::<&RawValue>(&text).is_ok() {
                prop_assert_eq!(shown(Envelope::of_valid(&text).ok()), shown(by_steps(&text)));
            }
        }

        #[test]
        fn any_text_comes_to_an_end(text in ".{0,200}|[\\[\\]{}\",:\\\\a1 ]{0,200}") {
            let _ = Envelope::of_valid(&text).is_ok();
        }
    }
}
