//! What is hidden, and logins where they would be seen.

use super::*;
use strandline_redact::Choices;

#[test]
fn what_is_hidden_is_read_and_mistakes_have_their_place() {
    let text = "redact:\n  names: [partner-code]\n  keep: [sort-key]\n  leave_out: [{kind: ConfigMap, namespaces: [shop]}]\n";
    let config = read(&format!("{CLUSTER}{text}")).unwrap();
    let left_out = vec![strandline_redact::LeftOut {
        kind: "ConfigMap".parse().unwrap(),
        namespaces: vec!["shop".to_owned()],
        names: Vec::new(),
    }];
    assert_eq!(config.redact, Choices::new(&["partner-code".to_owned()], &["sort-key".to_owned()], left_out));
    check(
        &format!("{CLUSTER}redact: {{names: ['-']}}\n"),
        &["2:18: invalid value name `-`"],
        Some("write it in words, such as partner-code or PARTNER_CODE"),
    );
    check(
        &format!("{CLUSTER}redact: {{names: [a], keep: [a]}}\n"),
        &["2:29: `a` is in `names` and in `keep`"],
        Some("remove one of them"),
    );
    check(
        &format!("{CLUSTER}redact: {{leave_out: [{{kind: configmaps}}]}}\n"),
        &["2:29: invalid kind `configmaps`; write Kind, Kind.group or *.group"],
        Some("such as Secret, Lease.coordination.k8s.io or *.metrics.k8s.io"),
    );
}

#[test]
fn a_login_in_an_address_is_refused() {
    let cluster = "clusters: [{name: one, url: 'https://me:tulip@127.0.0.1:1'}]\n";
    check(
        cluster,
        &["1:29: `https://127.0.0.1:1` contains credentials, which would appear in logs"],
        Some("remove them, and put credentials into a kubeconfig"),
    );
    let environment = "environments: [{project: a, name: b, cluster: one, namespace: c, external_url: 'http://u:tulip@x'}]\n";
    check(
        &format!("{CLUSTER}{environment}"),
        &["2:35: the `external_url` of `b` contains credentials, which every reader would see"],
        Some("remove the part before the @"),
    );
}
