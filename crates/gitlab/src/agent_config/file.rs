//! The file as it is written, before it is checked.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::Spanned;

use super::types::AccessAs;
use crate::user::UserAccessAs;

/// The whole file. What it has besides decides nothing of who may do what.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) ci_access: Option<CiAccess>,
    pub(super) user_access: Option<UserAccess>,
    /// Sections that nobody knows.
    pub(super) unknown: Vec<Spanned<String>>,
}

/// The sections that decide.
pub(super) const READ: [&str; 2] = ["ci_access", "user_access"];

/// GitLab's sections that are not about access.
const ACCEPTED: [&str; 8] = [
    "gitops",
    "observability",
    "remote_development",
    "flux",
    "container_scanning",
    "starboard",
    "cilium",
    "workspaces",
];

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Sections)
    }
}

/// Reads the sections one by one, since a derived type would refuse unknown ones or not say where they are.
struct Sections;

impl<'de> Visitor<'de> for Sections {
    type Value = File;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of sections")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut sections: A) -> Result<File, A::Error> {
        let mut file = File::default();
        while let Some(name) = sections.next_key::<Spanned<String>>()? {
            match name.value.as_str() {
                "ci_access" => file.ci_access = sections.next_value()?,
                "user_access" => file.user_access = sections.next_value()?,
                other => {
                    sections.next_value::<IgnoredAny>()?;
                    if !ACCEPTED.contains(&other) {
                        file.unknown.push(name);
                    }
                }
            }
        }
        Ok(file)
    }
}

/// The `ci_access`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CiAccess {
    pub(super) no_match: Option<Spanned<String>>,
    pub(super) long_namespace: Option<Spanned<String>>,
    pub(super) projects: Option<Vec<Spanned<Entry>>>,
    pub(super) groups: Option<Vec<Spanned<Entry>>>,
    pub(super) instance: Option<Spanned<Entry>>,
}

/// An entry of `projects` or `groups`, or the `instance`, which has no id.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) id: Option<Spanned<String>>,
    pub(super) default_namespace: Option<Spanned<String>>,
    pub(super) access_as: Option<AccessAs>,
    pub(super) environments: Option<Vec<Spanned<String>>>,
    pub(super) protected_branches_only: Option<bool>,
    pub(super) resource_management: Option<ResourceManagement>,
    pub(super) rules: Option<Vec<Spanned<Rule>>>,
}

/// Whether GitLab manages resources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResourceManagement {
    pub(super) enabled: Option<bool>,
}

/// An entry of `rules`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    #[serde(rename = "if")]
    pub(super) condition: Option<Spanned<String>>,
    pub(super) namespace: Option<Spanned<String>>,
    pub(super) roles: Option<Value>,
    pub(super) when: Option<Spanned<String>>,
    pub(super) on_long_namespace: Option<Spanned<String>>,
}

/// The `user_access`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserAccess {
    pub(super) access_as: Option<UserAccessAs>,
    pub(super) projects: Option<Vec<Member>>,
    pub(super) groups: Option<Vec<Member>>,
    pub(super) instance: Option<Spanned<IgnoredAny>>,
}

/// An entry of its `projects` or `groups`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    pub(super) id: Spanned<String>,
}
