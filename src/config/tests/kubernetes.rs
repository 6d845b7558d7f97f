//! Clusters whose ServiceAccounts may ask.

use super::*;
use crate::http::auth::{Mapping, Permission, SubjectClaims, SubjectRules};

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

/// With what is asked about accounts, and about people of an issuer.
fn asking() -> String {
    let account = "[{namespace: ci, groups: [shop]}]";
    let asks = "[{namespace: ci}]\n      access_review: {verb: get, group: apps, resource: deployments}\n";
    let issuer = "  issuers:
    - name: corp
      issuer: https://login.test
      audience: strandline
      users:
        access_review:
          clusters: [west, east]
          username_claim: email
          username_prefix: 'oidc:'
          groups_prefix: 'team:'
";
    format!("{}{issuer}", GOOD.replace(account, asks))
}

#[test]
fn clusters_are_asked_about_accounts_and_people_who_may_read() {
    let access = read(&asking()).unwrap().access;
    let Some(of_accounts) = &access.kubernetes[1].access_review else { panic!("it is asked") };
    assert_eq!(
        [&of_accounts.verb, &of_accounts.group, &of_accounts.resource],
        ["get", "apps", "deployments"]
    );
    assert_eq!(access.kubernetes[0].access_review, None, "by choice");
    let Mapping::Users(users) = &access.issuers[0].mapping else { panic!("of people") };
    let rules = SubjectRules {
        clusters: vec!["east".to_owned(), "west".to_owned()],
        username_prefix: "oidc:".to_owned(),
        groups_prefix: "team:".to_owned(),
        permission: Permission::default(),
    };
    let (username_claim, groups_claim) = ("email".to_owned(), "groups_direct".to_owned());
    let expected = SubjectClaims { username_claim, groups_claim, rules };
    assert_eq!(users.access_review.as_deref(), Some(&expected));
    assert_eq!(access.asked_clusters().into_iter().collect::<Vec<_>>(), ["east", "west"]);
    let usual = asking().replace("username_claim: email", "groups_claim: teams");
    let access = read(&usual).unwrap().access;
    let Mapping::Users(users) = &access.issuers[0].mapping else { panic!("of people") };
    let rules = users.access_review.as_ref().unwrap();
    assert_eq!((rules.username_claim.as_str(), rules.groups_claim.as_str()), ("sub", "teams"));
}

/// With what is asked about people of a proxy.
const PROXIED: &str = "
clusters: [{name: east, url: 'http://127.0.0.1:1'}, {name: west, url: 'http://127.0.0.1:2'}]
access:
  proxy:
    addresses: [192.0.2.7]
    user_header: X-User
    access_review:
      clusters: [east]
      username_prefix: 'oidc:'
      groups_header: X-Teams
      verb: get
";

#[test]
fn clusters_are_asked_about_people_of_a_proxy() {
    let access = read(PROXIED).unwrap().access;
    let review = access.proxy.as_ref().unwrap().access_review.as_deref().unwrap();
    assert_eq!((review.user_header.as_str(), review.groups_header.as_str()), ("x-user", "x-teams"));
    let rules = SubjectRules {
        clusters: vec!["east".to_owned()],
        username_prefix: "oidc:".to_owned(),
        groups_prefix: String::new(),
        permission: Permission { verb: "get".to_owned(), ..Permission::default() },
    };
    assert_eq!(review.rules, rules);
    assert_eq!(access.asked_clusters().into_iter().collect::<Vec<_>>(), ["east"]);
    for (from, to, part) in [
        ("clusters: [east]\n", "clusters: [north]\n", "`north`"),
        ("clusters: [east]\n", "clusters: []\n", "`proxy` asks no cluster"),
        ("X-Teams", "'X Teams'", "`X Teams`"),
        ("verb: get", "verb: Get", "`Get`"),
    ] {
        let error = read(&PROXIED.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(part), "{to}: {error}");
    }
}

#[test]
fn mistakes_in_what_clusters_are_asked_are_told() {
    for (from, to, part) in [
        ("clusters: [west, east]", "clusters: [west, north]", "`north`"),
        ("clusters: [west, east]", "clusters: [west, west]", "`west`"),
        ("clusters: [west, east]", "clusters: []", "no cluster"),
        ("username_claim: email", "username_claim: ''", "claim"),
        ("verb: get", "verb: ''", "`verb`"),
        ("verb: get", "verb: Get", "`Get`"),
        ("resource: deployments", "resource: pods/log", "`pods/log`"),
        ("resource: deployments", "resource: ''", "`resource`"),
        ("group: apps", "group: 'apps/v1'", "`apps/v1`"),
        ("{namespace: ci}]", "{namespace: ci, write: true}]", "`ci/*`"),
    ] {
        let text = asking();
        assert!(text.contains(from), "{from}");
        let error = read(&text.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(part), "{to}: {error}");
    }
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
