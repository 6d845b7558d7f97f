//! What somebody types to find something, and how near a name is to it.

use std::fmt;
use std::str::FromStr;

use memchr::memmem;
use serde::Serialize;

use strandline_protocol::SearchMatch;

/// The most bytes of a search, and the most words.
const BYTES_MAX: usize = 200;
const WORDS_MAX: usize = 8;

/// A word of fewer characters is found where a name, or a part of it, begins with it: in the midst of names it is nearly
/// everywhere.
const SUBSTRING_CHARS_MIN: usize = 3;

/// Words, all of which what is found has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchTerms(Vec<String>);

impl FromStr for SearchTerms {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > BYTES_MAX {
            return Err(format!("has {} bytes; search for at most {BYTES_MAX}", text.len()));
        }
        let words: Vec<String> = text
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        match words.len() {
            0 => Err("holds no word; search for a part of a name".to_owned()),
            1..=WORDS_MAX => Ok(SearchTerms(words)),
            number => Err(format!("has {number} words; search for at most {WORDS_MAX}")),
        }
    }
}

impl fmt::Display for SearchTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

impl SearchTerms {
    pub(super) fn finder(&self) -> Finder<'_> {
        Finder::of(self.0.iter().map(String::as_str))
    }
}

/// A part of a name that somebody may have meant: what has digits was made up by a controller.
pub(super) fn parts(name: &str) -> impl Iterator<Item = &str> {
    const CHARS_MIN: usize = 3;
    let parts = name.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| part.chars().count() >= CHARS_MIN && part.chars().all(char::is_alphabetic))
}

/// Words that are looked for.
pub(super) struct Finder<'t>(Vec<Term<'t>>);

impl<'t> Finder<'t> {
    pub(super) fn of(words: impl Iterator<Item = &'t str>) -> Self {
        Finder(words.map(Term::new).collect())
    }

    /// The same for what is never named with a slash: a word with slashes is one for each part, as in `deploy/api`.
    pub(super) fn parted(&self) -> Finder<'t> {
        let parts = self.0.iter().flat_map(|term| term.text.split('/')).filter(|part| !part.is_empty());
        Finder::of(parts)
    }

    pub(super) fn terms(&self) -> &[Term<'t>] {
        &self.0
    }

    /// How near something is by the names that it has, each of the words being in one of them; none where one is not.
    pub(super) fn nearness(&self, names: &[&str]) -> Option<SearchMatch> {
        let best = |term: &Term<'_>| names.iter().filter_map(|name| term.nearness_of_path(name)).min();
        self.0.iter().map(best).try_fold(SearchMatch::Exact, |worst, near| Some(worst.max(near?)))
    }
}

/// Adds a name in lower case.
pub(super) fn push_lower(buffer: &mut String, name: &str) {
    if name.is_ascii() {
        buffer.push_str(name);
        let from = buffer.len() - name.len();
        if let Some(added) = buffer.get_mut(from..) {
            added.make_ascii_lowercase();
        }
    } else {
        buffer.extend(name.chars().flat_map(char::to_lowercase));
    }
}

/// Whether what stands here begins a part of a name.
fn begins_word(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_some_and(|before| !before.is_alphanumeric())
}

/// One word, in lower case.
pub(super) struct Term<'t> {
    pub(super) text: &'t str,
    finder: memmem::Finder<'t>,
    is_short: bool,
}

impl<'t> Term<'t> {
    fn new(text: &'t str) -> Self {
        let is_short = text.chars().nth(SUBSTRING_CHARS_MIN - 1).is_none();
        Term { text, finder: memmem::Finder::new(text.as_bytes()), is_short }
    }

    /// Where it is in lines, one after the other.
    pub(super) fn places<'l>(&'l self, lines: &'l str) -> impl Iterator<Item = usize> + 'l {
        self.finder.find_iter(lines.as_bytes())
    }

    /// Whether a name can be near for holding it here, which of a short word most places are not.
    pub(super) fn may_match_at(&self, lines: &str, at: usize) -> bool {
        !self.is_short || begins_word(lines, at)
    }

    /// How near a name in lower case is to it.
    pub(super) fn nearness(&self, name: &str) -> Option<SearchMatch> {
        let first = self.finder.find(name.as_bytes())?;
        if first == 0 {
            let is_all = name.len() == self.text.len();
            return Some(if is_all { SearchMatch::Exact } else { SearchMatch::Prefix });
        }
        if begins_word(name, first) || name.match_indices(self.text).any(|(at, _)| begins_word(name, at)) {
            return Some(SearchMatch::Word);
        }
        (!self.is_short).then_some(SearchMatch::Substring)
    }

    /// The same of a path, the last part of which is a name as well.
    pub(super) fn nearness_of_path(&self, path: &str) -> Option<SearchMatch> {
        let whole = self.nearness(path)?;
        let last = path.rsplit_once('/').and_then(|(_, last)| self.nearness(last));
        Some(last.map_or(whole, |last| last.min(whole)))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use SearchMatch::{Exact, Prefix, Substring, Word};

    #[test]
    fn a_name_is_near_by_where_it_holds_the_word() {
        let cases = [
            ("api", "api", Some(Exact)),
            ("api", "api-7f9c", Some(Prefix)),
            ("api", "payments-api-7f9c", Some(Word)),
            ("api", "rapid-api", Some(Word)),
            ("api", "rapid", Some(Substring)),
            ("api", "payments", None),
            ("ap", "rapid", None),
            ("ap", "my-api", Some(Word)),
            ("pi", "api-pi", Some(Word)),
            ("é", "café", None),
            ("7f9c", "api-7f9c", Some(Word)),
        ];
        for (word, name, expected) in cases {
            assert_eq!(Term::new(word).nearness(name), expected, "{word} in {name}");
        }
        assert_eq!(Term::new("api").nearness_of_path("payments/api"), Some(Exact));
        assert_eq!(Term::new("payments").nearness_of_path("payments/api"), Some(Prefix));
        assert_eq!(Term::new("payments/api").nearness_of_path("payments/api"), Some(Exact));
    }

    #[test]
    fn each_word_is_in_one_of_the_names_and_the_farthest_decides() {
        let terms: SearchTerms = "Payments prod".parse().unwrap();
        let finder = terms.finder();
        assert_eq!(finder.nearness(&["payments/api", "production"]), Some(Prefix));
        assert_eq!(finder.nearness(&["payments/api", "staging"]), None);
    }

    proptest! {
        #[test]
        fn a_name_is_near_where_a_line_with_it_may_match(name in "[abé1_.-]{1,12}", word in "[abé1_.-]{1,4}") {
            let (term, line) = (Term::new(&word), format!("o\t{name}\n"));
            let matches = term.places(&line).any(|at| term.may_match_at(&line, at));
            prop_assert_eq!(matches, term.nearness(&name).is_some());
        }
    }

    #[test]
    fn what_cannot_be_searched_for_is_refused_with_the_reason() {
        let refused = |text: &str| text.parse::<SearchTerms>().unwrap_err();
        assert_eq!(refused(" \t\u{0}"), "holds no word; search for a part of a name");
        assert_eq!(refused("a b c d e f g h i"), "has 9 words; search for at most 8");
        assert_eq!(refused(&"a".repeat(201)), "has 201 bytes; search for at most 200");
        assert_eq!("  API\tdeploy/web ".parse::<SearchTerms>().unwrap().to_string(), "api deploy/web");
    }
}
