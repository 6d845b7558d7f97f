//! Which pages of other sites may ask: those whose origin the configuration lists (CORS, in the Fetch standard).
//!
//! They present a token themselves. What a browser would add on its own, a cookie or the password of Basic
//! authentication, is not allowed (no `Access-Control-Allow-Credentials`), so a listed site has no more than its tokens.

use std::collections::BTreeSet;

use http::Method;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
    AUTHORIZATION, COOKIE, HeaderMap, HeaderValue, ORIGIN,
};

use super::context::Context;
use super::respond::Response;

/// What such a page may send of its own.
const REQUEST_HEADERS: &str =
    "Accept, Authorization, Content-Type, If-None-Match, Last-Event-ID, Traceparent, X-Request-Id";

/// What such a page may read besides the body.
const RESPONSE_HEADERS: &str = "ETag, Link, Retry-After, Server-Timing, WWW-Authenticate, X-Request-Id";

/// For how many seconds a browser need not ask again.
const MAX_AGE: &str = "600";

/// The origins that are allowed, such as `https://portal.example.com`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeSet<String>);

fn is_bearer(value: &HeaderValue) -> bool {
    value.as_bytes().get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer "))
}

/// Whether a request brings what a browser adds by itself: a cookie, or a password as of Basic authentication.
fn names_user(headers: &HeaderMap) -> bool {
    headers.contains_key(COOKIE) || headers.get_all(AUTHORIZATION).iter().any(|value| !is_bearer(value))
}

impl FromIterator<String> for Origins {
    fn from_iter<I: IntoIterator<Item = String>>(origins: I) -> Self {
        Origins(origins.into_iter().collect())
    }
}

impl Origins {
    /// Whether there are any.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The origin of a request, where it is one of these.
    fn of<'h>(&self, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (Some(origin), None) => {
                Some(origin).filter(|origin| origin.to_str().is_ok_and(|text| self.0.contains(text)))
            }
            _ => None,
        }
    }

    /// Whether a request comes from one of these and brings a token of its own. A browser may send what it knows of a user
    /// along, and such a request may need no permission beforehand.
    pub(super) fn allow(&self, headers: &HeaderMap) -> bool {
        let brought = headers.get(AUTHORIZATION).is_some_and(is_bearer);
        brought && !names_user(headers) && self.of(headers).is_some()
    }

    /// Tells the browser that the page may read the answer, and where it asked before what it may send. What was answered to
    /// a user that the browser named by itself is not for the page.
    pub(super) fn mark(&self, response: &mut Response, context: &Context) {
        if names_user(&context.headers) {
            return;
        }
        let Some(origin) = self.of(&context.headers).cloned() else { return };
        let asks =
            context.method == Method::OPTIONS && context.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if !asks {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(RESPONSE_HEADERS));
            return;
        }
        let methods = headers.get(ALLOW).cloned();
        headers.extend(methods.map(|methods| (ACCESS_CONTROL_ALLOW_METHODS, methods)));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(REQUEST_HEADERS));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    }
}
