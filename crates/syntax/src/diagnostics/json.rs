//! What is wrong with JSON, in our words.

use serde_json::Error;
use serde_json::error::Category;

use super::words;

/// What is wrong, and where.
pub fn of_json(error: &Error) -> String {
    let reason = reason_of_json(error);
    match error.line() {
        0 => reason,
        line => format!("{reason}, in line {line}, column {}", error.column()),
    }
}

/// What is wrong, for those who tell the place by themselves.
pub fn reason_of_json(error: &Error) -> String {
    if let Some(error) = error.io_error_kind() {
        return format!("it cannot be read: {error}");
    }
    let message = error.to_string();
    // The place stands at the end; a value may hold the same words.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    match error.classify() {
        Category::Data => words::of_value(message),
        Category::Syntax | Category::Eof | Category::Io => of_syntax(message).to_owned(),
    }
}

/// Whatever else the crate may say, it is no JSON.
fn of_syntax(message: &str) -> &'static str {
    match message {
        "EOF while parsing a list" => "the text ends within a list",
        "EOF while parsing an object" => "the text ends within an object",
        "EOF while parsing a string" => "the text ends within a string",
        "EOF while parsing a value" => "the text ends where a value is expected",
        "expected `:`" => "expected `:`",
        "expected `,` or `]`" => "expected `,` or `]`",
        "expected `,` or `}`" => "expected `,` or `}`",
        "expected ident" | "expected value" => "expected a value",
        "expected `\"`" | "key must be a string" => "expected the name of a field in double quotes",
        "invalid escape" => "invalid escape in a string",
        "invalid number" => "not a number",
        "number out of range" => "the number is too large",
        "control character (\\u0000-\\u001F) found while parsing a string" => {
            "a control character in a string must be escaped"
        }
        "invalid unicode code point"
        | "lone leading surrogate in hex escape"
        | "unexpected end of hex escape" => "an escape in a string is not a valid character",
        "trailing comma" => "trailing comma",
        "trailing characters" => "unexpected text after the end",
        "recursion limit exceeded" => "lists and objects are nested too deeply",
        _ => "not JSON",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_is_no_json_is_told_by_its_place_and_reason() {
        for (text, expected) in [
            ("", "the text ends where a value is expected, in line 1, column 0"),
            ("[1", "the text ends within a list, in line 1, column 2"),
            ("{\"a\"", "the text ends within an object, in line 1, column 4"),
            ("\"a", "the text ends within a string, in line 1, column 2"),
            ("{\"a\" 1}", "expected `:`, in line 1, column 6"),
            ("[1 2]", "expected `,` or `]`, in line 1, column 4"),
            ("{\"a\":1 2}", "expected `,` or `}`, in line 1, column 8"),
            ("nul", "the text ends where a value is expected, in line 1, column 3"),
            ("nope", "expected a value, in line 1, column 2"),
            ("?", "expected a value, in line 1, column 1"),
            ("{a: 1}", "expected the name of a field in double quotes, in line 1, column 2"),
            ("\"\\x\"", "invalid escape in a string, in line 1, column 3"),
            ("01", "not a number, in line 1, column 2"),
            ("1e999", "the number is too large, in line 1, column 5"),
            ("\"\n\"", "a control character in a string must be escaped, in line 2, column 0"),
            ("\"\\ud800\"", "an escape in a string is not a valid character, in line 1, column 8"),
            ("[1,]", "trailing comma, in line 1, column 4"),
            ("1 2", "unexpected text after the end, in line 1, column 3"),
        ] {
            let error = serde_json::from_str::<Value>(text).map(|_| ()).expect_err(text);
            assert_eq!(of_json(&error), expected, "{text}: {error}");
        }
        let deep = serde_json::from_str::<Value>(&"[".repeat(1000)).expect_err("deep");
        assert!(of_json(&deep).starts_with("lists and objects are nested too deeply, in line 1"));
        let value = serde_json::from_str::<u8>("\" at line 7\"").expect_err("a string");
        assert_eq!(
            reason_of_json(&value),
            "expected a whole number from 0 to 255, found the string \" at line 7\""
        );
    }
}
