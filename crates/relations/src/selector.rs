//! Selectors as objects write them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use strandline_object::json::{Picked, Shape};
use strandline_syntax::{Condition, LabelSelector, Requirement};

/// The most text that a selector may hold; a longer one could not be narrowed without lying.
const MAX_BYTES: usize = 16 * 1024;

/// A selector of labels with `matchLabels` and `matchExpressions`.
pub(super) const SELECTOR: Shape = Shape::Members(&[
    ("matchLabels", Shape::Texts),
    (
        "matchExpressions",
        Shape::Each(&Shape::Members(&[
            ("key", Shape::Text),
            ("operator", Shape::Text),
            ("values", Shape::Each(&Shape::Text)),
        ])),
    ),
]);

/// What a [`SELECTOR`] asks; none where it is not there or a part of it makes no sense.
pub(super) fn selector(written: &Picked<'_>) -> Option<LabelSelector> {
    let Picked::Members(_) = written else { return None };
    let mut requirements = match written.get("matchLabels") {
        Picked::Absent => Vec::new(),
        labels => requirements(labels)?,
    };
    match written.get("matchExpressions") {
        Picked::Absent => {}
        Picked::Each(expressions) => {
            requirements.extend(expressions.iter().map(expression).collect::<Option<Vec<_>>>()?);
        }
        _ => return None,
    }
    bounded(requirements)
}

/// What a plain map of labels asks; none where it is not there or holds other things than text.
pub(super) fn labels(written: &Picked<'_>) -> Option<LabelSelector> {
    bounded(requirements(written)?)
}

/// Of a name that stands there twice, the last value counts.
fn requirements(labels: &Picked<'_>) -> Option<Vec<Requirement>> {
    let Picked::Texts(labels) = labels else { return None };
    let last: BTreeMap<&Cow<'_, str>, &Cow<'_, str>> =
        labels.iter().map(|(name, value)| (name, value)).collect();
    let one = |(name, value): (&Cow<'_, str>, &Cow<'_, str>)| Requirement {
        name: name.to_string(),
        condition: Condition::In(BTreeSet::from([value.to_string()])),
    };
    Some(last.into_iter().map(one).collect())
}

fn expression(written: &Picked<'_>) -> Option<Requirement> {
    let values = || written.items_of("values").iter().map(|value| Some(value.text()?.to_owned()));
    let named = || values().collect::<Option<BTreeSet<_>>>().filter(|values| !values.is_empty());
    let condition = match written.text_of("operator")? {
        "In" => Condition::In(named()?),
        "NotIn" => Condition::NotIn(named()?),
        "Exists" => Condition::Exists,
        "DoesNotExist" => Condition::Absent,
        _ => return None,
    };
    Some(Requirement { name: written.text_of("key")?.to_owned(), condition })
}

fn bounded(requirements: Vec<Requirement>) -> Option<LabelSelector> {
    let size = |requirement: &Requirement| {
        let values = match &requirement.condition {
            Condition::In(values) | Condition::NotIn(values) => values.iter().map(String::len).sum(),
            Condition::Exists | Condition::Absent => 0,
        };
        requirement.name.len() + values
    };
    let bytes: usize = requirements.iter().map(size).sum();
    let named = requirements.iter().all(|requirement| !requirement.name.is_empty());
    (named && bytes <= MAX_BYTES).then(|| LabelSelector::new(requirements))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strandline_object::json::pick;

    fn read(text: &str) -> Option<String> {
        selector(&pick(text, &SELECTOR)).map(|selector| selector.to_string())
    }

    #[test]
    fn labels_and_expressions_have_to_hold_together() {
        for (text, expected) in [
            ("{}", ""),
            (r#"{"matchLabels": null, "matchExpressions": []}"#, ""),
            (r#"{"matchLabels": {"app": "web", "tier": "", "app": "api"}}"#, "app=api,tier="),
            (
                r#"{"matchLabels": {"app": "web"}, "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["c", "b"]},
                    {"key": "d", "operator": "NotIn", "values": ["e"]},
                    {"key": "f", "operator": "Exists"}, {"key": "g", "operator": "DoesNotExist", "values": []}]}"#,
                "a in (b,c),app=web,d!=e,f,!g",
            ),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_selector_that_makes_no_sense_selects_nothing() {
        let long = format!(r#"{{"matchLabels": {{"app": "{}"}}}}"#, "a".repeat(MAX_BYTES));
        for text in [
            "null",
            "7",
            "[]",
            &long,
            r#"{"matchLabels": []}"#,
            r#"{"matchLabels": {"app": 7}}"#,
            r#"{"matchLabels": {"": "a"}}"#,
            r#"{"matchExpressions": {}}"#,
            r#"{"matchExpressions": [null]}"#,
            r#"{"matchExpressions": [{}]}"#,
            r#"{"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]}"#,
            r#"{"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}"#,
            r#"{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", 7]}]}"#,
            r#"{"matchExpressions": [{"key": "a", "operator": "NotIn", "values": "b"}]}"#,
            r#"{"matchExpressions": [{"key": 7, "operator": "Exists"}]}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
