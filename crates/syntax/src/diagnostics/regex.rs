//! What is wrong with a regular expression, in our words.

/// How the parser of regular expressions begins what it says, and how we say it.
const WORDS: [(&str, &str); 30] = [
    ("exceeded the maximum number of capturing groups", "it has too many groups"),
    ("invalid escape sequence found in character class", "this backslash means nothing between `[` and `]`"),
    ("invalid character class range", "a range between `[` and `]` begins after its end"),
    ("invalid range boundary", "a range between `[` and `]` has to begin and end with one character"),
    ("unclosed character class", "a `[` is not closed"),
    ("decimal literal", "a number between `{` and `}` cannot be read"),
    ("hexadecimal literal is not", "the number of a character is none that there is"),
    ("hexadecimal literal", "the number of a character is missing"),
    ("invalid hexadecimal digit", "the number of a character has another sign than 0 to 9 and a to f"),
    ("incomplete escape sequence", "it ends with a backslash"),
    ("unrecognized escape sequence", "this backslash means nothing before this character"),
    ("dangling flag negation operator", "no flag follows on the `-`"),
    ("duplicate flag", "a flag is given twice"),
    ("flag negation operator repeated", "the flags have a second `-`"),
    ("expected flag", "it ends where a flag is expected"),
    ("unrecognized flag", "there is no such flag"),
    ("duplicate capture group name", "two groups have the same name"),
    ("empty capture group name", "the name of a group is empty"),
    ("invalid capture group character", "the name of a group has a character that no name has"),
    ("unclosed capture group name", "the name of a group is not closed by `>`"),
    ("unclosed group", "a `(` is not closed"),
    ("unopened group", "a `)` closes nothing"),
    ("exceed the maximum number of nested", "its groups are nested too deeply"),
    ("invalid repetition count range", "a repetition has a least number above its most"),
    ("repetition quantifier expects", "a number between `{` and `}` is missing"),
    ("unclosed counted repetition", "a `{` is not closed"),
    ("repetition operator missing expression", "there is nothing to repeat before `*`, `+`, `?` or `{`"),
    (
        "backreferences are not supported",
        "it refers back to a group, which cannot be searched for in linear time",
    ),
    ("look-around", "it looks ahead or behind, which cannot be searched for in linear time"),
    ("Unicode property", "there is no such class of characters"),
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
            (r"[\b]", "this backslash means nothing between"),
            ("[z-a]", "a range between `[` and `]` begins after its end"),
            (r"[a-\d]", "a range between `[` and `]` has to begin"),
            ("[a", "a `[` is not closed"),
            (r"\x{}", "the number of a character is missing"),
            (r"\x{110000}", "the number of a character is none"),
            (r"\xzz", "the number of a character has another sign"),
            ("a\\", "it ends with a backslash"),
            (r"\y", "this backslash means nothing before"),
            ("(?i-)", "no flag follows"),
            ("(?ii)", "a flag is given twice"),
            ("(?i-s-m)", "the flags have a second"),
            ("(?i", "it ends where a flag"),
            ("(?j)", "there is no such flag"),
            ("(?<a>.)(?<a>.)", "two groups have the same name"),
            ("(?<>.)", "the name of a group is empty"),
            ("(?<a!>.)", "the name of a group has a character"),
            ("(?<a", "the name of a group is not closed"),
            ("(a", "a `(` is not closed"),
            ("a)", "a `)` closes nothing"),
            ("a{2,1}", "a repetition has a least number"),
            ("a{", "a `{` is not closed"),
            ("a{}", "a number between `{` and `}` is missing"),
            ("*", "there is nothing to repeat"),
            (r"(a)\1", "it refers back to a group"),
            ("(?=a)", "it looks ahead"),
            (r"\p{Nope}", "there is no such class"),
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
