//! `/login` and `/logout`: how somebody with a browser becomes somebody, and nobody again.

use askama::Template;
use data_encoding::BASE64URL_NOPAD;
use http::header::HeaderName;
use http::{Method, StatusCode};

use super::render::{html, see_other};
use super::shell::Shell;
use crate::app::AppState;
use crate::http::auth::{LOGIN_COOKIE, LoginFailure, SESSION_COOKIE, TO_COOKIE, cookie, local_path};
use crate::http::context::Context;
use crate::http::params::Parameter;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_syntax::percent_encode;

/// Where somebody wants to go.
pub(super) const TO: Parameter = Parameter::one("to");

/// Why a login failed.
pub(super) const ERROR: Parameter = Parameter::one("error");

const CODE: Parameter = Parameter::one("code");
const STATE: Parameter = Parameter::one("state");

/// What issuers add to the address of the callback; all but the first three is not needed.
pub(super) const OF_CALLBACK: &[Parameter] = &[
    CODE,
    STATE,
    ERROR,
    Parameter::one("error_description"),
    Parameter::one("error_uri"),
    Parameter::one("iss"),
    Parameter::one("session_state"),
    Parameter::one("scope"),
    Parameter::one("authuser"),
    Parameter::one("hd"),
    Parameter::one("prompt"),
];

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// How long a login may take, in seconds.
const LOGIN_SECONDS: u32 = 600;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    shell: Shell,
    /// Who has a session, in words.
    name: Option<String>,
    /// The issuer, and the address that begins a login there.
    issuer: Option<(String, String)>,
    /// Why the last try failed.
    error: Option<&'static str>,
}

/// The page with the button to log in, or out.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let read = request.query.reader();
    let (to, error) = (read.text(TO), read.text(ERROR));
    read.finish()?;
    let caller =
        state.access.authenticated(&request.context).ok().filter(|caller| caller.method.is_of_browsers());
    let name = caller.map(|caller| caller.user.clone().unwrap_or_else(|| caller.name.clone()));
    let to = percent_encode(local_path(to.as_deref().unwrap_or("/")));
    let issuer = state.access.login_name().map(|name| (name, format!("/login/start?to={to}")));
    let error = error.map(|word| match word.as_str() {
        "stale" => "The login took too long, or began in another browser. Try again.",
        "denied" => "The login was refused there.",
        "refused" => "The login succeeded there, but is not accepted here. The server's log has the reason.",
        _ => "The login is not available at present. Try again later.",
    });
    html(StatusCode::OK, &LoginPage { shell: Shell::bare("Account"), name, issuer, error })
}

/// Sends the browser to the issuer.
pub(super) async fn start(state: AppState, request: Request) -> Result<Response, Problem> {
    let read = request.query.reader();
    let to = read.text(TO);
    read.finish()?;
    let to = local_path(to.as_deref().unwrap_or("/"));
    match state.access.begin_login() {
        Ok(begun) => {
            let cookies = [
                kept(LOGIN_COOKIE, &begun.cookie, Some(LOGIN_SECONDS)),
                kept(TO_COOKIE, &BASE64URL_NOPAD.encode(to.as_bytes()), Some(LOGIN_SECONDS)),
            ];
            see_other(&begun.url, &cookies)
        }
        Err(failure) => failed(&request.context, &failure),
    }
}

/// Where the issuer sends the browser back to.
pub(super) async fn callback(state: AppState, request: Request) -> Result<Response, Problem> {
    let read = request.query.reader();
    let (code, login, error) = (read.text(CODE), read.text(STATE), read.text(ERROR));
    read.finish()?;
    let context = &request.context;
    let completed = match (code, login, error) {
        (_, _, Some(_)) => Err(LoginFailure::Denied("error".to_owned())),
        (Some(code), Some(login), None) => state.access.complete_login(context, &login, &code).await,
        _ => Err(LoginFailure::Stale),
    };
    let id = match completed {
        Ok(id) => id,
        Err(failure) => return failed(context, &failure),
    };
    let to = cookie(&context.headers, TO_COOKIE).and_then(|to| BASE64URL_NOPAD.decode(to.as_bytes()).ok());
    let to = to.and_then(|to| String::from_utf8(to).ok()).unwrap_or_default();
    see_other(local_path(&to), &[kept(SESSION_COOKIE, &id, None), gone(LOGIN_COOKIE), gone(TO_COOKIE)])
}

/// Ends the session.
pub(super) async fn logout(state: AppState, request: Request) -> Result<Response, Problem> {
    state.access.log_out(&request.context).await;
    see_other("/login", &[gone(SESSION_COOKIE)])
}

/// Where browsers can log in, they are sent there from a page that needs it.
pub(super) fn instead(problem: &Problem, context: &Context) -> Option<Response> {
    let reads = matches!(context.method, Method::GET | Method::HEAD);
    // A script that asks for a part of a page gets the problem.
    let navigates = context.header(SEC_FETCH_MODE).is_none_or(|mode| mode == "navigate");
    if !problem.can_log_in || !reads || !navigates || !context.names("text/html") {
        return None;
    }
    let query = if context.query.is_empty() { String::new() } else { format!("?{}", context.query) };
    let to = percent_encode(local_path(&format!("{}{query}", context.path)));
    see_other(&format!("/login?to={to}"), &[]).ok()
}

fn failed(context: &Context, failure: &LoginFailure) -> Result<Response, Problem> {
    let trace_id = context.trace.as_str();
    let word = match failure {
        LoginFailure::Stale => "stale",
        LoginFailure::Denied(word) => {
            tracing::info!(trace_id, word, "a login was refused by the issuer");
            "denied"
        }
        LoginFailure::Unavailable => {
            tracing::warn!(trace_id, "a login failed: the issuer cannot be asked");
            "unavailable"
        }
        LoginFailure::Refused(reason) => {
            tracing::warn!(trace_id, reason, "a login is not accepted");
            "refused"
        }
    };
    see_other(&format!("/login?error={word}"), &[gone(LOGIN_COOKIE), gone(TO_COOKIE)])
}

/// A cookie for this host alone, which no script reads and no page of another site sends along with a request that writes.
fn kept(name: &str, value: &str, seconds: Option<u32>) -> String {
    let age = seconds.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
    format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax{age}")
}

fn gone(name: &str) -> String {
    kept(name, "", Some(0))
}
