//! Of which projects and groups somebody is a member.

use std::collections::BTreeSet;

use serde::Serialize;

use super::path;

/// Of which projects and groups somebody is a member, by full path. The one place that compares a caller with a project:
/// what a caller sees and what a caller writes follow the same rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Membership {
    /// In lower case.
    projects: BTreeSet<String>,
    groups: BTreeSet<String>,
}

impl Membership {
    /// Of these projects, and of these groups with everything below them.
    pub fn new<P: AsRef<str>, G: AsRef<str>>(
        projects: impl IntoIterator<Item = P>,
        groups: impl IntoIterator<Item = G>,
    ) -> Self {
        Membership {
            projects: projects.into_iter().map(|path| path::folded(path.as_ref())).collect(),
            groups: groups.into_iter().map(|path| path::folded(path.as_ref())).collect(),
        }
    }

    /// Whether a project or group is theirs: by itself, or by a group above it.
    pub fn holds(&self, path: &str) -> bool {
        let path = path::folded(path);
        self.projects.contains(&path)
            || self.groups.contains(&path)
            || path::groups_above(&path).any(|group| self.groups.contains(group))
    }

    /// The projects, in lower case.
    pub fn projects(&self) -> &BTreeSet<String> {
        &self.projects
    }

    /// The groups, in lower case.
    pub fn groups(&self) -> &BTreeSet<String> {
        &self.groups
    }

    /// What it holds for by itself; with [`Membership::below`] these are all paths that it holds for, in lower case.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.projects.union(&self.groups).map(String::as_str)
    }

    /// Where in an order of bytes the paths lie that are below its groups: from the first text to before the second.
    pub fn below(&self) -> impl Iterator<Item = [String; 2]> {
        // `0` follows on `/`.
        self.groups
            .iter()
            .filter(|group| !group.is_empty())
            .map(|group| [format!("{group}/"), format!("{group}0")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_theirs_by_itself_or_by_a_group_above_whatever_its_case() {
        let member = Membership::new(["Other/One", "shop/key"], ["shop", "Deep/Er"]);
        for (path, theirs) in [
            ("other/one", true),
            ("OTHER/one", true),
            ("other/one/more", false),
            ("other", false),
            ("shop", true),
            ("shop/web", true),
            ("Shop/Web", true),
            ("shop/deep/er", true),
            ("deep/er", true),
            ("DEEP/er/x", true),
            ("deep", false),
            ("shopping/web", false),
            ("", false),
            ("/shop", false),
            // Only ASCII letters have case: what merely looks alike, such as the sign for kelvin, is another name.
            ("\u{17f}hop/web", false),
        ] {
            assert_eq!(member.holds(path), theirs, "{path}");
            let path = path::folded(path);
            let found = member.named().any(|named| named == path)
                || member.below().any(|[from, to]| from <= path && path < to);
            assert_eq!(found, theirs, "{path} by its place among all paths");
        }
        let kelvin = Membership::new(["a/\u{212a}8s"], ["a/\u{212a}"]);
        assert!(!kelvin.holds("a/k8s") && !kelvin.holds("a/k/x") && kelvin.holds("A/\u{212a}8S"));
        assert!(!Membership::default().holds(""));
    }
}
