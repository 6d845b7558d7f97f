//! What becomes of a namespace that Kubernetes would not take.

use sha2::{Digest, Sha256};

use super::agent_config::LongNamespace;
use super::decision::Reason;
use strandline_syntax::is_dns_label;

/// The longest name of a namespace.
pub(super) const LENGTH_MAX: usize = 63;

/// Hexadecimal digits of the digest that distinguishes shortened names.
const DIGITS: usize = 12;

/// Why a namespace cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unusable {
    pub(super) reason: Reason,
    pub(super) message: String,
}

/// A namespace that Kubernetes takes: the name itself, or by setting one made from it.
pub(super) fn settle(name: &str, setting: LongNamespace) -> Result<String, Unusable> {
    if is_dns_label(name) {
        return Ok(name.to_owned());
    }
    let unusable = |reason, message: String| Err(Unusable { reason, message });
    if name.is_empty() {
        return unusable(Reason::BadNamespace, "the namespace is empty after variable expansion".to_owned());
    }
    if setting == LongNamespace::Truncate {
        return Ok(truncated(name));
    }
    let length = name.chars().count();
    if length > LENGTH_MAX {
        let message = format!("the namespace has {length} characters, {LENGTH_MAX} are allowed");
        return unusable(Reason::LongNamespace, message);
    }
    unusable(
        Reason::BadNamespace,
        format!("invalid namespace `{name}`: use lower-case letters, digits and `-`, not at either end"),
    )
}

/// A name with what does not belong into a namespace replaced by `-`, cut, and distinguished by its digest.
fn truncated(name: &str) -> String {
    let plain = |c: char| {
        let lower = c.to_ascii_lowercase();
        if lower.is_ascii_lowercase() || lower.is_ascii_digit() { lower } else { '-' }
    };
    let mut label: String =
        name.chars().map(plain).skip_while(|c| *c == '-').take(LENGTH_MAX - DIGITS - 1).collect();
    label.truncate(label.trim_end_matches('-').len());
    if !label.is_empty() {
        label.push('-');
    }
    for byte in Sha256::digest(name.as_bytes()).iter().take(DIGITS / 2) {
        label.push_str(&format!("{byte:02x}"));
    }
    label
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_kept_refused_or_shortened() {
        use LongNamespace::{Abort, Truncate};
        let long = "a".repeat(300);
        assert_eq!(settle("shop", Abort).as_deref(), Ok("shop"));
        assert_eq!(settle("shop", Truncate).as_deref(), Ok("shop"));
        let reason = |name: &str, setting| settle(name, setting).map_err(|unusable| unusable.reason);
        assert_eq!(reason(&long, Abort), Err(Reason::LongNamespace));
        assert_eq!(reason(&"a".repeat(64), Abort), Err(Reason::LongNamespace));
        assert_eq!(reason(&"a".repeat(63), Abort), Ok("a".repeat(63)));
        assert_eq!(reason("Shop", Abort), Err(Reason::BadNamespace));
        assert_eq!(reason("myapp-", Abort), Err(Reason::BadNamespace));
        assert_eq!(reason("", Abort), Err(Reason::BadNamespace));
        assert_eq!(reason("", Truncate), Err(Reason::BadNamespace));
        // The digits were computed apart from this code, by sha256sum.
        assert_eq!(settle("Review/Fix", Truncate).as_deref(), Ok("review-fix-3cad0f077c58"));
        assert_eq!(settle("///", Truncate).map(|name| name.len()), Ok(DIGITS));
        assert_eq!(settle(&long, Truncate).map(|name| name.len()), Ok(LENGTH_MAX));
    }

    proptest! {
        #[test]
        fn shortened_names_are_labels_and_differ_as_the_originals_do(
            one in "[a-zA-Z0-9/_-]{1,90}", two in "[a-z/-]{60,90}",
        ) {
            let settled = |name: &str| settle(name, LongNamespace::Truncate);
            for name in [&one, &two] {
                prop_assert!(is_dns_label(&settled(name).unwrap_or_default()), "{}", name);
                let longer = format!("{name}x");
                prop_assert_ne!(settled(name), settled(&longer));
            }
            prop_assert_eq!(one == two, settled(&one) == settled(&two));
        }

        #[test]
        fn any_text_is_settled_or_refused(name in "\\PC{0,100}") {
            for setting in [LongNamespace::Abort, LongNamespace::Truncate] {
                if let Ok(name) = settle(&name, setting) {
                    prop_assert!(is_dns_label(&name), "{}", name);
                }
            }
        }
    }
}
