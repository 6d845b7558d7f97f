//! Label selectors, checked by Kubernetes' rules before a cluster sees them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::name::is_subdomain;

/// What labels have to be like; the default one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabelSelector {
    requirements: BTreeSet<Requirement>,
}

/// One of the conditions of a selector, all of which have to hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Requirement {
    /// The name of the label.
    pub name: String,
    /// What has to be true of it.
    pub condition: Condition,
}

/// What a selector asks of one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// It is there with one of these values.
    In(BTreeSet<String>),
    /// It is not there, or with another value than these.
    NotIn(BTreeSet<String>),
    /// It is there.
    Exists,
    /// It is not there.
    Absent,
}

impl Condition {
    fn holds(&self, value: Option<&str>) -> bool {
        match self {
            Condition::In(values) => value.is_some_and(|value| values.contains(value)),
            Condition::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Condition::Exists => value.is_some(),
            Condition::Absent => value.is_none(),
        }
    }
}

impl LabelSelector {
    /// A selector of these requirements, whatever they are.
    pub fn new(requirements: impl IntoIterator<Item = Requirement>) -> Self {
        LabelSelector { requirements: requirements.into_iter().collect() }
    }

    /// All that has to hold.
    pub fn requirements(&self) -> impl ExactSizeIterator<Item = &Requirement> {
        self.requirements.iter()
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether it selects what carries these labels.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.condition.holds(label(&requirement.name)))
    }

    /// A label with its values of which whatever is selected carries one, by which to look it up; none where the
    /// selector names no values.
    pub fn anchor(&self) -> Option<(&str, &BTreeSet<String>)> {
        let named = self.requirements.iter().filter_map(|requirement| match &requirement.condition {
            Condition::In(values) => Some((requirement.name.as_str(), values)),
            _ => None,
        });
        named.min_by_key(|(_, values)| values.len())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Requirement { name, condition } = self;
        let listed = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(",");
        match condition {
            Condition::In(values) if values.len() == 1 => write!(f, "{name}={}", listed(values)),
            Condition::In(values) => write!(f, "{name} in ({})", listed(values)),
            Condition::NotIn(values) if values.len() == 1 => write!(f, "{name}!={}", listed(values)),
            Condition::NotIn(values) => write!(f, "{name} notin ({})", listed(values)),
            Condition::Exists => f.write_str(name),
            Condition::Absent => write!(f, "!{name}"),
        }
    }
}

/// As a request's `labelSelector` has it.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

/// Why a text is no label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SelectorError {
    /// How many characters stand before the mistake.
    pub before: usize,
    /// What is wrong.
    pub message: String,
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut reader = Reader { text, tokens: tokens(text), next: 0 };
        let requirements =
            if reader.peek() == Token::End { BTreeSet::new() } else { reader.requirements()? };
        Ok(LabelSelector { requirements })
    }
}

/// A piece of a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// One of `=`, `==`, `!=`, `!`, `(`, `)` and `,`, or another character that has no place here.
    Sign(&'a str),
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(text) | Token::Sign(text) => write!(f, "`{text}`"),
            Token::End => f.write_str("the end"),
        }
    }
}

/// Other blanks than these are letters to Kubernetes, and wrong ones.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

fn is_sign(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '<' | '>')
}

/// Cuts a selector into its tokens, each with the byte at which it begins.
fn tokens(text: &str) -> Vec<(usize, Token<'_>)> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(BLANKS);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("==") || rest.starts_with("!=") {
            2
        } else if is_sign(first) {
            first.len_utf8()
        } else {
            rest.find(|c: char| is_sign(c) || BLANKS.contains(&c)).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        let at = text.len() - rest.len();
        tokens.push((at, if is_sign(first) { Token::Sign(token) } else { Token::Word(token) }));
        rest = after.trim_start_matches(BLANKS);
    }
    tokens
}

/// Reads tokens one after the other.
struct Reader<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token<'a>)>,
    next: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.next).map_or(Token::End, |(_, token)| *token)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// An error at the token that was taken last.
    fn wrong(&self, message: String) -> SelectorError {
        let taken = self.next.saturating_sub(1);
        let at = self.tokens.get(taken).map_or(self.text.len(), |(at, _)| *at);
        // What was taken before is ASCII, so its bytes are its characters.
        SelectorError { before: at, message }
    }

    fn requirements(&mut self) -> Result<BTreeSet<Requirement>, SelectorError> {
        let mut requirements = BTreeSet::new();
        loop {
            requirements.insert(self.requirement()?);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Sign(",") => {}
                other => return Err(self.wrong(format!("expected a comma or the end, found {other}"))),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        if self.peek() == Token::Sign("!") {
            self.take();
            return Ok(Requirement { name: self.name()?, condition: Condition::Absent });
        }
        let name = self.name()?;
        let operator = self.peek();
        if matches!(operator, Token::End | Token::Sign(",")) {
            return Ok(Requirement { name, condition: Condition::Exists });
        }
        self.take();
        let condition = match operator {
            Token::Sign("=" | "==") => Condition::In(BTreeSet::from([self.value()?])),
            Token::Sign("!=") => Condition::NotIn(BTreeSet::from([self.value()?])),
            Token::Word("in") => Condition::In(self.values()?),
            Token::Word("notin") => Condition::NotIn(self.values()?),
            other => {
                return Err(self.wrong(format!("expected one of =, ==, !=, in and notin, found {other}")));
            }
        };
        Ok(Requirement { name, condition })
    }

    fn name(&mut self) -> Result<String, SelectorError> {
        match self.take() {
            Token::Word(name) if is_label_name(name) => Ok(name.to_owned()),
            Token::Word(name) => Err(self.wrong(format!("invalid label name `{name}`"))),
            other => Err(self.wrong(format!("expected a label name, found {other}"))),
        }
    }

    /// A value, which may be empty.
    fn value(&mut self) -> Result<String, SelectorError> {
        let Token::Word(value) = self.peek() else { return Ok(String::new()) };
        self.take();
        if is_value(value) {
            Ok(value.to_owned())
        } else {
            Err(self.wrong(format!("invalid label value `{value}`")))
        }
    }

    /// Values in parentheses.
    fn values(&mut self) -> Result<BTreeSet<String>, SelectorError> {
        match self.take() {
            Token::Sign("(") if self.peek() != Token::Sign(")") => {}
            Token::Sign("(") => {
                self.take();
                return Err(self.wrong("the parentheses are empty".to_owned()));
            }
            other => return Err(self.wrong(format!("expected values in parentheses, found {other}"))),
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.value()?);
            match self.take() {
                Token::Sign(")") => return Ok(values),
                Token::Sign(",") => {}
                other => return Err(self.wrong(format!("expected a comma or `)`, found {other}"))),
            }
        }
    }
}

/// A label's name: up to 63 characters, with a domain and a slash before it where it has an owner.
pub fn is_label_name(text: &str) -> bool {
    match text.rsplit_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && !name.is_empty() && is_value(name),
        None => !text.is_empty() && is_value(text),
    }
}

/// A label's value: up to 63 letters, digits, `-`, `_` and `.`, a letter or digit first and last.
fn is_value(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<&u8>| b.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63 && text.bytes().all(inside) && edge(bytes.first()) && edge(bytes.last())
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn what_kubernetes_understands_is_taken() {
        let long = format!("{}=x", "n".repeat(63));
        for (text, canonical) in [
            ("", ""),
            ("  ", ""),
            ("a", "a"),
            ("!a", "!a"),
            ("! a", "!a"),
            ("a=b", "a=b"),
            ("a==b", "a=b"),
            ("a!=b", "a!=b"),
            (" c != d , a = b ", "a=b,c!=d"),
            ("a=", "a="),
            ("a=,b", "a=,b"),
            ("a in (b)", "a=b"),
            ("a in (c,b)", "a in (b,c)"),
            ("a in ( b , c ),d notin(e)", "a in (b,c),d!=e"),
            ("a in (,b)", "a in (,b)"),
            ("a notin (b,c)", "a notin (b,c)"),
            ("in in (in,notin)", "in in (in,notin)"),
            ("app.gitlab.com/project_id,tier!=test", "app.gitlab.com/project_id,tier!=test"),
            ("A_b.c-d=0.9_Z", "A_b.c-d=0.9_Z"),
            (&long, &long),
        ] {
            let parsed: Result<LabelSelector, _> = text.parse();
            assert_eq!(parsed.as_ref().map(ToString::to_string).as_deref(), Ok(canonical), "{text}");
            assert_eq!(canonical.parse(), parsed, "{text}");
        }
    }

    #[test]
    fn a_selector_matches_as_in_kubernetes() {
        let carried = [("app", "web"), ("tier", "")];
        let label = |name: &str| carried.iter().find(|(of, _)| *of == name).map(|(_, value)| *value);
        for (text, expected) in [
            ("", true),
            ("app=web", true),
            ("app=api", false),
            ("app!=api", true),
            ("zone!=eu", true),
            ("app in (api,web)", true),
            ("app notin (api,web)", false),
            ("tier", true),
            ("tier=", true),
            ("!tier", false),
            ("!zone,app", true),
            ("zone=", false),
            ("app=web,zone=eu", false),
        ] {
            let selector: LabelSelector = text.parse().expect(text);
            assert_eq!(selector.matches(label), expected, "{text}");
        }
    }

    #[test]
    fn the_anchor_is_the_narrowest_requirement_that_names_values() {
        let anchor = |text: &str| {
            let selector: LabelSelector = text.parse().expect(text);
            selector.anchor().map(|(name, values)| format!("{name} {}", values.len()))
        };
        assert_eq!(anchor("a in (b,c),d=e,!f"), Some("d 1".to_owned()));
        assert_eq!(anchor("a!=b,c,!d"), None);
    }

    #[test]
    fn what_kubernetes_refuses_is_told_with_its_place() {
        let long = "n".repeat(64);
        let cases = [
            ("a,", 2, "expected a label name, found the end"),
            (",a", 0, "expected a label name, found `,`"),
            ("a b", 2, "expected one of =, ==, !=, in and notin, found `b`"),
            ("a>1", 1, "expected one of =, ==, !=, in and notin, found `>`"),
            ("a=b=c", 3, "expected a comma or the end, found `=`"),
            ("!a=b", 2, "expected a comma or the end, found `=`"),
            ("a in b", 5, "expected values in parentheses, found `b`"),
            ("a in", 4, "expected values in parentheses, found the end"),
            ("a in ()", 6, "the parentheses are empty"),
            ("a in (b", 7, "expected a comma or `)`, found the end"),
            ("a in (b c)", 8, "expected a comma or `)`, found `c`"),
            ("-a", 0, "invalid label name `-a`"),
            ("é", 0, "invalid label name `é`"),
            ("x, y=b-", 5, "invalid label value `b-`"),
            ("/a", 0, "invalid label name `/a`"),
            ("a/", 0, "invalid label name `a/`"),
            ("A.b/c", 0, "invalid label name `A.b/c`"),
            ("a/b/c", 0, "invalid label name `a/b/c`"),
            ("a=b/c", 2, "invalid label value `b/c`"),
        ];
        for (text, before, message) in cases {
            let error = SelectorError { before, message: message.to_owned() };
            assert_eq!(text.parse::<LabelSelector>(), Err(error), "{text}");
        }
        assert!(
            long.parse::<LabelSelector>().is_err() && format!("a={long}").parse::<LabelSelector>().is_err()
        );
    }
}
