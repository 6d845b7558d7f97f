//! Label and field selectors, as far as clients use them.

use super::objects::{OF_EVENTS, OF_PODS, Stored};
use super::status::Status;

/// What a list or watch is limited to.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    /// The only namespace; none for all.
    pub(super) namespace: Option<String>,
    labels: Vec<Requirement>,
    /// Fields with a value, and whether they must have it or must not.
    fields: Vec<(String, String, bool)>,
}

/// The fields by which every kind can be selected.
const OF_EVERY_KIND: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// Whether some kind can be selected by a field.
fn is_selectable(field: &str) -> bool {
    [&OF_EVERY_KIND[..], &OF_PODS, &OF_EVENTS].iter().any(|fields| fields.contains(&field))
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

impl Filter {
    /// Reads both selectors of a request.
    pub(super) fn parse(namespace: Option<&str>, labels: &str, fields: &str) -> Result<Self, Status> {
        let mut filter = Filter { namespace: namespace.map(str::to_owned), ..Filter::default() };
        for term in split_terms(labels) {
            filter.labels.push(
                requirement(term)
                    .ok_or_else(|| Status::bad_request(format!("unable to parse requirement: {term}")))?,
            );
        }
        for term in fields.split(',').filter(|term| !term.is_empty()) {
            let (field, value) = term.split_once('=').ok_or_else(|| unsupported(term))?;
            let (field, wanted) = field.strip_suffix('!').map_or((field, true), |field| (field, false));
            if !is_selectable(field) {
                return Err(unsupported(term));
            }
            filter.fields.push((field.to_owned(), value.trim_start_matches('=').to_owned(), wanted));
        }
        Ok(filter)
    }

    /// Whether a state belongs to the answer.
    pub(super) fn matches(&self, stored: &Stored) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| namespace == stored.namespace)
            && self
                .fields
                .iter()
                .all(|(field, value, wanted)| (stored.field(field) == Some(value)) == *wanted)
            && self.labels.iter().all(|requirement| requirement.matches(stored))
    }

    /// Whether more than the namespace narrows the answer.
    pub(super) fn selects(&self) -> bool {
        !self.fields.is_empty() || !self.labels.is_empty()
    }
}

impl Requirement {
    fn matches(&self, stored: &Stored) -> bool {
        match self {
            Requirement::Exists(key) => stored.label(key).is_some(),
            Requirement::Absent(key) => stored.label(key).is_none(),
            Requirement::In(key, values) => {
                stored.label(key).is_some_and(|value| values.iter().any(|wanted| wanted == value))
            }
            Requirement::NotIn(key, values) => {
                stored.label(key).is_none_or(|value| values.iter().all(|unwanted| unwanted != value))
            }
        }
    }
}

fn unsupported(term: &str) -> Status {
    Status::bad_request(format!("field label not supported: {term}"))
}

/// Splits at commas outside parentheses.
fn split_terms(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let terms = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    terms.map(str::trim).filter(|term| !term.is_empty()).collect()
}

fn requirement(term: &str) -> Option<Requirement> {
    if let Some((key, value)) = term.split_once("!=") {
        return Some(Requirement::NotIn(key.trim().into(), vec![value.trim().into()]));
    }
    if let Some((key, value)) = term.split_once('=') {
        let value = value.trim_start_matches('=').trim();
        return Some(Requirement::In(key.trim().into(), vec![value.into()]));
    }
    if let Some(open) = term.find('(') {
        let values = term[open + 1..].strip_suffix(')')?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let (key, operator) = term[..open].trim().split_once(' ')?;
        return match operator.trim() {
            "in" => Some(Requirement::In(key.into(), values)),
            "notin" => Some(Requirement::NotIn(key.into(), values)),
            _ => None,
        };
    }
    match term.strip_prefix('!') {
        Some(key) => Some(Requirement::Absent(key.trim().into())),
        None if term.contains(char::is_whitespace) => None,
        None => Some(Requirement::Exists(term.into())),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn selectors_select_as_kubernetes_says() {
        let stored = Stored::for_test("shop", "web", &[("app", "web"), ("tier", "front")]);
        let cases = [
            ("app=web", true),
            ("app==web", true),
            ("app = web,tier!=back", true),
            ("app in (cart, web),!legacy", true),
            ("app notin (web)", false),
            ("missing!=x", true),
            ("missing", false),
            ("tier", true),
        ];
        for (selector, expected) in cases {
            let filter = Filter::parse(None, selector, "").unwrap();
            assert_eq!(filter.matches(&stored), expected, "{selector}");
        }
        assert!(Filter::parse(Some("other"), "", "").is_ok_and(|filter| !filter.matches(&stored)));
        assert!(Filter::parse(None, "", "metadata.name=web").is_ok_and(|filter| filter.matches(&stored)));
        assert!(Filter::parse(None, "", "metadata.name!=web").is_ok_and(|filter| !filter.matches(&stored)));
        assert!(Filter::parse(None, "", "spec.color=red").is_err());
        assert!(Filter::parse(None, "app near (web)", "").is_err());
    }
}
