//! Who is taken for whom, case by case.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};
use proptest::prelude::*;

use super::*;

fn token(name: &str, write: bool, everything: bool) -> TokenConfig {
    TokenConfig {
        name: name.to_owned(),
        hash: TokenHash::of(&format!("sl_{name}")),
        user: Some("alice".to_owned()),
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

/// The caller's name, or the code of the refusal.
fn decided(access: &Access, authorization: Option<&str>, writes: bool) -> String {
    match access.admit(&context(authorization), writes) {
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
    for (tokens, loopback, authorization, reads, writes) in [
        // Without tokens there is nobody to be told apart, whatever is presented.
        (&none, true, None, "(local)", "(local)"),
        (&none, true, wrong, "(local)", "(local)"),
        (&none, false, None, "(anyone)", "writing_needs_token"),
        (&none, false, wrong, "(anyone)", "writing_needs_token"),
        // With tokens, a machine's own users need none.
        (&some, true, None, "(local)", "(local)"),
        (&some, true, reader, "reader", "forbidden"),
        (&some, true, writer, "writer", "writer"),
        (&some, true, basic, "writer", "writer"),
        (&some, true, wrong, "unauthorized", "unauthorized"),
        (&some, true, wrong_basic, "unauthorized", "unauthorized"),
        (&some, true, odd, "unauthorized", "unauthorized"),
        (&some, false, None, "unauthorized", "unauthorized"),
        (&some, false, reader, "reader", "forbidden"),
        (&some, false, writer, "writer", "writer"),
        (&some, false, basic, "writer", "writer"),
        (&some, false, Some("Bearer sl_admin"), "admin", "forbidden"),
        (&some, false, wrong, "unauthorized", "unauthorized"),
        (&some, false, wrong_basic, "unauthorized", "unauthorized"),
        (&some, false, odd, "unauthorized", "unauthorized"),
        (&some, false, Some(""), "unauthorized", "unauthorized"),
        // What stands in the configuration opens nothing.
        (&some, false, Some(hash.as_str()), "unauthorized", "unauthorized"),
        (&some, false, Some("Bearer reader"), "unauthorized", "unauthorized"),
    ] {
        let access = Access::new(tokens, loopback);
        let told = format!("{} tokens, loopback {loopback}, {authorization:?}", tokens.len());
        assert_eq!(decided(&access, authorization, false), reads, "reading: {told}");
        assert_eq!(decided(&access, authorization, true), writes, "writing: {told}");
    }
}

#[test]
fn a_caller_is_what_the_token_says() {
    let access = Access::new(&tokens(), false);
    let caller = access.admit(&context(Some("Bearer sl_writer")), true).expect("a caller");
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
        assert_eq!(caller.writes_of(project).is_ok(), theirs, "{project}");
        assert!(Caller::local().writes_of(project).is_ok(), "{project}");
        assert!(Caller::anyone().writes_of(project).is_err(), "{project}");
        assert!(!Caller::unasked().has(project), "{project}");
    }
    assert!(caller.sees_everything().is_err() && Caller::anyone().sees_everything().is_ok());
}

#[test]
fn scopes_hold_no_more_than_callers_see() {
    let mut request = Request::new(context(None), vec![], crate::api::params::Query::default());
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
        let refused = Access::new(&tokens(), loopback).admit(&context(Some(&header)), false);
        let problem = refused.expect_err("not a token of ours");
        prop_assert_eq!(problem.code, Code::Unauthorized);
        prop_assert!(sent.len() < 12 || !problem.detail.contains(&sent));
    }
}
