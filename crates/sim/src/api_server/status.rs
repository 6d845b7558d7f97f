//! Errors as Kubernetes reports them: a `Status` object.

use serde_json::{Value, json};

use super::kinds::ServedKind;

/// A failed request or watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Status {
    /// HTTP status.
    pub(super) code: u16,
    /// CamelCase word for programs.
    pub(super) reason: &'static str,
    /// Sentence for people.
    pub(super) message: String,
}

impl Status {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Status { code, reason, message: message.into() }
    }

    /// What discovery does not know.
    pub(super) fn unknown_path() -> Self {
        Status::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// An object that is not there.
    pub(super) fn not_found(kind: &ServedKind, name: &str) -> Self {
        Status::new(404, "NotFound", format!("{} \"{name}\" not found", kind.resource()))
    }

    /// Writes: the simulated cluster is changed by its simulation only.
    pub(super) fn method_not_allowed() -> Self {
        Status::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// A request that makes no sense.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Status::new(400, "BadRequest", message)
    }

    /// A request that is well formed and not allowed.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Status::new(422, "Invalid", message)
    }

    /// A watch that starts before the retained window.
    pub(super) fn too_old(asked: u64, oldest: u64) -> Self {
        Status::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    /// A list token whose snapshot is gone.
    pub(super) fn expired_page() -> Self {
        Status::new(
            410,
            "Expired",
            "The provided continue parameter is too old to display a consistent list result. You can start a \
             new list without the continue parameter.",
        )
    }

    /// A list that asks for a state not reached yet.
    pub(super) fn too_large(asked: u64, current: u64) -> Self {
        Status::new(
            504,
            "Timeout",
            format!("Timeout: Too large resource version: {asked}, current: {current}"),
        )
    }

    /// What a fault script answers instead.
    pub(super) fn refused(code: u16, kind: Option<&ServedKind>) -> Self {
        let resource = kind.map_or_else(|| "resources".to_owned(), ServedKind::resource);
        match code {
            401 => Status::new(401, "Unauthorized", "Unauthorized"),
            403 => Status::new(
                403,
                "Forbidden",
                format!(
                    "{resource} is forbidden: User \"system:serviceaccount:strandline:strandline\" cannot list \
                     resource \"{resource}\" at the cluster scope"
                ),
            ),
            429 => Status::new(429, "TooManyRequests", "the server has received too many requests"),
            503 => {
                Status::new(503, "ServiceUnavailable", "the server is currently unable to handle the request")
            }
            code => {
                Status::new(code, "InternalError", "Internal error occurred: etcdserver: request timed out")
            }
        }
    }

    /// The object that is sent.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        })
    }
}
