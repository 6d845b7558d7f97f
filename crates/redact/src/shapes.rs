//! What a value is by its shape, whatever its name is.

use std::borrow::Cow;

use super::Mask;
use super::names::Meaning;

/// What a value looks like; in the order of suspicion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    /// Nothing, a switch, a reference to where a value is, or what stands for a hidden one.
    Reference,
    /// Words, numbers, names of objects, paths, addresses, sentences.
    Ordinary,
    /// Could be either: `hunter2`.
    Unclear,
    /// Made by chance, or by a rule for passwords.
    Random,
}

/// Whether a value has to be hidden that stands under a name of this meaning.
pub(super) fn hides(meaning: Meaning, value: &str) -> bool {
    match meaning {
        Meaning::Nothing => false,
        Meaning::Possible => shape(value) == Shape::Random || is_key_in_hex(value.trim()),
        Meaning::Probable => shape(value) > Shape::Ordinary,
        Meaning::Certain => !is_reference(value.trim()),
    }
}

/// Sixteen bytes in base 16, as many keys are written; commits and digests are longer.
fn is_key_in_hex(value: &str) -> bool {
    value.len() == 32
        && value.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && shape(value) > Shape::Ordinary
}

pub(super) fn shape(value: &str) -> Shape {
    let value = value.trim();
    if is_reference(value) {
        return Shape::Reference;
    }
    let shown = without_hidden(beginning(value));
    let value = &*shown;
    if value.contains("-----BEGIN ") {
        return Shape::Ordinary;
    }
    if value.contains(char::is_whitespace) {
        let random = value.split_whitespace().any(|word| of_word(word) == Shape::Random);
        return if random { Shape::Random } else { Shape::Ordinary };
    }
    of_word(value)
}

/// As much of a value as is looked at.
fn beginning(value: &str) -> &str {
    const LONGEST: usize = 4096;
    let mut end = value.len().min(LONGEST);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    &value[..end]
}

/// What is hidden within a value says nothing of the rest, so a word stands for it.
fn without_hidden(value: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(value);
    let (mut from, mut at) = (0, 0);
    while let Some(found) = value[at..].find(Mask::PREFIX) {
        let start = at + found;
        at = start + Mask::PREFIX.len();
        if value.get(start..start + Mask::LENGTH).is_some_and(Mask::is_hidden) {
            let text = if from == 0 { String::new() } else { std::mem::take(shown.to_mut()) };
            shown = Cow::Owned(text + &value[from..start] + "hidden");
            at = start + Mask::LENGTH;
            from = at;
        }
    }
    if from > 0 {
        shown.to_mut().push_str(&value[from..]);
    }
    shown
}

/// A text without blanks.
fn of_word(word: &str) -> Shape {
    let bytes = word.as_bytes();
    if bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b':' | b'T' | b'Z')) {
        return Shape::Ordinary;
    }
    let has = |test: fn(&u8) -> bool| bytes.iter().any(test);
    let (upper, lower) = (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase));
    let digit = has(u8::is_ascii_digit);
    if word.starts_with("sha256:") || word.starts_with("sha512:") {
        return Shape::Ordinary;
    }
    if bytes.len() >= 8
        && digit
        && (upper || lower)
        && has(|b| matches!(b, b'!' | b'#' | b'$' | b'^' | b'&' | b'?' | b'~'))
        && !word.contains("://")
    {
        return Shape::Random;
    }
    if bytes.len() >= 8 && bytes.ends_with(b"=") && upper && lower {
        return Shape::Random;
    }
    let separator = |c: char| !c.is_ascii_alphanumeric();
    let mut worst = Shape::Ordinary;
    let segments = word.split(separator).filter(|segment| !segment.is_empty());
    let single = segments.clone().nth(1).is_none();
    for segment in segments {
        worst = worst.max(of_segment(segment.as_bytes(), single));
    }
    // Base64 breaks into pieces at `+` and `/`.
    if worst < Shape::Random
        && bytes.len() >= 24
        && upper
        && lower
        && digit
        && is_base64(bytes)
        && !is_path(word)
    {
        worst = worst.max(of_segment(
            &bytes.iter().copied().filter(u8::is_ascii_alphanumeric).collect::<Vec<_>>(),
            true,
        ));
    }
    worst
}

fn is_base64(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
        && bytes.iter().any(|b| matches!(b, b'+' | b'='))
}

/// Letters and digits.
fn of_segment(bytes: &[u8], single: bool) -> Shape {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Class {
        Upper,
        Lower,
        Digit,
    }
    let class = |b: u8| match b {
        b'A'..=b'Z' => Class::Upper,
        b'0'..=b'9' => Class::Digit,
        _ => Class::Lower,
    };
    let (mut turns, mut number_turns, mut rises) = (0_usize, 0_usize, 0_usize);
    for pair in bytes.windows(2) {
        let (one, other) = (class(pair[0]), class(pair[1]));
        if one != other {
            turns += 1;
            number_turns += usize::from(one == Class::Digit || other == Class::Digit);
            rises += usize::from(one == Class::Lower && other == Class::Upper);
        }
    }
    let count = |wanted: Class| bytes.iter().filter(|&&b| class(b) == wanted).count();
    let (upper, lower, digit) = (count(Class::Upper), count(Class::Lower), count(Class::Digit));
    let hex = bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'));
    match bytes.len() {
        length if digit == length => {
            if length >= 5 && !single {
                Shape::Unclear
            } else {
                Shape::Ordinary
            }
        }
        length if digit == 0 => {
            // Words in CamelCase turn now and then, and not within three letters.
            if length >= 12 && upper > 0 && lower > 0 && rises * 3 >= length.saturating_sub(2) {
                Shape::Random
            } else if length > 24 {
                Shape::Unclear
            } else {
                Shape::Ordinary
            }
        }
        length if hex => {
            if length >= 6 {
                Shape::Unclear
            } else {
                Shape::Ordinary
            }
        }
        length
            if length >= 8
                && upper > 0
                && lower > 0
                && (turns >= 4 || (number_turns >= 2 && length >= 12)) =>
        {
            Shape::Random
        }
        length if length >= 12 && number_turns >= 3 => Shape::Random,
        length if length >= 16 && number_turns >= 2 => Shape::Random,
        length if length >= 9 && single && number_turns >= 4 => Shape::Random,
        length if single && length >= 6 => Shape::Unclear,
        length if length >= 8 && number_turns >= 2 => Shape::Unclear,
        _ => Shape::Ordinary,
    }
}

/// Whether a value under a credential's name is none: nothing, a switch, a reference, or already hidden.
pub(super) fn is_reference(value: &str) -> bool {
    const WORDS: [&str; 23] = [
        "n/a",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "none",
        "null",
        "nil",
        "~",
        "undefined",
        "unset",
        "enabled",
        "disabled",
        "required",
        "optional",
        "\"\"",
        "''",
        "[]",
        "{}",
        "redacted",
        "hidden",
    ];
    // Where somebody else keeps the value, as those write who put it in later.
    const STORES: [&str; 15] = [
        "vault:",
        "op://",
        "ref+",
        "arn:aws",
        "secretsmanager:",
        "secret://",
        "awssm:",
        "gcpsm:",
        "azurekv:",
        "ssm:",
        "file:",
        "env:",
        "akv:",
        "keyvault:",
        "sops:",
    ];
    let Some(&first) = value.as_bytes().first() else { return true };
    let plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
    };
    let between =
        |open: &str, close: &str| value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    match first {
        b'$' => {
            value.starts_with("$(")
                || between("${", "}").is_some_and(plain)
                || value[1..].bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
                || (value.starts_with("${{") && value.ends_with("}}"))
        }
        b'{' if value.starts_with("{{") => true,
        b'%' => {
            between("%(", ")s").is_some()
                || between("%", "%").is_some_and(plain)
                || between("%{", "}").is_some_and(plain)
        }
        b'<' => between("<", ">").is_some_and(|name| !name.is_empty() && !name.contains(['<', '>'])),
        b'`' => true,
        b'/' | b'.' | b'~' | b'@' if is_path(value) => true,
        b'r' if Mask::is_hidden(value) => true,
        b'*' | b'.' | b'x' | b'X' | b'#' | b'-' | b'_' if value.bytes().all(|byte| byte == first) => true,
        _ => {
            value.len() <= 10 && WORDS.iter().any(|word| word.eq_ignore_ascii_case(value))
                || value == "[REDACTED]"
                || STORES.iter().any(|store| value.starts_with(store))
                || (value.starts_with("projects/") && value.contains("/secrets/"))
                || value.contains("{{")
        }
    }
}

/// Whether a text is a path from a root, from home or from here, and no Base64 that happens to begin so.
pub(super) fn is_path(value: &str) -> bool {
    let rest = value.trim_start_matches('@');
    let rest = ["~/", "../", "./", "/"].iter().find_map(|root| rest.strip_prefix(root));
    rest.is_some_and(|rest| {
        rest.split('/').all(|part| {
            part.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'@' | b'*' | b'%'))
                && part
                    .split(['.', '-', '_', '@'])
                    .all(|part| of_segment(part.as_bytes(), false) < Shape::Random)
        })
    })
}

/// Whether a text is `user:password`, and neither an image nor two numbers or a user and a group.
pub(super) fn is_login(value: &str) -> bool {
    let Some((user, password)) = value.split_once(':') else { return false };
    let plain = |b: u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'@' | b'+' | b'\\' | b'|' | b'!')
    };
    let groups =
        ["root", "wheel", "nogroup", "nobody", "users", "staff", "adm", "daemon", "www-data", "docker"];
    !user.is_empty()
        && user.bytes().all(plain)
        && !password.is_empty()
        && !password.starts_with("//")
        && !password.contains(char::is_whitespace)
        && password != user
        && !password.bytes().all(|b| b.is_ascii_digit())
        && !groups.contains(&password)
        && !is_reference(password)
}
