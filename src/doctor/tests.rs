//! Whole reports on simulated clusters.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;

use super::*;
use strandline_clock::SystemClock;
use strandline_model::{Kind, Timestamp};
use strandline_sim::api_server::{ApiServer, Fault, Faults, builtin_kinds};
use strandline_watch::{Examination, KindList, Refusal, ServedKind, Server, Trouble};

/// A clock a minute behind.
struct Late;

impl Clock for Late {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(SystemClock.now().as_micros() - 60_000_000)
    }
}

fn lines(report: &Report) -> Vec<String> {
    let line = |check: &Check| format!("{} {}: {}", check.result.as_str(), check.subject, check.message);
    report.checks.iter().map(line).collect()
}

async fn report_on(config: &str, clock: &dyn Clock) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let config = crate::config::parse(config, Path::new("x.yaml")).unwrap();
    let clusters: Vec<_> = config.clusters.iter().collect();
    check(&config, dir.path(), &clusters, clock).await
}

async fn server() -> ApiServer {
    ApiServer::start("one", builtin_kinds()).await.unwrap()
}

fn of_cluster(report: &Report) -> Vec<String> {
    lines(report).into_iter().filter(|line| line.contains(" cluster ")).collect()
}

#[tokio::test]
async fn a_cluster_that_shows_everything_is_fine() {
    let server = server().await;
    let report =
        report_on(&format!("clusters: [{{name: one, url: '{}'}}]", server.url()), &SystemClock).await;
    assert_eq!(
        of_cluster(&report),
        [
            format!("ok cluster one: {}/ answers, version v1.36.0-strandline-demo", server.url()),
            "ok cluster one: its clock agrees with this machine's".to_owned(),
            "ok cluster one: 16 of its 16 kinds are watched".to_owned(),
            "ok cluster one: all watched kinds can be listed and watched".to_owned(),
        ]
    );
    assert_eq!((report.problems(), report.missing.len()), (0, 0), "{:?}", lines(&report));
    let asked = server.requests();
    assert_eq!((asked.lists, asked.watches), (16, 16));
}

#[tokio::test]
async fn what_may_not_be_seen_is_listed_with_the_permission_that_is_missing() {
    let server = server().await;
    server.faults().refuse(Some(Kind::new("", "Pod")), 403);
    server.faults().refuse(Some(Kind::new("apps", "Deployment")), 403);
    server.faults().refuse(Some(Kind::new("", "Node")), 403);
    server.faults().refuse(Some(Kind::new("", "Secret")), 500);
    server.set_stale("autoscaling", true);
    let config = format!("clusters: [{{name: one, url: '{}', namespaces: [a, b]}}]", server.url());
    let report = report_on(&config, &SystemClock).await;
    let account = "system:serviceaccount:strandline:strandline";
    let told = of_cluster(&report);
    for expected in [
        "warning cluster one: it cannot list the kinds of autoscaling".to_owned(),
        format!(
            "problem cluster one: {account} lacks permission for these kinds in namespace a: Pod, Deployment.apps"
        ),
        format!(
            "problem cluster one: {account} lacks permission for these kinds in namespace b: Pod, Deployment.apps"
        ),
        "problem cluster one: list of Secret in namespace a fails: 500".to_owned(),
    ] {
        assert!(told.iter().any(|line| line.starts_with(&expected)), "{expected} is not in {told:#?}");
    }
    assert_eq!(report.problems(), 4, "{told:#?}");
    let yaml = &report.missing[0].yaml;
    assert_eq!(yaml.matches("kind: RoleBinding\n").count(), 2, "{yaml}");
    assert!(yaml.contains("resources: [\"pods\"]") && !yaml.contains("secrets"), "{yaml}");
}

#[test]
fn whoever_shows_no_credentials_is_told_so_and_given_no_role() {
    let refusal = Refusal {
        served: ServedKind {
            kind: Kind::new("", "Pod"),
            version: "v1".into(),
            plural: "pods".into(),
            namespaced: true,
        },
        namespace: String::new(),
        verb: "watch",
        trouble: Trouble::Forbidden("User \"system:anonymous\" cannot watch".into()),
    };
    let found = Examination {
        url: "https://x/".into(),
        server: Server::default(),
        kinds: Ok(KindList::default()),
        asked: 1,
        unasked: 2,
        refusals: vec![refusal],
    };
    let report = clusters::judge("cluster one", "one", Ok(found));
    assert!(report.missing.is_empty());
    assert_eq!(
        lines(&report),
        [
            "ok cluster one: https://x/ answers, version unknown",
            "warning cluster one: none of its kinds is watched",
            "problem cluster one: system:anonymous lacks permission for these kinds: Pod (watch)",
            "warning cluster one: 2 of the watched kinds were not checked in time",
        ]
    );
}

#[tokio::test]
async fn clusters_that_do_not_answer_are_told_one_by_one() {
    let (good, unknown) = (server().await, server().await);
    unknown.faults().refuse(None, 401);
    let config = format!(
        "clusters:\n- {{name: gone, url: 'http://127.0.0.1:1'}}\n- {{name: unknown, url: '{}'}}\n\
         - {{name: nowhere, kubeconfig: /nonexistent/kubeconfig}}\n- {{name: good, url: '{}'}}\n",
        unknown.url(),
        good.url()
    );
    let report = report_on(&config, &Late).await;
    let told = of_cluster(&report);
    for expected in [
        "problem cluster gone: it does not answer: ",
        "problem cluster unknown: it does not accept the credentials: 401",
        "problem cluster nowhere: no connection is configured: ",
        "warning cluster good: its clock is ",
        "ok cluster good: all watched kinds can be listed and watched",
    ] {
        assert!(told.iter().any(|line| line.starts_with(expected)), "{expected} is not in {told:#?}");
    }
    assert_eq!(report.problems(), 3, "{told:#?}");
    assert!(
        report
            .checks
            .iter()
            .filter(|check| check.result != CheckResult::Ok)
            .all(|check| check.hint.is_some())
    );
}

#[tokio::test]
async fn a_cluster_that_falls_silent_is_left_when_time_is_up() {
    let server = server().await;
    let text = format!("clusters: [{{name: one, url: '{}'}}]", server.url());
    let config = crate::config::parse(&text, Path::new("x.yaml")).unwrap();
    let mut settings = ExamineSettings::new(config.clusters[0].selection.clone());
    settings.total = std::time::Duration::from_millis(300);
    server.faults().next(Fault::Hang, Faults::ALWAYS);
    let silent =
        examine(&config.clusters[0].watchers[0].connect, &[], &settings, &SystemClock).await.unwrap_err();
    assert!(matches!(silent, Trouble::Unreachable(_)), "{silent}");
}

#[test]
fn certificates_are_told_apart() {
    let cases = [
        ("invalid peer certificate: UnknownIssuer", "not signed by the CA"),
        ("certificate not valid for name \"x\"; certificate is only valid for y", "for another name"),
        ("certificate expired: verification time 9 (UNIX)", "has expired"),
        ("certificate not valid yet: verification time 9 (UNIX)", "not valid yet"),
        ("received fatal alert: CertificateExpired", "does not accept our certificate"),
        ("some certificate", "a certificate is not accepted"),
    ];
    for (text, expected) in cases {
        let trouble = Trouble::Certificate(text.to_owned());
        let report = clusters::judge("cluster one", "one", Err(trouble));
        assert!(report.checks[0].message.contains(expected), "{text}: {:?}", report.checks);
    }
}

#[test]
fn a_broken_configuration_is_a_report_too() {
    let error =
        crate::config::parse("clusters: [{name: a b}]\nlisten: x\n", Path::new("x.yaml")).unwrap_err();
    let report = of_mistakes(&error);
    assert_eq!(
        lines(&report),
        [
            "problem configuration: x.yaml:1:19: invalid cluster name `a b`",
            "problem configuration: x.yaml:2:9: invalid address and port `x`; use one such as 127.0.0.1:7979",
        ]
    );
    assert_eq!(report.problems(), 2);
}
