//! Finds given values in whatever form they were recorded, and puts the same digest in their place that hides what is
//! found by itself.
//!
//! A value is found as it is, with any of its characters escaped as in JSON (however deeply texts lie in texts) or as in
//! URLs, and in Base64 and Base64 of Base64 wherever it begins in what was encoded.

use std::collections::HashSet;
use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};
use thiserror::Error;

use super::Mask;
use super::forms::{forms, fragments};
use strandline_object::json::{Lexer, Token, quote, unquote};

/// Bytes of a value at least: what is shorter stands in much that has nothing to do with it.
const BYTES_MIN: usize = 6;

/// Bytes of all values together at most.
const BYTES_MAX: usize = 64 * 1024;

/// More rounds than any real text takes: what is put in place may join its neighbours to the value.
const ROUNDS_MAX: usize = 8;

/// Why values cannot be looked for; none of these quotes them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValueError {
    /// There is none.
    #[error("no value given")]
    None,
    /// It would be found in what has nothing to do with it.
    #[error("value {0} is shorter than {BYTES_MIN} bytes, and would match unrelated data")]
    Short(usize),
    /// They are too many or too long.
    #[error("the values have more than {BYTES_MAX} bytes together")]
    Long,
    /// It is a part of what stands in place of hidden values.
    #[error("value {0} is part of the replacement text for redacted values")]
    Mask(usize),
    /// The values cannot be made into a pattern.
    #[error("cannot build the search for these values")]
    Pattern,
}

/// Values to be erased.
pub struct Values {
    pattern: Regex,
    /// What stands in place of each, in the order of the pattern's groups.
    masks: Vec<String>,
    exact: Vec<String>,
    /// Parts of the values, by which a text is known that holds no value whole; and how long they are.
    fragments: HashSet<Vec<u8>>,
    lengths: Vec<usize>,
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values").field("masks", &self.masks).finish_non_exhaustive()
    }
}

/// A text in which values were replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The text without them.
    pub text: String,
    /// The fields in which they stood, such as `spec.containers[].env[].value`.
    pub fields: Vec<String>,
}

impl Values {
    /// Values to be looked for, and the key with which hidden values are digested.
    ///
    /// # Errors
    /// When a value is too short to be told from other text, or there are too many.
    pub fn new(values: &[String], key: &[u8; 32]) -> Result<Self, ValueError> {
        let mask = Mask::of_key(key);
        if values.is_empty() {
            return Err(ValueError::None);
        }
        if values.iter().map(String::len).sum::<usize>() > BYTES_MAX {
            return Err(ValueError::Long);
        }
        for (n, value) in values.iter().enumerate() {
            if value.len() < BYTES_MIN {
                return Err(ValueError::Short(n + 1));
            }
            if mask.hide(value).contains(value.as_str()) {
                return Err(ValueError::Mask(n + 1));
            }
        }
        let mut exact = values.to_vec();
        // Of two that begin alike the longer one is meant.
        exact.sort_by_key(|value| std::cmp::Reverse(value.len()));
        exact.dedup();
        let groups: Vec<String> = exact.iter().map(|value| format!("({})", forms(value))).collect();
        let pattern = RegexBuilder::new(&groups.join("|")).size_limit(1 << 28).build();
        let fragments: HashSet<Vec<u8>> = exact.iter().flat_map(|value| fragments(value)).collect();
        let mut lengths: Vec<usize> = fragments.iter().map(Vec::len).collect();
        lengths.sort_unstable();
        lengths.dedup();
        Ok(Values {
            pattern: pattern.map_err(|_| ValueError::Pattern)?,
            masks: exact.iter().map(|value| mask.hide(value)).collect(),
            exact,
            fragments,
            lengths,
        })
    }

    /// What stands in place of each value.
    pub fn masks(&self) -> &[String] {
        &self.masks
    }

    /// Whether any of them is in there, in any form.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        self.pattern.is_match(bytes)
    }

    /// A plain text without the values.
    pub fn hide(&self, text: &str) -> String {
        self.replace(text).unwrap_or_else(|| text.to_owned())
    }

    /// A JSON text without the values; none where it has none of them.
    pub fn erase(&self, body: &str) -> Option<Erased> {
        // In the text as it stands every form is escaped once more, which the pattern allows for.
        if !self.are_in(body.as_bytes()) {
            return None;
        }
        let mut place = Place::default();
        let (mut text, mut from, mut fields) = (String::with_capacity(body.len()), 0, Vec::new());
        for (token, at) in Lexer::new(body) {
            let raw = body.get(at.clone()).unwrap_or_default();
            let replaced = match token {
                Token::Key | Token::Text => self.replace(&unquote(raw)),
                // A password may be a number, too.
                Token::Atom => {
                    self.exact.iter().position(|value| value == raw).map(|n| self.masks[n].clone())
                }
                Token::Object | Token::Array | Token::Close | Token::Comma => None,
            };
            if token == Token::Key {
                place.key(replaced.clone().unwrap_or_else(|| unquote(raw).into_owned()));
            }
            if let Some(replaced) = replaced {
                text.push_str(body.get(from..at.start).unwrap_or_default());
                text.push_str(&quote(&replaced));
                from = at.end;
                fields.push(place.path());
            }
            place.step(token);
        }
        text.push_str(body.get(from..).unwrap_or_default());
        fields.sort();
        fields.dedup();
        (!fields.is_empty()).then_some(Erased { text, fields })
    }

    /// A plain text without the values; none where it has none of them.
    fn replace(&self, text: &str) -> Option<String> {
        let mut replaced = self.replace_once(text)?;
        for _ in 0..ROUNDS_MAX {
            match self.replace_once(&replaced) {
                Some(again) => replaced = again,
                None => break,
            }
        }
        Some(replaced)
    }

    fn replace_once(&self, text: &str) -> Option<String> {
        let mut replaced = String::new();
        let mut from = 0;
        for found in self.pattern.captures_iter(text.as_bytes()) {
            let group = (1..found.len()).find_map(|n| found.get(n).map(|group| (n - 1, group.range())));
            let Some((n, range)) = group else { continue };
            // The pattern is made of whole characters.
            replaced.push_str(text.get(from..range.start)?);
            replaced.push_str(self.masks.get(n)?);
            from = range.end;
        }
        if from == 0 {
            return None;
        }
        replaced.push_str(text.get(from..)?);
        Some(replaced)
    }

    /// Overwrites every part of a value in bytes that no value need be whole in; tells whether there was any.
    pub fn blank_fragments(&self, bytes: &mut [u8]) -> bool {
        let mut blank: Vec<Range<usize>> = Vec::new();
        for &length in &self.lengths {
            let windows = bytes.windows(length).enumerate();
            blank.extend(
                windows.filter(|(_, part)| self.fragments.contains(*part)).map(|(at, _)| at..at + length),
            );
        }
        for range in &blank {
            if let Some(part) = bytes.get_mut(range.clone()) {
                part.fill(b'#');
            }
        }
        !blank.is_empty()
    }
}

/// Where in an object a token stands.
#[derive(Default)]
struct Place {
    /// The members that lead there; none for a list.
    steps: Vec<Option<String>>,
}

impl Place {
    fn key(&mut self, key: String) {
        if let Some(Some(last)) = self.steps.last_mut() {
            *last = key;
        }
    }

    fn step(&mut self, token: Token) {
        match token {
            Token::Object => self.steps.push(Some(String::new())),
            Token::Array => self.steps.push(None),
            Token::Close => _ = self.steps.pop(),
            Token::Key | Token::Text | Token::Atom | Token::Comma => {}
        }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.steps {
            match step {
                None => path.push_str("[]"),
                Some(key) if path.is_empty() => path.push_str(key),
                Some(key) => {
                    path.push('.');
                    path.push_str(key);
                }
            }
        }
        path
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;

    use data_encoding::BASE64;

    use super::super::forms::url_encoded;
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn values(of: &[&str]) -> Values {
        Values::new(&of.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>(), &KEY).unwrap()
    }

    #[test]
    fn a_value_is_found_in_every_form_and_its_field_is_told() {
        let secret = "p\"ss/wörd+1 \\x";
        let values = values(&[secret]);
        let nested = |text: &str| serde_json::json!({ "inner": text }).to_string();
        let url: String = secret.bytes().map(url_encoded).collect();
        let forms = [
            secret.to_owned(),
            format!("before {secret} behind"),
            nested(secret),
            nested(&nested(&nested(secret))),
            nested(secret).replace('/', "\\/").replace('ö', "\\u00f6").replace('+', "\\u002b"),
            url.clone(),
            url.to_lowercase(),
            url.replace("%20", "+"),
            BASE64.encode(secret.as_bytes()),
            BASE64.encode(format!("x{secret}").as_bytes()),
            BASE64.encode(format!("user:{secret}\n").as_bytes()),
            BASE64.encode(BASE64.encode(format!("xy{secret}z").as_bytes()).as_bytes()),
            BASE64.encode(secret.as_bytes()).replace('+', "-").replace('/', "_"),
        ];
        for form in forms {
            let body =
                serde_json::json!({"spec": {"list": [{"value": form}, {"value": "other"}]}}).to_string();
            let erased = values.erase(&body).unwrap_or_else(|| panic!("{form} is not found"));
            assert_eq!(erased.fields, ["spec.list[].value"], "{form}");
            let text = serde_json::from_str::<serde_json::Value>(&erased.text).unwrap();
            let shown = text["spec"]["list"][0]["value"].as_str().unwrap();
            assert!(shown.contains(&values.masks()[0]), "{form} became {shown}");
            assert_eq!(text["spec"]["list"][1]["value"], "other");
            assert_eq!(values.erase(&erased.text), None);
        }
    }

    #[test]
    fn names_of_members_and_numbers_are_erased_and_all_else_stays() {
        let values = values(&["20261122", "hunter-two"]);
        let body = r#"{"a": 20261122, "b":120261122 ,"hunter-two":{"c":"x\u003c"},"d":[null,true,"\u003c"]}"#;
        let erased = values.erase(body).unwrap();
        let mask = |n: usize| values.masks()[n].clone();
        let expected = format!(
            r#"{{"a": "{}", "b":120261122 ,"{}":{{"c":"x\u003c"}},"d":[null,true,"\u003c"]}}"#,
            mask(1),
            mask(0)
        );
        assert_eq!(erased.text, expected);
        assert_eq!(erased.fields, vec!["a".to_owned(), mask(0)]);
        assert_eq!(values.erase(r#"{"b":120261122}"#), None);
    }

    #[test]
    fn what_cannot_be_told_from_other_text_is_refused() {
        let refused = |of: &[&str]| {
            Values::new(&of.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>(), &KEY).unwrap_err()
        };
        assert_eq!(refused(&[]), ValueError::None);
        assert_eq!(refused(&["long enough", "short"]), ValueError::Short(2));
        assert_eq!(refused(&["redacted"]), ValueError::Mask(1));
        assert_eq!(refused(&[&"x".repeat(BYTES_MAX + 1)]), ValueError::Long);
    }

    #[test]
    fn parts_of_a_value_are_blanked() {
        let values = values(&["correct-horse-battery"]);
        let mut bytes = b"...rect-horse-ba,,,horse-".to_vec();
        assert!(values.blank_fragments(&mut bytes));
        assert_eq!(bytes, b"...#############,,,horse-");
        assert!(!values.blank_fragments(&mut bytes));
    }

    proptest! {
        #[test]
        fn whatever_the_value_and_wherever_it_lies_nothing_of_it_is_left(
            value in "[ -~äö\n\"\\\\/]{6,30}", before in "[ -~]{0,7}", behind in "[ -~]{0,7}", form in 0..5usize,
        ) {
            let Ok(values) = Values::new(std::slice::from_ref(&value), &KEY) else { return Ok(()) };
            let text = format!("{before}{value}{behind}");
            let text = match form {
                0 => text,
                1 => serde_json::json!([text]).to_string(),
                2 => text.bytes().map(url_encoded).collect(),
                3 => BASE64.encode(text.as_bytes()),
                _ => BASE64.encode(BASE64.encode(text.as_bytes()).as_bytes()),
            };
            let body = serde_json::json!({ "a": text }).to_string();
            let erased = values.erase(&body);
            prop_assert!(erased.is_some());
            let erased = erased.unwrap();
            prop_assert!(!values.are_in(erased.text.as_bytes()));
            prop_assert!(serde_json::from_str::<serde_json::Value>(&erased.text).is_ok());
        }
    }
}
