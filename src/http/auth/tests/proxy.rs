//! Who comes through a trusted proxy, and who only says so.

use super::*;
use crate::http::auth::{Network, ProxyConfig};
use http::HeaderName;

const USER: HeaderName = HeaderName::from_static("x-forwarded-user");
const GROUPS: HeaderName = HeaderName::from_static("x-forwarded-groups");

fn access() -> Authenticator {
    let set = |text: &str| BTreeSet::from([text.to_owned()]);
    let proxy = ProxyConfig {
        addresses: ["192.0.2.0/24", "2001:db8::1"].map(|text| text.parse().expect("a network")).into(),
        user_header: USER,
        groups_header: GROUPS,
        write_groups: set("shop/front"),
        readers: set("auditors"),
        admins: set("platform"),
        access_review: None,
    };
    let config = AccessConfig { tokens: tokens(), proxy: Some(proxy), ..AccessConfig::default() };
    Authenticator::new(config, false, Arc::new(SystemClock))
}

fn from(peer: &str, headers: &[(HeaderName, &str)]) -> Result<Arc<Caller>, Problem> {
    let mut context = context(None);
    context.peer = Some(SocketAddr::new(peer.parse().expect("an address"), 5));
    for (name, value) in headers {
        context.headers.append(name, HeaderValue::from_str(value).expect("a header"));
    }
    access().authenticated(&context)
}

fn name(peer: &str, headers: &[(HeaderName, &str)]) -> String {
    from(peer, headers).map_or_else(|problem| problem.code.as_str().to_owned(), |caller| caller.name.clone())
}

#[test]
fn the_headers_of_a_proxy_count_from_its_addresses_and_from_no_other() {
    let alice = [(USER, "alice")];
    for (peer, expected) in [
        ("192.0.2.1", "proxy:alice"),
        ("::ffff:192.0.2.200", "proxy:alice"),
        ("2001:db8::1", "proxy:alice"),
        ("192.0.3.1", "unauthorized"),
        ("127.0.0.1", "unauthorized"),
        ("2001:db8::2", "unauthorized"),
        ("::1", "unauthorized"),
    ] {
        assert_eq!(name(peer, &alice), expected, "{peer}");
    }
    for (headers, expected) in [
        (&[][..], "unauthorized"),
        (&[(USER, "alice"), (USER, "bob")], "unauthorized"),
        (&[(USER, "")], "unauthorized"),
        (&[(GROUPS, "platform")], "unauthorized"),
        (&[(USER, "alice"), (GROUPS, "shop//x")], "unauthorized"),
        (&[(USER, "alice"), (GROUPS, "shop, ,other")], "proxy:alice"),
        (&[(USER, "alice"), (AUTHORIZATION, "Bearer sl_reader")], "reader"),
        (&[(USER, "alice"), (AUTHORIZATION, "Bearer sl_other")], "unauthorized"),
    ] {
        assert_eq!(name("192.0.2.1", headers), expected, "{headers:?}");
    }
}

#[test]
fn groups_of_a_proxy_become_what_is_seen_and_written() {
    let see = |groups: &str| from("192.0.2.1", &[(USER, "alice"), (GROUPS, groups)]).expect("a caller");
    let writer = see("shop,shop/front");
    assert!(writer.method.is_of_browsers() && writer.has("shop/web") && !writer.has("other/one"));
    assert!(
        writer.require_write_of("shop/front/web").is_ok() && writer.require_write_of("shop/web").is_err()
    );
    let auditor = see("auditors");
    assert!(auditor.everything && auditor.require_write().is_err());
    assert!(see("platform").require_write_everything().is_ok());
    assert!(see("shop/front/below").require_write().is_err(), "a group below is another group");
}

#[test]
fn everybody_is_no_network() {
    for text in
        ["0.0.0.0/0", "::/0", "10.0.0.0/33", "::1/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0", "", "host"]
    {
        assert!(text.parse::<Network>().is_err(), "{text}");
    }
}
