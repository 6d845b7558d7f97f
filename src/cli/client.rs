//! Reads from a server over HTTP, or from a data directory by the same requests.

mod problem;
mod session;
pub(super) mod stream;
mod target;
mod token;
mod transport;

use std::path::Path;
use std::sync::Once;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::request::Builder;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use serde_json::Value;

use super::args::{AddressArgs, ServerArgs};
use super::error::{CliError, Exit};
use super::query::{Parameter, Parameters, with_query};
use super::stderr::note;
use super::{line, now};
use problem::{is_future, is_unreadable};
use session::Session;
use strandline_syntax::diagnostics::of_json;
use token::bearer;
use transport::{Answer, Transport};

pub(super) use problem::refused;
pub(super) use target::{Credential, Target, variable};

/// How long one answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The largest answer that is read; a page of 500 large objects stays below.
const ANSWER_BYTES_MAX: usize = 512 * 1024 * 1024;

/// The most items that one request asks for.
const PAGE: u64 = strandline_query::PageRequest::MAX as u64;

/// Asks a server, or a data directory.
#[derive(Debug)]
pub(super) struct Client {
    /// Its address, or what people call the directory.
    server: String,
    authorization: Authorization,
    context: Option<String>,
    transport: Transport,
}

/// What the client presents.
#[derive(Debug)]
enum Authorization {
    Nothing,
    Token(HeaderValue),
    Login(Session),
}

impl Client {
    /// A client of what the arguments of a reading command name: a server, or a data directory.
    pub(super) fn reading(args: &ServerArgs) -> Result<Self, CliError> {
        let Some(data) = &args.data else { return Client::of(&args.address) };
        let client = Client::of_directory(data)?;
        if let Some(end) = client.transport.record_end() {
            // Some commands ask for one thing after the other.
            static NOTE: Once = Once::new();
            if let Some(time) = end.time {
                now::stop_at(time);
            }
            NOTE.call_once(|| note!("{}", line::record_end(data, &end)));
        }
        Ok(client)
    }

    /// A client of the files of a data directory.
    pub(super) fn of_directory(data: &Path) -> Result<Self, CliError> {
        let (server, transport) = (data.display().to_string(), Transport::directory(data)?);
        Ok(Client { server, authorization: Authorization::Nothing, context: None, transport })
    }

    /// A client of the server that the arguments name, or else the environment or a context, with the token that they give.
    pub(super) fn of(args: &AddressArgs) -> Result<Self, CliError> {
        Client::at(Target::of(args)?)
    }

    /// A client of this server.
    pub(super) fn at(target: Target) -> Result<Self, CliError> {
        let Target { server, ca_file, credential, context } = target;
        let client = Client::new(&server, ca_file.as_deref())?;
        let authorization = match credential {
            Credential::Nothing => Authorization::Nothing,
            Credential::Token(token) => bearer(&token).map_or(Authorization::Nothing, Authorization::Token),
            Credential::Login(tokens) => {
                let context = context.clone().unwrap_or_default();
                Authorization::Login(Session::new(context, tokens, ca_file))
            }
        };
        Ok(Client { authorization, context, ..client })
    }

    /// The same, which renews no login: for a command that is given up after a time.
    pub(super) fn unrenewed(self) -> Self {
        let authorization = match self.authorization {
            Authorization::Login(session) => Authorization::Login(session.unrenewed()),
            other => other,
        };
        Client { authorization, ..self }
    }

    /// The address of the server.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// The context that the server comes from, or whose server it is.
    pub(super) fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// A client of the server at this address, who presents nothing.
    fn new(server: &str, ca_file: Option<&Path>) -> Result<Self, CliError> {
        let transport = Transport::http(server, ca_file)?;
        let (server, authorization) = (server.trim_end_matches('/').to_owned(), Authorization::Nothing);
        Ok(Client { server, authorization, context: None, transport })
    }

    /// The address of what is asked for; below the server, or the path alone.
    fn uri(&self, path: &str) -> String {
        match self.transport.data() {
            None => format!("{}{path}", self.server),
            Some(_) => path.to_owned(),
        }
    }

    /// One answer; `what` says in errors what was being done.
    pub(super) async fn get(&self, what: &str, path: &str, query: &[Parameter]) -> Result<Value, CliError> {
        let address = self.uri(&with_query(path, query));
        self.asked(what, Request::get(&address), query, Bytes::new()).await
    }

    /// The answer to a request to do something of which nothing more has to be said.
    pub(super) async fn post(&self, what: &str, path: &str) -> Result<Value, CliError> {
        let request = Request::post(self.uri(path));
        self.asked(what, request.header(CONTENT_TYPE, "application/json"), &[], Bytes::new()).await
    }

    /// The same with a body.
    pub(super) async fn post_json(&self, what: &str, path: &str, body: &Value) -> Result<Value, CliError> {
        let request = Request::post(self.uri(path));
        let request = request.header(CONTENT_TYPE, "application/json");
        self.asked(what, request, &[], Bytes::from(body.to_string())).await
    }

    /// The status of an address, and the text of the answer.
    pub(super) async fn status(&self, what: &str, path: &str) -> Result<(StatusCode, Bytes), CliError> {
        let request = Request::get(self.uri(path));
        whole(what, self.sent(what, request, Bytes::new()).await?).await
    }

    async fn asked(
        &self,
        what: &str,
        request: Builder,
        query: &[Parameter],
        body: Bytes,
    ) -> Result<Value, CliError> {
        let request = request.header(ACCEPT, "application/json");
        let answer = async { whole(what, self.sent(what, request, body).await?).await };
        let answer = tokio::time::timeout(TIMEOUT, answer).await;
        let (status, body) = answer.map_err(|_| self.silent(what))??;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| {
                CliError::new(what, format!("the response is not JSON: {}", of_json(&error)))
                    .hint(format!("check that {} is a Strandline server", self.server))
            });
        }
        Err(self.failed(what, query, status, &body))
    }

    fn failed(&self, what: &str, query: &[Parameter], status: StatusCode, body: &[u8]) -> CliError {
        let refused = refused(what, &self.server, query, status, body);
        match self.transport.data() {
            // Nobody but who asks can look for the cause, and nothing is built anew.
            Some(data) if is_unreadable(body) => {
                let data = data.display();
                refused.hint(format!(
                    "look for damage with `strandline doctor --data {data}`; a damaged view is built anew by \
                     `strandline rebuild --data {data}`"
                ))
            }
            Some(_) if is_future(body) && self.transport.record_end().is_some() => {
                refused.hint("a data directory that no server uses has the time at which its record ends")
            }
            _ if status == StatusCode::UNAUTHORIZED => self.unauthorized(refused),
            _ => refused,
        }
    }

    fn silent(&self, what: &str) -> CliError {
        CliError::new(what, format!("no answer from {} within {} s", self.server, TIMEOUT.as_secs()))
    }

    /// What to do about a token that is missing or not known.
    fn unauthorized(&self, error: CliError) -> CliError {
        let hint = match self.authorization {
            Authorization::Nothing => {
                "log in with `strandline login`, or set --token-file or STRANDLINE_TOKEN; an administrator of the server can generate a token with `strandline token`"
            }
            Authorization::Token(_) => {
                "check that the token is one of this server, and still in its configuration"
            }
            Authorization::Login(_) => "log in again with `strandline login`",
        };
        error.hint(hint).exit(Exit::Usage)
    }

    async fn sent(&self, what: &str, request: Builder, body: Bytes) -> Result<Answer, CliError> {
        let request = request.body(Full::new(body));
        let mut request = request.map_err(|error| CliError::new(what, error))?;
        let authorization = match &self.authorization {
            Authorization::Nothing => None,
            Authorization::Token(header) => Some(header.clone()),
            Authorization::Login(session) => session.header().await?,
        };
        request.headers_mut().extend(authorization.map(|value| (AUTHORIZATION, value)));
        self.transport.send(what, &self.server, request).await
    }

    /// All items of a list, or the first `limit`, page by page; the metadata is that of the last page.
    pub(super) async fn list(
        &self,
        what: &str,
        path: &str,
        mut query: Parameters,
        limit: Option<u64>,
    ) -> Result<Value, CliError> {
        let mut items: Vec<Value> = Vec::new();
        let (mut before, mut warnings) = (None, None);
        loop {
            let left = limit.map_or(PAGE, |limit| limit.saturating_sub(items.len() as u64).min(PAGE));
            query.retain(|given| given.name != "limit");
            query.push(Parameter::new("limit", left));
            let mut page = self.get(what, path, &query).await?;
            let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) else {
                return Err(CliError::new(what, "the response has no `items`")
                    .hint(format!("check that {} is a Strandline server of this version", self.server)));
            };
            items.extend(more);
            // What is odd about the question is said on its first page.
            let odd = page["metadata"].get_mut("warnings").map(Value::take);
            let said = warnings.get_or_insert(odd);
            let next = page["metadata"]["continue"].as_str().map(str::to_owned);
            // A page may hold nothing and yet lead on; one that leads to itself does not.
            let goes_on = next != before;
            before.clone_from(&next);
            match next.filter(|_| goes_on && limit.is_none_or(|limit| (items.len() as u64) < limit)) {
                // The token pins the moment; a relative one would by now be another.
                Some(token) => {
                    query.retain(|given| !["at", "continue"].contains(&given.name));
                    query.push(Parameter::new("continue", token));
                }
                None => {
                    if let Some(odd) = said.take() {
                        page["metadata"]["warnings"] = odd;
                    }
                    page["items"] = Value::Array(items);
                    return Ok(page);
                }
            }
        }
    }
}

/// All of an answer.
async fn whole(what: &str, response: Answer) -> Result<(StatusCode, Bytes), CliError> {
    let status = response.status();
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
    let body = body.map_err(|error| {
        CliError::new(what, format!("the connection was closed during the response: {error}"))
    })?;
    Ok((status, body.to_bytes()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cli::runtime::runtime;
    use crate::http::auth::Gate;
    use crate::http::auth::TokenHash;
    use crate::http::context::Context;
    use crate::http::params::{AT, CONTINUE, LIMIT};
    use crate::http::problem::{Problem, ProblemCode};
    use crate::http::respond::{self, json};
    use crate::http::router::{Route, Router, mount};
    use crate::http::{Authenticator, Caller, Hosts, ServerOptions, serve};
    use std::path::PathBuf;
    use std::sync::Arc;
    use strandline_clock::SystemClock;
    use tokio_util::sync::{CancellationToken, DropGuard};

    #[test]
    fn only_addresses_of_http_and_https_serve() {
        let runtime = runtime().expect("a runtime");
        let _guard = runtime.enter();
        assert!(Client::new("http://localhost:7979/", None).is_ok());
        for address in ["localhost:7979", "ftp://x", "http://", "https://", "http://a b", "https://a?b"] {
            let error = Client::new(address, None).err();
            assert_eq!(error.map(|error| error.exit), Some(Exit::Usage), "{address}");
        }
    }

    /// A server of three items in pages of two, whose pages after the first refuse a moment.
    const PAGES: &[Route<()>] = &[Route::at("/prefix/items").get(&[AT, LIMIT, CONTINUE], |(), request| {
        Box::pin(async move {
            let size = request.query.reader().page().limit.min(2);
            let token = request.query.one(CONTINUE);
            if token.is_some() && request.query.one(AT).is_some() {
                return Err(Problem::new(ProblemCode::BadPageToken, "another moment"));
            }
            let start: usize = token.and_then(|token| token.parse().ok()).unwrap_or(0);
            let items: Vec<_> = (start..3).take(size).collect();
            let end = start + items.len();
            let next = (end < 3).then(|| end.to_string());
            let mut metadata = serde_json::json!({ "continue": next });
            if start == 0 {
                metadata["warnings"] = serde_json::json!(["odd"]);
            }
            json(&request, &serde_json::json!({ "items": items, "metadata": metadata }))
        })
    })];

    /// The address of a server that ends with the guard.
    async fn served(router: Router) -> (String, DropGuard) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let shutdown = CancellationToken::new();
        let options = ServerOptions::new(Hosts::for_listener(address, &[]));
        tokio::spawn(serve(listener, router, options, shutdown.clone()));
        (format!("http://{address}"), shutdown.drop_guard())
    }

    async fn listed(limit: Option<u64>) -> Result<Value, CliError> {
        let (address, _end) = served(mount(PAGES, &(), respond::problem)).await;
        let client = Client::new(&format!("{address}/prefix/"), None)?;
        client.list("reading items", "/items", vec![Parameter::new("at", "2h")], limit).await
    }

    #[derive(Clone)]
    struct Guarded(Arc<Authenticator>);

    impl Gate for Guarded {
        async fn caller(&self, context: &Context) -> Result<Arc<Caller>, Problem> {
            self.0.caller(context).await
        }

        fn now(&self) -> strandline_model::Timestamp {
            self.0.now()
        }
    }

    const WHO: &[Route<Guarded>] = &[Route::at("/who").get(&[], |_, request| {
        Box::pin(async move { json(&request, &serde_json::json!({ "by": request.caller.name })) })
    })];

    #[tokio::test]
    async fn tokens_are_sent_and_their_refusal_says_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let entry = "access: {tokens: [{name: ci, everything: true, hash: ";
        let config = crate::config::parse(&format!("{entry}{}}}]}}", TokenHash::of("sl_ci")), Path::new("c"));
        let access = config.expect("a configuration").access;
        let access = Authenticator::new(access, false, Arc::new(SystemClock));
        let (address, _end) = served(mount(WHO, &Guarded(Arc::new(access)), respond::problem)).await;
        let ask = async |token: Option<&str>, token_file: Option<PathBuf>| {
            let token = token.map(|token| token.parse().expect("a token"));
            let args =
                AddressArgs { server: Some(address.clone()), token, token_file, ..AddressArgs::default() };
            Client::of(&args)?.get("asking", "/who", &[]).await
        };
        let ci = Ok(serde_json::json!({ "by": "ci" }));
        assert_eq!(ask(Some("sl_ci"), None).await, ci);
        assert_eq!(ask(None, Some(file("good", " sl_ci\n"))).await, ci);
        let wrong = ask(Some("sl_canary"), None).await.expect_err("a wrong token");
        assert!(wrong.exit == Exit::Usage && wrong.lines().contains("configuration"), "{}", wrong.lines());
        assert!(!wrong.lines().contains("canary"), "{}", wrong.lines());
        for (path, expected) in [
            (folder.path().join("none"), "No such file"),
            (file("empty", "\n"), "it is empty"),
            (file("two", "sl_canary sl_canary"), "no spaces"),
        ] {
            let error = ask(None, Some(path)).await.expect_err("no token");
            assert!(error.exit == Exit::Usage && error.lines().contains(expected), "{}", error.lines());
            assert!(!error.lines().contains("canary"), "{}", error.lines());
        }
    }

    #[tokio::test]
    async fn lists_are_followed_to_their_end_or_to_the_limit() {
        for (limit, expected) in [(None, 3), (Some(1), 1), (Some(2), 2), (Some(3), 3), (Some(9), 3)] {
            let items: Vec<_> = (0..expected).collect();
            let got =
                listed(limit).await.map(|page| (page["items"].clone(), page["metadata"]["warnings"].clone()));
            assert_eq!(got, Ok((serde_json::json!(items), serde_json::json!(["odd"]))), "{limit:?}");
        }
    }
}
