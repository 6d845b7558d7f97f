//! What a type finds wrong with a value, in our words.
//!
//! serde's derived types speak of `u64`, `struct`s and variants, which mean nothing to whoever wrote the value. All that is
//! said of values goes through here, whatever the format.

use super::instead;

/// What a deserializer says of a value, in our words; what a type of ours says by itself stays as it is.
pub(super) fn of_value(message: &str) -> String {
    let kinds = ["invalid type: ", "invalid value: ", "invalid length "];
    if let Some(rest) = kinds.iter().find_map(|kind| message.strip_prefix(kind))
        && let Some((unexpected, wanted)) = rest.rsplit_once(", expected ")
    {
        return not_as_expected(wanted, &found(unexpected));
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("the field {name} is missing");
    }
    if let Some(name) = message.strip_prefix("duplicate field ") {
        return format!("the field {name} is repeated");
    }
    for (prefix, of) in [("unknown field ", "field"), ("unknown variant ", "word")] {
        if let Some(rest) = message.strip_prefix(prefix) {
            return unknown(rest, of);
        }
    }
    let derived = ["data did not match any variant", "can only flatten", "no variant of enum"];
    match derived.iter().any(|text| message.starts_with(text)) {
        true => "does not match any accepted form".to_owned(),
        false => message.to_owned(),
    }
}

/// That one thing was expected, and another found.
pub(super) fn not_as_expected(wanted: &str, found: &str) -> String {
    format!("expected {}, found {found}", expected(wanted))
}

/// What a type asks for.
pub(super) fn expected(wanted: &str) -> String {
    let words = match wanted.strip_prefix("a nonzero ").unwrap_or(wanted) {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "u128" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" | "floating point" => "a number",
        "a boolean" | "bool" | "boolean" => "true or false",
        "a string" | "str" | "string" | "a borrowed string" | "a str" => "a string",
        "a sequence" | "sequence" => "a list",
        "a map" | "map" => "an object",
        "unit" => "nothing",
        "string or map" | "variant identifier" => "a word",
        "field identifier" => "the name of a field",
        other if other.starts_with("enum ") => "a word",
        other
            if other.starts_with("tuple")
                || other.starts_with("a tuple")
                || other.starts_with("an array") =>
        {
            "a list of another length"
        }
        other if other.starts_with("struct ") || other.contains("tagged enum ") => "an object",
        other => other,
    };
    words.to_owned()
}

/// What was found, with the value where it is short.
fn found(unexpected: &str) -> String {
    let (kind, value) = match unexpected.find(['`', '"']) {
        Some(start) => (unexpected[..start].trim_end(), unexpected[start..].trim_matches('`')),
        None => (unexpected, ""),
    };
    match kind {
        "integer" | "floating point" | "number" => format!("the number {value}"),
        "boolean" => value.to_owned(),
        "string" | "character" => format!("the string {value}"),
        other => kind_found(other),
    }
}

/// What was found, without its value.
pub(super) fn kind_found(unexpected: &str) -> String {
    let kind = unexpected.split(['`', '"']).next().unwrap_or_default().trim_end();
    let words = match kind {
        "integer" | "floating point" | "number" => "a number",
        "boolean" => "true or false",
        "string" | "character" | "byte array" => "a string",
        "unit value" | "Option value" | "null" | "unit variant" => "nothing",
        "sequence" => "a list",
        "map" | "newtype struct" | "enum" | "newtype variant" | "struct variant" => "an object",
        length if length.bytes().all(|b| b.is_ascii_digit()) => "a list",
        _ => "something else",
    };
    words.to_owned()
}

/// `` `name`, expected one of `a`, `b` ``.
fn unknown(rest: &str, of: &str) -> String {
    let (name, known) = rest.split_once(", ").unwrap_or((rest, ""));
    // Every second part stands between back-ticks.
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    match known.is_empty() {
        true => format!("unknown {of} {name}"),
        false => {
            format!("unknown {of} {name}; {}", instead(name.trim_matches('`'), &known, &format!("{of}s")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_types_say_is_said_in_our_words() {
        for (message, expected) in [
            ("invalid type: integer `1`, expected a string", "expected a string, found the number 1"),
            (
                "invalid value: integer `300`, expected u8",
                "expected a whole number from 0 to 255, found the number 300",
            ),
            (
                "invalid type: string \"a, expected b\", expected struct T",
                "expected an object, found the string \"a, expected b\"",
            ),
            ("invalid type: null, expected a boolean", "expected true or false, found nothing"),
            ("invalid type: boolean `true`, expected string or map", "expected a word, found true"),
            ("invalid type: map, expected a sequence", "expected a list, found an object"),
            ("invalid length 0, expected struct T with 5 elements", "expected an object, found a list"),
            (
                "invalid value: integer `0`, expected a nonzero u64",
                "expected a whole number from 0, found the number 0",
            ),
            ("missing field `name`", "the field `name` is missing"),
            ("duplicate field `name`", "the field `name` is repeated"),
            (
                "unknown field `nam`, expected one of `name`, `count`",
                "unknown field `nam`; did you mean `name`?",
            ),
            ("unknown field `x`, there are no fields", "unknown field `x`"),
            ("unknown variant `two`, expected `one`", "unknown word `two`; valid words are one"),
            ("unknown variant `seven`, expected `a` or `b`", "unknown word `seven`; valid words are a, b"),
            ("data did not match any variant of untagged enum T", "does not match any accepted form"),
            ("`x` is not a moment", "`x` is not a moment"),
        ] {
            assert_eq!(of_value(message), expected, "{message}");
        }
    }
}
