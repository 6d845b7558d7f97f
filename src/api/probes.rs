//! Probes: whether the process turns, and whether it can answer.

use std::fmt::Write;

use http::StatusCode;

use crate::app::{AppState, ClusterLists};
use crate::http::auth::Gate;
use crate::http::params::VERBOSE;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_protocol::{Check, ProbeReport};

/// Most names in a sentence.
const NAMES: usize = 10;

fn names(all: &[String]) -> String {
    let more = all.len().saturating_sub(NAMES);
    let shown: Vec<&str> = all.iter().take(NAMES).map(String::as_str).collect();
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

impl ClusterLists {
    fn check(&self) -> Check {
        let mut detail = format!("{} of {} first lists complete", self.listed, self.kinds);
        if !self.unlisted.is_empty() {
            detail += &format!("; not complete: {}", names(&self.unlisted));
        }
        if !self.gaps.is_empty() {
            let gaps: Vec<String> = self.gaps.iter().map(|(kind, why)| format!("{kind} ({why})")).collect();
            detail += &format!("; in a gap: {}", names(&gaps));
        }
        let name = format!("cluster {}", self.cluster);
        Check { name, ok: self.complete && self.gaps.is_empty(), detail }
    }
}

/// Whether all first lists are complete. It names nothing, and how many there are is not for strangers.
fn first_lists(clusters: &[ClusterLists], counted: bool) -> Check {
    let of = |number: fn(&ClusterLists) -> usize| clusters.iter().map(number).sum::<usize>();
    let complete = clusters.iter().filter(|cluster| cluster.complete).count();
    let counts = || {
        format!(
            "{} of {} first lists complete; {complete} of {} clusters",
            of(|cluster| cluster.listed),
            of(|cluster| cluster.kinds),
            clusters.len()
        )
    };
    let detail = if counted { counts() } else { String::new() };
    Check { name: "lists".into(), ok: complete == clusters.len(), detail }
}

/// `/livez` and its older name: that this is answered is the proof.
pub(super) async fn live(name: &'static str, request: Request) -> Result<Response, Problem> {
    let ping = Check { name: "ping".into(), ok: true, detail: String::new() };
    report(name, &request, vec![ping], Vec::new())
}

/// `/readyz`.
pub(super) async fn ready(state: AppState, request: Request) -> Result<Response, Problem> {
    let checks = state.readiness.checks();
    let mut details = Vec::new();
    if request.query.mentions(VERBOSE) {
        let (clusters, caller) = (state.readiness.clusters(), state.caller(&request.context).await);
        details.push(first_lists(&clusters, caller.is_ok()));
        // Anyone may probe. Which clusters and kinds there are is for who sees everything.
        if caller.is_ok_and(|caller| caller.require_everything().is_ok()) {
            details.extend(clusters.iter().map(ClusterLists::check));
        }
    }
    report("readyz", &request, checks, details)
}

/// `/readyz/lists`: one check by itself, as Kubernetes' API server offers each of its own.
pub(super) async fn lists(state: AppState, request: Request) -> Result<Response, Problem> {
    let counted = state.caller(&request.context).await.is_ok();
    report("readyz/lists", &request, vec![first_lists(&state.readiness.clusters(), counted)], Vec::new())
}

fn report(
    name: &str,
    request: &Request,
    checks: Vec<Check>,
    details: Vec<Check>,
) -> Result<Response, Problem> {
    let ok = checks.iter().all(|check| check.ok);
    let status = if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if !request.context.names("application/json") {
        let verbose = !ok || request.query.mentions(VERBOSE);
        let lines = lines(name, ok, verbose, &checks, &details);
        return Ok(respond::uncached(status, "text/plain; charset=utf-8", lines.into_bytes()));
    }
    respond::uncached_json(status, &ProbeReport { ok, checks, details })
}

/// The lines of Kubernetes' own API server, which people and scripts know.
fn lines(name: &str, ok: bool, verbose: bool, checks: &[Check], details: &[Check]) -> String {
    if !verbose {
        return "ok".into();
    }
    let mut out = String::new();
    let counted = checks.iter().map(|check| (check, "failed"));
    let beside = details.iter().map(|check| (check, "not complete (not counted)"));
    for (Check { name, ok, detail }, failure) in counted.chain(beside) {
        let (sign, word) = if *ok { ('+', "ok") } else { ('-', failure) };
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
        assert_eq!(lines("readyz", true, false, &good, &[]), "ok");
        assert_eq!(
            lines("readyz", true, true, &good, &[]),
            "[+]log ok\n[+]projector ok: lag 3\nreadyz check passed\n"
        );
        let bad = [check("log", false, "disk\nfull")];
        assert_eq!(
            lines("readyz", false, true, &bad, &[]),
            "[-]log failed: disk full\nreadyz check failed\n"
        );
    }
    #[test]
    fn clusters_stand_beside_the_checks_and_do_not_count() {
        let kinds = |count: usize| (0..count).map(|n| format!("K{n}")).collect::<Vec<_>>();
        let waiting = ClusterLists {
            cluster: "eu".into(),
            kinds: 60,
            listed: 48,
            unlisted: kinds(12),
            complete: false,
            gaps: vec![("Pod".into(), "unreachable"), ("Deployment.apps".into(), "forbidden")],
        };
        let whole = ClusterLists {
            cluster: "us".into(),
            kinds: 2,
            listed: 2,
            complete: true,
            ..ClusterLists::default()
        };
        let summary = first_lists(&[waiting.clone(), whole.clone()], true);
        let good = [Check { name: "log".into(), ok: true, detail: String::new() }];
        assert_eq!(
            lines("readyz", true, true, &good, &[summary, waiting.check(), whole.check()]),
            "[+]log ok\n\
             [-]lists not complete (not counted): 50 of 62 first lists complete; 1 of 2 clusters\n\
             [-]cluster eu not complete (not counted): 48 of 60 first lists complete; not complete: K0, K1, K2, K3, \
             K4, K5, K6, K7, K8, K9 and 2 more; in a gap: Pod (unreachable), Deployment.apps (forbidden)\n\
             [+]cluster us ok: 2 of 2 first lists complete\n\
             readyz check passed\n"
        );
        let uncounted = first_lists(&[waiting], false);
        assert!(!uncounted.ok && uncounted.detail.is_empty(), "{uncounted:?}");
        assert!(first_lists(&[whole], true).ok && first_lists(&[], true).ok);
    }
}
