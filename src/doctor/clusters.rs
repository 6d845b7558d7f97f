//! What follows from what a cluster answered.

use super::rbac::{self, Missing};
use super::report::{Check, Report};
use crate::config::{ClusterConfig, WatcherConfig};
use strandline_watch::{ClusterAccess, Examination, KindList, Refusal, Server, Trouble};

/// Clocks further apart than this make times of objects and of changes inconsistent.
const SECONDS_APART: u64 = 5;

/// The name of an account that is none: what servers call whoever shows no credentials.
const NOBODY: &str = "system:anonymous";

/// What to call a watcher of a cluster.
pub(super) fn subject(cluster: &ClusterConfig, watcher: &WatcherConfig) -> String {
    let name = &cluster.name;
    if cluster.watchers.len() < 2 {
        return format!("cluster {name}");
    }
    match &watcher.connect.access {
        ClusterAccess::Kubeconfig { context: Some(context), .. } => {
            format!("cluster {name}, context {context}")
        }
        ClusterAccess::Kubeconfig { path: Some(path), .. } => format!("cluster {name}, {}", path.display()),
        ClusterAccess::Kubeconfig { .. } => format!("cluster {name}, current context"),
        ClusterAccess::Hub { origin, .. } => format!("cluster {name}, {origin}"),
        ClusterAccess::InCluster => format!("cluster {name}, in_cluster"),
        ClusterAccess::Url(url) => format!("cluster {name}, {url}"),
    }
}

/// Judges what was found through one watcher.
pub(super) fn judge(subject: &str, cluster: &str, answer: Result<Examination, Trouble>) -> Report {
    let found = match answer {
        Ok(found) => found,
        Err(trouble) => return Report { checks: vec![troubled(subject, &trouble)], missing: Vec::new() },
    };
    let mut report = Report::default();
    report.checks.push(reached(subject, &found.url, &found.server));
    report.checks.extend(found.server.ahead_micros.map(|micros| clock(subject, micros)));
    match &found.kinds {
        Ok(kinds) => {
            report.checks.extend(discovered(subject, kinds));
            let refusals = judge_refusals(subject, cluster, &found);
            report.checks.extend(refusals.checks);
            report.missing.extend(refusals.missing);
        }
        Err(trouble) => report.checks.push(troubled(subject, trouble)),
    }
    report
}

/// A cluster, or its discovery, that does not answer.
fn troubled(subject: &str, trouble: &Trouble) -> Check {
    let (sentence, hint) = match trouble {
        Trouble::NoWay(_) => ("no connection is configured", "correct the cluster's keys or its kubeconfig"),
        Trouble::Unreachable(_) => {
            ("it does not answer", "check the address, and firewalls or VPNs in between")
        }
        Trouble::Certificate(text) => certificate(text),
        Trouble::Unauthorized(_) => (
            "it does not accept the credentials",
            "they may have expired or been revoked: renew the token or certificate of the kubeconfig",
        ),
        Trouble::Forbidden(_) => (
            "discovery of its kinds is forbidden",
            "bind the ClusterRole system:discovery to the account that Strandline uses",
        ),
        Trouble::NotServed(_) => {
            ("it has no Kubernetes API there", "check that the address is that of an API server")
        }
        Trouble::Failing(_) => ("it answers with an error", "ask the administrators of the cluster"),
    };
    Check::problem(subject, format!("{sentence}: {trouble}")).hint(hint)
}

fn certificate(text: &str) -> (&'static str, &'static str) {
    if text.contains("not valid for name") {
        let hint = "use a name from the certificate as address, or set `tls-server-name` in the kubeconfig";
        ("the server's certificate is for another name", hint)
    } else if text.contains("UnknownIssuer") || text.contains("BadSignature") {
        let hint = "put the cluster's current CA into `certificate-authority-data` of the kubeconfig";
        ("the server's certificate is not signed by the CA in the kubeconfig", hint)
    } else if text.contains("certificate expired") {
        ("the server's certificate has expired", "renew it, or correct this machine's clock")
    } else if text.contains("not valid yet") {
        ("the server's certificate is not valid yet", "check this machine's clock")
    } else if text.contains("received fatal alert") {
        ("the server does not accept our certificate", "renew the client certificate of the kubeconfig")
    } else {
        ("a certificate is not accepted", "compare the kubeconfig with the server's certificate")
    }
}

fn reached(subject: &str, url: &str, server: &Server) -> Check {
    match &server.version {
        Some(version) => Check::ok(subject, format!("{url} answers, version {version}")),
        None => Check::ok(subject, format!("{url} answers, version unknown")),
    }
}

fn clock(subject: &str, ahead_micros: i64) -> Check {
    let seconds = ahead_micros.unsigned_abs() / 1_000_000;
    let direction = if ahead_micros < 0 { "behind" } else { "ahead of" };
    if ahead_micros.unsigned_abs() > SECONDS_APART * 1_000_000 {
        return Check::warning(subject, format!("its clock is {seconds} s {direction} this machine's")).hint(
            "synchronize both with NTP: times of objects come from the cluster, times of changes from this machine",
        );
    }
    Check::ok(subject, "its clock agrees with this machine's")
}

fn discovered(subject: &str, kinds: &KindList) -> Vec<Check> {
    let followed = kinds.kinds.iter().filter(|kind| kind.unfollowed.is_none()).count();
    let mut checks = vec![if followed == 0 {
        Check::warning(subject, "none of its kinds is watched").hint("run `strandline kinds` for the reasons")
    } else {
        Check::ok(subject, format!("{followed} of its {} kinds are watched", kinds.kinds.len()))
    }];
    checks.extend(kinds.failed.iter().map(|failed| {
        Check::warning(subject, format!("it cannot list the kinds of {}: {}", failed.group, failed.message))
            .hint("its kinds are not watched until the server behind the group's APIService answers")
    }));
    checks
}

fn judge_refusals(subject: &str, cluster: &str, found: &Examination) -> Report {
    let mut report = Report::default();
    let (forbidden, other): (Vec<&Refusal>, Vec<&Refusal>) =
        found.refusals.iter().partition(|refusal| matches!(refusal.trouble, Trouble::Forbidden(_)));
    let missing = rbac::missing(&forbidden);
    report.checks.extend(missing.iter().map(|missing| unseen(subject, missing)));
    report.checks.extend(other.into_iter().map(|refusal| failing(subject, refusal)));
    let none = KindList::default();
    let accounts = missing.iter().filter(|missing| missing.user.as_deref() != Some(NOBODY));
    let manifests = rbac::manifests(cluster, accounts, found.kinds.as_ref().unwrap_or(&none));
    if !manifests.yaml.is_empty() {
        report.missing.push(manifests);
    }
    if found.unasked > 0 {
        let message = format!("{} of the watched kinds were not checked in time", found.unasked);
        report.checks.push(Check::warning(subject, message).hint("try again when the cluster is less busy"));
    } else if found.refusals.is_empty() && found.asked > 0 {
        report.checks.push(Check::ok(subject, "all watched kinds can be listed and watched"));
    }
    report
}

/// Kinds that may not be seen, in one place.
fn unseen(subject: &str, missing: &Missing<'_>) -> Check {
    let place = match missing.namespace {
        "" => String::new(),
        namespace => format!(" in namespace {namespace}"),
    };
    let name = |refusal: &&Refusal| match refusal.verb {
        "list" => refusal.served.kind.to_string(),
        verb => format!("{} ({verb})", refusal.served.kind),
    };
    let kinds: Vec<String> = missing.refusals.iter().map(name).collect();
    let who = missing.user.as_deref().unwrap_or("the account that Strandline uses");
    let message = format!("{who} lacks permission for these kinds{place}: {}", kinds.join(", "));
    let hint = match missing.user.as_deref() {
        Some(NOBODY) => "no credentials were sent: give the kubeconfig's user a token or a certificate",
        _ => {
            "exclude them, or have a cluster administrator apply the role printed by `strandline doctor --rbac`"
        }
    };
    Check::problem(subject, message).hint(hint)
}

/// A kind that cannot be seen for another reason than permission.
fn failing(subject: &str, Refusal { served, namespace, verb, trouble }: &Refusal) -> Check {
    let place = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
    let message = format!("{verb} of {}{place} fails: {trouble}", served.kind);
    match trouble {
        // Between discovery and the question it went away, or its server lists more than it serves.
        Trouble::NotServed(_) => Check::warning(subject, message).hint("exclude the kind if this persists"),
        _ => Check::problem(subject, message)
            .hint("its conversion webhook or API server may be down; exclude the kind if this persists"),
    }
}
