//! Whether a text that is JSON has anything in it that readers differ about.

use super::scan::string_end;

/// No parser of JSON minds as many levels, nor numbers of so many characters.
const DEPTH: usize = 100;
const NUMBER: usize = 100;

/// Whether a text that is JSON has nothing that a strict reader could stumble over. Nearly all objects are, which is found in a
/// fraction of the time of parsing them: of what lies between strings, only brackets and numbers are looked at.
pub fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'"' => {
                let has_escapes;
                (at, has_escapes) = string_end(bytes, start);
                // Half of a surrogate pair is written so.
                if has_escapes && text.get(start..at).is_none_or(|string| string.contains("\\u")) {
                    return false;
                }
            }
            b'-' | b'0'..=b'9' => {
                let rest = &bytes[start..];
                let digits = rest.iter().position(|byte| !matches!(byte, b'-' | b'.' | b'0'..=b'9'));
                at += digits.unwrap_or(rest.len());
                if at - start > NUMBER || matches!(bytes.get(at), Some(b'e' | b'E')) {
                    return false;
                }
            }
            b'{' | b'[' => {
                (at, depth) = (at + 1, depth + 1);
                if depth > DEPTH {
                    return false;
                }
            }
            b'}' | b']' => (at, depth) = (at + 1, depth.saturating_sub(1)),
            _ => at += 1,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readers_differ_about_is_not_plain() {
        let (deep, long) = (|depth| "[".repeat(depth) + &"]".repeat(depth), |digits| "9".repeat(digits));
        for (text, expected) in [
            (r#"{"a" : [-1.5, 0,true,false , null], "é\"\\\n": "1e5 \\"}"#.to_owned(), true),
            (r#"{"e":"E","1e5":[]}"#.to_owned(), true),
            ("[1e5]".to_owned(), false),
            ("[-0.1E-5]".to_owned(), false),
            (r#"["\u0061"]"#.to_owned(), false),
            (r#"{"\ud800":1}"#.to_owned(), false),
            (deep(DEPTH), true),
            (deep(DEPTH + 1), false),
            (deep(2).repeat(DEPTH), true),
            (long(NUMBER), true),
            (long(NUMBER + 1), false),
        ] {
            assert_eq!(is_plain(&text), expected, "{text}");
        }
    }
}
