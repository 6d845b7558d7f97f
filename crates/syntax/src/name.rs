//! Which texts Kubernetes and GitLab take for names.

/// Whether a text can name a namespace: up to 63 lower-case letters and digits, with dashes inside.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_word(text)
}

/// Whether a text can name a domain, as API groups and the owners of labels have: such words with dots between.
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_word)
}

/// Whether a text can be the full path of a project or group: words of letters, digits, `-`, `_` and `.`, parted by `/`.
///
/// GitLab's rule for paths (`Gitlab::PathRegex`): a word begins with a letter, a digit or `_`, and none ends in `.`.
pub fn is_project_path(text: &str) -> bool {
    let word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && !word.ends_with('.')
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    text.len() <= 1024 && text.split('/').all(word)
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}
