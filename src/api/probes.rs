//! Probes: whether the process turns, and whether it can answer.

use std::fmt::Write;

use http::StatusCode;
use serde::Serialize;

use super::ApiState;
use super::params::VERBOSE;
use super::problem::Problem;
use super::request::Request;
use super::respond::{self, Response};

/// One thing that readiness depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// A short name, such as `log`.
    pub name: String,
    /// Whether it is in order.
    pub ok: bool,
    /// A sentence for people; may be empty.
    pub detail: String,
}

/// Tells whether the service can answer.
pub trait Readiness: Send + Sync {
    /// Every check, in the order in which they are shown; ready when all are in order.
    fn checks(&self) -> Vec<Check>;
}

/// What a probe says in JSON.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Whether all checks are in order.
    pub(super) ok: bool,
    /// The checks.
    pub(super) checks: Vec<Check>,
}

/// `/livez` and its older name: that this is answered is the proof.
pub(super) async fn live(name: &'static str, request: Request) -> Result<Response, Problem> {
    let ping = Check { name: "ping".into(), ok: true, detail: String::new() };
    report(name, &request, vec![ping])
}

/// `/readyz`.
pub(super) async fn ready(state: ApiState, request: Request) -> Result<Response, Problem> {
    report("readyz", &request, state.readiness.checks())
}

fn report(name: &str, request: &Request, checks: Vec<Check>) -> Result<Response, Problem> {
    let ok = checks.iter().all(|check| check.ok);
    let status = if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if !request.context.accepts("application/json") {
        let verbose = !ok || request.query.mentions(VERBOSE);
        let lines = lines(name, ok, verbose, &checks);
        return Ok(respond::uncached(status, "text/plain; charset=utf-8", lines.into_bytes()));
    }
    let mut body = serde_json::to_vec(&Report { ok, checks }).map_err(Problem::internal)?;
    body.push(b'\n');
    Ok(respond::uncached(status, "application/json", body))
}

/// The lines of Kubernetes' own API server, which people and scripts know.
fn lines(name: &str, ok: bool, verbose: bool, checks: &[Check]) -> String {
    if !verbose {
        return "ok".into();
    }
    let mut out = String::new();
    for Check { name, ok, detail } in checks {
        let (sign, word) = if *ok { ('+', "ok") } else { ('-', "failed") };
        let part = if detail.is_empty() { "" } else { ": " };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "[{sign}]{name} {word}{part}{}", detail.replace(char::is_control, " "));
    }
    out + &format!("{name} check {}\n", if ok { "passed" } else { "failed" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_like_those_of_the_api_server() {
        let check = |name: &str, ok, detail: &str| Check { name: name.into(), ok, detail: detail.into() };
        let good = [check("log", true, ""), check("projector", true, "lag 3")];
        assert_eq!(lines("readyz", true, false, &good), "ok");
        assert_eq!(
            lines("readyz", true, true, &good),
            "[+]log ok\n[+]projector ok: lag 3\nreadyz check passed\n"
        );
        let bad = [check("log", false, "disk\nfull")];
        assert_eq!(lines("readyz", false, true, &bad), "[-]log failed: disk full\nreadyz check failed\n");
    }
}
