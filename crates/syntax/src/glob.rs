//! Names with wildcards, as people write them to choose environments and projects.
//!
//! SQLite's GLOB knows no `**` and no escapes; globset matches bytes, tells case apart for ASCII alone, and in it `**` beside letters
//! stops at `/`. All ways through a pattern are followed at once, so that no name makes it
//! go back.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The most letters of a pattern: GitLab's names of environments have no more.
const LETTERS_MAX: usize = 255;

/// The most stars of a pattern. Each may be under way at every letter of a name, so this bounds the work.
const STARS_MAX: usize = 8;

/// A pattern that has to match the whole of a name: `*` and `?` stand for any letters and one letter but `/`, `**`
/// for any letters, `**/` at the start of a part for any parts or none, `[a-z]` and `[!a]` for one letter of a set or
/// not of it, and `\` before a letter for that letter. Everything else means itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Glob {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Piece {
    Letter(char),
    One,
    Set {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
    /// Any letters of one part.
    InPart,
    /// Any letters.
    Any,
    /// Any whole parts, each with the `/` after it.
    Parts,
}

impl Piece {
    const fn is_star(&self) -> bool {
        matches!(self, Piece::InPart | Piece::Any | Piece::Parts)
    }

    /// Whether it takes a letter, be it among others.
    fn takes(&self, letter: char, same: Same) -> bool {
        match self {
            Piece::Letter(own) => same.are(*own, letter),
            Piece::One | Piece::InPart => letter != '/',
            Piece::Any | Piece::Parts => true,
            Piece::Set { ranges, negated } => {
                let within = |letter: char| ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter));
                letter != '/' && same.forms(letter).any(within) != *negated
            }
        }
    }
}

/// Which letters count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Same {
    Exactly,
    WithoutCase,
}

impl Same {
    fn are(self, one: char, other: char) -> bool {
        one == other || (self == Same::WithoutCase && one.to_lowercase().eq(other.to_lowercase()))
    }

    /// A letter in the forms that count as the same.
    fn forms(self, letter: char) -> impl Iterator<Item = char> {
        let others = (self == Same::WithoutCase).then(|| letter.to_lowercase().chain(letter.to_uppercase()));
        std::iter::once(letter).chain(others.into_iter().flatten())
    }
}

impl Glob {
    /// How a pattern is written that matches this name alone.
    pub fn literal(name: &str) -> String {
        let escaped = |letter: char| {
            matches!(letter, '*' | '?' | '[' | '\\').then_some('\\').into_iter().chain([letter])
        };
        name.chars().flat_map(escaped).collect()
    }

    /// The pattern that matches this name alone.
    pub fn exactly(name: &str) -> Self {
        Glob { text: Self::literal(name), pieces: name.chars().map(Piece::Letter).collect() }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it stands for other names than the one it says.
    pub fn is_wild(&self) -> bool {
        self.name().is_none()
    }

    /// The one name that it matches; none where it stands for several.
    pub fn name(&self) -> Option<String> {
        let letter = |piece: &Piece| if let Piece::Letter(letter) = piece { Some(*letter) } else { None };
        self.pieces.iter().map(letter).collect()
    }

    /// Whether it matches the whole of a name.
    pub fn matches(&self, name: &str) -> bool {
        self.run(name, Same::Exactly)
    }

    /// The same without regard to case, as GitLab compares paths.
    pub fn matches_path(&self, path: &str) -> bool {
        self.run(path, Same::WithoutCase)
    }

    /// Follows all ways through the pattern at once, so that no name makes it go back.
    fn run(&self, name: &str, same: Same) -> bool {
        let (mut now, mut next) = (Vec::new(), Vec::new());
        self.enter(Place { piece: 0, inside: false }, &mut now);
        for letter in name.chars() {
            for place in now.drain(..) {
                let Some(piece) = self.pieces.get(place.piece) else { continue };
                if !piece.takes(letter, same) {
                    continue;
                }
                match piece {
                    Piece::Parts => self.enter(Place { inside: letter != '/', ..place }, &mut next),
                    Piece::InPart | Piece::Any => self.enter(place, &mut next),
                    _ => self.enter(Place { piece: place.piece + 1, inside: false }, &mut next),
                }
            }
            if next.is_empty() {
                return false;
            }
            std::mem::swap(&mut now, &mut next);
        }
        now.iter().any(|place| place.piece == self.pieces.len())
    }

    /// Notes a place, and those that are reached from it without a letter.
    fn enter(&self, mut place: Place, places: &mut Vec<Place>) {
        loop {
            if places.contains(&place) {
                return;
            }
            places.push(place);
            match self.pieces.get(place.piece) {
                Some(piece) if piece.is_star() && !place.inside => place.piece += 1,
                _ => return,
            }
        }
    }
}

/// How far a way through a pattern has come; `inside` a part of which [`Piece::Parts`] has taken a beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    piece: usize,
    inside: bool,
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Glob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl FromStr for Glob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why: &str| format!("invalid name pattern `{text}`: {why}");
        let letters: Vec<char> = text.chars().collect();
        if letters.is_empty() || letters.len() > LETTERS_MAX {
            return Err(wrong(&format!("use 1 to {LETTERS_MAX} characters")));
        }
        let pieces = pieces(&letters).map_err(|why| wrong(&why))?;
        if pieces.iter().filter(|piece| piece.is_star()).count() > STARS_MAX {
            return Err(wrong(&format!("it has more than {STARS_MAX} `*`")));
        }
        Ok(Glob { text: text.to_owned(), pieces })
    }
}

fn pieces(mut rest: &[char]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    while let Some((letter, after)) = rest.split_first() {
        let begins_part = matches!(pieces.last(), None | Some(Piece::Letter('/') | Piece::Parts));
        let (piece, left) = match (letter, after) {
            ('*', ['*', '/', left @ ..]) if begins_part => (Piece::Parts, left),
            ('*', ['*', left @ ..]) => (Piece::Any, left),
            ('*', left) => (Piece::InPart, left),
            ('?', left) => (Piece::One, left),
            ('[', left) => set(left)?,
            ('\\', [letter, left @ ..]) => (Piece::Letter(*letter), left),
            ('\\', []) => return Err("nothing follows its `\\`".to_owned()),
            (letter, left) => (Piece::Letter(*letter), left),
        };
        // Stars beside each other say no more than the wider of them.
        match (pieces.last(), &piece) {
            (Some(last), same) if last == same && same.is_star() => {}
            (Some(Piece::Any), Piece::InPart) => {}
            (Some(Piece::InPart), Piece::Any) => {
                pieces.pop();
                pieces.push(piece);
            }
            _ => pieces.push(piece),
        }
        rest = left;
    }
    Ok(pieces)
}

/// Reads a set after its `[`; a `]` that comes first means itself.
fn set(rest: &[char]) -> Result<(Piece, &[char]), String> {
    let (negated, mut rest) = match rest {
        ['!' | '^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut ranges = Vec::new();
    loop {
        let (from, after) = match rest {
            [']', after @ ..] if !ranges.is_empty() => return Ok((Piece::Set { ranges, negated }, after)),
            ['\\', letter, after @ ..] => (*letter, after),
            [letter, after @ ..] => (*letter, after),
            [] => return Err("unclosed `[`".to_owned()),
        };
        let (to, after) = match after {
            ['-', '\\', to, after @ ..] => (*to, after),
            ['-', to, after @ ..] if *to != ']' => (*to, after),
            after => (from, after),
        };
        if to < from {
            return Err(format!("the range `{from}-{to}` is reversed"));
        }
        ranges.push((from, to));
        rest = after;
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_match_as_people_expect() {
        let cases = [
            ("production", "production", true),
            ("production", "Production", false),
            ("production", "production/eu", false),
            ("production/*", "production/eu-region", true),
            ("production/*", "production/eu/west", false),
            ("production/*", "production", false),
            ("review/**", "review/a/b", true),
            ("review/**", "review", false),
            ("**", "a/b/c", true),
            ("*", "a/b", false),
            ("**/eu", "eu", true),
            ("**/eu", "a/b/eu", true),
            ("**/eu", "a/b-eu", false),
            ("a/**/z", "a/z", true),
            ("a/**/z", "a/b/c/z", true),
            ("a/**/z", "ab/z", false),
            ("a**z", "a/b/z", true),
            ("us-?", "us-1", true),
            ("us-?", "us-", false),
            ("a?b", "a/b", false),
            ("v[0-9]", "v7", true),
            ("v[!0-9]", "v7", false),
            ("v[!0-9]", "vx", true),
            ("a[!x]b", "a/b", false),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            (r"\*", "*", true),
            (r"\*", "a", false),
            // Neither SQL's wildcards nor braces mean more than themselves.
            ("p%", "production", false),
            ("p%", "p%", true),
            ("producti_n", "production", false),
            ("{a,b}", "a", false),
            ("' OR 1=1 --", "' OR 1=1 --", true),
            ("é*", "élan", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(pattern.parse::<Glob>().unwrap().matches(name), expected, "{pattern} {name}");
        }
        let path: Glob = "Shop/[a-c]*".parse().unwrap();
        assert!(path.matches_path("shop/API") && !path.matches_path("shop/web") && !path.matches("shop/api"));
        assert!(path.is_wild() && !"shop/web".parse::<Glob>().unwrap().is_wild());
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_the_reason() {
        let long = "a".repeat(256);
        for (text, reason) in [
            ("", "use 1 to 255 characters"),
            (&*long, "use 1 to 255 characters"),
            ("a\\", "nothing follows its `\\`"),
            ("a[b", "unclosed `[`"),
            ("[]", "unclosed `[`"),
            ("[z-a]", "the range `z-a` is reversed"),
            ("*a*a*a*a*a*a*a*a*", "it has more than 8 `*`"),
        ] {
            let error = text.parse::<Glob>().unwrap_err();
            assert_eq!(error, format!("invalid name pattern `{text}`: {reason}"));
        }
    }

    /// The same rules, tried one after the other.
    fn slow(pieces: &[Piece], text: &[char]) -> bool {
        let Some((piece, rest)) = pieces.split_first() else { return text.is_empty() };
        let one = || text.first().is_some_and(|letter| piece.takes(*letter, Same::Exactly));
        match piece {
            Piece::Any => (0..=text.len()).any(|taken| slow(rest, &text[taken..])),
            Piece::InPart => {
                let end = text.iter().position(|letter| *letter == '/').unwrap_or(text.len());
                (0..=end).any(|taken| slow(rest, &text[taken..]))
            }
            Piece::Parts => {
                let after = (1..=text.len()).filter(|taken| text[taken - 1] == '/');
                std::iter::once(0).chain(after).any(|taken| slow(rest, &text[taken..]))
            }
            _ => one() && slow(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn all_ways_at_once_are_the_ways_one_by_one(pattern in r"[ab/*?\[\]!\\-]{1,8}", name in "[abc/-]{0,10}") {
            if let Ok(glob) = pattern.parse::<Glob>() {
                let letters: Vec<char> = name.chars().collect();
                prop_assert_eq!(glob.matches(&name), slow(&glob.pieces, &letters));
            }
        }

        #[test]
        fn a_name_written_with_escapes_matches_itself_alone(name in r"[ab/*?\[\]%_{}'\\-]{1,12}", other in "[ab/*%_]{1,12}") {
            let written: String = name.chars().flat_map(|letter| ['\\', letter]).collect();
            let glob: Glob = written.parse().unwrap();
            prop_assert_eq!(&glob.pieces, &Glob::literal(&name).parse::<Glob>().unwrap().pieces);
            prop_assert!(glob.matches(&name) && !glob.is_wild());
            prop_assert_eq!(glob.matches(&other), name == other);
        }
    }

    #[test]
    fn a_name_that_nearly_matches_costs_no_more_than_its_length() {
        let glob: Glob = "**a**a**a**a**a**a**a**b".parse().unwrap();
        // Tried one after the other, the ways through this would not end.
        assert!(!glob.matches(&"a".repeat(100_000)));
    }
}
