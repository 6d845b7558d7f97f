//! Under which names the server answers.
//!
//! A page of a stranger can point a name of its own at 127.0.0.1 and then read what a server on the visitor's
//! machine serves (DNS rebinding). The browser still sends the stranger's name as Host, so a server that
//! only this machine can reach answers only to this machine's names.

use std::net::SocketAddr;

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
        let configured = configured.iter().map(|name| name.to_ascii_lowercase());
        match address.ip().is_loopback() {
            true => Hosts::Only(loopback.chain(configured).collect()),
            false if configured.len() == 0 => Hosts::Any,
            false => Hosts::Only(configured.collect()),
        }
    }

    /// Whether a request is for us; each name it gives, in the address and as Host, must be.
    pub fn allow(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let Hosts::Only(names) = self else { return true };
        let ours = |host: &str| names.iter().any(|name| *name == name_of(host));
        let mut given = headers.get_all(HOST).iter().map(|value| value.to_str().ok()).peekable();
        let named = given.peek().is_some() || uri.authority().is_some();
        named
            && given.all(|host| host.is_some_and(ours))
            && uri.authority().is_none_or(|authority| ours(authority.as_str()))
    }
}

/// A host without its port, in lower case.
fn name_of(host: &str) -> String {
    let end = match host.rfind(']') {
        Some(bracket) => bracket + 1,
        None => host.find(':').unwrap_or(host.len()),
    };
    host[..end].to_ascii_lowercase()
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
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:7979", "[::1]:7979", "[::1]", "strand.test:1"] {
            assert!(allowed(&hosts, Some(host)), "{host}");
        }
        for host in ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test:7979", "", "[::2]", "]"] {
            assert!(!allowed(&hosts, Some(host)), "{host}");
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
