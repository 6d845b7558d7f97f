//! Differences on one line.

use serde_json::Value;

use super::{Difference, DifferenceType};
use strandline_syntax::{Image, familiar};

/// Letters that a value has.
const VALUE_LETTERS: usize = 40;

/// What differs on one line, so many differences at most and images first: `image api 2.33.0 → 2.40.0`,
/// `replicas 3 → 5; 2 more`. Empty where nothing does.
pub fn one_line(differences: &[Difference], left_out: u64, most: usize) -> String {
    let images = differences.iter().filter_map(image);
    let others = differences.iter().filter(|one| image(one).is_none()).map(said);
    let mut shown: Vec<String> = images.chain(others).take(most).collect();
    let more = (differences.len() - shown.len()) as u64 + left_out;
    shown.extend((more > 0 && !shown.is_empty()).then(|| format!("{more} more")));
    shown.join("; ")
}

/// A change of an image: by its versions alone where it is the same repository.
fn image(difference: &Difference) -> Option<String> {
    let container = difference.path.strip_suffix(".image")?;
    let name = container.rsplit_once("[name=").and_then(|(_, name)| name.strip_suffix(']'));
    let name = name.map(|name| format!("image {name}")).unwrap_or_else(|| "image".to_owned());
    let [before, after] = [&difference.before, &difference.after]
        .map(|value| value.as_ref().and_then(Value::as_str).and_then(Image::parse));
    let (before, after) = (before?, after?);
    let version = |image: &Image| match (image.tag.as_str(), image.digest.as_str()) {
        ("", digest) => cut(digest),
        (tag, _) => cut(tag),
    };
    let is_same = before.repository == after.repository && version(&before) != version(&after);
    let whole = |image: &Image| {
        let version = version(image);
        let mark = if image.tag.is_empty() { "@" } else { ":" };
        cut(&format!("{}{mark}{version}", familiar(&image.repository)))
    };
    Some(match is_same {
        true => format!("{name} {} → {}", version(&before), version(&after)),
        false => format!("{name} {} → {}", whole(&before), whole(&after)),
    })
}

fn said(difference: &Difference) -> String {
    let path = difference.path.strip_prefix("spec.").unwrap_or(&difference.path);
    let path = path.strip_prefix("template.").unwrap_or(path);
    let path = path.strip_prefix("spec.").unwrap_or(path);
    let text = |value: &Option<Value>| match value {
        Some(Value::String(text)) => cut(text),
        Some(other) => cut(&other.to_string()),
        None => String::new(),
    };
    let (path, before, after) =
        (middle(path, 2 * VALUE_LETTERS), text(&difference.before), text(&difference.after));
    match difference.change {
        DifferenceType::Added => format!("{path} + {after}"),
        DifferenceType::Removed => format!("{path} − {before}"),
        DifferenceType::Changed => format!("{path} {before} → {after}"),
        DifferenceType::Moved => format!("{path} position {before} → {after}"),
    }
}

fn cut(text: &str) -> String {
    middle(text, VALUE_LETTERS)
}

/// A text of so many letters at most: its middle gives way, since both ends of names and digests tell more.
fn middle(text: &str, letters: usize) -> String {
    let count = text.chars().count();
    if count <= letters {
        return text.to_owned();
    }
    let tail = letters / 3;
    let head: String = text.chars().take(letters - 1 - tail).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head}…{end}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Class;

    fn changed(path: &str, before: Value, after: Value) -> Difference {
        Difference {
            path: path.into(),
            pointer: String::new(),
            change: DifferenceType::Changed,
            class: Class::Spec,
            before: Some(before),
            after: Some(after),
            excerpt: false,
        }
    }

    #[test]
    fn differences_are_one_line() {
        let image = |before: &str, after: &str| {
            changed("spec.template.spec.containers[name=api].image", json!(before), json!(after))
        };
        let replicas = || changed("spec.replicas", json!(3), json!(5));
        let cases = [
            (
                vec![image("r.example.com/a/api:2.33.0", "r.example.com/a/api:2.40.0")],
                0,
                "image api 2.33.0 → 2.40.0",
            ),
            (vec![image("a/api:1", "b/api:1")], 0, "image api a/api:1 → b/api:1"),
            (vec![replicas()], 0, "replicas 3 → 5"),
            (vec![replicas(), image("a:1", "a:2")], 3, "image api 1 → 2; 4 more"),
            (vec![changed("data.key", json!("a".repeat(60)), json!("b"))], 0, ""),
            (vec![], 0, ""),
        ];
        for (differences, left_out, expected) in cases {
            let line = one_line(&differences, left_out, 1);
            if expected.is_empty() && !differences.is_empty() {
                assert!(line.contains("a…a") && line.ends_with(" → b"), "{line}");
            } else {
                assert_eq!(line, expected);
            }
        }
        let both = [replicas(), image("a:1", "a:2"), changed("data.key", json!(1), json!(2))];
        assert_eq!(one_line(&both, 0, 2), "image api 1 → 2; replicas 3 → 5; 1 more");
    }
}
