//! What has one name here and another there.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

/// The most parts that are replaced.
const PAIRS_MAX: usize = 32;

/// The most steps in which two texts are held against each other; what takes more is told as a difference.
const WAYS_MAX: usize = 100_000;

/// The longest part.
const LETTERS_MAX: usize = 255;

/// Turns names of one environment into those of another by replacing parts of them: whole words, such as `staging` in
/// `web-staging-config` but not in `upstaging`, or with a `*` at an end of the part any letters there too. One part may stand
/// for several, as a name does that is also the slug; the first of them is what names are turned into.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NameMap {
    pairs: Vec<NamePair>,
}

/// One part and what stands for it elsewhere, written as `staging:production`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamePair {
    from: String,
    to: String,
    /// Whether letters may stand directly before it, and directly behind it.
    within: (bool, bool),
}

/// What a request says of names: parts that stand for each other, or that what differs by them is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameMapping {
    /// Written as `none`.
    None,
    /// One part for another.
    Pair(NamePair),
}

impl FromStr for NameMapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(NameMapping::None),
            text => text.parse().map(NameMapping::Pair),
        }
    }
}

impl fmt::Display for NameMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameMapping::None => f.write_str("none"),
            NameMapping::Pair(pair) => pair.fmt(f),
        }
    }
}

impl NameMap {
    /// A map by these parts; where two of them begin at the same letter, the longer is taken.
    pub fn new(pairs: impl IntoIterator<Item = NamePair>) -> Self {
        let mut kept: Vec<NamePair> = Vec::new();
        for pair in pairs {
            if kept.len() < PAIRS_MAX && pair.from != pair.to && !kept.contains(&pair) {
                kept.push(pair);
            }
        }
        kept.sort_by_key(|pair| std::cmp::Reverse(pair.from.len()));
        NameMap { pairs: kept }
    }

    /// Whether every name stays what it is.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The parts, as they are written.
    pub fn pairs(&self) -> impl Iterator<Item = String> {
        self.pairs.iter().map(ToString::to_string)
    }

    /// The name that a name has elsewhere.
    pub fn apply(&self, name: &str) -> String {
        let mut out = String::with_capacity(name.len());
        let (mut rest, mut last) = (name, None);
        while let Some(letter) = rest.chars().next() {
            let found = self.pairs.iter().find(|pair| pair.begins(rest, last));
            let (taken, written) = match found {
                Some(pair) => (pair.from.len(), pair.to.as_str()),
                None => (letter.len_utf8(), &rest[..letter.len_utf8()]),
            };
            out.push_str(written);
            last = rest[..taken].chars().next_back();
            rest = &rest[taken..];
        }
        out
    }

    /// Whether two texts are the same, or say the same but for names.
    pub(super) fn equates(&self, text: &str, other: &str) -> bool {
        if text == other || self.pairs.is_empty() {
            return text == other;
        }
        // Where the one is read up to, and the other; what is left of both has to be the same.
        let mut ways = vec![(0, 0)];
        for _ in 0..WAYS_MAX {
            let Some((one, two)) = ways.pop() else { return false };
            let (rest, left) = (&text[one..], &other[two..]);
            let Some(letter) = rest.chars().next() else {
                if left.is_empty() {
                    return true;
                }
                continue;
            };
            let last = text[..one].chars().next_back();
            let mut named = false;
            for pair in self.pairs.iter().rev().filter(|pair| pair.begins(rest, last)) {
                named = true;
                if left.starts_with(&pair.to) {
                    ways.push((one + pair.from.len(), two + pair.to.len()));
                }
            }
            if !named && left.starts_with(letter) {
                ways.push((one + letter.len_utf8(), two + letter.len_utf8()));
            }
        }
        false
    }

    /// An object with all of its texts as they would be elsewhere; names of members stay.
    pub(super) fn applied(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.apply(text)),
            Value::Array(items) => items.iter().map(|item| self.applied(item)).collect(),
            Value::Object(members) => Value::Object(
                members.iter().map(|(name, value)| (name.clone(), self.applied(value))).collect(),
            ),
            other => other.clone(),
        }
    }
}

impl NamePair {
    /// One whole word for another; none where there is no word to be replaced.
    pub fn words(from: &str, to: &str) -> Option<Self> {
        let usable = (1..=LETTERS_MAX).contains(&from.len()) && to.len() <= LETTERS_MAX;
        usable.then(|| NamePair { from: from.to_owned(), to: to.to_owned(), within: (false, false) })
    }

    fn begins(&self, rest: &str, last: Option<char>) -> bool {
        let Some(after) = rest.strip_prefix(self.from.as_str()) else { return false };
        let parted = |edge: Option<char>| !edge.is_some_and(char::is_alphanumeric);
        (self.within.0 || parted(last)) && (self.within.1 || parted(after.chars().next()))
    }
}

impl fmt::Display for NamePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = |within: bool| if within { "*" } else { "" };
        let (before, after) = (star(self.within.0), star(self.within.1));
        write!(f, "{before}{}{after}:{before}{}{after}", self.from, self.to)
    }
}

impl FromStr for NamePair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why: &str| {
            format!("invalid name mapping `{text}`: {why}; write staging:production or *stg:*prd")
        };
        let (from, to) = text.split_once(':').ok_or_else(|| wrong("it has no `:`"))?;
        let within = (from.len() > 1 && from.starts_with('*'), from.len() > 1 && from.ends_with('*'));
        if within != (to.len() > 1 && to.starts_with('*'), to.len() > 1 && to.ends_with('*')) {
            return Err(wrong("both sides need `*` at the same ends"));
        }
        let bare = |side: &str| side.trim_matches('*').to_owned();
        let (from, to) = (bare(from), bare(to));
        if from.is_empty() || from.contains(['*', ':']) || to.contains(['*', ':']) {
            return Err(wrong("the part before `:` is empty, or `*` is not at an end"));
        }
        if from.len().max(to.len()) > LETTERS_MAX {
            return Err(wrong(&format!("a part is longer than {LETTERS_MAX} characters")));
        }
        Ok(NamePair { from, to, within })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map(pairs: &[&str]) -> NameMap {
        NameMap::new(pairs.iter().map(|pair| pair.parse().unwrap()))
    }

    #[test]
    fn whole_words_are_replaced_and_the_longest_first() {
        let cases: &[(&[&str], &str, &str)] = &[
            (&["staging:production"], "web-staging-config", "web-production-config"),
            (&["staging:production"], "staging", "production"),
            (&["staging:production"], "staging.staging", "production.production"),
            (&["staging:production"], "upstaging", "upstaging"),
            (&["staging:production"], "stagings", "stagings"),
            (&["eu:us"], "queue-eu-1", "queue-us-1"),
            (&["*stg:*prd"], "shopstg-1", "shopprd-1"),
            (&["*stg*:*prd*"], "astgb", "aprdb"),
            (&["shop:store", "shop-staging:store"], "shop-staging-1 shop", "store-1 store"),
            (&["a:b", "b:a"], "a-b", "b-a"),
            (&["web:"], "web-1", "-1"),
            (&["é:e"], "x-é-y", "x-e-y"),
            (&[], "web", "web"),
        ];
        for (pairs, name, expected) in cases {
            assert_eq!(map(pairs).apply(name), *expected, "{pairs:?}");
        }
    }

    #[test]
    fn texts_are_the_same_but_for_any_of_the_names() {
        let names =
            &["staging:production/eu", "staging:production-eu-x1y2z3", "shop-staging:shop-production"];
        let cases = [
            ("staging", "production/eu", true),
            ("staging", "production-eu-x1y2z3", true),
            ("env: staging, slug: staging", "env: production/eu, slug: production-eu-x1y2z3", true),
            ("shop-staging.svc", "shop-production.svc", true),
            ("letsencrypt-staging", "letsencrypt-staging", true),
            ("staging/staging", "staging/production/eu", false),
            ("staging", "production", false),
            ("upstaging", "upproduction/eu", false),
            ("", "x", false),
        ];
        for (text, other, expected) in cases {
            assert_eq!(map(names).equates(text, other), expected, "{text} and {other}");
        }
        assert!(map(&[]).equates("a", "a") && !map(&[]).equates("a", "b"));
    }

    #[test]
    fn what_maps_nothing_is_refused() {
        for text in ["", "a", ":", ":b", "*:b", "*a:b", "a*:b", "a:b*", "a:b:c", "a*b:c", "**:**"] {
            let refused = text.parse::<NamePair>().unwrap_err();
            assert!(refused.starts_with(&format!("invalid name mapping `{text}`")), "{refused}");
        }
        for text in ["a:b", "*a:*b", "a*:b*", "*a*:*b*", "a-b.c/d:x", "none"] {
            assert_eq!(text.parse::<NameMapping>().unwrap().to_string(), text);
        }
        assert!(map(&["a:a"]).is_empty(), "what stays is no part");
    }

    proptest! {
        #[test]
        fn any_name_is_mapped(text in ".{0,40}", from in "[a-cé-]{1,3}", to in "[a-c]{0,3}") {
            let map = NameMap::new(NamePair::words(&from, &to));
            let mapped = map.apply(&text);
            prop_assert!(map.equates(&text, &mapped), "{:?} {:?}", text, mapped);
            if !text.contains(&from) {
                prop_assert_eq!(mapped, text);
            }
        }
    }
}
