//! Values that are too long for a line, cut where that says least.

/// Letters of what two values share that stay before what differs, at most.
const SHARED_MAX: usize = 24;

/// A text in so many letters: its middle gives way, since both ends of names, paths and digests tell more.
pub fn cut(text: &str, letters: usize) -> String {
    let count = text.chars().count();
    if count <= letters {
        return text.to_owned();
    }
    let kept = letters.saturating_sub(1);
    let tail = kept / 3;
    let head: String = text.chars().take(kept - tail).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head}…{end}")
}

/// Two texts in so many letters each. What both begin with gives way first, so that what differs is always seen.
pub(super) fn cut_pair(before: &str, after: &str, letters: usize) -> (String, String) {
    let (one, other): (Vec<char>, Vec<char>) = (before.chars().collect(), after.chars().collect());
    if one.len().max(other.len()) <= letters {
        return (before.to_owned(), after.to_owned());
    }
    let shared = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    let from = shown_from(&one[..shared], one.len().max(other.len()), letters);
    let part = |text: &[char]| {
        let rest: String = text[from..].iter().collect();
        match from {
            0 => cut(&rest, letters),
            _ => format!("…{}", cut(&rest, letters.saturating_sub(1))),
        }
    };
    (part(&one), part(&other))
}

/// Where two texts that begin alike, the longer of so many letters, are shown from: a word or two before what differs, where
/// there is room for that.
fn shown_from(shared: &[char], length: usize, letters: usize) -> usize {
    let fits = (length + 1).saturating_sub(letters).max(shared.len().saturating_sub(SHARED_MAX));
    let word = |place: &usize| {
        shared[*place].is_alphanumeric()
            && place.checked_sub(1).is_none_or(|last| !shared[last].is_alphanumeric())
    };
    let from = (fits..shared.len()).find(word).unwrap_or(shared.len().saturating_sub(letters / 3));
    if from > 1 { from } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_differs_is_seen_and_what_is_shared_gives_way() {
        let image = |name: &str| format!("registry.example.com/platform/notifications/notifications:{name}");
        let cases = [
            (image("2.4.0"), image("2.5.0"), 40, "…notifications:2.4.0", "…notifications:2.5.0"),
            (image("2.4.0"), image("2.5.0"), 80, &image("2.4.0"), &image("2.5.0")),
            ("a".repeat(50), "b".repeat(50), 10, "aaaaaa…aaa", "bbbbbb…bbb"),
            ("x".repeat(50), format!("{}y", "x".repeat(50)), 9, "…xxx", "…xxxy"),
            ("1".into(), "2".repeat(20), 7, "1", "2222…22"),
            ("äöü".repeat(20), format!("{}é", "äöü".repeat(20)), 12, "…üäöü", "…üäöüé"),
        ];
        for (before, after, letters, one, other) in cases {
            assert_eq!(cut_pair(&before, &after, letters), (one.into(), other.into()), "{before} {letters}");
        }
    }

    #[test]
    fn a_long_text_keeps_both_ends() {
        assert_eq!(cut("sha256:0123456789abcdef", 12), "sha256:0…def");
        assert_eq!(
            (cut("short", 5), cut("short", 4), cut("short", 0)),
            ("short".into(), "sh…t".into(), "…".into())
        );
    }

    proptest! {
        #[test]
        fn two_that_differ_never_look_the_same(head in "[a-c/:.é]{0,60}", one in "[a-c]{1,4}", other in "[d-f]{1,4}", letters in 8usize..70) {
            let (before, after) = cut_pair(&format!("{head}{one}"), &format!("{head}{other}"), letters);
            prop_assert_ne!(&before, &after);
            prop_assert!(before.chars().count().max(after.chars().count()) <= letters);
        }
    }
}
