//! An expression's text in tokens.

use super::error::ExpressionError;
use super::limits::{MAX_BYTES, MAX_TOKENS};

/// A token and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// In characters from 1.
    pub(super) column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Open,
    Close,
    Variable(&'a str),
    /// A bare name.
    Name(&'a str),
    Text(&'a str),
    Pattern {
        body: &'a str,
        flags: &'a str,
    },
    Null,
    Bool(bool),
    Comparison(Comparison),
    And,
    Or,
    Not,
}

/// What is compared, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Matches,
    NotMatches,
}

impl Comparison {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Matches => "=~",
            Comparison::NotMatches => "!~",
        }
    }

    /// Whether a regular expression is to its right.
    pub(super) const fn takes_pattern(self) -> bool {
        matches!(self, Comparison::Matches | Comparison::NotMatches)
    }
}

/// What begins with punctuation; the longer before what they begin with.
const SIGNS: [(&str, Kind<'_>); 9] = [
    ("==", Kind::Comparison(Comparison::Equal)),
    ("=~", Kind::Comparison(Comparison::Matches)),
    ("!=", Kind::Comparison(Comparison::NotEqual)),
    ("!~", Kind::Comparison(Comparison::NotMatches)),
    ("&&", Kind::And),
    ("||", Kind::Or),
    ("!", Kind::Not),
    ("(", Kind::Open),
    (")", Kind::Close),
];

/// All tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ExpressionError> {
    if text.len() > MAX_BYTES {
        return Err(too_long(1, format!("the expression is longer than {MAX_BYTES} bytes")));
    }
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    let mut column = 1 + chars(&text[..text.len() - rest.len()]);
    while !rest.is_empty() {
        if tokens.len() == MAX_TOKENS {
            return Err(too_long(column, format!("the expression has more than {MAX_TOKENS} parts")));
        }
        let (kind, length) = token(rest, column)?;
        tokens.push(Token { kind, column });
        let (read, after) = rest.split_at(length);
        let next = after.trim_start();
        column += chars(read) + chars(&after[..after.len() - next.len()]);
        rest = next;
    }
    Ok(tokens)
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn too_long(column: usize, message: String) -> ExpressionError {
    ExpressionError { column, code: "too_long", message }
}

fn wrong(column: usize, message: impl Into<String>) -> ExpressionError {
    ExpressionError { column, code: "bad_expression", message: message.into() }
}

/// The token with which a text begins, and its length in bytes.
fn token(text: &str, column: usize) -> Result<(Kind<'_>, usize), ExpressionError> {
    if let Some((sign, kind)) = SIGNS.iter().find(|(sign, _)| text.starts_with(sign)) {
        return Ok((*kind, sign.len()));
    }
    match text.chars().next().unwrap_or_default() {
        '$' => variable(text, column),
        quote @ ('"' | '\'') => quoted(text, quote, column),
        '/' => pattern(text, column),
        '=' => Err(wrong(column, "invalid operator `=`: write `==` to compare or `=~` to match")),
        '&' => Err(wrong(column, "invalid operator `&`: write `&&`")),
        '|' => Err(wrong(column, "invalid operator `|`: write `||`")),
        first if first == '_' || first.is_ascii_alphabetic() => Ok(word(text)),
        first => Err(wrong(
            column,
            format!(
                "unexpected `{}`: expected a variable such as $NAME, a quoted string, null or `(`",
                first.escape_debug()
            ),
        )),
    }
}

/// How many bytes of a text are ASCII letters, digits and `_`.
fn name_length(text: &str) -> usize {
    text.bytes().take_while(|b| *b == b'_' || b.is_ascii_alphanumeric()).count()
}

fn variable(text: &str, column: usize) -> Result<(Kind<'_>, usize), ExpressionError> {
    let name = &text[1..];
    match name_length(name) {
        0 if name.starts_with('{') => {
            Err(wrong(column, "braces are not supported here: write $NAME instead of ${NAME}"))
        }
        0 if name.starts_with("[[") => {
            Err(wrong(column, "inputs are not supported here, only variables: $NAME"))
        }
        0 => Err(wrong(column, "expected the name of a variable after `$`")),
        length => Ok((Kind::Variable(&name[..length]), 1 + length)),
    }
}

/// A text ends with the next such quote: there are no escapes.
fn quoted(text: &str, quote: char, column: usize) -> Result<(Kind<'_>, usize), ExpressionError> {
    let inside = &text[1..];
    let Some(length) = inside.find(quote) else {
        return Err(wrong(column, format!("unterminated string: expected a closing {quote}")));
    };
    Ok((Kind::Text(&inside[..length]), length + 2))
}

/// A regular expression ends with the first `/` that has no `\` before it; flags follow without a gap.
fn pattern(text: &str, column: usize) -> Result<(Kind<'_>, usize), ExpressionError> {
    let bytes = text.as_bytes();
    let closes = |at: &usize| bytes.get(*at) == Some(&b'/') && bytes.get(at - 1) != Some(&b'\\');
    let Some(end) = (1..bytes.len()).find(closes) else {
        return Err(wrong(column, "unterminated regular expression: expected a closing `/`"));
    };
    if end == 1 {
        return Err(wrong(column, "the regular expression is empty"));
    }
    let after = &text[end + 1..];
    let flags = &after[..name_length(after)];
    if let Some(flag) = flags.chars().find(|flag| !super::pattern::FLAGS.contains(*flag)) {
        let at = column + chars(&text[..=end]) + flags.find(flag).unwrap_or(0);
        let message = format!("unknown regular expression flag `{flag}`: the flags are i, s, m and U");
        return Err(ExpressionError { column: at, code: "bad_regex", message });
    }
    Ok((Kind::Pattern { body: &text[1..end], flags }, end + 1 + flags.len()))
}

fn word(text: &str) -> (Kind<'_>, usize) {
    let name = &text[..name_length(text)];
    let kind = match name {
        "null" => Kind::Null,
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        name => Kind::Name(name),
    };
    (kind, name.len())
}
