//! A request as handlers see it: the address decoded exactly once, the parameters checked against the route's.

use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::body;
use super::caller::{self, Caller};
use super::context::Context;
use super::params::Query;
use super::problem::Problem;

/// A request that matched a route and whose address could be read.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is known of every request.
    pub context: Arc<Context>,
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
    pub fn new(context: impl Into<Arc<Context>>, arguments: Vec<String>, query: Query) -> Self {
        let context = context.into();
        Request { context, arguments, query, caller: caller::unasked(), body: Bytes::new() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
    use http::{HeaderMap, Method};

    #[test]
    fn credentials_are_not_printed() {
        let mut headers = HeaderMap::new();
        for name in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
            headers.insert(name, http::HeaderValue::from_static("sl_canary"));
        }
        headers.insert("accept", http::HeaderValue::from_static("text/html"));
        let context = Context::new(Method::GET, "/", headers);
        let request = Request::new(context, vec![], Query::default());
        let printed = format!("{request:?}");
        assert!(!printed.contains("canary") && printed.contains("text/html"), "{printed}");
        assert_eq!(request.context.header(AUTHORIZATION), Some("sl_canary"), "what is read is what was sent");
    }
}
