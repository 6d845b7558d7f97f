//! Renders templates as answers.

use askama::Template;
use http::StatusCode;
use http::header::{CONTENT_SECURITY_POLICY, HeaderValue, LOCATION, SET_COOKIE};

use crate::http::problem::{Problem, ProblemCode};
use crate::http::respond::{Response, uncached};

pub(super) const HTML: &str = "text/html; charset=utf-8";

/// Pages load their style, icon, script and data from here and nothing from anywhere; nothing that is in a page runs, and no
/// text becomes HTML in a script.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                                 connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
                                 require-trusted-types-for 'script'; trusted-types 'none'";

/// A rendered page.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Result<Response, Problem> {
    let body = page.render().map_err(Problem::internal)?;
    // A page shows what its reader may see; nothing of it stays in a browser that somebody else opens next.
    let mut response = uncached(status, HTML, body.into_bytes());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    Ok(response)
}

/// Sends a browser on, with cookies.
pub(super) fn see_other(to: &str, cookies: &[String]) -> Result<Response, Problem> {
    let internal = |_| Problem::new(ProblemCode::Internal, "internal error: an address that is no header");
    let mut response = uncached(StatusCode::SEE_OTHER, HTML, Vec::new());
    response.headers_mut().insert(LOCATION, HeaderValue::from_str(to).map_err(internal)?);
    for cookie in cookies {
        let mut value = HeaderValue::from_str(cookie).map_err(internal)?;
        value.set_sensitive(true);
        response.headers_mut().append(SET_COOKIE, value);
    }
    Ok(response)
}

/// The text beginning as sentences do.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}
