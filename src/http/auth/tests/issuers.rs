//! Signed tokens against an issuer of our own, which errs on purpose.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::signer::{Signer, encoded};
use super::*;
use http::StatusCode;

use crate::http::auth::{Algorithm, CommandLineLogin, IssuerConfig, JobRules, Mapping, UserRules};
use crate::http::outgoing::OutgoingRequest;
use strandline_clock::testing::ManualClock;
use strandline_protocol::{AuthenticationMethod, Rights};

pub(super) const ISSUER: &str = "https://gitlab.test";
pub(super) const AUDIENCE: &str = "https://strandline.test";
pub(super) const NOW: i64 = 1_800_000_000;

/// A server of ours with issuers, and what the issuer answers: its keys, or that it is away.
struct World {
    access: Authenticator,
    keys: Arc<Mutex<Option<Vec<Value>>>>,
    asked: Arc<AtomicU32>,
    clock: Arc<ManualClock>,
}

impl World {
    fn new(issuers: Vec<IssuerConfig>, keys: Vec<Value>) -> Self {
        let (keys, asked) = (Arc::new(Mutex::new(Some(keys))), Arc::new(AtomicU32::new(0)));
        let clock = Arc::new(ManualClock::default());
        clock.set(Timestamp::from_micros(NOW * 1_000_000));
        let (answered, counted) = (Arc::clone(&keys), Arc::clone(&asked));
        let fetch: Fetch = Arc::new(move |request: OutgoingRequest| {
            let keys = answered.lock().expect("keys").clone();
            let answer = match (keys, request.url.as_str()) {
                (None, _) => Err("it is away".to_owned()),
                (Some(_), "https://gitlab.test/.well-known/openid-configuration") => {
                    Ok(json!({"issuer": ISSUER, "jwks_uri": format!("{ISSUER}/keys")}))
                }
                (Some(keys), "https://gitlab.test/keys") => {
                    counted.fetch_add(1, Ordering::Relaxed);
                    Ok(json!({"keys": keys}))
                }
                (Some(_), other) => Err(format!("nothing at {other}")),
            };
            async move {
                // As any answer that comes from elsewhere, it is not there at once.
                tokio::task::yield_now().await;
                answer.map(|answer| (StatusCode::OK, Bytes::from(answer.to_string())))
            }
            .boxed()
        });
        let config = AccessConfig { tokens: tokens(), issuers, ..AccessConfig::default() };
        let access =
            Authenticator::new(config, false, Arc::clone(&clock) as Arc<dyn Clock>).with_fetch(fetch);
        World { access, keys, asked, clock }
    }

    fn answer(&self, keys: Option<Vec<Value>>) {
        *self.keys.lock().expect("keys") = keys;
    }

    async fn caller(&self, token: &str) -> Result<Arc<Caller>, Problem> {
        let context = context(Some(&format!("Bearer {token}")));
        self.access.caller(&context).await
    }

    async fn code(&self, token: &str) -> String {
        match self.caller(token).await {
            Ok(caller) => caller.name.clone(),
            Err(problem) => problem.code.as_str().to_owned(),
        }
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn issuer(name: &str, mapping: Mapping) -> IssuerConfig {
    IssuerConfig {
        name: name.to_owned(),
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        algorithms: vec![Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa],
        jwks_url: None,
        mapping,
        login: None,
        command_line: None,
    }
}

pub(super) fn users() -> IssuerConfig {
    let rules = UserRules {
        groups_claim: "groups_direct".to_owned(),
        write_roles: set(&["owner", "maintainer"]),
        readers: set(&["auditors"]),
        admins: set(&["platform"]),
        access_review: None,
    };
    issuer("people", Mapping::Users(rules))
}

fn jobs(unprotected_refs: bool) -> IssuerConfig {
    let rules = JobRules { projects: set(&["other/one"]), groups: set(&["shop"]), unprotected_refs };
    issuer("ci", Mapping::Jobs(rules))
}

pub(super) fn user(more: &Value) -> Value {
    merged(
        json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "17", "iat": NOW - 5, "exp": NOW + 300,
               "preferred_username": "alice", "groups_direct": ["shop"]}),
        more,
    )
}

fn job(more: &Value) -> Value {
    merged(
        json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "project_path:shop/web:ref_type:branch:ref:main", "iat": NOW - 5,
               "nbf": NOW - 10, "exp": NOW + 300, "project_path": "shop/web", "job_id": "42", "pipeline_id": "7",
               "ref_protected": "true", "environment": "production", "user_login": "alice",
               "groups_direct": ["platform"]}),
        more,
    )
}

fn merged(mut base: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().expect("claims") {
        match value {
            Value::Null => _ = base.as_object_mut().expect("claims").remove(key),
            value => base[key] = value.clone(),
        }
    }
    base
}

#[tokio::test]
async fn a_token_is_taken_by_each_kind_of_key_and_only_by_its_own() {
    let (one, two, three, other) = (Signer::es256(), Signer::ed_dsa(), Signer::rs256(), Signer::es256());
    let world = World::new(vec![users()], vec![one.jwk("1"), two.jwk("2"), three.jwk("3")]);
    for (signer, id) in [(&one, "1"), (&two, "2"), (&three, "3")] {
        assert_eq!(world.code(&signer.token(id, &user(&json!({})))).await, "people:17", "{id}");
    }
    for (signer, id) in [(&other, "1"), (&one, "2"), (&two, "1"), (&one, "3")] {
        assert_eq!(world.code(&signer.token(id, &user(&json!({})))).await, "unauthorized", "{id}");
    }
    assert_eq!(world.code("sl_writer").await, "writer", "other tokens are taken as before");
}

#[tokio::test]
async fn the_token_does_not_choose_how_it_is_verified() {
    let (key, rsa) = (Signer::es256(), Signer::rs256());
    let only_rsa = IssuerConfig { algorithms: vec![Algorithm::Rs256], ..users() };
    let world = World::new(vec![only_rsa], vec![key.jwk("1"), rsa.jwk("2")]);
    let claims = user(&json!({}));
    assert_eq!(world.code(&rsa.token("2", &claims)).await, "people:17");
    assert_eq!(
        world.code(&key.token("1", &claims)).await,
        "unauthorized",
        "an algorithm that is not allowed"
    );
    let signed = rsa.token("2", &claims);
    let parts: Vec<_> = signed.split('.').collect();
    let unsigned = encoded(&json!({"alg": "none", "kid": "2"}));
    // The public key as the secret of an HMAC is the classic confusion; there is no such algorithm here.
    let hmac = encoded(&json!({"alg": "HS256", "kid": "2"}));
    for forged in [
        format!("{unsigned}.{}.", parts[1]),
        format!("{unsigned}.{}.{}", parts[1], parts[2]),
        format!("{hmac}.{}.{}", parts[1], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}.{}A", parts[0], parts[1], parts[2]),
        format!("{}.{}.{}", parts[0], encoded(&user(&json!({"sub": "1"}))), parts[2]),
        format!("{signed}.x"),
        format!("{signed}="),
        rsa.with_header(&json!({"alg": "RS256", "kid": "2", "crit": ["b64"], "b64": false}), &claims),
        rsa.with_header(&json!({"alg": "ES256", "kid": "2"}), &claims),
        rsa.with_header(&json!({"alg": "RS256"}), &claims),
        rsa.with_header(
            &json!({"alg": "RS256", "kid": "2", "jwk": rsa.jwk("9")}),
            &user(&json!({"iss": "https://evil.test"})),
        ),
        "..".to_owned(),
        "a.b.c".to_owned(),
    ] {
        // Each from an address of its own time, so that none has to wait.
        world.pass(1);
        let code = world.code(&forged).await;
        assert!(matches!(code.as_str(), "unauthorized" | "too_many_wrong_tokens"), "{forged}: {code}");
    }
}

#[tokio::test]
async fn who_a_token_is_for_and_when_is_checked() {
    let key = Signer::es256();
    let world = World::new(vec![users()], vec![key.jwk("1")]);
    for (more, expected) in [
        (json!({"aud": ["x", AUDIENCE]}), "people:17"),
        (json!({"aud": "https://other.test"}), "unauthorized"),
        (json!({"aud": []}), "unauthorized"),
        (json!({"aud": null}), "unauthorized"),
        (json!({"iss": "https://gitlab.test/"}), "unauthorized"),
        (json!({"exp": null}), "unauthorized"),
        (json!({"exp": "soon"}), "unauthorized"),
        (json!({"exp": NOW - 29}), "people:17"),
        (json!({"exp": NOW - 30}), "token_expired"),
        (json!({"exp": 1e300}), "unauthorized"),
        (json!({"nbf": NOW + 29}), "people:17"),
        (json!({"nbf": NOW + 31}), "unauthorized"),
        (json!({"iat": NOW + 3600}), "unauthorized"),
        (json!({"sub": null}), "unauthorized"),
        (json!({"sub": "a\nb"}), "unauthorized"),
        (json!({"groups_direct": "shop"}), "unauthorized"),
        (json!({"groups_direct": ["shop\u{7}"]}), "unauthorized"),
        (json!({"groups_direct": vec!["g"; 2001]}), "unauthorized"),
        (json!({"groups_direct": null}), "people:17"),
    ] {
        assert_eq!(world.code(&key.token("1", &user(&more))).await, expected, "{more}");
    }
    assert_eq!(world.access.wrong_tokens(), (1, 0), "what the issuer signed is nobody's guess");
}

#[tokio::test]
async fn the_command_line_has_a_client_of_its_own_which_everybody_may_know() {
    let key = Signer::es256();
    let login = CommandLineLogin {
        client_id: "cli".to_owned(),
        scopes: vec!["profile".to_owned()],
        redirect_port: Some(7171),
    };
    let issuer = IssuerConfig { command_line: Some(login), ..users() };
    let world = World::new(vec![jobs(false), issuer], vec![key.jwk("1")]);
    for (aud, expected) in [("cli", "people:17"), (AUDIENCE, "people:17"), ("cli2", "unauthorized")] {
        assert_eq!(world.code(&key.token("1", &user(&json!({ "aud": aud })))).await, expected, "{aud}");
    }
    // A job names the audience of its token itself.
    assert_eq!(world.code(&key.token("1", &job(&json!({"aud": "cli"})))).await, "unauthorized");
    let caller = world.caller(&key.token("1", &user(&json!({"aud": "cli"})))).await.expect("a caller");
    let who = caller.who_am_i();
    assert_eq!((who.method, who.user.as_deref()), (AuthenticationMethod::SignedToken, Some("alice")));
    assert_eq!(who.expires, Some(Timestamp::from_micros((NOW + 300) * 1_000_000)));
    assert_eq!((who.reads.groups, who.writes), (set(&["shop"]), Rights::default()));
    assert_eq!(
        json!(world.access.login_methods()),
        json!({"oidc": {"issuer": ISSUER, "client_id": "cli", "scopes": ["openid", "profile"], "redirect_port": 7171}})
    );
    assert_eq!(json!(World::new(vec![users()], vec![]).access.login_methods()), json!({"oidc": null}));
}

#[tokio::test]
async fn groups_and_roles_become_what_is_seen_and_written() {
    let key = Signer::es256();
    let world = World::new(vec![users()], vec![key.jwk("1")]);
    let role = |role: &str| format!("https://gitlab.org/claims/groups/{role}");
    let see = async |more: Value| world.caller(&key.token("1", &user(&more))).await.expect("a caller");
    let reader = see(json!({})).await;
    assert!(reader.has("shop/web") && !reader.has("other/one") && !reader.write && !reader.everything);
    assert_eq!(reader.user.as_deref(), Some("alice"));
    let writer = see(json!({role("maintainer"): ["shop/front"], role("developer"): ["shop/back"]})).await;
    for (project, writes) in [
        ("shop/front/web", true),
        ("shop/front", true),
        ("shop/back/web", false),
        ("shop/web", false),
        ("other/one", false),
    ] {
        assert_eq!(writer.require_write_of(project).is_ok(), writes, "{project}");
    }
    assert!(writer.has("shop/back/web") && writer.require_write().is_ok());
    // Who sees everything and writes of a group writes of that group and of nothing else.
    let auditor = see(json!({"groups_direct": ["auditors"], role("owner"): ["shop"]})).await;
    assert!(auditor.everything && auditor.require_write_of("shop/web").is_ok());
    assert!(auditor.require_write_of("other/one").is_err() && auditor.require_write_everything().is_err());
    assert_eq!(auditor.authority(), crate::catalog::Authority::Projects);
    let admin = see(json!({"groups_direct": ["platform"]})).await;
    assert!(admin.require_write_of("other/one").is_ok() && admin.require_write_everything().is_ok());
    let below = see(json!({"groups_direct": ["platform/interns", "auditors/x"]})).await;
    assert!(!below.everything && !below.write, "a group below is another group");
}

#[tokio::test]
async fn a_job_writes_of_its_own_environment_and_of_nothing_else() {
    let key = Signer::es256();
    let world = World::new(vec![jobs(false)], vec![key.jwk("1")]);
    let see = async |more: Value| {
        world.caller(&key.token("1", &job(&more))).await.map_err(|problem| problem.code.as_str())
    };
    let caller = see(json!({})).await.expect("a job");
    assert_eq!((caller.name.as_str(), caller.user.as_deref()), ("ci:shop/web", Some("alice, job 42")));
    assert!(
        caller.has("shop/web") && !caller.has("shop/api") && !caller.has("platform/x") && !caller.everything
    );
    assert!(caller.require_write().is_ok());
    for (project, environment, writes) in [
        ("shop/web", "production", true),
        ("shop/web", "staging", false),
        ("shop/web", "", false),
        ("shop/api", "production", false),
    ] {
        assert_eq!(caller.require_deploy_to(project, environment).is_ok(), writes, "{project} {environment}");
    }
    assert!(caller.require_write_of("shop/web").is_err(), "projects and agents are for people");
    for (more, writes) in [
        (json!({"ref_protected": true}), true),
        (json!({"ref_protected": "false"}), false),
        (json!({"ref_protected": false}), false),
        (json!({"ref_protected": null}), false),
        (json!({"environment": null}), false),
        (json!({"environment": ""}), false),
    ] {
        let caller = see(more.clone()).await.expect("a job");
        assert_eq!(caller.require_write().is_ok(), writes, "{more}");
        assert_eq!(caller.require_deploy_to("shop/web", "production").is_ok(), writes, "{more}");
    }
    assert_eq!(see(json!({"project_path": "stranger/web"})).await.err(), Some("unauthorized"));
    assert_eq!(see(json!({"project_path": null})).await.err(), Some("unauthorized"));
    let lenient = World::new(vec![jobs(true)], vec![key.jwk("1")]);
    let token = key.token("1", &job(&json!({"ref_protected": "false"})));
    let caller = lenient.caller(&token).await.expect("a job");
    assert!(caller.require_deploy_to("shop/web", "production").is_ok());
    assert!(!caller.job.as_ref().is_some_and(|job| job.ref_protected), "what it may not claim");
}

#[tokio::test]
async fn the_token_of_a_job_is_none_of_a_person_and_the_other_way_round() {
    let key = Signer::es256();
    // Both are for the same audience, which a job chooses itself.
    for issuers in [vec![users()], vec![jobs(false)], vec![users(), jobs(false)], vec![jobs(false), users()]]
    {
        let has = |name: &str| issuers.iter().any(|issuer| issuer.name == name);
        let (people, ci) = (has("people"), has("ci"));
        let world = World::new(issuers, vec![key.jwk("1")]);
        let of_job = world.code(&key.token("1", &job(&json!({})))).await;
        assert_eq!(of_job, if ci { "ci:shop/web" } else { "unauthorized" });
        for claim in ["job_id", "pipeline_id", "project_path"] {
            let mixed = world.code(&key.token("1", &user(&json!({claim: "1"})))).await;
            assert_eq!(mixed, "unauthorized", "{claim}");
        }
        let of_user = world.code(&key.token("1", &user(&json!({})))).await;
        assert_eq!(of_user, if people { "people:17" } else { "unauthorized" });
    }
}

#[tokio::test]
async fn keys_are_fetched_when_they_change_kept_while_the_issuer_is_away_and_asked_for_seldom() {
    let (old, new, none) = (Signer::es256(), Signer::es256(), Signer::es256());
    let world = World::new(vec![users()], vec![old.jwk("old")]);
    let claims = user(&json!({"exp": NOW + 100_000}));
    let (of_old, of_new) = (old.token("old", &claims), new.token("new", &claims));
    world.answer(None);
    assert_eq!(world.code(&of_old).await, "overloaded", "nothing is known of its keys yet");
    world.answer(Some(vec![old.jwk("old")]));
    assert_eq!(world.code(&of_old).await, "overloaded", "they were asked for just now");
    world.pass(30);
    assert_eq!((world.code(&of_old).await.as_str(), world.asked()), ("people:17", 1));
    // A flood of tokens with unknown keys.
    world.pass(30);
    for n in 0..50 {
        world.code(&none.token(&format!("none-{n}"), &claims)).await;
    }
    assert_eq!(world.asked(), 2, "one question in half a minute");
    // The issuer rotates its keys; whoever comes with the new one is let in once that may be asked for.
    world.answer(Some(vec![old.jwk("old"), new.jwk("new")]));
    assert_ne!(world.code(&of_new).await, "people:17");
    world.pass(30);
    assert_eq!(
        (world.code(&of_new).await.as_str(), world.code(&of_old).await.as_str()),
        ("people:17", "people:17")
    );
    assert_eq!(world.asked(), 3);
    // It is away for an hour.
    world.answer(None);
    world.pass(3600);
    world.access.refresh_issuers().await;
    assert_eq!((world.code(&of_old).await.as_str(), world.asked()), ("people:17", 3));
    assert!(!world.access.issuer_problems().is_empty());
    // It comes back without the old key, which was revoked.
    world.answer(Some(vec![new.jwk("new")]));
    world.access.refresh_issuers().await;
    assert_eq!((world.code(&of_new).await.as_str(), world.asked()), ("people:17", 4));
    assert_ne!(world.code(&of_old).await, "people:17");
    assert!(world.access.issuer_problems().is_empty());
}

#[tokio::test]
async fn whoever_comes_while_keys_are_fetched_waits_for_them() {
    let key = Signer::es256();
    let world = World::new(vec![users()], vec![key.jwk("key")]);
    let token = key.token("key", &user(&json!({})));
    let (first, second) = (world.code(&token), world.code(&token));
    let ((), first, second) = tokio::join!(world.access.refresh_issuers(), first, second);
    assert_eq!((first.as_str(), second.as_str(), world.asked()), ("people:17", "people:17", 1));
}

#[tokio::test]
async fn a_configuration_that_is_read_again_keeps_the_keys_of_what_is_as_it_was() {
    let key = Signer::es256();
    let world = World::new(vec![users()], vec![key.jwk("1")]);
    let token = key.token("1", &user(&json!({})));
    assert_eq!(world.code(&token).await, "people:17");
    world.answer(None);
    world.access.replace(AccessConfig { issuers: vec![users()], ..AccessConfig::default() });
    assert_eq!(world.code(&token).await, "people:17", "also while the issuer is away");
    world.access.replace(AccessConfig::default());
    assert_eq!(world.code(&token).await, "unauthorized", "whom nobody trusts any more is nobody");
}
