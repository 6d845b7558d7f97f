//! What is wrong with a regular expression, in our words.

/// How the parser of regular expressions begins what it says, and how we say it.
const WORDS: [(&str, &str); 30] = [
    ("exceeded the maximum number of capturing groups", "it has too many groups"),
    ("invalid escape sequence found in character class", "invalid escape between `[` and `]`"),
    ("invalid character class range", "a range between `[` and `]` begins after its end"),
    ("invalid range boundary", "a range between `[` and `]` has to begin and end with one character"),
    ("unclosed character class", "a `[` is not closed"),
    ("decimal literal", "a number between `{` and `}` cannot be read"),
    ("hexadecimal literal is not", "the character code is invalid"),
    ("hexadecimal literal", "the character code is missing"),
    ("invalid hexadecimal digit", "the character code has digits other than 0 to 9 and a to f"),
    ("incomplete escape sequence", "it ends with a backslash"),
    ("unrecognized escape sequence", "invalid escape of this character"),
    ("dangling flag negation operator", "no flag after the `-`"),
    ("duplicate flag", "a flag is repeated"),
    ("flag negation operator repeated", "the flags have a second `-`"),
    ("expected flag", "a flag is missing at the end"),
    ("unrecognized flag", "unknown flag"),
    ("duplicate capture group name", "two groups have the same name"),
    ("empty capture group name", "the name of a group is empty"),
    ("invalid capture group character", "a group name has an invalid character"),
    ("unclosed capture group name", "a group name is not closed by `>`"),
    ("unclosed group", "a `(` is not closed"),
    ("unopened group", "unmatched `)`"),
    ("exceed the maximum number of nested", "its groups are nested too deeply"),
    ("invalid repetition count range", "a repetition has a minimum above its maximum"),
    ("repetition quantifier expects", "a number between `{` and `}` is missing"),
    ("unclosed counted repetition", "a `{` is not closed"),
    ("repetition operator missing expression", "nothing to repeat before `*`, `+`, `?` or `{`"),
    (
        "backreferences are not supported",
        "backreferences are not supported, because matching takes linear time",
    ),
    ("look-around", "look-around is not supported, because matching takes linear time"),
    ("Unicode property", "unknown character class"),
];

/// What the parser of regular expressions says, in our words; its lines draw the text and an arrow first.
pub fn of_regex(message: &str) -> &'static str {
    let said = message.lines().last().unwrap_or_default();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let known = WORDS.iter().find(|(begins, _)| said.starts_with(begins));
    known.map_or("it cannot be read", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each mistake that one can make is known, and said without a word of the parser's.
    #[test]
    fn every_mistake_is_said_in_our_words() {
        let mut said = Vec::new();
        for (text, expected) in [
            (r"[\b]", "invalid escape between"),
            ("[z-a]", "a range between `[` and `]` begins after its end"),
            (r"[a-\d]", "a range between `[` and `]` has to begin"),
            ("[a", "a `[` is not closed"),
            (r"\x{}", "the character code is missing"),
            (r"\x{110000}", "the character code is invalid"),
            (r"\xzz", "the character code has digits other"),
            ("a\\", "it ends with a backslash"),
            (r"\y", "invalid escape of this"),
            ("(?i-)", "no flag after"),
            ("(?ii)", "a flag is repeated"),
            ("(?i-s-m)", "the flags have a second"),
            ("(?i", "a flag is missing"),
            ("(?j)", "unknown flag"),
            ("(?<a>.)(?<a>.)", "two groups have the same name"),
            ("(?<>.)", "the name of a group is empty"),
            ("(?<a!>.)", "a group name has an invalid"),
            ("(?<a", "a group name is not closed"),
            ("(a", "a `(` is not closed"),
            ("a)", "unmatched `)`"),
            ("a{2,1}", "a repetition has a minimum"),
            ("a{", "a `{` is not closed"),
            ("a{}", "a number between `{` and `}` is missing"),
            ("*", "nothing to repeat"),
            (r"(a)\1", "backreferences are not"),
            ("(?=a)", "look-around is not"),
            (r"\p{Nope}", "unknown character class"),
        ] {
            let error = regex::Regex::new(text).map(|_| ()).map_err(|error| error.to_string());
            let told = error.as_ref().map_or_else(|error| of_regex(error), |()| "nothing is wrong");
            if !told.starts_with(expected) {
                said.push(format!("{text}: {told}: {error:?}"));
            }
        }
        assert!(said.is_empty(), "{said:#?}");
    }
}
