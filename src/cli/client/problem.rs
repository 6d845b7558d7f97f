//! What a server refuses, in the words of the command line.

use http::StatusCode;
use serde::Deserialize;

use crate::cli::error::{CliError, Exit};
use crate::cli::query::Parameter;

/// What the client reads of a problem.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProblemText {
    code: String,
    detail: String,
    errors: Vec<ParameterText>,
    candidates: Vec<Candidate>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ParameterText {
    parameter: String,
    detail: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Candidate {
    cluster: String,
}

/// Whether a problem is that the files of the log or of the view cannot be read.
pub(super) fn is_unreadable(body: &[u8]) -> bool {
    let problem: ProblemText = serde_json::from_slice(body).unwrap_or_default();
    matches!(problem.code.as_str(), "storage" | "view_building")
}

/// Whether a problem is that the time asked for is not there yet.
pub(super) fn is_future(body: &[u8]) -> bool {
    let problem: ProblemText = serde_json::from_slice(body).unwrap_or_default();
    problem.code == "future_moment"
}

/// A problem in the words of the command line.
pub(in crate::cli) fn refused(
    what: &str,
    server: &str,
    query: &[Parameter],
    status: StatusCode,
    body: &[u8],
) -> CliError {
    let problem: ProblemText = serde_json::from_slice(body).unwrap_or_default();
    if problem.code.is_empty() {
        return CliError::new(what, format!("{server} responded with {status}"))
            .hint(format!("check that {server} is a Strandline server"));
    }
    // What was typed is what can be mended, whatever the parameter is called that carries it.
    let argument =
        |name: &str| query.iter().find(|given| given.name == name).and_then(|given| given.argument);
    let why = match problem.errors.as_slice() {
        [] if ["future_moment", "compacted"].contains(&problem.code.as_str()) => {
            match argument("at").or(argument("to")) {
                Some(argument) => format!("{argument}: {}", problem.detail),
                None => problem.detail,
            }
        }
        [] => problem.detail,
        errors => {
            let named = |error: &ParameterText| match argument(&error.parameter) {
                Some(argument) => format!("{argument}: {}", error.detail),
                None => format!("{}: {}", error.parameter, error.detail),
            };
            errors.iter().map(named).collect::<Vec<_>>().join("; ")
        }
    };
    let error = CliError::new(what, why);
    match (problem.code.as_str(), status) {
        ("question_too_long", _) => {
            error.hint("narrow the query: add a filter, or use a smaller page or a shorter period")
        }
        ("view_building" | "too_many_requests" | "overloaded" | "too_many_connections", _) => {
            error.hint("try again in a few seconds")
        }
        ("ambiguous_uid", _) => {
            let clusters: Vec<_> = problem.candidates.into_iter().map(|one| one.cluster).collect();
            error.hint(format!("choose one with --cluster: {}", clusters.join(", ")))
        }
        ("misdirected_request", _) => error.hint("use a host name that the server's configuration lists"),
        (_, StatusCode::NOT_FOUND) => error.exit(Exit::NotFound),
        (_, StatusCode::BAD_REQUEST) => error.exit(Exit::Usage),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_not_damaged() {
        for (code, unreadable) in [("storage", true), ("view_building", true), ("question_too_long", false)] {
            assert_eq!(is_unreadable(format!("{{\"code\":\"{code}\"}}").as_bytes()), unreadable, "{code}");
        }
        assert!(!is_unreadable(b"<html>"));
    }

    #[test]
    fn problems_decide_the_exit_code() {
        let refused = |status, body: &str| refused("reading", "http://s", &[], status, body.as_bytes());
        let gone = refused(StatusCode::NOT_FOUND, r#"{"code":"not_found","detail":"there is no x"}"#);
        assert_eq!((gone.lines().as_str(), gone.exit), ("error: reading: there is no x", Exit::NotFound));
        let wrong = refused(
            StatusCode::BAD_REQUEST,
            r#"{"code":"invalid_parameter","detail":"","errors":[{"parameter":"at","detail":"no"}]}"#,
        );
        assert_eq!((wrong.lines().as_str(), wrong.exit), ("error: reading: at: no", Exit::Usage));
        let stranger = refused(StatusCode::NOT_FOUND, "<html>");
        assert_eq!(stranger.exit, Exit::Failure, "another server's 404 says nothing of ours");
        assert_eq!(
            refused(
                StatusCode::CONFLICT,
                r#"{"code":"ambiguous_uid","detail":"two","candidates":[{"cluster":"a"},{"cluster":"b"}]}"#
            )
            .hint
            .as_deref(),
            Some("choose one with --cluster: a, b")
        );
    }
}
