//! Names and values side by side in calls and pairs, and with a type between them: `define('TOKEN', 'x')`,
//! `{password, <<"x">>}`, `setPassword("x")`, `let token: &str = "x"`.

use std::ops::Range;

use super::assign::{name_before, quoted};
use super::names::{Meaning, Names, Style, is_credential_word, is_value_name};
use super::shapes::{Shape, hides, shape};
use super::text::Setting;

/// As far as the beginning of a call is looked for, and how many blanks may stand between its arguments.
const LONGEST: usize = 256;
const BLANKS: usize = 64;

/// As far as a type goes.
const TYPE: usize = 64;

/// As many digits as the number of a field has.
const FIELD_DIGITS: usize = 3;

/// Where a name stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The first argument of a call.
    First,
    /// One behind others.
    Later,
    /// The first of two in brackets.
    Pair,
    /// In a list of names.
    List,
}

/// The value behind this comma, where a credential's name stands before it.
pub(super) fn argument(text: &str, comma: usize, setting: Setting, names: &Names) -> Option<Range<usize>> {
    let (value, behind) = value_behind(text, comma + 1)?;
    let (name, open, is_quoted) = name_before_comma(text, comma)?;
    let meaning = names.meaning(name, Style::Member);
    if meaning == Meaning::Nothing {
        return None;
    }
    let place = place(text, open)?;
    let value_text = &text[value.clone()];
    let is_label = value_text.eq_ignore_ascii_case(name);
    // `("password", "token")` are names, and none is the other's value.
    let are_names = is_quoted && is_credential_word(name) && is_credential_word(value_text);
    let hidden = match place {
        Place::Pair if !is_pair(text, behind, is_quoted) => false,
        Place::First | Place::Later if !is_quoted => false,
        Place::Later | Place::Pair if are_names => false,
        Place::First | Place::Later | Place::Pair if setting != Setting::Prose => {
            !is_label && hides(meaning, value_text)
        }
        _ => meaning >= Meaning::Probable && shape(value_text) > Shape::Ordinary,
    };
    hidden.then_some(value)
}

/// The only argument of a call that sets a credential: `setPassword("x")`, `.with_token('x')`.
pub(super) fn setter(text: &str, open: usize, names: &Names) -> Option<Range<usize>> {
    let (value, behind) = quoted(text, skip(text, open + 1))?;
    if !text[..open].bytes().next_back()?.is_ascii_alphanumeric() || byte(text, skip(text, behind)) != b')' {
        return None;
    }
    let called = name_before(text, open);
    let called = called.rsplit('.').next().unwrap_or(called);
    let set = ["set", "with", "Set", "With"].iter().find_map(|verb| called.strip_prefix(verb))?;
    if !set.starts_with(|c: char| c == '_' || c.is_ascii_uppercase()) {
        return None;
    }
    hides(names.meaning(set, Style::Member), &text[value.clone()]).then_some(value)
}

/// The value of a variable whose type begins here, behind its name and a colon: `&str = "x"`.
pub(super) fn declared(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(from..)?;
    let length = rest.iter().take(TYPE).position(|b| matches!(b, b'=' | b'\n' | b'"' | b';'))?;
    let of = text.get(from..from + length)?;
    let is_given = rest[length] == b'=' && !matches!(byte(text, from + length + 1), b'=' | b'>');
    // A setting such as `auth: user="x"` has no blank there.
    let value = (is_given && of.ends_with(' ') && is_type(of)).then(|| value_behind(text, from + length + 1));
    value.flatten().map(|(value, _)| value)
}

/// `String`, `&'static str`, `Option<String>`, `str | None`, `String?`
fn is_type(text: &str) -> bool {
    let in_type = |b: u8| b.is_ascii_alphanumeric() || b"_.:<>[]&'?*|".contains(&b);
    let mut goes_on = true;
    for word in text.split_ascii_whitespace() {
        if word == "|" {
            goes_on = true;
            continue;
        }
        if !goes_on || !word.bytes().all(in_type) || shape(word) > Shape::Ordinary {
            return false;
        }
        goes_on = word.starts_with("&'") || word == "&mut";
    }
    !goes_on && text.trim_end().ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '>' | ']' | '?'))
}

/// Whether a value is the number of a field whose name has a type before it: `string password = 2;`.
pub(super) fn is_field_number(text: &str, name: &str, value: &str) -> bool {
    if value.len() > FIELD_DIGITS || !value.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let start = name.as_ptr() as usize - text.as_ptr() as usize;
    let Some(before) = text.get(..start).and_then(|before| before.strip_suffix(' ')) else { return false };
    let of = name_before(before, before.len());
    let message = of.rsplit('.').next().unwrap_or(of);
    let is_message = message.starts_with(|c: char| c.is_ascii_uppercase())
        && message.contains(|c: char| c.is_ascii_lowercase());
    let number = of.trim_end_matches("32").trim_end_matches("64");
    let is_scalar = matches!(
        number,
        "string" | "bytes" | "bool" | "double" | "float" | "int" | "uint" | "sint" | "fixed" | "sfixed"
    );
    // `map<string, string> tokens = 3;`
    is_message || is_scalar || before.ends_with('>')
}

fn byte(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).copied().unwrap_or(b'\n')
}

/// Behind the blanks that begin here.
fn skip(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take(BLANKS).take_while(|b| b.is_ascii_whitespace()).count()
}

/// Before the blanks that end here.
fn skip_back(text: &str, to: usize) -> usize {
    let before = text.as_bytes().get(..to).unwrap_or_default();
    to - before.iter().rev().take(BLANKS).take_while(|b| b.is_ascii_whitespace()).count()
}

/// A quoted value, also `<<"x">>`, `default="x"` and those whose quotes have letters before them; and what is behind it.
fn value_behind(text: &str, from: usize) -> Option<(Range<usize>, usize)> {
    let at = skip(text, from);
    let rest = text.get(at..)?;
    if rest.starts_with("<<") {
        return quoted(text, at + 2);
    }
    let is_letter = |b: &u8| b.is_ascii_alphabetic() || matches!(b, b'_' | b'@' | b'$');
    let letters = rest.bytes().take(16).take_while(is_letter).count();
    match byte(rest, letters) {
        b'=' | b':' if is_value_name(&rest[..letters]) => quoted(text, skip(text, at + letters + 1)),
        b'"' | b'\'' | b'`' if letters <= 2 => quoted(text, at + letters),
        b'\\' if letters == 0 => quoted(text, at),
        _ => None,
    }
}

/// The name before a comma, where it begins with its quotes, and whether it has any; a symbol's colon counts as one.
fn name_before_comma(text: &str, comma: usize) -> Option<(&str, usize, bool)> {
    let before = &text[..skip_back(text, comma)];
    let (before, binary) = before.strip_suffix(">>").map_or((before, false), |before| (before, true));
    let (before, quote) = match before.as_bytes().last()? {
        b'"' if before.ends_with("\\\"") => (&before[..before.len() - 2], "\\\""),
        b'"' => (&before[..before.len() - 1], "\""),
        b'\'' => (&before[..before.len() - 1], "'"),
        b'`' => (&before[..before.len() - 1], "`"),
        _ => (before, ""),
    };
    if !before.as_bytes().last()?.is_ascii_alphanumeric() {
        return None;
    }
    let name = name_before(before, before.len());
    let open = before[..before.len() - name.len()].strip_suffix(quote)?;
    let open = if binary { open.strip_suffix("<<")? } else { open };
    let symbol = open.strip_suffix(':').filter(|_| quote.is_empty());
    Some((name, symbol.unwrap_or(open).len(), symbol.is_some() || !quote.is_empty()))
}

/// What a name that begins here stands in.
fn place(text: &str, open: usize) -> Option<Place> {
    let before = skip_back(text, open);
    match before.checked_sub(1).map(|at| byte(text, at))? {
        b'(' => Some(called(text, before - 1, Place::First)),
        // `[]string{"password", "email"}` has names.
        b'{' => {
            let typed = &text[..skip_back(text, before - 1)];
            let glued = typed.len() == before - 1 && typed.ends_with(|c: char| c.is_ascii_alphanumeric());
            (!glued && !typed.ends_with(']')).then_some(Place::Pair)
        }
        b',' => {
            let mut depth = 0_usize;
            for (n, b) in text.as_bytes()[..before].iter().rev().take(LONGEST).enumerate() {
                match b {
                    b')' | b']' | b'}' => depth += 1,
                    b'(' if depth == 0 => return Some(called(text, before - 1 - n, Place::Later)),
                    b'[' | b'{' if depth == 0 => return None,
                    b'(' | b'[' | b'{' => depth -= 1,
                    b';' => return None,
                    _ => {}
                }
            }
            None
        }
        // `set :password, "x"`
        b if byte(text, open) == b':' && open > before && (b.is_ascii_alphanumeric() || b == b'_') => {
            Some(Place::First)
        }
        _ => None,
    }
}

/// What a bracket opens, by what stands before it: a call, or else a pair.
fn called(text: &str, bracket: usize, call: Place) -> Place {
    let before = &text[..skip_back(text, bracket)];
    let is_call = before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '!' | '>'));
    let name = name_before(before, before.trim_end_matches(['!', '>']).len()).to_ascii_lowercase();
    let is_list = match name.rsplit(['.', '_']).next().unwrap_or_default() {
        "of" => ["list.of", "set.of", "stream.of"].iter().any(|list| name.ends_with(list)),
        "array" | "aslist" | "list" | "listof" | "setof" | "tuple" | "in" | "values" | "fields"
        | "columns" | "compact" | "only" | "except" | "pluck" | "permit" | "contains" => true,
        _ => false,
    };
    match (is_list, is_call) {
        (true, _) => Place::List,
        // `return ("password", "token")` has a blank.
        (false, true) => {
            if before.len() < bracket {
                Place::Later
            } else {
                call
            }
        }
        (false, false) if call == Place::First => Place::Pair,
        (false, false) => Place::List,
    }
}

/// Whether nothing follows a pair's value; a tuple whose first is no text may go on.
fn is_pair(text: &str, behind: usize, is_quoted: bool) -> bool {
    let rest = &text[behind..];
    let rest = rest.strip_prefix("/utf8").unwrap_or(rest);
    let rest = rest.strip_prefix(">>").map_or(behind, |rest| text.len() - rest.len());
    match byte(text, skip(text, rest)) {
        b'}' | b')' => true,
        b',' => !is_quoted || matches!(byte(text, skip(text, skip(text, rest) + 1)), b'}' | b')'),
        _ => false,
    }
}
