//! Values that are too long to be shown whole.

use serde_json::Value;

/// The most bytes of a value that are shown.
pub(super) const VALUE_MAX: usize = 16 << 10;

/// Letters that are shown before and behind what differs in long texts.
const AROUND: usize = 240;

/// Values as they are shown, with their length in bytes, and whether they are excerpts.
pub(super) struct Told {
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
    pub(super) bytes: usize,
    pub(super) excerpt: bool,
}

/// Two values as they are shown: long texts are cut to what differs, other long values to the start of their JSON.
pub(super) fn told(before: Option<Value>, after: Option<Value>) -> Told {
    if let (Some(Value::String(one)), Some(Value::String(other))) = (&before, &after)
        && one.len().max(other.len()) > VALUE_MAX
    {
        let (one, other) = around(one, other);
        let bytes = one.len() + other.len();
        return Told { before: Some(one.into()), after: Some(other.into()), bytes, excerpt: true };
    }
    let (mut bytes, mut excerpt) = (0, false);
    let mut cut = |value: Value| {
        let text = match &value {
            Value::String(text) => text.clone(),
            Value::Array(_) | Value::Object(_) => value.to_string(),
            Value::Null | Value::Bool(_) | Value::Number(_) => return value,
        };
        bytes += text.len().min(VALUE_MAX);
        if text.len() <= VALUE_MAX {
            return value;
        }
        excerpt = true;
        format!("{}…", &text[..text.floor_char_boundary(VALUE_MAX)]).into()
    };
    let (before, after) = (before.map(&mut cut), after.map(&mut cut));
    Told { before, after, bytes, excerpt }
}

/// The parts of two texts in which they differ, with some of what is around them.
fn around(before: &str, after: &str) -> (String, String) {
    let same = |mut ends: Box<dyn Iterator<Item = (u8, u8)> + '_>| {
        let mut count = 0;
        while ends.next().is_some_and(|(one, other)| one == other) {
            count += 1;
        }
        count
    };
    let head: usize = same(Box::new(before.bytes().zip(after.bytes())));
    let tail: usize = same(Box::new(before.bytes().rev().zip(after.bytes().rev())));
    let tail = tail.min(before.len().min(after.len()) - head);
    let part = |text: &str| {
        let from = text.floor_char_boundary(head.saturating_sub(AROUND));
        let end = text.ceil_char_boundary((text.len() - tail).saturating_add(AROUND).min(text.len()));
        let cut = text.floor_char_boundary(end.min(from + VALUE_MAX)).max(from);
        let mark = |is: bool| if is { "…" } else { "" };
        format!("{}{}{}", mark(from > 0), &text[from..cut], mark(cut < text.len()))
    };
    (part(before), part(after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_cut_to_what_differs() {
        let long = "line\n".repeat(300_000);
        let (one, other) = (format!("{long}a{long}"), format!("{long}b{long}"));
        let told = told(Some(one.into()), Some(other.into()));
        let text =
            |value: Option<Value>| value.and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
        let (before, after) = (text(told.before), text(told.after));
        assert!(told.excerpt && before.len() < 600 && before.contains('a') && after.contains('b'));
        assert!(before.starts_with('…') && before.ends_with('…'), "both ends say that they are none");
        assert_eq!(before.replace('a', "b"), after);
    }

    #[test]
    fn long_values_are_cut_to_their_start() {
        let labels: serde_json::Map<_, _> = (0..64_000).map(|n| (format!("l{n}"), json!("v"))).collect();
        let cut = told(None, Some(Value::Object(labels)));
        assert!(cut.excerpt && cut.bytes <= VALUE_MAX);
        assert!(
            cut.after
                .as_ref()
                .and_then(Value::as_str)
                .is_some_and(|text| text.starts_with("{\"l0\"") && text.ends_with('…'))
        );
        let short = told(Some(json!({"a": 1})), Some(Value::Null));
        assert_eq!(
            (short.before, short.after, short.excerpt),
            (Some(json!({"a": 1})), Some(Value::Null), false)
        );
    }

    proptest! {
        #[test]
        fn cuts_fall_between_letters(head in "[aé😀]{0,9}", one in "[xé😀]{0,9}", other in "[yé]{0,9}", tail in "[aé😀]{0,9}") {
            let long = "😀é".repeat(VALUE_MAX / 4);
            let text = |middle: &str| Some(Value::from(format!("{head}{long}{middle}{long}{tail}")));
            let cut = told(text(&one), text(&other));
            prop_assert!(cut.excerpt && cut.bytes <= 2 * VALUE_MAX + 12);
        }
    }
}
