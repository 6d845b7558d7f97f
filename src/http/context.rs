//! What is known of every request: its head, its trace and its connection.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, Method};

use super::load::Account;

/// Headers that hold credentials.
const SECRET: [http::HeaderName; 3] = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE];

/// What every answer needs to know of its request, good or bad.
#[derive(Clone, Debug)]
pub struct Context {
    /// The path as it was sent.
    pub path: String,
    /// What stood after the question mark, as it was sent; empty where no route matched.
    pub query: String,
    /// The method.
    pub method: Method,
    /// The headers.
    pub headers: HeaderMap,
    /// Under which the log files it.
    pub trace: TraceId,
    /// The other end of the connection, where it is known.
    pub peer: Option<SocketAddr>,
    /// Whether the connection has no place but for probes and metrics.
    pub reserved: bool,
    /// What the request takes.
    pub account: Account,
    /// Whether it comes from a page of a site that the configuration allows.
    pub from_allowed_site: bool,
}

impl Context {
    /// Of a request with these; headers that hold credentials are marked so that nothing prints them.
    pub fn new(method: Method, path: &str, mut headers: HeaderMap) -> Self {
        for (name, value) in &mut headers {
            value.set_sensitive(SECRET.contains(name));
        }
        let trace = TraceId::of(&headers);
        let (peer, reserved, account) = (None, false, Account::default());
        let (path, query) = (path.to_owned(), String::new());
        let from_allowed_site = false;
        Context { path, query, method, headers, trace, peer, reserved, account, from_allowed_site }
    }

    /// A header's text; none when absent or not text.
    pub fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether the caller asks for this media type by name.
    pub fn accepts(&self, media_type: &str) -> bool {
        let named = |item: &str| item.split(';').next().is_some_and(|name| name.trim() == media_type);
        self.header(http::header::ACCEPT).is_some_and(|accept| accept.split(',').any(named))
    }
}

/// Ties an answer to the log: 32 hex digits, the caller's own when it sent a `traceparent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceId(String);

impl TraceId {
    /// The caller's trace, or a new one.
    pub fn of(headers: &HeaderMap) -> Self {
        let given = headers.get("traceparent").and_then(|value| value.to_str().ok());
        given.and_then(Self::from_traceparent).unwrap_or_else(Self::fresh)
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads W3C Trace Context, `00-<32 hex digits>-<16 hex digits>-<flags>`.
    fn from_traceparent(text: &str) -> Option<Self> {
        let id = text.strip_prefix("00-")?.get(..32)?;
        let valid =
            id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) && id.bytes().any(|b| b != b'0');
        (valid && text.as_bytes().get(35) == Some(&b'-')).then(|| TraceId(id.to_owned()))
    }

    /// Unique here and hard to guess, from the keys that std draws for its hash maps.
    fn fresh() -> Self {
        static KEYS: LazyLock<(RandomState, RandomState)> = LazyLock::new(Default::default);
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let half = |keys: &RandomState| {
            let mut hasher = keys.build_hasher();
            hasher.write_u64(number);
            hasher.finish()
        };
        TraceId(format!("{:016x}{:016x}", half(&KEYS.0), half(&KEYS.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_the_callers_or_new() {
        let parse = |text: &str| TraceId::from_traceparent(text).map(|id| id.0);
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(parse(&format!("00-{id}-00f067aa0ba902b7-01")).as_deref(), Some(id));
        for bad in ["", "00", "00-", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "01-é"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_ne!(TraceId::fresh(), TraceId::fresh());
        assert_eq!(TraceId::fresh().as_str().len(), 32);
    }
}
