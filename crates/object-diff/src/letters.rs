//! Which parts of two lines differ, for people who read them one above the other or side by side.

use super::align::align;

/// Longer lines are compared by their ends only.
const ALIGNED_MAX: usize = 4 << 10;

/// Letters of a part that is the same, at each of its ends, and of one that differs; what lies between is left out.
const KEPT: (usize, usize) = (48, 160);

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What it says; long parts are cut in the middle.
    pub text: String,
    /// Whether the other line says something else there.
    pub changed: bool,
}

/// Both lines in parts. Whole words are compared, so that no digest is half the same; lines that have next to nothing
/// in common differ as a whole, which is not marked.
pub fn letters(before: &str, after: &str) -> (Vec<Span>, Vec<Span>) {
    let (one, other) = (words(before), words(after));
    let pairs = match before.len().max(after.len()) <= ALIGNED_MAX {
        true => align(&one, &other),
        false => ends(&one, &other),
    };
    let same: usize = pairs.iter().map(|(place, _)| one[*place]).filter(is_word).map(str::len).sum();
    if same == 0 || same * 5 < before.len().min(after.len()) {
        return (vec![whole(before)], vec![whole(after)]);
    }
    let (here, there): (Vec<usize>, Vec<usize>) = pairs.into_iter().unzip();
    (spans(&one, &here), spans(&other, &there))
}

/// A line of which nothing is marked.
pub fn whole(line: &str) -> Span {
    Span { text: cut(line, KEPT.1 * 2), changed: false }
}

/// Words, and what is between them letter by letter.
fn words(line: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    for (at, letter) in line.char_indices() {
        if letter.is_alphanumeric() {
            continue;
        }
        if start < at {
            words.push(&line[start..at]);
        }
        start = at + letter.len_utf8();
        words.push(&line[at..start]);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

fn is_word(text: &&str) -> bool {
    text.starts_with(char::is_alphanumeric)
}

/// What both begin and end with.
fn ends(one: &[&str], other: &[&str]) -> Vec<(usize, usize)> {
    let head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let tail = one[head..].iter().rev().zip(other[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let back = (0..tail).rev().map(|back| (one.len() - 1 - back, other.len() - 1 - back));
    (0..head).map(|place| (place, place)).chain(back).collect()
}

/// Words as parts; those at the places are the same on the other side.
fn spans(words: &[&str], same: &[usize]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut same = same.iter().copied().peekable();
    for (place, word) in words.iter().enumerate() {
        let changed = same.next_if_eq(&place).is_none();
        match spans.last_mut().filter(|last| last.changed == changed) {
            Some(last) => last.text.push_str(word),
            None => spans.push(Span { text: (*word).to_owned(), changed }),
        }
    }
    for span in &mut spans {
        span.text = cut(&span.text, 2 * if span.changed { KEPT.1 } else { KEPT.0 });
    }
    spans
}

/// A text with as many letters of its ends as are kept together.
fn cut(text: &str, kept: usize) -> String {
    let count = text.chars().count();
    if count <= kept + 1 {
        return text.to_owned();
    }
    let head: String = text.chars().take(kept / 2).collect();
    let tail: String = text.chars().skip(count - kept / 2).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Both lines with what differs in brackets.
    fn told(before: &str, after: &str) -> (String, String) {
        let told = |spans: Vec<Span>| -> String {
            let one = |span: Span| if span.changed { format!("[{}]", span.text) } else { span.text };
            spans.into_iter().map(one).collect()
        };
        let (before, after) = letters(before, after);
        (told(before), told(after))
    }

    #[test]
    fn words_that_differ_are_marked_and_what_has_nothing_in_common_is_not() {
        for (before, after, expected) in [
            (
                "example.com/web:2.33.0",
                "example.com/web:2.40.0",
                ("example.com/web:2.[33].0", "example.com/web:2.[40].0"),
            ),
            ("--level=info", "--level=info --dry", ("--level=info", "--level=info[ --dry]")),
            ("3", "5", ("3", "5")),
            ("redacted:5849b5", "redacted:e41860", ("redacted:[5849b5]", "redacted:[e41860]")),
            ("beb202fa", "beb10291", ("beb202fa", "beb10291")),
            ("", "x", ("", "x")),
        ] {
            assert_eq!(told(before, after), (expected.0.to_owned(), expected.1.to_owned()));
        }
    }

    #[test]
    fn long_lines_are_cut_where_they_are_the_same() {
        let long = "word ".repeat(100);
        let (before, _) = told(&format!("{long}a {long}"), &format!("{long}b {long}"));
        assert!(
            before.contains("[a]") && before.matches('…').count() == 2 && before.chars().count() < 220,
            "{before}"
        );
        let huge = "word ".repeat(100_000);
        let (before, after) = told(&format!("{huge}a {huge}"), &format!("{huge}b {huge}"));
        assert!(before.contains("[a]") && after.contains("[b]"), "{before}");
        assert!(told(&"é".repeat(900), "x").0.chars().count() <= 321);
    }

    proptest! {
        #[test]
        fn the_parts_of_short_lines_are_the_lines(before in "[ab :é]{0,30}", after in "[ab :é]{0,30}") {
            let (here, there) = letters(&before, &after);
            let text = |spans: Vec<Span>| spans.into_iter().map(|span| span.text).collect::<String>();
            prop_assert_eq!((text(here), text(there)), (before, after));
        }
    }
}
