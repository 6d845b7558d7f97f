//! Tokens of ServiceAccounts against a cluster of our own, which errs on purpose.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::signer::{Signer, encoded};
use super::*;
use strandline_clock::testing::ManualClock;
use strandline_protocol::AuthenticationMethod;

const ISSUER: &str = "https://kubernetes.default.svc";
const NOW: i64 = 1_800_000_000;
const DEPLOYER: &str = "system:serviceaccount:shop:deployer";

/// What a cluster says of tokens, by their text; none where it is away.
type Said = Option<BTreeMap<String, String>>;

/// A server of ours, and clusters that it asks.
struct World {
    access: Authenticator,
    said: Arc<Mutex<BTreeMap<String, Said>>>,
    asked: Arc<AtomicU64>,
    at_once: Arc<AtomicU64>,
    /// Reviews that may end.
    answers: Arc<Semaphore>,
    clock: Arc<ManualClock>,
    key: Signer,
}

fn cluster(name: &str, audience: &str) -> ReviewConfig {
    let grant = |namespace: &str, name: Option<&str>, project: &str| AccountGrant {
        namespace: namespace.to_owned(),
        name: name.map(str::to_owned),
        projects: BTreeSet::from([project.to_owned()]),
        ..AccountGrant::default()
    };
    ReviewConfig {
        cluster: name.to_owned(),
        issuer: ISSUER.to_owned(),
        audience: audience.to_owned(),
        access_review: None,
        service_accounts: vec![grant("shop", Some("deployer"), "shop/web"), grant("ops", None, "ops/tools")],
    }
}

impl World {
    fn new() -> Self {
        let both = ["east", "west"].map(|name| (name.to_owned(), Some(BTreeMap::new())));
        let said = Arc::new(Mutex::new(BTreeMap::from(both)));
        let (asked, at_once) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let answers = Arc::new(Semaphore::new(1000));
        let clock = Arc::new(ManualClock::default());
        clock.set(Timestamp::from_micros(NOW * 1_000_000));
        let (table, counted, most, turns) =
            (Arc::clone(&said), Arc::clone(&asked), Arc::clone(&at_once), Arc::clone(&answers));
        let under_way = Arc::new(AtomicU64::new(0));
        let review: ReviewToken = Arc::new(move |review| {
            counted.fetch_add(1, Ordering::Relaxed);
            most.fetch_max(under_way.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            let (table, turns, under_way) = (Arc::clone(&table), Arc::clone(&turns), Arc::clone(&under_way));
            async move {
                let turn = turns.acquire().await.expect("open");
                under_way.fetch_sub(1, Ordering::Relaxed);
                drop(turn);
                let said = table.lock().expect("said");
                let said = said[&review.cluster].as_ref().ok_or("it is away")?;
                Ok(said.get(&format!("{} {}", review.audience, review.token())).cloned())
            }
            .boxed()
        });
        let kubernetes = vec![cluster("east", "us/east"), cluster("west", "us/west")];
        let config = AccessConfig { tokens: tokens(), kubernetes, ..AccessConfig::default() };
        let access =
            Authenticator::new(config, false, Arc::clone(&clock) as Arc<dyn Clock>).with_reviews(review);
        World { access, said, asked, at_once, answers, clock, key: Signer::es256() }
    }

    /// A token that says this besides what it always says.
    fn token(&self, more: &Value) -> String {
        let mut claims = json!({"iss": ISSUER, "aud": ["us/east"], "sub": DEPLOYER, "iat": NOW - 5, "nbf": NOW - 5,
            "exp": NOW + 3600});
        for (claim, value) in more.as_object().expect("claims") {
            claims[claim] = value.clone();
        }
        self.key.token("1", &claims)
    }

    /// Lets a cluster say whose a token for an audience is.
    fn say(&self, cluster: &str, audience: &str, token: &str, user: &str) {
        let mut said = self.said.lock().expect("said");
        let said = said.get_mut(cluster).expect("a cluster").get_or_insert_default();
        said.insert(format!("{audience} {token}"), user.to_owned());
    }

    fn forget(&self, cluster: &str, said: Said) {
        self.said.lock().expect("said").insert(cluster.to_owned(), said);
    }

    async fn caller_at(&self, token: &str, last: u8) -> Result<Arc<Caller>, Problem> {
        let peer = Some(SocketAddr::from(([192, 0, 2, last], 5)));
        let context = Context { peer, ..context(Some(&format!("Bearer {token}"))) };
        self.access.caller(&context).await
    }

    async fn code(&self, token: &str) -> String {
        match self.caller_at(token, 1).await {
            Ok(caller) => caller.name.clone(),
            Err(problem) => problem.code.as_str().to_owned(),
        }
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }
}

const NAME: &str = "east:system:serviceaccount:shop:deployer";

#[tokio::test]
async fn a_token_is_whose_the_cluster_says_and_is_asked_about_once_a_minute() {
    let world = World::new();
    let token = world.token(&json!({}));
    assert_eq!(world.code(&token).await, "unauthorized", "the cluster does not know it");
    assert_eq!(world.code(&token).await, "unauthorized");
    assert_eq!(world.asked(), 1, "what is not good is kept too");
    world.say("east", "us/east", &token, DEPLOYER);
    world.pass(31);
    let caller = world.caller_at(&token, 1).await.expect("known");
    assert_eq!((caller.name.as_str(), caller.user.as_deref()), (NAME, Some(DEPLOYER)));
    assert_eq!(caller.method, AuthenticationMethod::ServiceAccount);
    assert_eq!(caller.expires, Some(Timestamp::from_micros((NOW + 3600) * 1_000_000)));
    assert!(caller.has("shop/web") && !caller.has("ops/tools") && !caller.write && !caller.everything);
    for _ in 0..100 {
        assert_eq!(world.code(&token).await, NAME);
    }
    assert_eq!(world.asked(), 2);
    // The account is deleted: within a minute its tokens are nobody's.
    world.forget("east", Some(BTreeMap::new()));
    assert_eq!(world.code(&token).await, NAME);
    world.pass(60);
    assert_eq!(world.code(&token).await, "unauthorized");
    assert_eq!(world.asked(), 3);
    let (cluster, up, counts) = &world.access.reviews()[0];
    let expected = ReviewCounts { accepted: 1, refused: 2, failed: 0, limited: 0 };
    assert_eq!((cluster.as_str(), *up, *counts), ("east", true, expected));
}

#[tokio::test]
async fn what_cannot_be_a_token_of_the_cluster_is_refused_without_asking() {
    let world = World::new();
    let of = |claim: &str, value: Value| world.token(&json!({ claim: value }));
    let header = encoded(&json!({"alg": "none"}));
    let cases = [
        (of("iss", json!("https://other")), "unauthorized"),
        (of("aud", json!(["api"])), "unauthorized"),
        (of("aud", json!([])), "unauthorized"),
        (of("aud", json!(["us/east", "us/west"])), "unauthorized"),
        (of("aud", json!(null)), "unauthorized"),
        (of("exp", json!(NOW - 31)), "token_expired"),
        (of("exp", json!("soon")), "unauthorized"),
        (of("nbf", json!(NOW + 31)), "unauthorized"),
        (of("sub", json!("alice")), "unauthorized"),
        (of("sub", json!("system:serviceaccount:shop:other")), "unauthorized"),
        (of("sub", json!("system:serviceaccount:shopping:deployer")), "unauthorized"),
        (format!("{header}.{}.", encoded(&json!({"iss": ISSUER, "sub": DEPLOYER}))), "unauthorized"),
        (format!("a.{}.b", encoded(&json!({"iss": ISSUER}))), "unauthorized"),
        ("x".repeat(100_000), "unauthorized"),
    ];
    for (n, (token, code)) in cases.iter().enumerate() {
        world.say("east", "us/east", token, DEPLOYER);
        let refused = world.caller_at(token, u8::try_from(n).expect("few")).await;
        assert_eq!(refused.err().map(|problem| problem.code.as_str()), Some(*code), "{n}");
    }
    assert_eq!(world.asked(), 0);
    // What is wrong with it is said as far as the token says so itself, and whom we accept is not.
    let detail = async |token: String| match world.caller_at(&token, 200).await {
        Ok(caller) => caller.name.clone(),
        Err(problem) => problem.detail,
    };
    assert!(detail(of("aud", json!(["api"]))).await.contains("another audience"));
    assert_eq!(detail(of("sub", json!("system:serviceaccount:shop:other"))).await, "unknown token");
}

#[tokio::test]
async fn a_token_is_shown_to_its_own_cluster_alone_and_is_whose_it_says() {
    let world = World::new();
    let west = world.token(&json!({"aud": ["api", "us/west"]}));
    // East would vouch for it.
    world.say("east", "us/west", &west, DEPLOYER);
    world.say("east", "us/east", &west, DEPLOYER);
    assert_eq!(world.code(&west).await, "unauthorized");
    world.pass(60);
    world.say("west", "us/west", &west, DEPLOYER);
    assert_eq!(world.code(&west).await, "west:system:serviceaccount:shop:deployer");
    // Another name than the token has is no name.
    let token = world.token(&json!({}));
    world.say("east", "us/east", &token, "system:serviceaccount:ops:root");
    assert_eq!(world.code(&token).await, "unauthorized");
    world.pass(60);
    world.say("east", "us/east", &token, "system:admin");
    assert_eq!(world.code(&token).await, "unauthorized");
}

#[tokio::test]
async fn a_cluster_that_is_away_lets_nobody_in_and_is_left_alone() {
    let world = World::new();
    let (token, other) = (world.token(&json!({})), world.token(&json!({"iat": NOW - 9})));
    world.say("east", "us/east", &token, DEPLOYER);
    assert_eq!(world.code(&token).await, NAME);
    world.forget("east", None);
    assert_eq!(world.code(&token).await, NAME, "what is known lasts for its minute");
    let problem = world.caller_at(&other, 1).await.expect_err("it is away");
    assert_eq!((problem.code.as_str(), problem.status().as_u16()), ("token_review_unavailable", 503));
    for _ in 0..50 {
        assert_eq!(world.code(&other).await, "token_review_unavailable");
    }
    assert_eq!(world.asked(), 2, "once a second");
    assert!(!world.access.reviews()[0].1);
    world.pass(60);
    assert_eq!(world.code(&token).await, "token_review_unavailable");
    assert_eq!(world.code("sl_reader").await, "reader", "others are who they are");
    world.pass(2);
    world.say("east", "us/east", &token, DEPLOYER);
    assert_eq!(world.code(&token).await, NAME);
    assert!(world.access.reviews()[0].1);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_new_tokens_is_no_flood_of_reviews_and_shuts_out_nobody_who_was_in() {
    let world = World::new();
    let token = world.token(&json!({}));
    world.say("east", "us/east", &token, DEPLOYER);
    assert_eq!(world.code(&token).await, NAME);
    let new = |n: i64| world.token(&json!({"iat": NOW - 100 - n}));
    let forged: Vec<_> = (0..3000).map(new).collect();
    // From one address.
    let flood = join_all(forged[..500].iter().map(|token| world.caller_at(token, 1))).await;
    assert!(flood.iter().all(Result::is_err));
    assert_eq!(world.asked(), 60);
    let waiting = flood
        .iter()
        .filter(|answer| answer.as_ref().is_err_and(|problem| problem.code == ProblemCode::TooManyRequests));
    assert_eq!(waiting.count(), 441);
    // From many of them.
    for (n, token) in forged[500..].iter().enumerate() {
        let last = u8::try_from(2 + n % 250).expect("an address");
        assert!(world.caller_at(token, last).await.is_err());
    }
    assert_eq!(world.asked(), 600);
    // Whose token was good has it reviewed again all the same, from the address of the flood, too.
    world.pass(60);
    let before = world.asked();
    assert_eq!(world.code(&token).await, NAME);
    assert_eq!(world.asked(), before + 1);
    assert!(world.access.reviews()[0].2.limited > 2000);
}

#[tokio::test(start_paused = true)]
async fn few_reviews_are_under_way_at_a_time_and_fewer_of_one_address() {
    let world = World::new();
    world.answers.forget_permits(1000);
    let tokens: Vec<_> = (0..30).map(|n| world.token(&json!({"iat": NOW - 100 - n}))).collect();
    let all = join_all(tokens.iter().map(|token| world.caller_at(token, 1)));
    let released = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.answers.add_permits(1000);
    };
    let (answers, ()) = tokio::join!(all, released);
    assert!(answers.iter().all(Result::is_err));
    assert_eq!(world.at_once.load(Ordering::Relaxed), 2);
    // The same token from everywhere is asked about by a few at a time, and by nobody once that is decided.
    let world = World::new();
    world.answers.forget_permits(1000);
    let token = world.token(&json!({}));
    world.say("east", "us/east", &token, DEPLOYER);
    let all = join_all((0..200).map(|last| world.caller_at(&token, last)));
    let released = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.answers.add_permits(1000);
    };
    let (answers, ()) = tokio::join!(all, released);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((world.asked(), world.at_once.load(Ordering::Relaxed)), (8, 8));
    // Who waits for too long is asked to come back.
    world.answers.forget_permits(1000);
    let tokens: Vec<_> = (0..30).map(|n| world.token(&json!({"iat": NOW - 100 - n}))).collect();
    let mut all = Box::pin(join_all(tokens.iter().map(|token| world.caller_at(token, 1))));
    tokio::select! {
        _ = &mut all => panic!("two wait for the cluster"),
        () = tokio::time::sleep(Duration::from_secs(30)) => {}
    }
    world.answers.add_permits(1000);
    let answers = all.await;
    let asked_back = answers
        .iter()
        .filter(|answer| answer.as_ref().is_err_and(|problem| problem.code == ProblemCode::Overloaded));
    assert_eq!(asked_back.count(), 28);
}

#[tokio::test]
async fn nothing_of_a_token_is_shown() {
    let world = World::new();
    let token = world.token(&json!({}));
    assert_eq!(world.code(&token).await, "unauthorized");
    let known = world.access.known();
    assert!(!format!("{:?}", known.reviewers).contains(&token));
    let problem = world.caller_at(&token, 1).await.expect_err("unknown");
    assert!(!problem.detail.contains(&token));
}

#[tokio::test]
async fn another_configuration_knows_nothing_of_what_was_decided_by_the_one_before() {
    let world = World::new();
    let token = world.token(&json!({}));
    world.say("east", "us/east", &token, DEPLOYER);
    assert_eq!(world.code(&token).await, NAME);
    let config = world.access.config();
    world.access.replace(config.clone());
    assert_eq!(world.code(&token).await, NAME);
    assert_eq!(world.asked(), 1, "it is the same");
    let mut other = config;
    other.kubernetes[0].service_accounts.remove(0);
    world.access.replace(other);
    assert_eq!(world.code(&token).await, "unauthorized");
    world.access.replace(AccessConfig { tokens: tokens(), ..AccessConfig::default() });
    assert_eq!(world.code(&token).await, "unauthorized");
}
