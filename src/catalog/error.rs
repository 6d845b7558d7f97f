//! Why the catalog was not changed.

use strandline_log::AppendError;
use strandline_model::CatalogKind;
use strandline_syntax::diagnostics::closest;

/// The kinds of refusal, each with a stable word that clients may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogCode {
    /// A member of the body has a value that is not valid.
    InvalidValue,
    /// There is no such thing in the catalog.
    Unknown,
    /// The agent that a deployment asks for is not known.
    UnknownAgent,
    /// Another environment of the project has the name, or another project's environment the id.
    DuplicateEnvironment,
    /// The environment is stopped, so nothing is deployed to it.
    EnvironmentStopped,
    /// The deployment has ended, or belongs to another environment.
    DeploymentEnded,
    /// The caller may not name, number or look at what the body says.
    NotGranted,
    /// The number is that of another project.
    DuplicateProject,
    /// Somebody else declared it, who alone may change it.
    DeclaredElsewhere,
    /// The log is damaged and takes nothing.
    ReadOnly,
    /// Too much is to be written, or what this rests on changed again and again: the same may be asked soon.
    Busy,
    /// As much is declared as may be.
    QuotaExceeded,
    /// The caller writes too often.
    TooOften,
    /// The log could not be written or read.
    Failed,
}

impl CatalogCode {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            CatalogCode::InvalidValue => "invalid_value",
            CatalogCode::Unknown => "not_found",
            CatalogCode::UnknownAgent => "unknown_agent",
            CatalogCode::DuplicateEnvironment => "duplicate_environment",
            CatalogCode::EnvironmentStopped => "environment_stopped",
            CatalogCode::DeploymentEnded => "deployment_ended",
            CatalogCode::NotGranted => "not_granted",
            CatalogCode::DuplicateProject => "duplicate_project",
            CatalogCode::DeclaredElsewhere => "declared_elsewhere",
            CatalogCode::ReadOnly => "log_read_only",
            CatalogCode::Busy => "write_busy",
            CatalogCode::QuotaExceeded => "quota_exceeded",
            CatalogCode::TooOften => "write_rate_exceeded",
            CatalogCode::Failed => "storage",
        }
    }
}

/// Why the catalog was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CatalogError {
    /// What kind of refusal.
    pub code: CatalogCode,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The member of the body that is wrong, such as `kubernetes.agent`; empty for none.
    pub field: String,
    /// What to do.
    pub hint: Option<String>,
}

impl CatalogError {
    pub(super) fn new(code: CatalogCode, message: impl Into<String>) -> Self {
        CatalogError { code, message: message.into(), field: String::new(), hint: None }
    }

    pub(super) fn invalid(field: &str, message: impl Into<String>) -> Self {
        CatalogError { field: field.to_owned(), ..Self::new(CatalogCode::InvalidValue, message) }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        CatalogError { hint: Some(hint.into()), ..self }
    }

    /// That there is no such thing, with the one that may have been meant.
    pub(super) fn unknown(kind: CatalogKind, name: &str, names: &[String]) -> Self {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let error = Self::new(CatalogCode::Unknown, format!("no {kind} `{name}`"));
        match closest(name, &names) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }
}

impl From<AppendError> for CatalogError {
    fn from(error: AppendError) -> Self {
        let code = match error {
            AppendError::ReadOnly(_) => CatalogCode::ReadOnly,
            AppendError::Busy | AppendError::TooLong | AppendError::Contended => CatalogCode::Busy,
            AppendError::Superseded(_)
            | AppendError::Closed
            | AppendError::Unreadable(_)
            | AppendError::Failed(_) => CatalogCode::Failed,
        };
        Self::new(code, error.to_string())
    }
}
