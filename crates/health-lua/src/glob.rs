//! Names with wildcards, as Argo CD reads them.
//!
//! globset would match most of them, but it matches bytes, where `?` is a letter here, and reports neither how many letters a pattern
//! says outright, by which the more precise of two is chosen, nor refuses one that stands for very many.

/// How many patterns the braces of one may expand to.
const ALTERNATIVES_MAX: usize = 64;

/// A pattern: `*` and `?`, sets such as `[a-z]` and `[!a]`, alternatives such as `{a,b}`, `\` before what means
/// itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    alternatives: Vec<Vec<Piece>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    /// Any letters.
    Any,
    /// Any letters but `/`.
    AnyOfName,
    One,
    Set {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

/// Whether a key has wildcards.
pub(super) fn is_glob(key: &str) -> bool {
    key.contains(['*', '?', '[', '{', '\\'])
}

impl Glob {
    /// Reads the key of a customization, in which `*` reaches over `/`.
    ///
    /// # Errors
    /// What is wrong with it, in a few words.
    pub(super) fn of_key(key: &str) -> Result<Glob, String> {
        let texts = expanded(&key.chars().collect::<Vec<_>>())?;
        let alternatives = texts.iter().map(|text| pieces(text)).collect::<Result<_, _>>()?;
        Ok(Glob { alternatives })
    }

    /// Reads the name of a folder, in which `_` matches any part of one name.
    pub(super) fn of_folder(path: &str) -> Glob {
        let piece = |letter| if letter == '_' { Piece::AnyOfName } else { Piece::Letter(letter) };
        Glob { alternatives: vec![path.chars().map(piece).collect()] }
    }

    /// Whether a text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        let letters: Vec<char> = text.chars().collect();
        self.alternatives.iter().any(|pieces| matches(pieces, &letters))
    }

    /// How many letters it says outright: of two patterns the one that says more is meant more precisely.
    pub(super) fn letters(&self) -> usize {
        let said =
            |pieces: &Vec<Piece>| pieces.iter().filter(|piece| matches!(piece, Piece::Letter(_))).count();
        self.alternatives.iter().map(said).min().unwrap_or(0)
    }
}

/// Walks text and pattern once, and on a mismatch lets the last star take one letter more.
fn matches(pieces: &[Piece], text: &[char]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let letter = text.get(read).copied();
        match pieces.get(at) {
            Some(Piece::Any | Piece::AnyOfName) => {
                star = Some((at, read));
                at += 1;
                continue;
            }
            None if letter.is_none() => return true,
            Some(piece) if letter.is_some_and(|letter| is_one(piece, letter)) => {
                (at, read) = (at + 1, read + 1);
                continue;
            }
            _ => {}
        }
        let Some((place, taken)) = star else { return false };
        match (text.get(taken), pieces.get(place)) {
            (None, _) | (Some('/'), Some(Piece::AnyOfName)) => return false,
            _ => (at, read, star) = (place + 1, taken + 1, Some((place, taken + 1))),
        }
    }
}

fn is_one(piece: &Piece, letter: char) -> bool {
    match piece {
        Piece::Letter(own) => *own == letter,
        Piece::One => true,
        Piece::Set { ranges, negated } => {
            ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)) != *negated
        }
        Piece::Any | Piece::AnyOfName => false,
    }
}

/// The pattern without braces: all texts that they expand to.
fn expanded(text: &[char]) -> Result<Vec<Vec<char>>, String> {
    let mut done = Vec::new();
    let mut open = vec![text.to_vec()];
    while let Some(text) = open.pop() {
        if open.len() + done.len() >= ALTERNATIVES_MAX {
            return Err(format!("it expands to more than {ALTERNATIVES_MAX} patterns"));
        }
        let Some(start) = unescaped(&text, 0, '{') else {
            done.push(text);
            continue;
        };
        let end = unescaped(&text, start, '}').ok_or("unclosed `{`")?;
        // The innermost braces first.
        let start = (start..end).rev().find(|at| text.get(*at) == Some(&'{')).unwrap_or(start);
        let (before, after) =
            (text.get(..start).unwrap_or_default(), text.get(end + 1..).unwrap_or_default());
        let inner = text.get(start + 1..end).unwrap_or_default();
        open.extend(inner.split(|letter| *letter == ',').map(|choice| [before, choice, after].concat()));
    }
    Ok(done)
}

/// Where a letter is that means more than itself.
fn unescaped(text: &[char], from: usize, wanted: char) -> Option<usize> {
    let mut at = from;
    while let Some(letter) = text.get(at) {
        if *letter == wanted {
            return Some(at);
        }
        at += if *letter == '\\' { 2 } else { 1 };
    }
    None
}

fn pieces(text: &[char]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::with_capacity(text.len());
    let mut letters = text.iter().copied().peekable();
    while let Some(letter) = letters.next() {
        pieces.push(match letter {
            '*' => Piece::Any,
            '?' => Piece::One,
            '[' => set(&mut letters)?,
            '\\' => Piece::Letter(letters.next().ok_or("nothing follows its `\\`")?),
            letter => Piece::Letter(letter),
        });
    }
    Ok(pieces)
}

fn set(letters: &mut std::iter::Peekable<impl Iterator<Item = char>>) -> Result<Piece, String> {
    let negated = letters.next_if(|letter| matches!(letter, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        let from = letters.next().ok_or("unclosed `[`")?;
        if from == ']' {
            return Ok(Piece::Set { ranges, negated });
        }
        let to = match letters.next_if_eq(&'-') {
            Some(_) => letters.next().ok_or("unclosed `[`")?,
            None => from,
        };
        ranges.push((from, to));
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_reach_over_groups_and_kinds() {
        for (key, text, found) in [
            ("*/*", "apps/Deployment", true),
            ("*/*", "Pod", false),
            ("*", "apps/Deployment", true),
            ("*.crossplane.io/*", "rds.aws.crossplane.io/Instance", true),
            ("*.crossplane.io/*", "crossplane.io/Instance", false),
            ("apps/*Set", "apps/StatefulSet", true),
            ("apps/*Set", "apps/StatefulSets", false),
            ("a?c/[A-C]*", "abc/Cat", true),
            ("a?c/[!A-C]*", "abc/Cat", false),
            ("{a,b{c,d}}/K", "bd/K", true),
            ("{a,b{c,d}}/K", "bcd/K", false),
            ("a\\*/K", "a*/K", true),
            ("a\\*/K", "ab/K", false),
        ] {
            assert_eq!(Glob::of_key(key).unwrap().matches(text), found, "{key} and {text}");
        }
    }

    #[test]
    fn underscores_of_folders_stay_within_a_name() {
        for (path, text, found) in [
            ("_.crossplane.io/_", "rds.aws.crossplane.io/Instance", true),
            ("_.crossplane.io/_", "crossplane.io/Instance", false),
            ("_/Thing", "a.b/Thing", true),
            ("_", "Pod", true),
            ("_", "apps/Deployment", false),
            ("_/_", "Pod", false),
        ] {
            assert_eq!(Glob::of_folder(path).matches(text), found, "{path} and {text}");
        }
    }

    #[test]
    fn patterns_that_make_no_sense_are_told() {
        for key in ["[a", "{a", "a\\", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"] {
            assert!(Glob::of_key(key).is_err(), "{key}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let glob = Glob::of_key(&"*a".repeat(500)).unwrap();
        assert!(!glob.matches(&"a".repeat(400)));
        assert!(!glob.matches(&format!("{}b", "a".repeat(2000))));
    }

    proptest! {
        #[test]
        fn a_text_is_its_own_pattern_and_stars_cover_any_part(text in "[a-z./]{0,12}", at in 0_usize..12) {
            prop_assert!(Glob::of_key(&text).unwrap().matches(&text));
            let at = at.min(text.len());
            let starred = format!("{}*{}", &text[..at], &text[(at + 2).min(text.len())..]);
            prop_assert!(Glob::of_key(&starred).unwrap().matches(&text));
        }

        #[test]
        fn any_key_is_read_or_refused(key in "\\PC{0,20}", text in "\\PC{0,20}") {
            if let Ok(glob) = Glob::of_key(&key) {
                glob.matches(&text);
            }
        }
    }
}
