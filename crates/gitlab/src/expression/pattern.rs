//! Regular expressions as GitLab runs them: RE2's syntax, in linear time.
//!
//! The `regex` crate is of RE2's family. Where both read the same text differently, the text is translated: `\d`, `\w`,
//! `\s` and `\b` know only ASCII in RE2, a `[` inside of a class is itself, and so are `&&`, `--` and `~~`.

use std::iter::Peekable;
use std::str::Chars;

use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind};

use strandline_syntax::diagnostics::of_regex;

/// The flags that GitLab knows: case-insensitive, `.` takes line ends, `^` and `$` at lines, ungreedy.
pub(super) const FLAGS: &str = "ismU";

/// The longest regular expression, in bytes.
const MAX_BYTES: usize = 8 * 1024;

/// The largest compiled program, in bytes: what is repeated too often is refused.
const MAX_PROGRAM: usize = 256 * 1024;

/// What a class such as `\pL` counts beside what it compiles to: it is a table of hundreds of ranges before.
const CLASS_BYTES: usize = 1024;

/// How deep groups may be nested.
const MAX_NESTING: u32 = 100;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

/// Why a text was not compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatternError {
    /// It is no regular expression, or too large a one.
    Bad(String),
    /// With what was compiled before it, it takes more than all may take together.
    NoRoom,
}

impl Pattern {
    /// Compiles what is between slashes, and takes from `room`, which is in bytes, what it cost.
    pub(super) fn new(body: &str, flags: &str, room: &mut usize) -> Result<Self, PatternError> {
        let bad = |what: String| PatternError::Bad(what);
        if body.len() > MAX_BYTES {
            return Err(bad(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let classes = body.matches("\\p").count() + body.matches("\\P").count();
        take(room, body.len() + classes * CLASS_BYTES)?;
        let limit = MAX_PROGRAM.min(*room);
        let translated = translate(&body.replace("\\/", "/"));
        let has = |flag| flags.contains(flag);
        let read = syntax::Config::new()
            .case_insensitive(has('i'))
            .dot_matches_new_line(has('s'))
            .multi_line(has('m'))
            .swap_greed(has('U'))
            .nest_limit(MAX_NESTING);
        // As the `regex` crate has it, without what is only made to be faster on long texts.
        let program = Config::new()
            .match_kind(MatchKind::LeftmostFirst)
            .utf8_empty(true)
            .nfa_size_limit(Some(limit))
            .dfa(false)
            .onepass(false);
        match Regex::builder().configure(program).syntax(read).build(&translated) {
            Ok(built) => {
                let pattern = Pattern(built);
                take(room, pattern.size())?;
                Ok(pattern)
            }
            Err(error) if error.size_limit().is_some() => {
                // What was compiled before it was given up has cost as much.
                take(room, limit)?;
                if limit < MAX_PROGRAM {
                    return Err(PatternError::NoRoom);
                }
                Err(bad("it is too large when compiled; use fewer repetitions".to_owned()))
            }
            Err(error) => {
                let said = error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
                Err(bad(of_regex(&said).to_owned()))
            }
        }
    }

    /// How many bytes it takes.
    pub(super) fn size(&self) -> usize {
        self.0.memory_usage()
    }

    /// Whether it matches anywhere.
    pub(super) fn is_match(&self, text: &str) -> bool {
        // With room of its own, which ends with the search: kept, it would grow to many times the program.
        let mut cache = self.0.create_cache();
        self.0.search_half_with(&mut cache, &Input::new(text).earliest(true)).is_some()
    }
}

/// Takes bytes from what there is; what there is not leaves none.
fn take(room: &mut usize, bytes: usize) -> Result<(), PatternError> {
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or_default();
    left.map(|_| ()).ok_or(PatternError::NoRoom)
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

/// The beginning of a class; a `]` that is first is itself.
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
