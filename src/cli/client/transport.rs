//! How a request gets to what answers it: over HTTP, or within this process where a data directory is read directly.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;

use crate::cli::error::{CliError, Exit};
use crate::cli::tls::{TRUST_HINT, tls};
use crate::http::proxy::Connector;
use crate::service::{DirectoryError, DirectoryReader, RecordEnd};
use strandline_clock::{Clock, SystemClock};

/// An answer, whose body is still to be read.
pub(super) type Answer = Response<UnsyncBoxBody<Bytes, Broken>>;

/// Why a body ended before its end.
pub(super) type Broken = Box<dyn std::error::Error + Send + Sync>;

/// What answers.
#[derive(Debug)]
pub(super) enum Transport {
    /// A server.
    Http(Box<legacy::Client<HttpsConnector<Connector>, Full<Bytes>>>),
    /// The files of a data directory.
    Directory(PathBuf, DirectoryReader),
}

impl Transport {
    /// To the server at this address; nothing is sent yet.
    pub(super) fn http(server: &str, ca_file: Option<&Path>) -> Result<Self, CliError> {
        let wrong = |why: &str| {
            CliError::new(format!("connecting to `{server}`"), why)
                .hint("set --server or STRANDLINE_SERVER to a URL such as http://127.0.0.1:7979, or log in with `strandline login --server URL`")
                .exit(Exit::Usage)
        };
        let uri: Uri = server.parse().map_err(|_| wrong("invalid URL"))?;
        let encrypted = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(wrong("the URL does not start with http:// or https://")),
        };
        if uri.query().is_some() {
            return Err(wrong("the URL has a query string"));
        }
        let tls = tls(encrypted, ca_file)
            .map_err(|error| CliError::new(format!("connecting to `{server}`"), error).hint(TRUST_HINT))?;
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let connector = connector.wrap_connector(Connector::by_environment());
        Ok(Transport::Http(Box::new(legacy::Client::builder(TokioExecutor::new()).build(connector))))
    }

    /// To the files of a data directory.
    pub(super) fn directory(data: &Path) -> Result<Self, CliError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let reader = DirectoryReader::open(data, &clock).map_err(|error| {
            let exit = match error {
                DirectoryError::NoLog(_) => Exit::Usage,
                _ => Exit::Failure,
            };
            refused(&format!("reading {}", data.display()), &error).exit(exit)
        })?;
        Ok(Transport::Directory(data.to_owned(), reader))
    }

    /// Where the record ends that nobody goes on with, if it is read directly.
    pub(super) fn record_end(&self) -> Option<RecordEnd> {
        match self {
            Transport::Http(_) => None,
            Transport::Directory(_, reader) => reader.end(),
        }
    }

    /// The data directory that is read directly.
    pub(super) fn data(&self) -> Option<&Path> {
        match self {
            Transport::Http(_) => None,
            Transport::Directory(data, _) => Some(data),
        }
    }

    /// The beginning of the answer; `what` says in errors what was being done, and `server` whom.
    pub(super) async fn send(
        &self,
        what: &str,
        server: &str,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, CliError> {
        match self {
            Transport::Http(client) => {
                let answer = client.request(request).await.map_err(|error| {
                    let why = root(&error);
                    let hint = match why.starts_with("invalid peer certificate") {
                        true => TRUST_HINT,
                        false if why.contains("proxy ") => {
                            "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the environment"
                        }
                        false => "check that it is running, or set --server or STRANDLINE_SERVER",
                    };
                    CliError::new(what, format!("cannot connect to {server}: {why}")).hint(hint)
                })?;
                Ok(answer.map(|body| body.map_err(Broken::from).boxed_unsync()))
            }
            Transport::Directory(_, reader) => {
                let answer = reader.answer(request).await.map_err(|error| refused(what, &error))?;
                Ok(answer.map(|body| body.map_err(Broken::from).boxed_unsync()))
            }
        }
    }
}

fn refused(what: &str, error: &DirectoryError) -> CliError {
    let refused = CliError::new(what, error);
    match error.hint() {
        Some(hint) => refused.hint(hint),
        None => refused,
    }
}

/// The innermost cause, which says what people can act on.
fn root(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
