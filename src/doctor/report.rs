//! What was checked, and how it turned out.

use serde::Serialize;

/// What was checked, and the roles that clusters need so that everything can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// In the order of what depends on what.
    pub checks: Vec<Check>,
    /// Permissions that are missing.
    pub missing: Vec<Manifest>,
}

impl Report {
    /// How many problems there are.
    pub fn problems(&self) -> usize {
        self.checks.iter().filter(|check| check.result == CheckResult::Problem).count()
    }
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// How it turned out.
    pub result: CheckResult,
    /// What it is about, such as `data directory` or `cluster eu-1`.
    pub subject: String,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Check {
    pub(super) fn ok(subject: &str, message: impl Into<String>) -> Self {
        Check::new(CheckResult::Ok, subject, message)
    }

    pub(super) fn warning(subject: &str, message: impl Into<String>) -> Self {
        Check::new(CheckResult::Warning, subject, message)
    }

    pub(super) fn problem(subject: &str, message: impl Into<String>) -> Self {
        Check::new(CheckResult::Problem, subject, message)
    }

    pub(super) fn new(result: CheckResult, subject: &str, message: impl Into<String>) -> Self {
        Check { result, subject: subject.to_owned(), message: message.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Check { hint: Some(hint.into()), ..self }
    }

    /// With a hint where there is one.
    pub(super) fn maybe_hint(self, hint: Option<String>) -> Self {
        Check { hint, ..self }
    }
}

/// How a check turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// As it should be.
    Ok,
    /// It will work, though not as well as it could.
    Warning,
    /// It will not work, or not all of it.
    Problem,
}

impl CheckResult {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            CheckResult::Ok => "ok",
            CheckResult::Warning => "warning",
            CheckResult::Problem => "problem",
        }
    }
}

/// What has to be applied to a cluster by someone who may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// The cluster.
    pub cluster: String,
    /// Roles for the kinds that may not be seen now, by name, ready for `kubectl apply`.
    pub yaml: String,
    /// The same for every kind but Secrets, also for those that the API groups of now get later.
    pub yaml_groups: String,
    /// The same for everything, Secrets and API groups to come as well.
    pub yaml_wildcard: String,
}
