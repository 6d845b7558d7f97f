//! What somebody types to find something, and how near a name is to it.

use std::fmt;
use std::str::FromStr;

use memchr::{memmem, memrchr};
use serde::Serialize;

use strandline_protocol::SearchMatch;
use strandline_syntax::{fold_case, fold_letter};

/// The most bytes of a search, and the most words.
const BYTES_MAX: usize = 200;
pub(super) const WORDS_MAX: usize = 8;

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
            .map(fold_case)
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

/// The parts of a name that somebody may have meant.
pub(super) fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|part| may_be_meant(part))
}

/// Those of them that begin so.
pub(super) fn parts_beginning<'n>(name: &'n str, beginning: &str) -> impl Iterator<Item = &'n str> {
    let begins = name.match_indices(beginning).filter(|(at, _)| *at == 0 || begins_word(name, *at));
    let parts = begins.map(|(at, _)| {
        let rest = &name[at..];
        &rest[..rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())]
    });
    parts.filter(|part| may_be_meant(part))
}

/// What has digits was made up by a controller.
fn may_be_meant(part: &str) -> bool {
    const CHARS_MIN: usize = 3;
    part.chars().count() >= CHARS_MIN && part.chars().all(char::is_alphabetic)
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

/// A name in lower case, made in a place that is used again where it is not there already.
pub(super) fn lower<'b>(buffer: &'b mut String, name: &'b str) -> &'b str {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return name;
    }
    buffer.clear();
    buffer.extend(name.chars().flat_map(fold_letter));
    buffer
}

/// Whether what stands here begins a part of a name.
fn begins_word(text: &str, at: usize) -> bool {
    match text.as_bytes()[..at].last() {
        Some(before) if before.is_ascii() => !before.is_ascii_alphanumeric(),
        _ => text[..at].chars().next_back().is_some_and(|before| !before.is_alphanumeric()),
    }
}

/// Which of the places where lines hold a word are looked at.
///
/// What is nearer than [`SearchMatch::Word`] has one of the words where it begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    /// Where names begin.
    Names,
    /// The same, and the last parts of paths.
    Paths,
    /// The same, and tags and digests.
    Images,
    /// All.
    All,
}

impl Places {
    /// How many of [`BEFORE_NAMES`] come before such places.
    const fn befores(self) -> usize {
        match self {
            Places::Names => 1,
            Places::Paths => 2,
            Places::Images => BEFORE_NAMES.len(),
            Places::All => 0,
        }
    }
}

/// What comes before a name in a line, and before the parts by which it may be called as well.
const BEFORE_NAMES: [&str; 4] = ["\t", "/", ":", "@"];

/// One word, in lower case.
pub(super) struct Term<'t> {
    pub(super) text: &'t str,
    finder: memmem::Finder<'t>,
    /// The same behind each of [`BEFORE_NAMES`].
    beginnings: [memmem::Finder<'static>; BEFORE_NAMES.len()],
    is_short: bool,
}

impl<'t> Term<'t> {
    fn new(text: &'t str) -> Self {
        let is_short = text.chars().nth(SUBSTRING_CHARS_MIN - 1).is_none();
        let beginning = |before| memmem::Finder::new(&format!("{before}{text}")).into_owned();
        let beginnings = BEFORE_NAMES.map(beginning);
        Term { text, finder: memmem::Finder::new(text.as_bytes()), beginnings, is_short }
    }

    /// Where it is in lines at such places, if a name can be near for holding it there: most places of a short word are in the
    /// midst of others. In their order, behind each of [`BEFORE_NAMES`] by itself.
    pub(super) fn places<'l>(&'l self, lines: &'l str, places: Places) -> impl Iterator<Item = usize> + 'l {
        let anywhere = (places == Places::All).then(|| self.finder.find_iter(lines.as_bytes()));
        let anywhere = anywhere.into_iter().flatten();
        let anywhere = anywhere.filter(|at| !self.is_short || begins_word(lines, *at));
        let beginnings = self.beginnings.iter().take(places.befores());
        // Each of those before is one byte.
        let beginnings =
            beginnings.flat_map(|beginning| beginning.find_iter(lines.as_bytes()).map(|at| at + 1));
        anywhere.chain(beginnings)
    }

    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Whether it is anywhere in a text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.finder.find(text.as_bytes()).is_some()
    }

    /// How near a name in lower case is to it.
    pub(super) fn nearness(&self, name: &str) -> Option<SearchMatch> {
        let mut places = self.finder.find_iter(name.as_bytes());
        let first = places.next()?;
        if first == 0 {
            let is_all = name.len() == self.text.len();
            return Some(if is_all { SearchMatch::Exact } else { SearchMatch::Prefix });
        }
        if begins_word(name, first) || places.any(|at| begins_word(name, at)) {
            return Some(SearchMatch::Word);
        }
        (!self.is_short).then_some(SearchMatch::Substring)
    }

    /// The same of what has to begin with it.
    pub(super) fn nearness_of_beginning(&self, name: &str) -> Option<SearchMatch> {
        let rest = name.strip_prefix(self.text)?;
        Some(if rest.is_empty() { SearchMatch::Exact } else { SearchMatch::Prefix })
    }

    /// The same of a path, the last part of which is a name as well.
    pub(super) fn nearness_of_path(&self, path: &str) -> Option<SearchMatch> {
        let whole = self.nearness(path)?;
        if whole == SearchMatch::Exact {
            return Some(whole);
        }
        let last = memrchr(b'/', path.as_bytes()).and_then(|end| self.nearness(&path[end + 1..]));
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
            let matches = |places| term.places(&line, places).next().is_some();
            prop_assert_eq!(matches(Places::All), term.nearness(&name).is_some());
            let begins = term.nearness(&name).is_some_and(|nearness| nearness <= Prefix);
            prop_assert_eq!(matches(Places::Names), begins);
        }

        #[test]
        fn parts_that_begin_so_are_those_of_all(name in "[abé1_.-]{0,12}", beginning in "[abé]{1,3}") {
            let all: Vec<&str> = parts(&name).filter(|part| part.starts_with(&beginning)).collect();
            prop_assert_eq!(parts_beginning(&name, &beginning).collect::<Vec<_>>(), all);
        }

        #[test]
        fn what_is_near_by_its_beginning_may_match_at_one(path in "[ab1_.:@/-]{1,12}", word in "[ab1_.-]{1,4}") {
            let (term, line) = (Term::new(&word), format!("o\t{path}\n"));
            let is_near = term.nearness_of_path(&path).is_some_and(|nearness| nearness <= Prefix);
            prop_assert!(!is_near || term.places(&line, Places::Paths).next().is_some());
        }
    }

    #[test]
    fn a_letter_with_two_small_forms_is_found_by_both() {
        let name = super::lower(&mut String::new(), "ΟΔΟΣ-7").to_owned();
        for greek in ["ΟΔΟΣ", "οδος", "οδοσ"] {
            let terms: SearchTerms = greek.parse().unwrap();
            assert!(terms.finder().nearness(&[&name]).is_some(), "{greek}");
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
