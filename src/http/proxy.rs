//! Connections of the command line: direct, or through the proxy that the environment names, as curl and kubectl make them.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::outgoing::root;

/// Connects to servers.
#[derive(Clone)]
pub struct Connector {
    direct: HttpConnector,
    /// Which proxy leads where; none where there never is one.
    proxies: Option<Arc<Matcher>>,
}

impl fmt::Debug for Connector {
    /// The address of a proxy may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}

impl Connector {
    /// Without any proxy.
    pub fn direct() -> Self {
        let mut direct = HttpConnector::new();
        // What is encrypted goes over it too.
        direct.enforce_http(false);
        Connector { direct, proxies: None }
    }

    /// By `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in capitals or not. Servers of this machine are asked
    /// directly.
    pub fn by_environment() -> Self {
        Connector { proxies: Some(Arc::new(Matcher::from_env())), ..Connector::direct() }
    }

    /// The proxy that leads to an address, with the header that presents who asks it.
    fn proxy(&self, to: &Uri) -> Option<Intercept> {
        to.host().filter(|host| !is_loopback(host))?;
        self.proxies.as_ref()?.intercept(to)
    }
}

/// Whether a host is this machine, which no proxy leads to.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    address.is_ok_and(|address| address.is_loopback()) || name == "localhost" || name.ends_with(".localhost")
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.direct.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Some(proxy) = self.proxy(&to) else { return self.direct.call(to).map(|done| Ok(done?)).boxed() };
        let address = proxy.uri().clone();
        let name = address.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
        if address.scheme_str() != Some("http") {
            let why = format!("the proxy {name} of the environment has to be one of http://");
            return async move { Err(why.into()) }.boxed();
        }
        let mut tunnel = Tunnel::new(address, self.direct.clone());
        if let Some(header) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(header.clone());
        }
        let tunnel = tunnel.call(to);
        async move { tunnel.await.map_err(|error| format!("proxy {name}: {}", root(&error)).into()) }.boxed()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn through(all: &str, no: &str) -> Connector {
        let proxies = Matcher::builder().all(all.to_owned()).no(no.to_owned()).build();
        Connector { proxies: Some(Arc::new(proxies)), ..Connector::direct() }
    }

    #[test]
    fn no_proxy_leads_to_this_machine_or_to_what_is_excepted() {
        let connector = through("http://proxy.test:3128", "inside.test,10.0.0.0/8");
        for (to, expected) in [
            ("https://strandline.test", true),
            ("http://strandline.test:7979", true),
            ("https://a.inside.test", false),
            ("https://10.1.2.3", false),
            ("http://127.0.0.1:7979", false),
            ("http://localhost:7979", false),
            ("https://demo.localhost", false),
            ("http://[::1]:7979", false),
            ("http://localhost.test", true),
        ] {
            assert_eq!(connector.proxy(&to.parse().unwrap()).is_some(), expected, "{to}");
        }
        assert!(Connector::direct().proxy(&"https://strandline.test".parse().unwrap()).is_none());
    }

    #[tokio::test]
    async fn a_proxy_is_asked_for_a_tunnel_by_who_its_address_names() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            String::from_utf8(head).unwrap().to_lowercase()
        };
        let mut connector = through(&format!("http://alice:secret@{address}"), "");
        let (head, connected) =
            tokio::join!(proxy, connector.call("https://strandline.test".parse().unwrap()));
        assert!(head.starts_with("connect strandline.test:443 http/1.1\r\n"), "{head}");
        assert!(head.contains("proxy-authorization: basic "), "{head}");
        assert!(connected.is_ok(), "{connected:?}");
        let mut wrong = through("socks5://proxy.test:1080", "");
        let refused = wrong.call("https://strandline.test".parse().unwrap()).await.unwrap_err();
        assert!(refused.to_string().contains("has to be one of http://"), "{refused}");
    }
}
