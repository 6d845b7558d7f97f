//! Text that clusters wrote, made fit to be shown.

use std::borrow::Cow;

use strandline_model::Timestamp;

/// The text with everything visible that would not be: control characters, terminal escapes, and characters
/// that turn the direction of writing and could make one name look like another.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let show = |c: char| if is_hidden(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(show).collect())
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A moment to the second, as people read it.
pub fn clock_time(time: Timestamp) -> String {
    let text = time.to_string();
    match text.get(..19) {
        Some(seconds) if text.as_bytes().get(10) == Some(&b'T') => seconds.replacen('T', " ", 1) + " UTC",
        _ => text,
    }
}

/// The time of day of a moment, as people read it: `20:14:03 UTC`.
pub fn time_of_day(time: Timestamp) -> String {
    let text = clock_time(time);
    text.split_once(' ').map(|(_, time)| time.to_owned()).unwrap_or(text)
}

/// A number with commas between its thousands: `38,368`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size as people read it, in powers of ten: `13.2 MB`.
pub fn in_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64;
    let mut unit = "B";
    for larger in UNITS {
        // What would be shown as 1000.0 belongs to the next unit.
        if size < 999.95 {
            break;
        }
        (size, unit) = (size / 1000.0, larger);
    }
    format!("{size:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::NOON;

    #[test]
    fn nothing_stays_hidden() {
        assert_eq!(visible("web-1 é 😀"), "web-1 é 😀");
        assert_eq!(visible("\u{1b}[31mred\n"), "\\u{1b}[31mred\\n");
        assert_eq!(visible("evil\u{202e}gpj"), "evil\\u{202e}gpj");
        assert_eq!(visible("\u{9b}31m\u{200b}"), "\\u{9b}31m\\u{200b}");
    }

    #[test]
    fn moments_and_numbers_are_easy_to_read() {
        assert_eq!(clock_time(NOON), "2026-11-20 12:00:00 UTC");
        assert!(!clock_time(Timestamp::from_micros(i64::MIN)).is_empty());
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped).join(" "), "0 999 1,000 1,234,567");
        assert_eq!(
            [0, 999, 1000, 13_240_000, 999_960, u64::MAX].map(in_bytes).join(", "),
            "0 B, 999 B, 1.0 kB, 13.2 MB, 1.0 MB, 18446.7 PB"
        );
    }
}
