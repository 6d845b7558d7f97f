//! What stands in Base64, looked into once.
//!
//! Decoded by hand: nearly every long word of letters and digits looks like Base64, and all but text is given up at its first byte
//! that no text has, while libraries decode the whole of it first.

/// A shorter text is a word.
const SHORTEST: usize = 16;

/// The text that a text is the Base64 of, if it is one: lines are joined, and what is no text is none.
pub(super) fn text(encoded: &str) -> Option<String> {
    let encoded = encoded.trim();
    if encoded.len() < SHORTEST || !encoded.bytes().all(is_digit) {
        return None;
    }
    let digits = || encoded.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r' | b'='));
    let mut bytes = Vec::with_capacity(encoded.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for digit in digits() {
        bits = bits << 6 | u32::from(value(digit));
        count += 6;
        if count >= 8 {
            count -= 8;
            let byte = (bits >> count) as u8;
            // Text has no such bytes, so most of what only looks like Base64 is given up at once.
            if byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t') {
                return None;
            }
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r')
}

fn value(digit: u8) -> u8 {
    match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        _ => 63,
    }
}
