//! Which users an agent lets in: `user_access` of its configuration.

use serde::{Deserialize, Serialize};

use super::path;

/// The `user_access` of an agent: whose members may see what it is connected to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserAccess {
    /// As whom users act in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_as: Option<UserAccessAs>,
    /// Full paths of projects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
    /// Full paths of groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// As whom a user acts in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum UserAccessAs {
    /// As the agent itself.
    Agent {},
    /// As the user.
    User {},
}

impl UserAccess {
    /// Whether someone is let in who is a member of these projects and groups, given by full path.
    ///
    /// A member of a group is a member of everything below it, and of nothing above it; paths are compared without
    /// regard to the case of ASCII letters. Source: GitLab's `UserAccess::GroupAuthorization.for_user`.
    pub fn lets_in<P: AsRef<str>, G: AsRef<str>>(&self, projects: &[P], groups: &[G]) -> bool {
        self.admitting(projects, groups).next().is_some()
    }

    /// The projects and groups of the configuration by which someone is let in, projects first.
    pub fn admitting<'a, P: AsRef<str>, G: AsRef<str>>(
        &'a self,
        projects: &'a [P],
        groups: &'a [G],
    ) -> impl Iterator<Item = &'a str> {
        let (own_projects, own_groups) = self.lists();
        let by_group = |given: &str| groups.iter().any(|group| path::is_or_holds(group.as_ref(), given));
        let by_project = |given: &str| projects.iter().any(|project| path::same(project.as_ref(), given));
        let projects = own_projects.iter().filter(move |given| by_project(given) || by_group(given));
        projects.chain(own_groups.iter().filter(move |given| by_group(given))).map(String::as_str)
    }

    /// Full paths of the projects and groups whose members are let in.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (projects, groups) = self.lists();
        projects.iter().chain(groups).map(String::as_str)
    }

    /// The lists as far as they let anybody in. Where users act as themselves, Kubernetes would show each of them what
    /// its own rights allow, which are not known here: so nobody is let in.
    fn lists(&self) -> (&[String], &[String]) {
        match self.access_as {
            Some(UserAccessAs::User {}) => (&[], &[]),
            Some(UserAccessAs::Agent {}) | None => (&self.projects, &self.groups),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_groups_are_members_of_what_is_below() {
        let access = UserAccess {
            access_as: None,
            projects: vec!["group-1/project-1".into(), "group-2/project-2".into()],
            groups: vec!["group-2".into(), "group-3/subgroup".into()],
        };
        let none: [&str; 0] = [];
        for (projects, groups, expected) in [
            (&["group-1/project-1"][..], &none[..], true),
            (&["Group-1/Project-1"], &none, true),
            (&["group-1/project-10"], &none, false),
            (&none, &["group-1"], true),
            (&none, &["group-2"], true),
            (&none, &["group-3"], true),
            (&none, &["group-3/subgroup"], true),
            // Members of what is below a group are not its members.
            (&none, &["group-3/subgroup/deeper"], false),
            (&["group-3/subgroup/project"], &none, false),
            (&none, &["group"], false),
            (&none, &[""], false),
            (&none, &none, false),
        ] {
            assert_eq!(access.lets_in(projects, groups), expected, "{projects:?} {groups:?}");
        }
        let themselves = UserAccess { access_as: Some(UserAccessAs::User {}), ..access.clone() };
        assert!(!themselves.lets_in(&["group-1/project-1"], &["group-2"]));
        assert_eq!(themselves.paths().count(), 0);
        assert!(!UserAccess::default().lets_in(&["group-1/project-1"], &["group-1"]));
        let by: Vec<_> = access.admitting(&none, &["group-2"]).collect();
        assert_eq!(by, ["group-2/project-2", "group-2"]);
    }
}
