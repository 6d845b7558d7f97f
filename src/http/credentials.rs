//! Reads the token out of an `Authorization` header: that of Bearer (RFC 6750), or the password of Basic (RFC 7617),
//! for which browsers ask by themselves.

use data_encoding::BASE64_NOPAD;
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// What a request presents.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Presented {
    /// No such header.
    Nothing,
    /// A token.
    Token(String),
    /// A header from which no token can be read.
    Unreadable,
}

/// Tells what a request presents; several headers at once are not guessed between.
pub(super) fn presented(headers: &HeaderMap) -> Presented {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (None, _) => Presented::Nothing,
        (Some(value), None) => {
            value.to_str().ok().and_then(token).map_or(Presented::Unreadable, Presented::Token)
        }
        (Some(_), Some(_)) => Presented::Unreadable,
    }
}

fn token(header: &str) -> Option<String> {
    let (scheme, rest) = header.split_once(' ')?;
    let rest = rest.trim();
    let token = if scheme.eq_ignore_ascii_case("bearer") {
        rest.to_owned()
    } else if scheme.eq_ignore_ascii_case("basic") {
        let pair = String::from_utf8(from_base64(rest)?).ok()?;
        pair.split_once(':')?.1.to_owned()
    } else {
        return None;
    };
    (!token.is_empty()).then_some(token)
}

/// Decodes RFC 4648's standard Base64; padding may be left out.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    BASE64_NOPAD.decode(text.trim_end_matches('=').as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::BASE64;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn read(values: &[&str]) -> Presented {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).expect("a header"));
        }
        presented(&headers)
    }

    #[test]
    fn tokens_are_read_from_bearer_and_basic() {
        let token = |text: &str| Some(text.to_owned());
        for (header, expected) in [
            ("Bearer sl_1", token("sl_1")),
            ("bearer   sl_1 ", token("sl_1")),
            // "anybody:sl_1", ":sl_1", "a:b:c" and "é:ü".
            ("Basic YW55Ym9keTpzbF8x", token("sl_1")),
            ("BASIC OnNsXzE=", token("sl_1")),
            ("Basic OnNsXzE", token("sl_1")),
            ("Basic YTpiOmM=", token("b:c")),
            ("Basic w6k6w7w=", token("ü")),
            // "anybody:", "nothing", and what is no Base64, no UTF-8 or no scheme of ours.
            ("Basic YW55Ym9keTo=", None),
            ("Basic bm90aGluZw==", None),
            ("Basic A", None),
            ("Basic ÿÿ", None),
            ("Basic Ov8=", None),
            ("Basic", None),
            ("Bearer", None),
            ("Bearer ", None),
            ("Bearersl_1", None),
            ("Digest username=\"a\"", None),
            ("sl_1", None),
            ("", None),
        ] {
            let expected = expected.map_or(Presented::Unreadable, Presented::Token);
            assert!(read(&[header]) == expected, "{header}");
        }
        assert!(read(&[]) == Presented::Nothing);
        assert!(read(&["Bearer a", "Bearer a"]) == Presented::Unreadable, "not guessed between");
    }

    proptest! {
        #[test]
        fn base64_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            for text in [BASE64.encode(&bytes), BASE64_NOPAD.encode(&bytes)] {
                prop_assert_eq!(from_base64(&text), Some(bytes.clone()));
            }
        }

        #[test]
        fn no_header_breaks_anything(header in "[ -~é]{0,60}") {
            let _ = token(&header);
            let _ = from_base64(&header);
        }
    }
}
