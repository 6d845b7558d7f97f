//! Regular expressions as GitLab runs them: RE2's syntax, in linear time.
//!
//! The `regex` crate is of RE2's family. Where both read the same text differently, the text is translated: `\d`, `\w`,
//! `\s` and `\b` know only ASCII in RE2, a `[` inside of a class is itself, and so are `&&`, `--` and `~~`.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// The flags that GitLab knows: case-insensitive, `.` takes line ends, `^` and `$` at lines, ungreedy.
pub(super) const FLAGS: &str = "ismU";

/// The longest regular expression, in bytes.
const MAX_BYTES: usize = 8 * 1024;

/// The largest compiled program, in bytes: what is repeated too often is refused.
const MAX_PROGRAM: usize = 256 * 1024;

/// How deep groups may be nested.
const MAX_NESTING: u32 = 100;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// Compiles what stands between slashes.
    pub(super) fn new(body: &str, flags: &str) -> Result<Self, String> {
        if body.len() > MAX_BYTES {
            return Err(format!("it is longer than {MAX_BYTES} bytes"));
        }
        let translated = translate(&body.replace("\\/", "/"));
        let has = |flag| flags.contains(flag);
        let built = RegexBuilder::new(&translated)
            .case_insensitive(has('i'))
            .dot_matches_new_line(has('s'))
            .multi_line(has('m'))
            .swap_greed(has('U'))
            .size_limit(MAX_PROGRAM)
            .nest_limit(MAX_NESTING)
            .build();
        built.map(Pattern).map_err(|error| told(&error))
    }

    /// Whether it matches anywhere.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The reason in one line: the crate draws the text and an arrow before it.
fn told(error: &regex::Error) -> String {
    let text = match error {
        regex::Error::CompiledTooBig(_) => "it is too large once compiled; repeat less".to_owned(),
        other => other.to_string(),
    };
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Body and flags of a text that looks like a regular expression: `/body/flags`, on one line.
pub(super) fn split(text: &str) -> Option<(&str, &str)> {
    let (body, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
    let known = flags.chars().all(|flag| FLAGS.contains(flag));
    (known && !body.contains('\n')).then_some((body, flags))
}

/// RE2's text as that of the `regex` crate.
fn translate(body: &str) -> String {
    let mut out = String::with_capacity(body.len() + 16);
    let mut rest = body.chars().peekable();
    let mut in_class = false;
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(&mut rest, in_class, &mut out),
            '[' if !in_class => {
                in_class = true;
                open_class(&mut rest, &mut out);
            }
            '[' if rest.peek() == Some(&':') => named_class(&mut rest, &mut out),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '-' if in_class && rest.next_if_eq(&'-').is_some() => out.push_str("-\\-"),
            '[' | '&' | '~' if in_class => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// The beginning of a class; a `]` that stands first is itself.
fn open_class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    if rest.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
}

/// A class such as `[:alpha:]` inside of a class, up to its end.
fn named_class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    for c in rest.by_ref() {
        out.push(c);
        if c == ']' {
            return;
        }
    }
}

/// What a backslash begins.
fn escape(rest: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) {
    let Some(c) = rest.next() else { return out.push('\\') };
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\x0c\\r ]"),
        'S' => out.push_str("[^\\t\\n\\x0c\\r ]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        'B' if !in_class => out.push_str("(?-u:\\B)"),
        'Q' => quoted(rest, out),
        '<' | '>' => out.push(c),
        _ => out.extend(['\\', c]),
    }
}

/// `\Q...\E`: all of it means itself.
fn quoted(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut text = String::new();
    for c in rest.by_ref() {
        text.push(c);
        if text.ends_with("\\E") {
            text.truncate(text.len() - 2);
            break;
        }
    }
    out.push_str(&regex::escape(&text));
}
