//! Where strings and values of JSON text end.

/// The position behind the string that begins at `start`, and whether it has escapes.
pub(super) fn string_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let (mut at, mut escaped) = (start + 1, false);
    loop {
        at = quote_or_escape(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return (at + 1, escaped),
            Some(_) => (at, escaped) = (at + 2, true),
            None => return (bytes.len(), escaped),
        }
    }
}

/// The position of the next quote or backslash, or the end of the text.
///
/// Eight bytes at a time: most strings of an object are that short, too short for a search by SIMD to pay.
fn quote_or_escape(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // Sets the high bit of the lowest byte that is zero, and never one below it.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let found = zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\')) {
        at += 1;
    }
    at
}

/// What a byte outside of strings is to who looks for the end of a container.
#[derive(Clone, Copy)]
enum Class {
    Other,
    Quote,
    Open,
    Close,
}

/// The class of each byte: to look it up costs less than to compare with five of them.
static CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    classes[b'"' as usize] = Class::Quote;
    classes[b'{' as usize] = Class::Open;
    classes[b'[' as usize] = Class::Open;
    classes[b'}' as usize] = Class::Close;
    classes[b']' as usize] = Class::Close;
    classes
};

/// The position behind the value that begins at `start` of a text that is JSON.
pub(super) fn value_end(bytes: &[u8], start: usize) -> usize {
    match bytes.get(start) {
        Some(b'"') => return string_end(bytes, start).0,
        Some(b'{' | b'[') => {}
        Some(_) => {
            let rest = &bytes[start..];
            let end =
                rest.iter().position(|b| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'));
            return start + end.unwrap_or(rest.len());
        }
        None => return bytes.len(),
    }
    let (mut at, mut depth) = (start + 1, 1_usize);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match CLASSES[usize::from(byte)] {
            Class::Other => {}
            Class::Quote => at = string_end(bytes, at - 1).0,
            Class::Open => depth += 1,
            Class::Close => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quotes_are_found_as_one_by_one(text in "[a\"\\\\é¢\u{dc}\u{22}]{0,40}", from in 0..12_usize) {
            let bytes = text.as_bytes();
            let rest = bytes.get(from..).unwrap_or_default();
            let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            prop_assert_eq!(quote_or_escape(bytes, from), found.map_or(bytes.len().max(from), |at| from + at));
        }
    }
}
