//! Decodes addresses: percent-encoding, exactly once.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::problem::{Problem, ProblemCode};

/// Decodes percent-encoding once; refuses what is malformed, not UTF-8, or holds a NUL.
///
/// Overlong forms and lone surrogates are not UTF-8 to Rust, so they are refused here and nowhere else.
pub(super) fn decode(text: &str) -> Result<String, Problem> {
    let malformed = |why: &str| Problem::new(ProblemCode::MalformedRequest, format!("`{text}` {why}"));
    let escaped =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    if !text.split('%').skip(1).all(escaped) {
        return Err(malformed("has a `%` that is not followed by two hex digits"));
    }
    // Borrowed where nothing is encoded, as nearly always.
    let bytes: Cow<'_, [u8]> = percent_decode_str(text).into();
    if bytes.contains(&0) {
        return Err(malformed("contains a NUL character"));
    }
    String::from_utf8(bytes.into_owned()).map_err(|_| malformed("is not UTF-8 when decoded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_decoded_exactly_once() {
        let cases = [
            ("plain", Ok("plain")),
            ("a%2Fb", Ok("a/b")),
            ("%252e", Ok("%2e")),
            ("%C3%A9", Ok("é")),
            ("a+b", Ok("a+b")),
            ("%00", Err(())),
            ("%C0%AF", Err(())),
            ("%ED%A0%80", Err(())),
            ("%FF", Err(())),
            ("%", Err(())),
            ("%4", Err(())),
            ("%zz", Err(())),
            ("%+4", Err(())),
        ];
        for (text, expected) in cases {
            let got = decode(text).map_err(|problem| assert_eq!(problem.code, ProblemCode::MalformedRequest));
            assert_eq!(got.as_deref(), expected.as_ref().copied(), "{text}");
        }
    }

    #[test]
    fn what_is_encoded_decodes_to_itself() {
        for text in ["", "shop.web.production", "a/b?c=d&e#f", "100 %", "é\u{202e}\n"] {
            assert_eq!(decode(&strandline_syntax::percent_encode(text)).as_deref().ok(), Some(text));
        }
    }
}
