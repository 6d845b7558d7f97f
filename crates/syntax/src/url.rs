//! Names in addresses.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes for a path segment or a query value.
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_query_is_escaped_byte_by_byte() {
        for (text, expected) in [
            ("", ""),
            ("aZ09-._~", "aZ09-._~"),
            ("a=b&c", "a%3Db%26c"),
            ("+ %/", "%2B%20%25%2F"),
            ("ü\0", "%C3%BC%00"),
        ] {
            assert_eq!(percent_encode(text), expected, "{text:?}");
        }
    }
}
