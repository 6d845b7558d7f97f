//! The forms in which a value can have been recorded.

use std::fmt::Write;

use strandline_object::json::quote;

/// Bytes in a row that tell a part of a value from anything else.
const FRAGMENT: usize = 8;

/// Every form of a value, as a pattern.
pub(super) fn forms(value: &str) -> String {
    let plain: String = value.chars().map(character).collect();
    let mut forms = vec![plain];
    for once in cores(value.as_bytes()) {
        forms.push(base64_pattern(&once));
        forms.extend(cores(once.text.as_bytes()).iter().map(base64_pattern));
    }
    forms.join("|")
}

/// A character as it is, as JSON escapes it once or several times over, or as in a URL.
fn character(c: char) -> String {
    let mut ways = match c {
        '"' | '/' => format!(r"\\*{c}"),
        '\\' => r"\\+".to_owned(),
        _ => regex::escape(&c.to_string()),
    };
    let letter = match c {
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        '\u{8}' => Some('b'),
        '\u{c}' => Some('f'),
        _ => None,
    };
    // Writing to a String cannot fail.
    if let Some(letter) = letter {
        let _ = write!(ways, r"|\\+{letter}");
    }
    if c == ' ' {
        ways.push_str(r"|\+");
    }
    let (mut units, mut bytes) = ([0; 2], [0; 4]);
    ways.push('|');
    for unit in c.encode_utf16(&mut units) {
        let _ = write!(ways, r"\\+u(?i-u:{unit:04x})");
    }
    ways.push('|');
    for byte in c.encode_utf8(&mut bytes).bytes() {
        let _ = write!(ways, "%(?i-u:{byte:02x})");
    }
    format!("(?:{ways})")
}

/// What of Base64 follows from a value alone, wherever it begins among the bytes that were encoded.
struct Core {
    text: String,
    /// Whether a character before it, and one behind it, says something of the value too.
    before: bool,
    behind: bool,
}

pub(super) const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn cores(value: &[u8]) -> [Core; 3] {
    [0, 1, 2].map(|offset| {
        let mut bits = vec![false; offset * 8];
        bits.extend(value.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)));
        // The characters all of whose bits are the value's.
        let (first, end) = ((offset * 8).div_ceil(6), bits.len() / 6);
        let sextet =
            |n: usize| bits[n * 6..n * 6 + 6].iter().fold(0_usize, |all, &bit| all << 1 | usize::from(bit));
        let text = (first..end).map(|n| char::from(ALPHABET[sextet(n)])).collect();
        Core { text, before: offset != 0, behind: !bits.len().is_multiple_of(6) }
    })
}

fn base64_pattern(core: &Core) -> String {
    const ANY: &str = "[A-Za-z0-9+/_-]";
    // Long texts in Base64 are broken into lines.
    const BREAK: &str = r"(?:[\r\n]|\\+[rn])*";
    let one = |c: char| match c {
        '+' => "(?:[+-]|%(?i-u:2b))".to_owned(),
        '/' => r"(?:\\*/|_|%(?i-u:2f))".to_owned(),
        c => c.to_string(),
    };
    let mut parts: Vec<String> = core.text.chars().map(one).collect();
    if core.before {
        parts.insert(0, ANY.to_owned());
    }
    if core.behind {
        parts.push(ANY.to_owned());
    }
    parts.join(BREAK)
}

/// The parts of a value's forms that are long enough to be known by.
pub(super) fn fragments(value: &str) -> Vec<Vec<u8>> {
    let quoted = quote(value);
    let mut forms = vec![value.as_bytes().to_vec(), quoted.as_bytes()[1..quoted.len() - 1].to_vec()];
    forms.push(value.bytes().map(url_encoded).collect::<String>().into_bytes());
    forms.extend(cores(value.as_bytes()).map(|core| core.text.into_bytes()));
    let parts = forms.iter().flat_map(|form| form.windows(FRAGMENT.min(form.len())).map(<[u8]>::to_vec));
    parts.collect()
}

pub(super) fn url_encoded(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}
