//! Texts without their case, as names are compared that people type.

/// A letter without its case. Greek has two small letters for one capital, of which one stands at the end of words alone.
pub fn fold_letter(letter: char) -> impl Iterator<Item = char> {
    letter.to_lowercase().map(|letter| if letter == 'ς' { 'σ' } else { letter })
}

/// A text without its case, letter by letter, so that a part of it is the same by itself.
pub fn fold_case(text: &str) -> String {
    text.chars().flat_map(fold_letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_in_whatever_case_it_is_written() {
        for (one, other) in [("Shop/WEB", "shop/web"), ("ΟΔΟΣ", "οδος"), ("ΟΔΟΣ", "οδοσ"), ("ÄÉ", "äé")]
        {
            assert_eq!(fold_case(one), fold_case(other), "{one} {other}");
        }
        assert_eq!(fold_case("ΟΔΟΣ-1"), "οδοσ-1");
    }
}
