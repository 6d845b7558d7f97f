//! A request as handlers see it: the address decoded exactly once, the parameters checked against the route's.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, Method};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::auth::{self, Caller};
use super::body;
use super::load::Account;
use super::params::Query;
use super::problem::{Code, Problem};

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
        Context { path, query, method, headers, trace, peer, reserved, account }
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

/// A request that matched a route and whose address could be read.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is known of every request.
    pub context: Context,
    /// The values of the path's parameters, in order, decoded.
    pub arguments: Vec<String>,
    /// The query's parameters, decoded; all are known to the route.
    pub query: Query,
    /// Who asks.
    pub caller: Arc<Caller>,
    /// The body; empty where the method takes none.
    pub body: Bytes,
}

impl Request {
    /// One without a body, of a caller who was not asked who they are.
    pub fn new(context: Context, arguments: Vec<String>, query: Query) -> Self {
        Request { context, arguments, query, caller: auth::unasked(), body: Bytes::new() }
    }

    /// The body as this type; unknown and repeated members are for the type to refuse.
    ///
    /// # Errors
    /// `invalid_body`, with the field, the line and the column.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        body::decode(&self.body)
    }

    /// The path's parameter at this place; empty when the route has none there.
    pub fn argument(&self, place: usize) -> &str {
        self.arguments.get(place).map_or("", String::as_str)
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

/// Decodes percent-encoding once; refuses what is malformed, not UTF-8, or holds a NUL.
///
/// Overlong forms and lone surrogates are not UTF-8 to Rust, so they are refused here and nowhere else.
pub fn decode(text: &str) -> Result<String, Problem> {
    let malformed = |why: &str| Problem::new(Code::MalformedRequest, format!("`{text}` {why}"));
    let escaped =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    if !text.split('%').skip(1).all(escaped) {
        return Err(malformed("has a `%` that is not followed by two hex digits"));
    }
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    if bytes.contains(&0) {
        return Err(malformed("contains a NUL character"));
    }
    String::from_utf8(bytes).map_err(|_| malformed("is not UTF-8 when decoded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_decoded_exactly_once() {
        let cases = [
            ("plain", Ok("plain")),
            ("a%2Fb", Ok("a/b")),
            ("%252e", Ok("%2e")),
            ("%C3%A9", Ok("é")),
            ("a+b", Ok("a+b")),
            ("%00", Err(())),
            ("%C0%AF", Err(())),
            ("%ED%A0%80", Err(())),
            ("%FF", Err(())),
            ("%", Err(())),
            ("%4", Err(())),
            ("%zz", Err(())),
            ("%+4", Err(())),
        ];
        for (text, expected) in cases {
            let got = decode(text).map_err(|problem| assert_eq!(problem.code, Code::MalformedRequest));
            assert_eq!(got.as_deref(), expected.as_ref().copied(), "{text}");
        }
    }

    #[test]
    fn what_is_encoded_decodes_to_itself() {
        for text in ["", "shop.web.production", "a/b?c=d&e#f", "100 %", "é\u{202e}\n"] {
            assert_eq!(decode(&strandline_syntax::percent_encode(text)).as_deref().ok(), Some(text));
        }
    }

    #[test]
    fn credentials_are_not_printed() {
        let mut headers = HeaderMap::new();
        for name in SECRET {
            headers.insert(name, http::HeaderValue::from_static("sl_canary"));
        }
        headers.insert("accept", http::HeaderValue::from_static("text/html"));
        let context = Context::new(Method::GET, "/", headers);
        let request = Request::new(context, vec![], Query::default());
        let printed = format!("{request:?}");
        assert!(!printed.contains("canary") && printed.contains("text/html"), "{printed}");
        assert_eq!(request.context.header(AUTHORIZATION), Some("sl_canary"), "what is read is what was sent");
    }

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
