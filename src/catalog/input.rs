//! What bodies share: names of projects and agents in GitLab's several forms, and members that nobody reads.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::CatalogError;
use strandline_model::{AgentId, Labels};
use strandline_syntax::diagnostics::closest;
use strandline_syntax::{is_dns_label, is_project_path};

/// The longest text of any member, in bytes.
pub(super) const TEXT_MAX: usize = 4096;

/// The most members that are named one by one for not being known.
const UNREAD_MAX: usize = 20;

/// The most characters of a text that are repeated in an answer.
const REPEATED_MAX: usize = 200;

/// Members that a type does not know.
pub(super) type UnknownFields = BTreeMap<String, serde_json::Value>;

/// A project: its path, or GitLab's object of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(
    untagged,
    expecting = "`project` must be a path such as `shop/web`, or an object with `path_with_namespace`"
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
    expecting = "`agent` must be a name such as `path/to/project:agent-name`, or an object with `name` and `config_project`"
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
        bounded(field, &text)?;
        text.parse().map_err(|message: String| CatalogError::invalid(field, message))
    }
}

/// A job: its name, or GitLab's object of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "`job` must be a name, or an object with `id` and `name`")]
pub(super) enum JobRef {
    /// `deploy`.
    Name(String),
    /// GitLab's object.
    Object { id: Option<u64>, name: Option<String> },
}

/// A user: their name, or GitLab's object of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "`user` must be a name, or an object with `username`")]
pub(super) enum UserRef {
    /// `ada`.
    Name(String),
    /// GitLab's object.
    Object { username: String },
}

impl JobRef {
    pub(super) fn id(&self) -> Option<u64> {
        match self {
            JobRef::Name(_) => None,
            JobRef::Object { id, .. } => *id,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            JobRef::Name(name) => Some(name),
            JobRef::Object { name, .. } => name.as_deref(),
        }
    }
}

impl UserRef {
    pub(super) fn name(&self) -> &str {
        match self {
            UserRef::Name(name) | UserRef::Object { username: name } => name,
        }
    }
}

/// A text that is the path of a project.
pub(super) fn project_path(field: &str, path: &str) -> Result<String, CatalogError> {
    bounded(field, path)?;
    if is_project_path(path) {
        return Ok(path.to_owned());
    }
    let hint = "use its full path, such as shop/web";
    Err(CatalogError::invalid(field, format!("invalid project path `{path}`")).hint(hint))
}

/// That a text can name a namespace; an empty one names none.
pub(super) fn check_namespace(field: &str, name: &str) -> Result<(), CatalogError> {
    if name.is_empty() || is_dns_label(name) {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    let message = format!("invalid namespace `{shown}` of {} characters", name.chars().count());
    let hint = "use up to 63 lower-case letters, digits and `-`, not at either end";
    Err(CatalogError::invalid(field, message).hint(hint))
}

/// That a text is not longer than anything we keep.
pub(super) fn bounded(field: &str, text: &str) -> Result<(), CatalogError> {
    if text.len() <= TEXT_MAX {
        return Ok(());
    }
    let message = format!("has {} bytes; the limit is {TEXT_MAX}", text.len());
    Err(CatalogError::invalid(field, message))
}

/// That no label is longer than anything we keep.
pub(super) fn labels(field: &str, labels: Option<&Labels>) -> Result<(), CatalogError> {
    let texts = labels.into_iter().flatten().flat_map(|(name, value)| [name, value]);
    texts.into_iter().try_for_each(|text| bounded(field, text))
}

/// That a number of GitLab's is one that the view can hold.
pub(super) fn numbered(field: &str, number: u64) -> Result<(), CatalogError> {
    if i64::try_from(number).is_ok() {
        return Ok(());
    }
    Err(CatalogError::invalid(field, format!("invalid GitLab id `{number}`; it must be below 2⁶³")))
}

/// What is odd about members that are not known: `known` are ours, `passed` those of GitLab that we have no use for.
pub(super) fn unread(rest: &UnknownFields, known: &[&str], passed: &[&str]) -> Vec<String> {
    let odd = || rest.keys().filter(|name| !passed.contains(&name.as_str()));
    let named = odd().take(UNREAD_MAX).map(|name| match closest(name, known) {
        Some(near) => format!("unknown field `{name}` was ignored; did you mean `{near}`?"),
        None => format!("unknown field `{}` was ignored", shortened(name)),
    });
    let more = odd().count().saturating_sub(UNREAD_MAX);
    named.chain((more > 0).then(|| format!("{more} more unknown fields were ignored"))).collect()
}

/// A text that is repeated in an answer.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(REPEATED_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
