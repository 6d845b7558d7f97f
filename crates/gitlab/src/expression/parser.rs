//! Tokens as a tree, by recursive descent of bounded depth.

use super::error::ExpressionError;
use super::lexer::{Comparison, Kind, Token};
use super::limits::{MAX_COMPILED_BYTES, MAX_DEPTH};
use super::pattern::{self, Pattern, PatternError};

/// What is odd about an expression without being wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where, in characters from 1.
    pub column: usize,
    /// What it means, and what may have been meant.
    pub message: String,
}

/// A part of an expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Text(String),
    Variable(String),
    Pattern(Pattern),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Compare(Box<Node>, Comparison, Box<Node>),
}

impl Node {
    /// Adds the names of the variables in it.
    pub(super) fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Node::Null | Node::Bool(_) | Node::Text(_) | Node::Pattern(_) => {}
            Node::Variable(name) => names.push(name),
            Node::Not(inner) => inner.names(names),
            Node::And(left, right) | Node::Or(left, right) | Node::Compare(left, _, right) => {
                left.names(names);
                right.names(names);
            }
        }
    }
}

/// Reads all tokens as one expression; `end` is the column after the last, `room` what may be compiled.
pub(super) fn parse(
    tokens: &[Token<'_>],
    end: usize,
    room: &mut usize,
) -> Result<(Node, Vec<Remark>), ExpressionError> {
    let mut parser = Parser { tokens, next: 0, end, depth: 0, remarks: Vec::new(), room };
    let root = parser.any()?;
    match parser.peek() {
        None => Ok((root, parser.remarks)),
        Some(Kind::Close) => Err(parser.wrong("unmatched `)`")),
        Some(_) => Err(parser.wrong("expected an operator such as `&&` or `==`, or the end")),
    }
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    next: usize,
    end: usize,
    depth: usize,
    remarks: Vec<Remark>,
    room: &'a mut usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Kind<'a>> {
        self.tokens.get(self.next).map(|token| token.kind)
    }

    fn column(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |token| token.column)
    }

    fn take(&mut self, kind: Kind<'_>) -> bool {
        let found = self.peek() == Some(kind);
        self.next += usize::from(found);
        found
    }

    /// Something else was expected where the next token is.
    fn wrong(&self, message: impl Into<String>) -> ExpressionError {
        ExpressionError { column: self.column(), code: "bad_expression", message: message.into() }
    }

    fn any(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.all()?;
        while self.take(Kind::Or) {
            left = Node::Or(Box::new(left), Box::new(self.all()?));
        }
        Ok(left)
    }

    fn all(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.comparison()?;
        while self.take(Kind::And) {
            left = Node::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    /// Comparisons are in a row from left to right, as GitLab reads them.
    fn comparison(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.operand()?;
        while let Some(Kind::Comparison(comparison)) = self.peek() {
            self.next += 1;
            let right = self.right(comparison)?;
            left = Node::Compare(Box::new(left), comparison, Box::new(right));
        }
        Ok(left)
    }

    /// What is to the right of a comparison.
    fn right(&mut self, comparison: Comparison) -> Result<Node, ExpressionError> {
        let column = self.column();
        match self.peek() {
            Some(Kind::Pattern { .. }) if !comparison.takes_pattern() => {
                let sign = comparison.as_str();
                Err(self.wrong(format!(
                    "a regular expression is allowed only after `=~` or `!~`, not after `{sign}`"
                )))
            }
            Some(Kind::Pattern { body, flags }) => {
                self.next += 1;
                self.pattern(body, flags, column)
            }
            Some(Kind::Name(name)) => {
                self.next += 1;
                if name.contains(|c: char| c.is_ascii_lowercase()) {
                    let message = "an unquoted word is a variable; quote strings".to_owned();
                    self.remarks.push(Remark { column, message });
                }
                Ok(Node::Variable(name.to_owned()))
            }
            Some(Kind::Text(text)) if comparison.takes_pattern() => {
                self.next += 1;
                self.text_as_pattern(text, column)
            }
            _ => self.operand(),
        }
    }

    /// A text in the place of a regular expression is one when it looks like one.
    fn text_as_pattern(&mut self, text: &str, column: usize) -> Result<Node, ExpressionError> {
        match pattern::split(text) {
            Some((body, flags)) => self.pattern(body, flags, column),
            None => {
                let message = "this string is not a regular expression, so GitLab tests whether it contains the left side; \
                               write a regular expression between slashes"
                    .to_owned();
                self.remarks.push(Remark { column, message });
                Ok(Node::Text(text.to_owned()))
            }
        }
    }

    fn pattern(&mut self, body: &str, flags: &str, column: usize) -> Result<Node, ExpressionError> {
        Pattern::new(body, flags, self.room).map(Node::Pattern).map_err(|error| {
            let (code, message) = match error {
                PatternError::Bad(error) => ("bad_regex", format!("not a regular expression: {error}")),
                PatternError::NoRoom => (
                    "too_large",
                    format!(
                        "the regular expressions of the file take more than {MAX_COMPILED_BYTES} bytes compiled"
                    ),
                ),
            };
            ExpressionError { column, code, message }
        })
    }

    fn operand(&mut self) -> Result<Node, ExpressionError> {
        let Some(kind) = self.peek() else {
            return Err(self.wrong("expected a variable, a string, null or `(`, found the end"));
        };
        match kind {
            Kind::Open => return self.nested(Parser::group),
            Kind::Not => return self.nested(Parser::not),
            Kind::Close => return Err(self.wrong("expected a variable, a string, null or `(`, found `)`")),
            Kind::Pattern { .. } => {
                return Err(self.wrong("a regular expression is allowed only after `=~` or `!~`"));
            }
            Kind::Name(_) => {
                return Err(self.wrong("expected a variable such as $NAME or a quoted string"));
            }
            Kind::Comparison(_) | Kind::And | Kind::Or => {
                return Err(self.wrong("expected a variable, a string, null or `(`, found an operator"));
            }
            Kind::Variable(_) | Kind::Text(_) | Kind::Null | Kind::Bool(_) => {}
        }
        self.next += 1;
        Ok(match kind {
            Kind::Variable(name) => Node::Variable(name.to_owned()),
            Kind::Text(text) => Node::Text(text.to_owned()),
            Kind::Bool(value) => Node::Bool(value),
            _ => Node::Null,
        })
    }

    /// Goes one level deeper, past the token that says so.
    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Node, ExpressionError>,
    ) -> Result<Node, ExpressionError> {
        if self.depth == MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(ExpressionError { column: self.column(), code: "too_long", message });
        }
        self.depth += 1;
        self.next += 1;
        let node = read(self)?;
        self.depth -= 1;
        Ok(node)
    }

    fn group(&mut self) -> Result<Node, ExpressionError> {
        let node = self.any()?;
        if self.take(Kind::Close) { Ok(node) } else { Err(self.wrong("expected `)` or an operator")) }
    }

    fn not(&mut self) -> Result<Node, ExpressionError> {
        Ok(Node::Not(Box::new(self.operand()?)))
    }
}
