//! Under which names the server answers.
//!
//! A page of a stranger can point a name of its own at 127.0.0.1 and then read what a server on the visitor's
//! machine serves (DNS rebinding). The browser still sends the stranger's name as Host, so a server that
//! only this machine can reach answers only to this machine's names.

use std::net::{Ipv6Addr, SocketAddr};

use http::header::HOST;
use http::{HeaderMap, Uri};

/// The names of this machine to itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Under which names the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Under any, as behind a proxy that checked it.
    Any,
    /// Under these, with any port.
    Only(Vec<String>),
}

impl Hosts {
    /// Those fit for a listener: on a loopback address this machine's names and the configured ones,
    /// elsewhere the configured ones, and any when none is configured.
    pub fn for_listener(address: SocketAddr, configured: &[String]) -> Self {
        let loopback = LOOPBACK.iter().map(|name| (*name).to_owned());
        let configured = configured.iter().map(|name| name_of(name).unwrap_or_else(|| name.clone()));
        match address.ip().is_loopback() {
            true => Hosts::Only(loopback.chain(configured).collect()),
            false if configured.len() == 0 => Hosts::Any,
            false => Hosts::Only(configured.collect()),
        }
    }

    /// Whether a request is for us; each name it gives, in the address and as Host, must be.
    pub fn allow(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let Hosts::Only(names) = self else { return true };
        let ours = |host: &str| name_of(host).is_some_and(|host| names.contains(&host));
        let mut given = headers.get_all(HOST).iter().map(|value| value.to_str().ok()).peekable();
        let named = given.peek().is_some() || uri.authority().is_some();
        named
            && given.all(|host| host.is_some_and(ours))
            && uri.authority().is_none_or(|authority| ours(authority.as_str()))
    }
}

/// The name in `name`, `name:port`, `[address]` or `[address]:port`, as it is compared: in lower case, without the dot that
/// may end a full name, an IPv6 address in its shortest form. None where it is none of these.
fn name_of(authority: &str) -> Option<String> {
    let (name, rest) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, rest) = inner.split_once(']')?;
            (format!("[{}]", address.parse::<Ipv6Addr>().ok()?), rest)
        }
        None => {
            let (name, rest) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            (name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase(), rest)
        }
    };
    let port = |port: &str| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok();
    let whole = rest.is_empty() || rest.strip_prefix(':').is_some_and(port);
    (whole && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn allowed(hosts: &Hosts, host: Option<&'static str>) -> bool {
        let headers = host.map(|host| (HOST, HeaderValue::from_static(host))).into_iter().collect();
        hosts.allow(&Uri::from_static("/"), &headers)
    }

    #[test]
    fn a_loopback_server_answers_only_to_its_own_names() {
        let local: SocketAddr = ([127, 0, 0, 1], 7979).into();
        let hosts = Hosts::for_listener(local, &["Strand.test".into()]);
        for (host, ours) in [
            ("localhost", true),
            ("LOCALHOST:80", true),
            ("localhost.", true),
            ("localhost.:7979", true),
            ("127.0.0.1:7979", true),
            ("[::1]", true),
            ("[::1]:7979", true),
            ("[0:0::0:1]:7979", true),
            ("strand.test:1", true),
            ("STRAND.test.", true),
            ("evil.test", false),
            ("localhost.evil.test", false),
            ("localhost..", false),
            (".localhost", false),
            ("127.0.0.1.evil.test:7979", false),
            ("[::1].evil.test", false),
            ("[::1].evil.test:7979", false),
            ("[::1]evil.test", false),
            ("[::1]]", false),
            ("[::1", false),
            ("::1", false),
            ("[::ffff:127.0.0.1]", false),
            ("[::1%25eth0]", false),
            ("[::2]", false),
            ("[localhost]", false),
            ("[]", false),
            ("]", false),
            ("", false),
            (".", false),
            (":7979", false),
            ("localhost:", false),
            ("localhost:http", false),
            ("localhost:+80", false),
            ("localhost:65536", false),
            ("localhost:80:evil.test", false),
            ("localhost:80.evil.test", false),
            ("me@localhost", false),
            ("localhost@evil.test", false),
            ("localhost/evil.test", false),
            (" localhost", false),
        ] {
            assert_eq!(allowed(&hosts, Some(host)), ours, "{host}");
        }
        assert!(!allowed(&hosts, None), "a request that names nobody");
    }

    #[test]
    fn elsewhere_any_name_serves_unless_some_are_configured() {
        let public: SocketAddr = ([0, 0, 0, 0], 7979).into();
        assert_eq!(Hosts::for_listener(public, &[]), Hosts::Any);
        let hosts = Hosts::for_listener(public, &["strand.test".into()]);
        assert!(allowed(&hosts, Some("strand.test")) && !allowed(&hosts, Some("other.test")));
    }

    #[test]
    fn an_absolute_address_must_be_ours_too() {
        let hosts = Hosts::Only(vec!["localhost".into()]);
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        assert!(!hosts.allow(&Uri::from_static("http://evil.test/"), &headers));
        assert!(hosts.allow(&Uri::from_static("http://localhost:80/"), &headers));
    }
}
