//! Full paths of projects and groups, such as `shop/web`.
//!
//! GitLab finds projects and groups by path without regard to case (`where_full_path_in`); so do we.

/// Whether two paths are the same.
pub(super) fn same(one: &str, two: &str) -> bool {
    one.eq_ignore_ascii_case(two)
}

/// As it is compared: paths that are the same have the same.
pub fn folded(path: &str) -> String {
    path.to_ascii_lowercase()
}

/// Whether a group is this one or is above it.
pub(super) fn is_or_holds(group: &str, below: &str) -> bool {
    match (below.get(..group.len()), below.get(group.len()..)) {
        (Some(head), Some(tail)) => same(group, head) && (tail.is_empty() || tail.starts_with('/')),
        _ => false,
    }
}

/// The groups above a project or group, the deepest first.
pub(super) fn groups_above(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').map(|(at, _)| path.get(..at).unwrap_or_default())
}

/// Whether a text can be a full path: words of letters, digits, `_`, `-` and `.` with slashes between.
pub(super) fn is_path(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    text.split('/').all(|word| !word.is_empty() && word.bytes().all(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_compare_by_whole_words_without_case() {
        for (group, below, expected) in [
            ("shop", "shop", true),
            ("shop", "shop/web", true),
            ("Shop", "shop/WEB", true),
            ("shop/web", "shop", false),
            ("sho", "shop", false),
            ("shop", "shopping/web", false),
            ("é", "e/x", false),
            ("e", "é/x", false),
        ] {
            assert_eq!(is_or_holds(group, below), expected, "{group} {below}");
        }
        assert_eq!(groups_above("a/b/c").collect::<Vec<_>>(), ["a/b", "a"]);
        assert_eq!(groups_above("a").count(), 0);
        for (text, expected) in [
            ("a/b-c/d.e_1", true),
            ("", false),
            ("/a", false),
            ("a//b", false),
            ("a b", false),
            ("$A", false),
        ] {
            assert_eq!(is_path(text), expected, "{text}");
        }
    }
}
