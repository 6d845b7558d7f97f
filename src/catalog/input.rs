//! What bodies share: names of projects and agents in GitLab's several forms, and members that nobody reads.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::CatalogError;
use crate::mistake::closest;
use crate::model::{AgentId, is_project_path};

/// The longest text of any member, in bytes.
pub(super) const TEXT_MAX: usize = 4096;

/// Members that a type does not know.
pub(super) type Rest = BTreeMap<String, serde_json::Value>;

/// A project: its path, or GitLab's object of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(
    untagged,
    expecting = "a project is a path such as `shop/web`, or an object with `path_with_namespace`"
)]
pub(super) enum ProjectRef {
    /// `shop/web`.
    Path(String),
    /// GitLab's object.
    Object {
        /// `shop/web`.
        path_with_namespace: String,
    },
}

impl ProjectRef {
    pub(super) fn path(&self) -> &str {
        match self {
            ProjectRef::Path(path) | ProjectRef::Object { path_with_namespace: path } => path,
        }
    }
}

/// An agent: `path/to/project:agent-name`, or GitLab's object of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(
    untagged,
    expecting = "an agent is a name such as `path/to/project:agent-name`, or an object with `name` and `config_project`"
)]
pub(super) enum AgentRef {
    /// `path/to/project:agent-name`, or the name alone for one of the same project.
    Name(String),
    /// GitLab's object.
    Object {
        /// Its name.
        name: String,
        /// The project that owns it.
        config_project: ProjectRef,
    },
}

impl AgentRef {
    /// The agent that is meant; a name alone is one of `project`.
    pub(super) fn id(&self, field: &str, project: &str) -> Result<AgentId, CatalogError> {
        let text = match self {
            AgentRef::Name(name) if name.contains(':') => name.clone(),
            AgentRef::Name(name) => format!("{project}:{name}"),
            AgentRef::Object { name, config_project } => format!("{}:{name}", config_project.path()),
        };
        text.parse().map_err(|message: String| CatalogError::invalid(field, message))
    }
}

/// A text that is the path of a project.
pub(super) fn project_path(field: &str, path: &str) -> Result<String, CatalogError> {
    if is_project_path(path) {
        return Ok(path.to_owned());
    }
    let hint = "write its full path, such as shop/web";
    Err(CatalogError::invalid(field, format!("`{path}` is not the path of a project")).hint(hint))
}

/// That a text is not longer than anything we keep.
pub(super) fn bounded(field: &str, text: &str) -> Result<(), CatalogError> {
    if text.len() <= TEXT_MAX {
        return Ok(());
    }
    let message = format!("holds {} bytes; at most {TEXT_MAX} are kept", text.len());
    Err(CatalogError::invalid(field, message))
}

/// That a number of GitLab's is one that the view can hold.
pub(super) fn numbered(field: &str, number: u64) -> Result<(), CatalogError> {
    if i64::try_from(number).is_ok() {
        return Ok(());
    }
    Err(CatalogError::invalid(field, format!("`{number}` is not a number of GitLab's; they are below 2⁶³")))
}

/// What is odd about members that are not known: `known` are ours, `passed` those of GitLab that we have no use for.
pub(super) fn unread(rest: &Rest, known: &[&str], passed: &[&str]) -> Vec<String> {
    let odd = rest.keys().filter(|name| !passed.contains(&name.as_str()));
    let told = odd.map(|name| match closest(name, known) {
        Some(near) => format!("`{name}` is not known and was not read; did you mean `{near}`?"),
        None => format!("`{name}` is not known and was not read"),
    });
    told.collect()
}
