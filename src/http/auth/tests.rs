//! Who is taken for whom, case by case.

mod access_reviews;
mod issuers;
mod login;
mod proxy;
mod reviews;
pub(crate) mod signer;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};
use proptest::prelude::*;

use super::*;
use crate::http::auth::LocalAccess;
use strandline_clock::SystemClock;
use strandline_clock::testing::ManualClock;

fn token(name: &str, write: bool, everything: bool) -> TokenConfig {
    TokenConfig {
        name: name.to_owned(),
        hash: TokenHash::of(&format!("sl_{name}")),
        user: Some("alice".to_owned()),
        expires: None,
        projects: BTreeSet::from(["other/one".to_owned()]),
        groups: BTreeSet::from(["shop".to_owned()]),
        write,
        everything,
    }
}

fn tokens() -> Vec<TokenConfig> {
    vec![token("reader", false, false), token("writer", true, false), token("admin", false, true)]
}

fn context(authorization: Option<&str>) -> Context {
    let mut headers = HeaderMap::new();
    if let Some(value) = authorization {
        headers.insert(AUTHORIZATION, HeaderValue::from_str(value).expect("a header"));
    }
    let peer = Some(SocketAddr::from(([192, 0, 2, 1], 5)));
    Context { peer, ..Context::new(Method::GET, "/x", headers) }
}

/// By these tokens; where there is none, everybody may read.
fn access(tokens: Vec<TokenConfig>, loopback: bool, local: Option<LocalAccess>) -> Authenticator {
    let config = AccessConfig { tokens, local, allow_anonymous_read: true, ..AccessConfig::default() };
    Authenticator::new(config, loopback, Arc::new(SystemClock))
}

/// The caller's name, or the code of the refusal.
fn decided(access: &Authenticator, authorization: Option<&str>, writes: bool) -> String {
    let caller = access.authenticated(&context(authorization));
    match caller.and_then(|caller| if writes { caller.require_write().map(|()| caller) } else { Ok(caller) })
    {
        Ok(caller) => caller.name.clone(),
        Err(problem) => problem.code.as_str().to_owned(),
    }
}

#[test]
fn tokens_and_the_listener_decide_who_may_read_and_write() {
    let (none, some) = (Vec::new(), tokens());
    let (reader, writer) = (Some("Bearer sl_reader"), Some("Bearer sl_writer"));
    // The password of "x:sl_writer" and "x:sl_other".
    let (basic, wrong_basic) = (Some("Basic eDpzbF93cml0ZXI="), Some("Basic eDpzbF9vdGhlcg=="));
    let (wrong, odd) = (Some("Bearer sl_other"), Some("Negotiate abc"));
    let hash = format!("Bearer {}", TokenHash::of("sl_writer"));
    let (nothing, read, write) = (None, Some(LocalAccess::Read), Some(LocalAccess::Write));
    for (tokens, loopback, local, authorization, reads, writes) in [
        // Without tokens there is nobody to be told apart, whatever is presented.
        (&none, true, nothing, None, "(local)", "(local)"),
        (&none, true, nothing, wrong, "(local)", "(local)"),
        (&none, true, read, None, "(local)", "writing_needs_token"),
        (&none, false, nothing, None, "(anyone)", "writing_needs_token"),
        (&none, false, nothing, wrong, "(anyone)", "writing_needs_token"),
        (&none, false, write, None, "(anyone)", "writing_needs_token"),
        // With tokens everybody needs one, on this machine too.
        (&some, true, nothing, None, "unauthorized", "unauthorized"),
        (&some, true, nothing, reader, "reader", "forbidden"),
        (&some, true, nothing, writer, "writer", "writer"),
        (&some, true, nothing, basic, "writer", "writer"),
        (&some, true, nothing, wrong, "unauthorized", "unauthorized"),
        (&some, true, nothing, wrong_basic, "unauthorized", "unauthorized"),
        (&some, true, nothing, odd, "unauthorized", "unauthorized"),
        (&some, false, nothing, None, "unauthorized", "unauthorized"),
        (&some, false, nothing, reader, "reader", "forbidden"),
        (&some, false, nothing, writer, "writer", "writer"),
        (&some, false, nothing, basic, "writer", "writer"),
        (&some, false, nothing, Some("Bearer sl_admin"), "admin", "forbidden"),
        (&some, false, nothing, wrong, "unauthorized", "unauthorized"),
        (&some, false, nothing, wrong_basic, "unauthorized", "unauthorized"),
        (&some, false, nothing, odd, "unauthorized", "unauthorized"),
        (&some, false, nothing, Some(""), "unauthorized", "unauthorized"),
        // Save where the configuration lets this machine in; a wrong token is wrong all the same.
        (&some, true, read, None, "(local)", "writing_needs_token"),
        (&some, true, write, None, "(local)", "(local)"),
        (&some, true, write, reader, "reader", "forbidden"),
        (&some, true, write, wrong, "unauthorized", "unauthorized"),
        (&some, true, write, odd, "unauthorized", "unauthorized"),
        (&some, false, write, None, "unauthorized", "unauthorized"),
        // What stands in the configuration opens nothing.
        (&some, false, nothing, Some(hash.as_str()), "unauthorized", "unauthorized"),
        (&some, false, nothing, Some("Bearer reader"), "unauthorized", "unauthorized"),
    ] {
        let access = access(tokens.clone(), loopback, local);
        let told = format!("{} tokens, loopback {loopback}, {local:?}, {authorization:?}", tokens.len());
        assert_eq!(decided(&access, authorization, false), reads, "reading: {told}");
        assert_eq!(decided(&access, authorization, true), writes, "writing: {told}");
    }
    let closed = Authenticator::new(AccessConfig::default(), false, Arc::new(SystemClock));
    assert_eq!(decided(&closed, None, false), "unauthorized", "nobody said that everybody may read");
}

#[test]
fn a_token_is_refused_from_the_moment_at_which_it_expires() {
    let clock = Arc::new(ManualClock::default());
    let expires = Some(Timestamp::from_micros(10_000_000));
    let tokens = vec![TokenConfig { expires, ..token("reader", false, false) }, token("writer", true, false)];
    let config = AccessConfig { tokens, ..AccessConfig::default() };
    let access = Authenticator::new(config, false, Arc::clone(&clock) as Arc<dyn Clock>);
    let (reader, writer) = (Some("Bearer sl_reader"), Some("Bearer sl_writer"));
    clock.pass(Duration::from_micros(9_999_999));
    assert_eq!(decided(&access, reader, false), "reader");
    clock.pass(Duration::from_micros(1));
    for _ in 0..2 * wrong::WRONG_MAX {
        let problem = access.authenticated(&context(reader)).expect_err("it has expired");
        assert_eq!(problem.code, ProblemCode::TokenExpired, "it is not wrong, only late");
        assert!(problem.detail.contains("`reader` expired at 1970-01-01T00:00:10Z"), "{}", problem.detail);
    }
    assert_eq!(decided(&access, writer, false), "writer");
    let report = access.report();
    let told: Vec<_> =
        report.items.iter().map(|token| (token.name.as_str(), token.expired, token.requests)).collect();
    assert_eq!(told, [("reader", true, 1), ("writer", false, 1)]);
    assert_eq!(report.items[0].last_used, Some(Timestamp::from_micros(9_999_999)));
    assert_eq!(report.items[0].last_peer.map(|peer| peer.to_string()).as_deref(), Some("192.0.2.1"));
}

#[test]
fn tokens_come_and_go_while_the_server_runs() {
    let (reader, writer) = (Some("Bearer sl_reader"), Some("Bearer sl_writer"));
    let of = |tokens: Vec<TokenConfig>| AccessConfig { tokens, ..AccessConfig::default() };
    for loopback in [true, false] {
        let access = access(tokens(), loopback, None);
        assert_eq!(decided(&access, reader, false), "reader");
        access.report_problem(Some("it cannot be read"));
        assert_eq!(decided(&access, reader, false), "reader", "what was known goes on");
        assert_eq!(access.report().problem.as_deref(), Some("it cannot be read"));
        access.replace(of(vec![token("reader", false, false)]));
        assert_eq!(decided(&access, writer, false), "unauthorized", "revoked");
        assert_eq!(decided(&access, reader, false), "reader");
        let report = access.report();
        assert_eq!((report.items[0].requests, report.problem), (3, None), "it goes on with how it was used");
        access.replace(of(vec![TokenConfig { write: true, ..token("reader", false, false) }]));
        assert_eq!(decided(&access, reader, true), "reader", "it may do more now");
        access.replace(of(vec![]));
        for authorization in [None, reader, writer] {
            assert_eq!(
                decided(&access, authorization, false),
                "unauthorized",
                "the last one that goes opens nothing"
            );
        }
        access.replace(of(tokens()));
        assert_eq!(decided(&access, writer, true), "writer");
    }
    let first = access(vec![], true, None);
    assert_eq!(decided(&first, None, true), "(local)");
    first.replace(of(tokens()));
    assert_eq!(decided(&first, None, false), "unauthorized", "once there are tokens everybody needs one");
}

#[test]
fn wrong_tokens_are_slowed_and_right_ones_are_not() {
    let clock = Arc::new(ManualClock::default());
    let config = AccessConfig { tokens: tokens(), ..AccessConfig::default() };
    let access = Authenticator::new(config, false, Arc::clone(&clock) as Arc<dyn Clock>);
    let (wrong, right) = (Some("Bearer sl_other"), Some("Bearer sl_writer"));
    for _ in 0..wrong::WRONG_MAX {
        assert_eq!(decided(&access, wrong, false), "unauthorized");
    }
    let problem = access.authenticated(&context(wrong)).expect_err("too many");
    assert_eq!((problem.code, problem.code.status()), (ProblemCode::TooManyWrongTokens, 429));
    let retry = problem.headers().find(|(name, _)| name == http::header::RETRY_AFTER);
    assert_eq!(retry.map(|(_, value)| value), Some(HeaderValue::from(60)));
    assert_eq!(decided(&access, right, true), "writer", "others share the address");
    assert_eq!(decided(&access, None, false), "unauthorized", "no token is not a wrong one");
    let elsewhere = Context { peer: Some(SocketAddr::from(([192, 0, 2, 2], 5))), ..context(wrong) };
    assert_eq!(
        access.authenticated(&elsewhere).map_err(|problem| problem.code),
        Err(ProblemCode::Unauthorized)
    );
    assert_eq!(access.wrong_tokens(), (u64::from(wrong::WRONG_MAX) + 1, 1));
    clock.pass(Duration::from_secs(60));
    assert_eq!(decided(&access, wrong, false), "unauthorized");
}

#[test]
fn a_caller_is_what_the_token_says() {
    let access = access(tokens(), false, None);
    let caller = access.authenticated(&context(Some("Bearer sl_writer"))).expect("a caller");
    assert_eq!(*caller, Caller::from(&token("writer", true, false)));
    assert_eq!(caller.user.as_deref(), Some("alice"));
    for (project, theirs) in [
        ("other/one", true),
        ("other/one/more", false),
        ("other", false),
        ("shop/web", true),
        ("shop/deep/er", true),
        ("shop", true),
        ("Other/One", true),
        ("SHOP/Web", true),
        ("shopping/web", false),
        ("", false),
    ] {
        assert_eq!(caller.has(project), theirs, "{project}");
        assert_eq!(caller.require_write_of(project).is_ok(), theirs, "{project}");
        assert!(Caller::local().require_write_of(project).is_ok(), "{project}");
        assert!(Caller::anyone().require_write_of(project).is_err(), "{project}");
        assert!(!Caller::unasked().has(project), "{project}");
    }
    assert!(caller.require_everything().is_err() && Caller::anyone().require_everything().is_ok());
}

#[test]
fn scopes_hold_no_more_than_callers_see() {
    let mut request = Request::new(context(None), vec![], crate::http::params::Query::default());
    assert_eq!(scope(&request).ok(), Some(Scope::projects([])), "who was not asked sees nothing");
    request.caller = Arc::new(Caller::anyone());
    assert_eq!(scope(&request).ok(), Some(Scope::everything()));
    request.caller = Arc::new(Caller::from(&token("a", true, false)));
    assert_ne!(scope(&request).ok(), Some(Scope::everything()));
}

proptest! {
    /// Only the tokens of the configuration open anything, and nothing said of a refusal repeats what was sent.
    #[test]
    fn no_other_token_is_taken(sent in "[!-~]{1,40}", loopback: bool, basic: bool) {
        prop_assume!(!["sl_reader", "sl_writer", "sl_admin"].contains(&sent.as_str()));
        let header = if basic { format!("Basic {sent}") } else { format!("Bearer {sent}") };
        let refused = access(tokens(), loopback, None).authenticated(&context(Some(&header)));
        let problem = refused.expect_err("not a token of ours");
        prop_assert_eq!(problem.code, ProblemCode::Unauthorized);
        prop_assert!(sent.len() < 12 || !problem.detail.contains(&sent));
    }
}
