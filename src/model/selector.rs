//! Label selectors, checked by Kubernetes' rules before a cluster sees them.

use std::fmt;
use std::str::FromStr;

use super::name::is_subdomain;

/// A label selector that a cluster will understand; the default one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(String);

impl LabelSelector {
    /// As it was written, fit for a request's `labelSelector`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
        if reader.peek() != Token::End {
            reader.requirements()?;
        }
        Ok(LabelSelector(text.trim_matches(BLANKS).to_owned()))
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

    fn requirements(&mut self) -> Result<(), SelectorError> {
        loop {
            self.requirement()?;
            match self.take() {
                Token::End => return Ok(()),
                Token::Sign(",") => {}
                other => return Err(self.wrong(format!("{other} stands where a comma or the end belongs"))),
            }
        }
    }

    fn requirement(&mut self) -> Result<(), SelectorError> {
        if self.peek() == Token::Sign("!") {
            self.take();
            return self.name();
        }
        self.name()?;
        match self.peek() {
            Token::End | Token::Sign(",") => Ok(()),
            Token::Sign("=" | "==" | "!=") => {
                self.take();
                self.value()
            }
            Token::Word("in" | "notin") => {
                self.take();
                self.values()
            }
            other => {
                self.take();
                Err(self.wrong(format!("{other} is not one of =, ==, !=, in and notin")))
            }
        }
    }

    fn name(&mut self) -> Result<(), SelectorError> {
        match self.take() {
            Token::Word(name) if is_name(name) => Ok(()),
            Token::Word(name) => Err(self.wrong(format!("`{name}` is not the name of a label"))),
            other => Err(self.wrong(format!("{other} stands where the name of a label belongs"))),
        }
    }

    /// A value, which may be empty.
    fn value(&mut self) -> Result<(), SelectorError> {
        let Token::Word(value) = self.peek() else { return Ok(()) };
        self.take();
        if is_value(value) {
            Ok(())
        } else {
            Err(self.wrong(format!("`{value}` is not the value of a label")))
        }
    }

    /// Values in parentheses.
    fn values(&mut self) -> Result<(), SelectorError> {
        match self.take() {
            Token::Sign("(") if self.peek() != Token::Sign(")") => {}
            Token::Sign("(") => {
                self.take();
                return Err(self.wrong("there are no values between the parentheses".to_owned()));
            }
            other => return Err(self.wrong(format!("{other} stands where values in parentheses belong"))),
        }
        loop {
            self.value()?;
            match self.take() {
                Token::Sign(")") => return Ok(()),
                Token::Sign(",") => {}
                other => return Err(self.wrong(format!("{other} stands where a comma or `)` belongs"))),
            }
        }
    }
}

/// A label's name: up to 63 characters, with a domain and a slash before it where it has an owner.
fn is_name(text: &str) -> bool {
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
mod tests {
    use super::*;

    #[test]
    fn what_kubernetes_understands_is_taken() {
        let long = format!("{}=x", "n".repeat(63));
        for text in [
            "",
            "  ",
            "a",
            "!a",
            "! a",
            "a=b",
            "a==b",
            "a!=b",
            " a = b , c != d ",
            "a=",
            "a=,b",
            "a in (b)",
            "a in (b,c)",
            "a in ( b , c ),d notin(e)",
            "a in (,b)",
            "in in (in,notin)",
            "app.gitlab.com/project_id,tier!=test",
            "A_b.c-d=0.9_Z",
            &long,
        ] {
            let parsed: Result<LabelSelector, _> = text.parse();
            assert_eq!(parsed.map(|selector| selector.to_string()), Ok(text.trim().to_owned()), "{text}");
        }
    }

    #[test]
    fn what_kubernetes_refuses_is_told_with_its_place() {
        let long = "n".repeat(64);
        let cases = [
            ("a,", 2, "the end stands where the name of a label belongs"),
            (",a", 0, "`,` stands where the name of a label belongs"),
            ("a b", 2, "`b` is not one of =, ==, !=, in and notin"),
            ("a>1", 1, "`>` is not one of =, ==, !=, in and notin"),
            ("a=b=c", 3, "`=` stands where a comma or the end belongs"),
            ("!a=b", 2, "`=` stands where a comma or the end belongs"),
            ("a in b", 5, "`b` stands where values in parentheses belong"),
            ("a in", 4, "the end stands where values in parentheses belong"),
            ("a in ()", 6, "there are no values between the parentheses"),
            ("a in (b", 7, "the end stands where a comma or `)` belongs"),
            ("a in (b c)", 8, "`c` stands where a comma or `)` belongs"),
            ("-a", 0, "`-a` is not the name of a label"),
            ("é", 0, "`é` is not the name of a label"),
            ("x, y=b-", 5, "`b-` is not the value of a label"),
            ("/a", 0, "`/a` is not the name of a label"),
            ("a/", 0, "`a/` is not the name of a label"),
            ("A.b/c", 0, "`A.b/c` is not the name of a label"),
            ("a/b/c", 0, "`a/b/c` is not the name of a label"),
            ("a=b/c", 2, "`b/c` is not the value of a label"),
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
