//! The file as it is written, before it is checked.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::super::UserAccessAs;
use super::AccessAs;

/// The whole file. GitLab's keys that are not about access are accepted and not read.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) ci_access: Option<CiAccess>,
    pub(super) user_access: Option<UserAccess>,
    #[serde(rename = "gitops")]
    _gitops: Option<IgnoredAny>,
    #[serde(rename = "observability")]
    _observability: Option<IgnoredAny>,
    #[serde(rename = "remote_development")]
    _remote_development: Option<IgnoredAny>,
    #[serde(rename = "flux")]
    _flux: Option<IgnoredAny>,
    #[serde(rename = "container_scanning")]
    _container_scanning: Option<IgnoredAny>,
    #[serde(rename = "starboard")]
    _starboard: Option<IgnoredAny>,
    #[serde(rename = "cilium")]
    _cilium: Option<IgnoredAny>,
    #[serde(rename = "workspaces")]
    _workspaces: Option<IgnoredAny>,
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
