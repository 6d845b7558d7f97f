//! Clusters whose ServiceAccounts may ask.

use super::*;

const GOOD: &str = "
clusters: [{name: east, url: 'http://127.0.0.1:1'}, {name: west, url: 'http://127.0.0.1:2'}]
access:
  kubernetes:
    - cluster: east
      issuer: https://kubernetes.default.svc
      audience: https://strandline.example.com/east
      service_accounts:
        - {namespace: ci, name: deployer, projects: [shop/web], write: true}
        - {namespace: monitoring, everything: true}
    - cluster: west
      issuer: https://kubernetes.default.svc
      audience: https://strandline.example.com/west
      service_accounts: [{namespace: ci, groups: [shop]}]
";

#[test]
fn clusters_review_the_tokens_of_accounts_that_are_named() {
    let access = read(GOOD).unwrap().access;
    assert!(access.is_guarded());
    let [east, west] = access.kubernetes.as_slice() else { panic!("two") };
    assert_eq!((east.cluster.as_str(), west.cluster.as_str()), ("east", "west"));
    assert_eq!(east.audience, "https://strandline.example.com/east");
    let [deployer, monitoring] = east.service_accounts.as_slice() else { panic!("two") };
    assert_eq!(
        (deployer.name.as_deref(), deployer.write, deployer.everything),
        (Some("deployer"), true, false)
    );
    assert_eq!((monitoring.name.as_deref(), monitoring.write, monitoring.everything), (None, false, true));
    assert_eq!(parse_access(GOOD, Path::new("c.yaml")).unwrap(), access, "who may ask is read alone, too");
}

#[test]
fn mistakes_in_clusters_that_review_tokens_are_told() {
    for (from, to, part) in [
        ("cluster: west", "cluster: north", "`north`"),
        ("cluster: west", "cluster: east", "`east`"),
        ("com/west", "com/east", "issuer and audience"),
        ("https://strandline.example.com/east", "''", "`audience`"),
        ("issuer: https://kubernetes.default.svc", "issuer: ''", "`issuer`"),
        ("[{namespace: ci, groups: [shop]}]", "[]", "`west`"),
        ("groups: [shop]", "write: true", "`ci/*`"),
        ("groups: [shop]", "groups: [/shop]", "`/shop`"),
        ("namespace: ci, name", "namespace: Ci, name", "`Ci`"),
        ("name: deployer", "name: 'system:serviceaccount:ci:deployer'", "ServiceAccount"),
        (
            "access:",
            "access:\n  issuers: [{name: a, issuer: 'https://kubernetes.default.svc', audience: b, users: {}}]",
            "`issuers`",
        ),
        (
            "access:",
            "access:\n  issuers: [{name: east, issuer: 'https://other.test', audience: b, users: {}}]",
            "`east`",
        ),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = read(&GOOD.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(part), "{to}: {error}");
    }
}

/// Whoever may write into a folder would else bring a cluster that vouches for anybody.
#[test]
fn a_cluster_that_is_found_reviews_nothing() {
    let text = GOOD.replace(
        "clusters: [{name: east, url: 'http://127.0.0.1:1'}, {name: west, url: 'http://127.0.0.1:2'}]",
        "clusters: [{name: west, url: 'http://127.0.0.1:2'}]\ncluster_folders: [{path: /nonexistent}]",
    );
    let error = read(&text).expect_err("it is not named").to_string();
    assert!(error.contains("`east` is not one of `clusters`"), "{error}");
}
