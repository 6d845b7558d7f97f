//! What people may read in clusters of our own, which err on purpose.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::issuers::{ISSUER, NOW, user, users};
use super::signer::Signer;
use super::*;
use crate::http::auth::{
    AccessQuestion, ListNamespaces, Mapping, NAMESPACES_MAX, Permission, ProxyConfig, ReviewAccess, Subject,
    SubjectClaims, SubjectHeaders, SubjectRules,
};
use bytes::Bytes;
use http::{HeaderName, StatusCode};
use strandline_clock::testing::ManualClock;

/// What clusters allow: to whom, and where; none where one is away.
type Said = BTreeMap<String, Option<BTreeSet<(String, String)>>>;

/// A server of ours with an issuer of people, and clusters that it asks about them.
struct World {
    access: Authenticator,
    said: Arc<Mutex<Said>>,
    asked: Arc<Mutex<Vec<AccessQuestion>>>,
    under_way: Arc<AtomicU64>,
    at_once: Arc<AtomicU64>,
    /// Questions that may be answered.
    answers: Arc<Semaphore>,
    namespaces: Arc<AtomicU64>,
    clock: Arc<ManualClock>,
    key: Signer,
}

fn rules() -> SubjectRules {
    SubjectRules {
        clusters: vec!["east".to_owned(), "west".to_owned()],
        username_prefix: "oidc:".to_owned(),
        groups_prefix: "oidc:".to_owned(),
        permission: Permission::default(),
    }
}

/// Without prefixes.
fn bare() -> SubjectRules {
    SubjectRules { username_prefix: String::new(), groups_prefix: String::new(), ..rules() }
}

fn claims(username: &str, rules: SubjectRules) -> SubjectClaims {
    SubjectClaims { username_claim: username.to_owned(), groups_claim: "groups_direct".to_owned(), rules }
}

/// A proxy by whose word clusters are asked, too.
fn proxy(rules: SubjectRules) -> ProxyConfig {
    let header = HeaderName::from_static;
    let of = SubjectHeaders { user_header: header("x-email"), groups_header: header("x-teams"), rules };
    ProxyConfig {
        addresses: vec!["192.0.2.7".parse().expect("an address")],
        user_header: header("x-user"),
        groups_header: header("x-groups"),
        write_groups: BTreeSet::new(),
        readers: ["auditors".to_owned()].into(),
        admins: BTreeSet::new(),
        access_review: Some(Box::new(of)),
    }
}

impl World {
    fn new(rules: SubjectRules) -> Self {
        World::with(claims("preferred_username", rules))
    }

    fn with(claims: SubjectClaims) -> Self {
        let both = ["east", "west"].map(|name| (name.to_owned(), Some(BTreeSet::new())));
        let said = Arc::new(Mutex::new(Said::from(both)));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (under_way, at_once) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (answers, namespaces) = (Arc::new(Semaphore::new(100_000)), Arc::new(AtomicU64::new(3)));
        let clock = Arc::new(ManualClock::default());
        clock.set(Timestamp::from_micros(NOW * 1_000_000));
        let (table, questions, turns) = (Arc::clone(&said), Arc::clone(&asked), Arc::clone(&answers));
        let (now, most) = (Arc::clone(&under_way), Arc::clone(&at_once));
        let review: ReviewAccess = Arc::new(move |question| {
            questions.lock().expect("asked").push(question.clone());
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            let (table, turns, now) = (Arc::clone(&table), Arc::clone(&turns), Arc::clone(&now));
            async move {
                turns.acquire().await.expect("open").forget();
                now.fetch_sub(1, Ordering::Relaxed);
                let said = table.lock().expect("said");
                let allowed = said[&question.cluster].as_ref().ok_or("it is away")?;
                let subject = &question.subject;
                let mut names = subject.groups.iter().chain([&subject.user]);
                Ok(names.any(|name| allowed.contains(&(name.clone(), question.namespace.clone()))))
            }
            .boxed()
        });
        let many = Arc::clone(&namespaces);
        let list: ListNamespaces = Arc::new(move |_, limit| {
            let all = (0..many.load(Ordering::Relaxed)).map(|n| format!("ns-{n}")).take(limit).collect();
            std::future::ready(Ok(all)).boxed()
        });
        let key = Signer::es256();
        let keys = json!({"keys": [key.jwk("1")]}).to_string();
        let fetch: Fetch = Arc::new(move |request| {
            let described = json!({"issuer": ISSUER, "jwks_uri": format!("{ISSUER}/keys")}).to_string();
            let body = if request.url.ends_with("/keys") { keys.clone() } else { described };
            std::future::ready(Ok((StatusCode::OK, Bytes::from(body)))).boxed()
        });
        let proxy = Some(proxy(claims.rules.clone()));
        let config = AccessConfig { issuers: vec![asking(claims)], proxy, ..AccessConfig::default() };
        let access = Authenticator::new(config, false, Arc::clone(&clock) as Arc<dyn Clock>)
            .with_fetch(fetch)
            .with_access_reviews(review, list);
        World { access, said, asked, under_way, at_once, answers, namespaces, clock, key }
    }

    fn token(&self, more: &Value) -> String {
        self.key.token("1", &user(&merged(json!({"exp": NOW + 3600}), more)))
    }

    fn allow(&self, cluster: &str, subject: &str, namespace: &str) {
        let mut said = self.said.lock().expect("said");
        let allowed = said.get_mut(cluster).expect("a cluster").get_or_insert_default();
        allowed.insert((subject.to_owned(), namespace.to_owned()));
    }

    fn say(&self, cluster: &str, allowed: Option<BTreeSet<(String, String)>>) {
        self.said.lock().expect("said").insert(cluster.to_owned(), allowed);
    }

    async fn caller(&self, token: &str) -> Result<Arc<Caller>, Problem> {
        let context = context(Some(&format!("Bearer {token}")));
        self.access.caller(&context).await
    }

    /// Who comes through the proxy with these headers.
    async fn proxied(&self, headers: &[(&'static str, &'static str)]) -> Result<Arc<Caller>, Problem> {
        let mut context = context(None);
        context.peer = Some(SocketAddr::from(([192, 0, 2, 7], 5)));
        for (name, value) in headers {
            context.headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        self.access.caller(&context).await
    }

    /// The places that the caller with a token reads.
    async fn places(&self, token: &str) -> Vec<String> {
        let caller = self.caller(token).await.expect("somebody");
        caller.who_am_i().reads.namespaces.into_iter().collect()
    }

    fn asked(&self) -> usize {
        self.asked.lock().expect("asked").len()
    }

    fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }
}

fn asking(claims: SubjectClaims) -> IssuerConfig {
    let issuer = users();
    let Mapping::Users(of_users) = issuer.mapping.clone() else { panic!("of people") };
    let of_users = UserRules { access_review: Some(Box::new(claims)), ..of_users };
    IssuerConfig { mapping: Mapping::Users(of_users), ..issuer }
}

fn merged(mut base: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().expect("claims") {
        base[key] = value.clone();
    }
    base
}

#[tokio::test]
async fn people_read_where_their_clusters_say_that_they_and_their_groups_may() {
    let world = World::new(rules());
    let token = world.token(&json!({}));
    world.allow("east", "oidc:alice", "ns-1");
    world.allow("east", "oidc:shop", "ns-2");
    world.allow("east", "alice", "ns-0");
    world.allow("west", "system:authenticated", "ns-0");
    assert_eq!(world.places(&token).await, ["east/ns-1", "east/ns-2", "west/ns-0"]);
    assert_eq!(world.asked(), 8, "two clusters, each about itself and three namespaces");
    let caller = world.caller(&token).await.expect("somebody");
    assert!(caller.places.holds("east", "ns-1") && !caller.places.holds("east", "ns-0"));
    assert!(caller.has("shop/web") && !caller.everything, "groups give what they gave");
    {
        let asked = world.asked.lock().expect("asked");
        let Subject { user, groups, permission, .. } = &*asked[0].subject;
        assert_eq!((user.as_str(), asked[0].namespace.as_str()), ("oidc:alice", ""));
        assert_eq!(groups, &["oidc:shop", "system:authenticated"]);
        let Permission { verb, group, resource } = permission;
        assert_eq!((verb.as_str(), group.as_str(), resource.as_str()), ("list", "", "configmaps"));
    }
    // Who may read all of a cluster is asked about no namespace.
    world.allow("east", "oidc:admins", "");
    let before = world.asked();
    let admin = world.token(&json!({"groups_direct": ["admins"], "preferred_username": "bob"}));
    assert_eq!(world.places(&admin).await, ["east/*", "west/ns-0"]);
    assert_eq!(world.asked() - before, 5);
    // Who sees everything anyway is asked about nowhere.
    let before = world.asked();
    let platform = world.token(&json!({"groups_direct": ["platform"]}));
    assert!(world.places(&platform).await.is_empty());
    assert_eq!(world.asked(), before);
}

#[tokio::test]
async fn who_comes_through_a_proxy_reads_where_clusters_say_that_they_and_their_groups_may() {
    let world = World::new(rules());
    world.allow("east", "oidc:a@shop.test", "ns-1");
    world.allow("west", "oidc:pay", "ns-2");
    world.allow("east", "oidc:alice", "ns-0");
    world.allow("east", "oidc:shop", "ns-0");
    let headers =
        [("x-user", "alice"), ("x-groups", "shop"), ("x-email", "a@shop.test"), ("x-teams", "pay, ops")];
    let caller = world.proxied(&headers).await.expect("somebody");
    let places: Vec<_> = caller.who_am_i().reads.namespaces.into_iter().collect();
    assert_eq!(places, ["east/ns-1", "west/ns-2"]);
    assert!(caller.has("shop/web") && !caller.everything && caller.require_write().is_err());
    assert_eq!(
        world.asked.lock().expect("asked")[0].subject.groups,
        ["oidc:ops", "oidc:pay", "system:authenticated"]
    );
    // Who sees everything anyway is asked about nowhere.
    let before = world.asked();
    let auditor = world.proxied(&[("x-user", "alice"), ("x-groups", "auditors")]).await.expect("somebody");
    assert!(auditor.everything && auditor.places.is_empty());
    assert_eq!(world.asked(), before);
    for wrong in [
        &[("x-user", "alice")][..],
        &[("x-user", "alice"), ("x-email", "a@shop.test"), ("x-email", "b@shop.test")],
        &[("x-user", "alice"), ("x-email", "")],
    ] {
        let problem = world.proxied(wrong).await.expect_err("it names nobody to clusters");
        assert_eq!(problem.code.as_str(), "unauthorized", "{wrong:?}");
    }
    assert_eq!(world.asked(), before);
    assert_eq!(world.access.config().asked_clusters().into_iter().collect::<Vec<_>>(), ["east", "west"]);
}

#[tokio::test]
async fn no_proxy_makes_somebody_a_user_or_member_of_kubernetes_itself() {
    let world = World::new(bare());
    world.allow("east", "system:masters", "");
    world.allow("east", "pay", "ns-0");
    let teams = ("x-teams", "system:masters,pay");
    let caller = world.proxied(&[("x-user", "alice"), ("x-email", "alice"), teams]).await.expect("somebody");
    assert_eq!(caller.who_am_i().reads.namespaces.into_iter().collect::<Vec<_>>(), ["east/ns-0"]);
    let named = world.proxied(&[("x-user", "alice"), ("x-email", "system:admin")]).await;
    assert!(named.expect_err("it is reserved").detail.contains("Kubernetes itself"));
}

#[tokio::test]
async fn no_issuer_makes_somebody_a_user_or_member_of_kubernetes_itself() {
    let world = World::new(bare());
    for subject in ["system:masters", "system:nodes", "system:serviceaccounts"] {
        world.allow("east", subject, "");
    }
    let groups = json!({"groups_direct": ["system:masters", "system:nodes", "shop"]});
    assert_eq!(world.places(&world.token(&groups)).await, [""; 0]);
    let named = world.token(&json!({"preferred_username": "system:admin"}));
    let problem = world.caller(&named).await.expect_err("it is reserved");
    assert!(problem.detail.contains("Kubernetes itself"), "{}", problem.detail);
    for more in [json!({"preferred_username": null}), json!({"preferred_username": 7})] {
        let problem = world.caller(&world.token(&more)).await.expect_err("it names nobody");
        assert!(problem.detail.contains("the claim that names its user"), "{}", problem.detail);
    }
    // An address that nobody verified could be anybody's.
    let world = World::with(claims("email", bare()));
    world.allow("east", "a@shop.test", "ns-0");
    let with = |verified: Value| world.token(&json!({"email": "a@shop.test", "email_verified": verified}));
    assert_eq!(world.places(&with(json!(true))).await, ["east/ns-0"]);
    assert_eq!(world.places(&world.token(&json!({"email": "a@shop.test"}))).await, ["east/ns-0"]);
    for verified in [json!(false), json!("true"), json!(1)] {
        let problem = world.caller(&with(verified)).await.expect_err("not verified");
        assert!(problem.detail.contains("not verified"), "{}", problem.detail);
    }
}

#[tokio::test]
async fn what_a_cluster_said_is_renewed_and_gone_within_a_minute() {
    let world = World::new(rules());
    let token = world.token(&json!({}));
    world.allow("east", "oidc:alice", "ns-1");
    assert_eq!(world.places(&token).await, ["east/ns-1"]);
    let before = world.asked();
    for _ in 0..50 {
        assert_eq!(world.places(&token).await, ["east/ns-1"]);
    }
    assert_eq!(world.asked(), before, "it is known");
    world.say("east", Some(BTreeSet::new()));
    world.pass(29);
    assert_eq!(world.places(&token).await, ["east/ns-1"]);
    world.pass(1);
    assert_eq!(world.places(&token).await, [""; 0]);
    assert_eq!(world.asked(), before + 8);
}

#[tokio::test]
async fn a_cluster_that_is_away_gives_nothing_and_the_others_go_on() {
    let world = World::new(rules());
    let token = world.token(&json!({}));
    world.allow("east", "oidc:alice", "ns-1");
    world.say("west", None);
    assert_eq!(world.places(&token).await, ["east/ns-1"]);
    let west = |world: &World| world.access.access_reviews()[1].clone();
    assert_eq!((west(&world).0.as_str(), west(&world).1, west(&world).2.failed), ("west", false, 1));
    // It is left alone for a while, whoever asks.
    for n in 0..20 {
        let other = world.token(&json!({"preferred_username": format!("u{n}")}));
        assert_eq!(world.places(&other).await, [""; 0]);
    }
    assert_eq!(west(&world).2.failed, 1);
    // What it said before holds for a minute, and no longer.
    world.say("west", Some(BTreeSet::new()));
    world.allow("west", "oidc:alice", "ns-0");
    world.pass(5);
    assert_eq!(world.places(&token).await, ["east/ns-1", "west/ns-0"]);
    assert!(west(&world).1);
    world.say("west", None);
    world.pass(40);
    assert_eq!(world.places(&token).await, ["east/ns-1", "west/ns-0"]);
    world.pass(25);
    assert_eq!(world.places(&token).await, ["east/ns-1"]);
    assert!(!west(&world).1 && world.access.access_reviews()[0].1);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_asked_once_for_all_who_wait_and_about_few_namespaces_at_a_time() {
    let world = World::new(SubjectRules { clusters: vec!["east".to_owned()], ..rules() });
    world.namespaces.store(10_000, Ordering::Relaxed);
    world.allow("east", "oidc:alice", "ns-499");
    world.allow("east", "oidc:alice", "ns-500");
    world.answers.forget_permits(100_000);
    let token = world.token(&json!({}));
    let all = join_all((0..100).map(|_| world.places(&token)));
    let released = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(world.asked(), 1);
        world.answers.add_permits(1);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((world.asked(), world.under_way.load(Ordering::Relaxed)), (9, 8));
        world.answers.add_permits(100_000);
    };
    let (found, ()) = tokio::join!(all, released);
    assert!(found.iter().all(|places| places == &["east/ns-499"]), "{:?}", found[0]);
    assert_eq!(world.asked(), 1 + NAMESPACES_MAX, "and not about all 10,000");
    assert_eq!(world.at_once.load(Ordering::Relaxed), 8);
    // Who hangs up begins nothing anew, and leaves nothing undone.
    world.pass(30);
    world.answers.forget_permits(100_000);
    let before = world.asked();
    for _ in 0..20 {
        let hung_up = tokio::time::timeout(Duration::from_millis(10), world.places(&token)).await;
        assert!(hung_up.is_err());
    }
    assert_eq!(world.asked() - before, 1);
    world.answers.add_permits(100_000);
    assert_eq!(world.places(&token).await, ["east/ns-499"]);
    assert_eq!(world.asked() - before, 1 + NAMESPACES_MAX);
    // A cluster that never answers keeps nobody waiting for ever.
    world.pass(70);
    world.answers.forget_permits(100_000);
    assert_eq!(world.places(&token).await, [""; 0]);
    assert!(world.under_way.load(Ordering::Relaxed) >= 1 && !world.access.access_reviews()[0].1);
}

#[tokio::test]
async fn another_configuration_asks_anew() {
    let world = World::new(rules());
    let token = world.token(&json!({}));
    world.allow("east", "oidc:alice", "ns-1");
    assert_eq!(world.places(&token).await, ["east/ns-1"]);
    let mut other = rules();
    other.permission.resource = "pods".to_owned();
    let before = world.asked();
    let config = |rules| {
        let issuers = vec![asking(claims("preferred_username", rules))];
        AccessConfig { issuers, ..AccessConfig::default() }
    };
    world.access.replace(config(other.clone()));
    assert_eq!(world.places(&token).await, ["east/ns-1"]);
    assert_eq!(world.asked() - before, 8);
    other.clusters = vec!["west".to_owned()];
    world.access.replace(config(other));
    assert_eq!(world.places(&token).await, [""; 0]);
    assert_eq!(world.access.access_reviews().len(), 1);
}
