//! What is known of every request: its head, its trace and its connection.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use data_encoding::HEXLOWER;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, Method};

use super::accept::{accepts, liked, named};
use super::load::Account;

/// Headers that hold credentials.
const SECRET: [http::HeaderName; 3] = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE];

/// What every answer needs to know of its request, good or bad.
#[derive(Clone, Debug)]
pub struct Context {
    /// The path as it was sent.
    pub path: String,
    /// What stood after the question mark, as it was sent.
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
    /// Of a request with these and no query; headers that hold credentials are marked so that nothing prints them.
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

    /// Whether the caller takes an answer of this content type, as who names none takes any.
    pub fn takes(&self, content_type: &str) -> bool {
        accepts(&self.headers, content_type)
    }

    /// Whether the caller asks for this media type by name.
    pub fn names(&self, media_type: &str) -> bool {
        named(&self.headers, media_type, None) > 0
    }

    /// Whether the caller names a version of a media type and likes the other, by name or not, no better.
    pub fn prefers(&self, (media_type, version): (&str, &str), (other, other_version): (&str, &str)) -> bool {
        let weight = named(&self.headers, media_type, Some(version));
        weight > 0 && weight >= liked(&self.headers, other, Some(other_version))
    }
}

/// Ties an answer to the log: 32 hex digits, the caller's own when it sent a `traceparent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceId {
    id: String,
    /// The caller's span, in 16 hex digits; empty where there is none.
    parent: String,
    /// Whether the caller does not decline that the trace is recorded.
    sampled: bool,
}

impl TraceId {
    /// The caller's trace, or a new one.
    pub fn of(headers: &HeaderMap) -> Self {
        let given = headers.get("traceparent").and_then(|value| value.to_str().ok());
        given.and_then(Self::from_traceparent).unwrap_or_else(Self::fresh)
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// The caller's span; empty where there is none.
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// Whether the trace may be recorded.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// Reads W3C Trace Context, `00-<32 hex digits>-<16 hex digits>-<flags>`.
    fn from_traceparent(text: &str) -> Option<Self> {
        let id = text.strip_prefix("00-")?.get(..32)?;
        let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let valid = id.bytes().all(is_hex) && id.bytes().any(|b| b != b'0');
        let parent = text.get(36..52).filter(|parent| parent.bytes().all(is_hex)).unwrap_or_default();
        let sampled = text.get(53..55).is_none_or(|flags| flags != "00");
        let of_caller = || TraceId { id: id.to_owned(), parent: parent.to_owned(), sampled };
        (valid && text.as_bytes().get(35) == Some(&b'-')).then(of_caller)
    }

    /// Unique here and hard to guess, from the keys that std draws for its hash maps.
    fn fresh() -> Self {
        static KEYS: LazyLock<(RandomState, RandomState)> = LazyLock::new(Default::default);
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let half = |keys: &RandomState| keys.hash_one(number).to_be_bytes();
        let id = HEXLOWER.encode([half(&KEYS.0), half(&KEYS.1)].as_flattened());
        TraceId { id, parent: String::new(), sampled: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_the_callers_or_new() {
        let parse =
            |text: &str| TraceId::from_traceparent(text).map(|trace| (trace.id, trace.parent, trace.sampled));
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent = "00f067aa0ba902b7";
        for (flags, sampled) in [("01", true), ("00", false)] {
            let given = parse(&format!("00-{id}-{parent}-{flags}"));
            assert_eq!(given, Some((id.to_owned(), parent.to_owned(), sampled)));
        }
        for bad in ["", "00", "00-", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "01-é"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_ne!(TraceId::fresh(), TraceId::fresh());
        assert_eq!(TraceId::fresh().as_str().len(), 32);
    }
}
