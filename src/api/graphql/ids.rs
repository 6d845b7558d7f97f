//! Global ids: GitLab's own where its number is known, and ours where it is not.
//!
//! GitLab tells every object an id such as `gid://gitlab/Environment/42`. Where we know the number, ours is the same, so
//! that clients of both can compare them. Where we do not, the id names our own key, under `gid://strandline/`, and no
//! one can take it for one of GitLab's.

use juniper::ID;

use strandline_syntax::percent_encode;

/// An id of GitLab's where the number is known, and else one by our own key. `class` is the name by which GitLab knows
/// such objects, of which ours leaves out the module.
pub(super) fn global(class: &str, number: Option<u64>, key: &str) -> ID {
    match number {
        Some(number) => ID::new(format!("gid://gitlab/{class}/{number}")),
        None => {
            let plain = class.rsplit("::").next().unwrap_or(class);
            ID::new(format!("gid://strandline/{plain}/{}", percent_encode(key)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_gitlabs_only_where_its_number_is_known() {
        for (class, number, key, expected) in [
            ("Project", Some(7), "group/project", "gid://gitlab/Project/7"),
            ("Project", None, "group/project", "gid://strandline/Project/group%2Fproject"),
            ("Clusters::Agent", Some(3), "a:b", "gid://gitlab/Clusters::Agent/3"),
            ("Clusters::Agent", None, "a/b:c", "gid://strandline/Agent/a%2Fb%3Ac"),
        ] {
            assert_eq!(&*global(class, number, key), expected);
        }
    }
}
