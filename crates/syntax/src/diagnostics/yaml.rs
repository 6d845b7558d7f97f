//! What is wrong with YAML, in our words.
//!
//! It says what was expected and never what is written there: the path may lead to a file that is not meant for us, and
//! the message to somebody who may not read that.

use serde_saphyr::{Error, Location};

use super::{Mistake, instead, words};

/// What to look at where YAML breaks: the place is where it was noticed, which may be behind where it is wrong.
const LOOK: &str = "check quotes, brackets and indentation here and above";

/// The mistake for which a file could not be read as YAML, or not as what it should be.
pub fn of_syntax(error: &Error) -> Mistake {
    let error = error.without_snippet();
    let location = error.location().unwrap_or(Location::UNKNOWN);
    let syntax = |message: &str| Mistake::at(location, "syntax", message);
    let expected = |wanted: &str, found: &str| syntax(&words::not_as_expected(wanted, found));
    match error {
        Error::SerdeUnknownField { field, expected, .. } => {
            Mistake::at(location, "unknown_key", "unknown key").hint(instead(field, expected, "keys"))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            Mistake::at(location, "unknown_word", "unknown word").hint(instead(variant, expected, "words"))
        }
        Error::SerdeMissingField { field, .. } => {
            Mistake::at(location, "missing_key", format!("the key `{field}` is missing"))
        }
        Error::DuplicateMappingKey { .. } => syntax("duplicate key"),
        Error::SerdeInvalidType { unexpected, expected: wanted, .. }
        | Error::SerdeInvalidValue { unexpected, expected: wanted, .. } => {
            expected(wanted, &words::kind_found(unexpected))
        }
        Error::SerdeInvalidLength { expected: wanted, .. } => expected(wanted, "a list"),
        Error::Message { msg, .. } => syntax(&unquoted(&words::of_value(msg))),
        Error::Unexpected { expected: wanted, .. } => match *wanted {
            "mapping start" => expected("map", "something else"),
            "sequence start" => expected("sequence", "something else"),
            // For YAML each scalar is a text; only a list or an object is none.
            wanted if wanted.contains("str") => expected("string", "a list or an object"),
            _ => syntax("unexpected value"),
        },
        Error::NullIntoString { .. } => expected("string", "nothing"),
        Error::InvalidScalar { ty, .. } => expected(ty, "something else"),
        Error::InvalidBooleanStrict { .. } => expected("bool", "something else"),
        Error::NonFiniteFloat { .. } => expected("f64", "something else"),
        Error::ExpectedStringKeyForExternallyTaggedEnum { .. }
        | Error::ExternallyTaggedEnumExpectedScalarOrMapping { .. }
        | Error::ExpectedMappingEndAfterEnumVariantValue { .. }
        | Error::UnexpectedMappingEnd { .. } => syntax("expected one word, or an object with one key"),
        Error::UnexpectedSequenceEnd { .. } => syntax("the list ends where one more is expected"),
        Error::UnexpectedValueForUnit { .. }
        | Error::UnexpectedValueForUnitEnumVariant { .. }
        | Error::ExpectedEmptyMappingForUnitStruct { .. } => syntax("expected nothing here, found a value"),
        Error::TaggedScalarCannotDeserializeIntoString { .. }
        | Error::TaggedEnumMismatch { .. }
        | Error::TaggedStructFieldName { .. }
        | Error::UnsupportedTag { .. }
        | Error::BytesNotSupportedMissingBinaryTag { .. }
        | Error::InvalidBinaryBase64 { .. } => syntax("tags (`!…`) are not supported here"),
        Error::MergeValueNotMapOrSeqOfMaps { .. } | Error::MergeKeyNotAllowed { .. } => {
            syntax("`<<` takes an object, or a list of objects")
        }
        Error::UnknownAnchor { .. } => syntax("an alias (`*…`) without an anchor (`&…`) before it"),
        Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::RecursiveReferencesRequireWeakTypes { .. } => syntax("aliases (`*…`) repeat too much"),
        Error::Budget { .. } => syntax("the file is too large or nested too deeply"),
        Error::MultipleDocuments { .. } => syntax("expected a single document, found a second one"),
        Error::Eof { .. } => syntax("the text ends where a value is expected"),
        Error::InvalidUtf8Input => syntax("not UTF-8"),
        Error::QuotingRequired { .. } => syntax("quote strings that look like another type"),
        Error::AliasError { error, .. } => of_syntax(error),
        _ => syntax("not YAML").hint(LOOK),
    }
}

/// A message of a type of ours without what it quotes: all from the first quotation mark to the last.
fn unquoted(message: &str) -> String {
    let mark = |c: char| matches!(c, '"' | '\'' | '`' | '‘' | '’' | '“' | '”');
    let Some(start) = message.find(mark) else { return message.to_owned() };
    let rest = message.rsplit(mark).next().unwrap_or_default();
    format!("{}{}", message[..start].trim_end(), rest).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, de};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct File {
        text: Option<String>,
        number: Option<u64>,
        small: Option<u8>,
        fraction: Option<f64>,
        flag: Option<bool>,
        list: Option<Vec<String>>,
        of: Option<BTreeMap<String, Part>>,
        part: Option<Part>,
        way: Option<Way>,
        time: Option<Time>,
        pair: Option<(u8, u8)>,
        nothing: Option<()>,
        any: Option<serde_json::Value>,
    }

    /// Text that is read by rules of its own.
    #[derive(Debug)]
    struct Time;

    impl<'de> Deserialize<'de> for Time {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            let wrong = || {
                de::Error::custom(format!("`{text}` is not an RFC 3339 time such as 2026-11-20T14:05:00Z"))
            };
            text.ends_with('Z').then_some(Time).ok_or_else(wrong)
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Part {
        name: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only read")]
    enum Way {
        Agent {},
        Plain,
        One(String),
    }

    fn told(text: &str) -> Option<String> {
        let mistake = of_syntax(&serde_saphyr::from_str::<File>(text).err()?);
        Some(format!("{mistake}; {}", mistake.hint.as_deref().unwrap_or_default()))
    }

    #[test]
    fn each_wrong_value_is_told_in_our_words_with_its_place() {
        for (text, expected) in [
            ("text: [a]", "1:7: expected a string, found a list or an object; "),
            ("text: {a: b}", "1:7: expected a string, found a list or an object; "),
            ("number: canary", "1:9: expected a whole number from 0, found something else; "),
            ("small: 300", "1:8: expected a whole number from 0 to 255, found something else; "),
            ("flag: canary", "1:7: expected true or false, found something else; "),
            ("way: {}", "1:7: expected one word, or an object with one key; "),
            ("way: {agent: }", "1:12: expected an object, found something else; "),
            ("way: canary", "1:6: unknown word; valid words are agent, plain, one"),
            ("part: {nam: a}", "1:8: unknown key; did you mean `name`?"),
            ("part: {}", "1:7: the key `name` is missing; "),
            ("canary: 1", "1:1: unknown key; "),
            ("time: canary", "1:7: is not an RFC 3339 time such as 2026-11-20T14:05:00Z; "),
        ] {
            let told = told(text);
            assert!(told.as_deref().is_some_and(|told| told.starts_with(expected)), "{text}: {told:?}");
        }
    }

    /// Words of serde, of its formats and of Rust's own parsers.
    const PARSERS: [&str; 22] = [
        "invalid",
        "scalar",
        "struct ",
        "variant",
        "enum",
        "u64",
        "u8",
        "f64",
        "i64",
        "sequence",
        "mapping",
        "EOF",
        "ident",
        "untagged",
        "node",
        "event",
        "deserialize",
        "unit",
        "tuple",
        "canary",
        "token",
        "block",
    ];

    #[test]
    fn nothing_that_is_wrong_is_told_in_a_parsers_words() {
        let values = [
            "canary",
            "'canary'",
            "1",
            "-1",
            "1.5",
            "99999999999999999999",
            ".nan",
            ".inf",
            "true",
            "null",
            "~",
            "",
            "[]",
            "[canary]",
            "[[canary]]",
            "[null]",
            "{}",
            "{canary: 1}",
            "{name: }",
            "{agent: canary}",
            "{agent: }",
            "{agent: {}, plain: 1}",
            "{plain: canary}",
            "{one: [canary]}",
            "{? [canary] : 1}",
            "!canary x",
            "!!binary canary",
            "!!int canary",
            "*canary",
            "&canary [*canary]",
            "<<: canary",
            "{<<: canary}",
            "'canary",
            "\"canary",
            "\"\\canary\"",
            "[canary",
            "{canary",
            "]",
            "}",
            "%canary",
            "@canary",
            "`canary`",
            "|\n canary\ncanary",
            "canary: canary",
            "\n\tcanary",
            "- canary",
            "\n- canary\n canary: 1",
            "canary\n---\ncanary",
            "2026-01-01",
        ];
        let names = [
            "text", "number", "small", "fraction", "flag", "list", "of", "part", "way", "time", "pair",
            "nothing", "any", "canary",
        ];
        let mut refused = 0;
        for name in names {
            for value in values {
                for text in [format!("{name}: {value}"), value.to_owned(), format!("list: [{name}: {value}]")]
                {
                    let Some(told) = told(&text) else { continue };
                    refused += 1;
                    let leaked = PARSERS.iter().find(|word| told.contains(**word));
                    assert!(leaked.is_none(), "{text:?}: {told} has {leaked:?}");
                }
            }
        }
        assert!(refused > 1000, "{refused}");
    }
}
