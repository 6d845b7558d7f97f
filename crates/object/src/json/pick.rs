//! Some members of a JSON text, picked out of it without building the rest.

use std::borrow::Cow;

use serde_json::Value;

use super::cursor::Cursor;

/// What is wanted of a value; everything else in it is passed over.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// The value itself, if it is text.
    Text,
    /// An object all of whose values are text, under any names.
    Texts,
    /// Of an object these members.
    Members(&'static [(&'static str, Shape)]),
    /// Of a list every item.
    Each(&'static Shape),
}

/// What was found where something was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked<'a> {
    /// Nothing, or null.
    Absent,
    /// Something of another type than was wanted.
    Odd,
    /// Text.
    Text(Cow<'a, str>),
    /// Texts by their names, in their order; of a name that stands there twice, both.
    Texts(Vec<(Cow<'a, str>, Cow<'a, str>)>),
    /// The members that were wanted and are there.
    Members(Vec<(&'static str, Picked<'a>)>),
    /// Items, as many as the list has.
    Each(Vec<Picked<'a>>),
}

/// Picks what is wanted out of a text that was read as JSON before.
///
/// Takes one pass over the text, in which all else is passed over unread, and as much memory as there is of what is wanted.
pub fn pick<'a>(text: &'a str, shape: &Shape) -> Picked<'a> {
    shape.pick(&mut Cursor::new(text))
}

/// Picks what is wanted out of a value.
pub fn pick_value<'v>(value: &'v Value, shape: &Shape) -> Picked<'v> {
    match (shape, value) {
        (_, Value::Null) => Picked::Absent,
        (Shape::Text, Value::String(text)) => Picked::Text(Cow::Borrowed(text)),
        (Shape::Texts, Value::Object(members)) => {
            let one = |(name, text): (&'v String, &'v Value)| Some((name.into(), text.as_str()?.into()));
            members.iter().map(one).collect::<Option<_>>().map_or(Picked::Odd, Picked::Texts)
        }
        (Shape::Members(wanted), Value::Object(members)) => {
            let one = |(name, value): (&'v String, &'v Value)| {
                let (name, shape) = wanted.iter().find(|(wanted, _)| wanted == name)?;
                Some((*name, pick_value(value, shape)))
            };
            Picked::Members(members.iter().filter_map(one).collect())
        }
        (Shape::Each(shape), Value::Array(items)) => {
            Picked::Each(items.iter().map(|item| pick_value(item, shape)).collect())
        }
        _ => Picked::Odd,
    }
}

impl<'a> Picked<'a> {
    /// A member; [`Picked::Absent`] of what is no object.
    pub fn get(&self, name: &str) -> &Picked<'a> {
        let Picked::Members(members) = self else { return &Picked::Absent };
        members.iter().find(|(of, _)| *of == name).map_or(&Picked::Absent, |(_, value)| value)
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Picked::Text(text) = self { Some(text) } else { None }
    }

    /// The text of a member.
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.get(name).text()
    }

    /// The items; none of what is no list.
    pub fn items(&self) -> &[Picked<'a>] {
        if let Picked::Each(items) = self { items } else { &[] }
    }

    /// The items of a member.
    pub fn items_of(&self, name: &str) -> &[Picked<'a>] {
        self.get(name).items()
    }

    /// Whether nothing stands there.
    pub fn is_absent(&self) -> bool {
        *self == Picked::Absent
    }
}

impl Shape {
    /// Picks it out of the value that comes next, which is passed.
    fn pick<'a>(&self, cursor: &mut Cursor<'a>) -> Picked<'a> {
        match (self, cursor.next_byte()) {
            (Shape::Text, Some(b'"')) => next_text(cursor).map_or(Picked::Odd, Picked::Text),
            (Shape::Texts, Some(b'{')) => texts_of(cursor.value()).map_or(Picked::Odd, Picked::Texts),
            (Shape::Members(wanted), _) if cursor.enter(b'{') => {
                let mut found = Vec::new();
                while let Some(name) = cursor.name() {
                    let name = name.read().unwrap_or_default();
                    match wanted.iter().find(|(wanted, _)| *wanted == name) {
                        Some((name, shape)) => note(&mut found, name, shape.pick(cursor)),
                        None => drop(cursor.value()),
                    }
                }
                Picked::Members(found)
            }
            (Shape::Each(shape), _) if cursor.enter(b'[') => {
                let mut items = Vec::new();
                while cursor.has_item() {
                    items.push(shape.pick(cursor));
                }
                Picked::Each(items)
            }
            (_, byte) => {
                cursor.value();
                if byte == Some(b'n') { Picked::Absent } else { Picked::Odd }
            }
        }
    }
}

/// What the string says that comes next; none where something else comes, or its escapes make no sense.
fn next_text<'a>(cursor: &mut Cursor<'a>) -> Option<Cow<'a, str>> {
    cursor.quoted()?.read().ok()
}

/// The members of an object all of which are texts.
fn texts_of(text: &str) -> Option<Vec<(Cow<'_, str>, Cow<'_, str>)>> {
    let mut cursor = Cursor::new(text);
    let (mut found, mut all) = (Vec::new(), cursor.enter(b'{'));
    while all && let Some(name) = cursor.name() {
        match (name.read(), next_text(&mut cursor)) {
            (Ok(name), Some(text)) => found.push((name, text)),
            _ => all = false,
        }
    }
    all.then_some(found)
}

/// Of members with the same name the last one counts.
fn note<'a>(found: &mut Vec<(&'static str, Picked<'a>)>, name: &'static str, value: Picked<'a>) {
    match found.iter_mut().find(|(of, _)| *of == name) {
        Some((_, before)) => *before = value,
        None => found.push((name, value)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHAPE: Shape = Shape::Members(&[
        ("name", Shape::Text),
        ("labels", Shape::Texts),
        ("volumes", Shape::Each(&Shape::Members(&[("secret", Shape::Text)]))),
    ]);

    #[test]
    fn what_is_wanted_is_found_and_nothing_else() {
        let text = r#"{"other": [{"name": "x"}], "name": "a", "labels": {"b": "c", "d\n": "e\"f"},
            "volumes": [{"secret": "s", "mode": 7}, {}, 3], "n\u0061me": "later"}"#;
        let picked = pick(text, &SHAPE);
        assert_eq!(picked.text_of("name"), Some("later"));
        let pair = |name: &'static str, value: &'static str| (name.into(), value.into());
        assert_eq!(*picked.get("labels"), Picked::Texts(vec![pair("b", "c"), pair("d\n", "e\"f")]));
        let secrets: Vec<_> = picked.items_of("volumes").iter().map(|item| item.text_of("secret")).collect();
        assert_eq!(secrets, [Some("s"), None, None]);
        assert!(picked.get("other").is_absent());
    }

    #[test]
    fn another_type_is_odd_and_costs_nothing_beside_it() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for odd in ["7", "-1", "1.5", "true", "[1, {}]", r#"{"a": {"b": 1}, "c": []}"#, &deep] {
            for name in ["labels", "name"] {
                let text = format!(r#"{{"{name}": {odd}, "volumes": [{{"secret": "s"}}]}}"#);
                let picked = pick(&text, &SHAPE);
                assert_eq!(picked.get(name), &Picked::Odd, "{name}");
                assert_eq!(picked.items_of("volumes").len(), 1, "{name}");
            }
        }
        assert!(pick(r#"{"name": null}"#, &SHAPE).get("name").is_absent());
        assert_eq!(pick(r#"{"labels": {"a": "b", "c": 7}}"#, &SHAPE).get("labels"), &Picked::Odd);
    }

    #[test]
    fn a_value_is_picked_like_its_text() {
        let value =
            serde_json::json!({"name": "a", "labels": {"b": 7}, "volumes": [{"secret": "s"}, null], "x": 1});
        assert_eq!(pick_value(&value, &SHAPE), pick(&value.to_string(), &SHAPE));
    }

    #[test]
    fn a_text_of_which_the_escapes_make_no_sense_is_odd_and_costs_nothing_beside_it() {
        let picked = pick(
            r#"{"name": "\ud800", "\ud801": 1, "labels": {"a": "\ud800"}, "volumes": [{"secret": "s"}]}"#,
            &SHAPE,
        );
        assert_eq!((picked.get("name"), picked.get("labels")), (&Picked::Odd, &Picked::Odd));
        assert_eq!(picked.items_of("volumes").len(), 1);
    }

    proptest! {
        #[test]
        fn a_text_is_picked_like_its_value(
            names in prop::collection::vec("name|labels|volumes|secret|x", 0..6), values in prop::collection::vec(value(), 6),
        ) {
            let members: serde_json::Map<_, _> = names.into_iter().zip(values).collect();
            let value = Value::Object(members);
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap_or_default()] {
                prop_assert_eq!(pick(&text, &SHAPE), pick_value(&value, &SHAPE));
            }
        }

        #[test]
        fn any_text_is_picked_from(text in ".{0,200}|[\\[\\]{}\",:\\\\a1 ]{0,200}") {
            for shape in [Shape::Text, Shape::Texts, SHAPE, Shape::Each(&SHAPE)] {
                pick(&text, &shape);
            }
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-z\"\\\\{},\\[é\n]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("name|secret|x", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }
}
