//! Which texts Kubernetes takes for names.

/// Whether a text can name a namespace: up to 63 lower-case letters and digits, with dashes inside.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_word(text)
}

/// Whether a text can name a domain, as API groups and the owners of labels have: such words with dots between.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_word)
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}
