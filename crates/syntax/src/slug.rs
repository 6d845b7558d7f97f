//! GitLab's slug of an environment name.

use sha2::{Digest, Sha256};

/// The longest slug: with a prefix it has to fit into a DNS label.
const LENGTH_MAX: usize = 24;

/// What is kept of a name that does not fit.
const KEPT: usize = 17;

/// Digits of the digest that tell shortened names apart.
const DIGITS: usize = 6;

/// A name as it may stand in labels and host names: lower case, dashes, at most 24 characters.
///
/// GitLab's rule (`Gitlab::Slug::Environment`): what is not a–z or 0–9 becomes a dash, `env-` goes in front
/// of what does not begin with a letter, repeated dashes are squeezed; a name that was changed by this or is
/// longer than 24 characters is cut to 17 and gets the last six digits of its SHA-256 in base 36.
pub fn slug(name: &str) -> String {
    let plain = |c: char| {
        let lower = c.to_ascii_lowercase();
        if lower.is_ascii_lowercase() || lower.is_ascii_digit() { lower } else { '-' }
    };
    let mut slug: String = name.chars().map(plain).collect();
    if !slug.starts_with(|c: char| c.is_ascii_lowercase()) {
        slug.insert_str(0, "env-");
    }
    squeeze(&mut slug);
    if slug == name && slug.len() <= LENGTH_MAX {
        return slug.strip_suffix('-').map(str::to_owned).unwrap_or(slug);
    }
    slug.truncate(KEPT);
    if !slug.ends_with('-') {
        slug.push('-');
    }
    slug.push_str(&suffix(name));
    slug
}

fn squeeze(slug: &mut String) {
    let mut before = ' ';
    slug.retain(|c| {
        !(c == '-' && std::mem::replace(&mut before, c) == '-') && {
            before = c;
            true
        }
    });
}

/// The last digits of the name's SHA-256, read as one large number, in base 36.
fn suffix(name: &str) -> String {
    let modulus = 36_u64.pow(DIGITS as u32);
    let mut rest = Sha256::digest(name.as_bytes())
        .iter()
        .fold(0, |rest, byte| (rest * 256 + u64::from(*byte)) % modulus);
    let mut digits = [b'0'; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize];
        rest /= 36;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_shortened_as_gitlab_does() {
        // The digits were computed apart from this code, from the names' SHA-256.
        let cases = [
            ("production", "production"),
            ("staging-1", "staging-1"),
            ("a", "a"),
            ("exactly-twenty-four-long", "exactly-twenty-four-long"),
            ("trailing-", "trailing"),
            ("production/us-region", "production-us-reg-qbeygu"),
            ("Production", "production-iis43c"),
            ("review/fix--login", "review-fix-login-zvjad7"),
            ("1", "env-1-x3mbm3"),
            ("-", "env-dgv8k2"),
            ("ünïcode", "env-n-code-wle2k7"),
            ("much-longer-than-twenty-four", "much-longer-than-h4dg2z"),
        ];
        for (name, expected) in cases {
            assert_eq!(slug(name), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_slug_is_a_label(name in "\\PC{1,40}") {
            let slugged = slug(&name);
            prop_assert!(!slugged.is_empty() && slugged.len() <= LENGTH_MAX);
            prop_assert!(slugged.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
            prop_assert!(slugged.starts_with(|c: char| c.is_ascii_lowercase()) && !slugged.ends_with('-'));
            prop_assert!(!slugged.contains("--"));
        }
    }
}
