//! Whether a request that would change something comes from a page of another site, which the configuration does not allow.
//!
//! A browser sends what it knows of a user along with requests that a stranger's page makes. It also says where such a
//! request comes from, by Fetch Metadata (`Sec-Fetch-Site`) and by `Origin` (RFC 6454); programs say neither.

use http::header::{HOST, HeaderName, ORIGIN};

use super::context::Context;
use super::problem::{Problem, ProblemCode};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// That the request comes from no other site.
///
/// # Errors
/// `cross_site`.
pub(super) fn check(context: &Context) -> Result<(), Problem> {
    if context.from_allowed_site {
        return Ok(());
    }
    let refused = |what: &str| {
        let detail = format!("cross-site write requests are refused: {what}");
        Err(Problem::new(ProblemCode::CrossSite, detail))
    };
    let said = |name: &HeaderName| {
        context.headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect::<Vec<_>>()
    };
    // `none` is what the user typed or clicked outside of any page.
    if said(&SEC_FETCH_SITE).iter().any(|site| !matches!(*site, "same-origin" | "none")) {
        return refused("Sec-Fetch-Site");
    }
    let host = context.header(HOST).unwrap_or_default();
    if said(&ORIGIN).iter().any(|origin| !is_ours(origin, host)) {
        return refused("Origin");
    }
    Ok(())
}

/// That the request says to come from a page of ours, for what a browser would send along from anywhere.
///
/// # Errors
/// `cross_site`.
pub(super) fn require_ours(context: &Context) -> Result<(), Problem> {
    // What they say was checked before.
    if context.headers.contains_key(ORIGIN) || context.header(SEC_FETCH_SITE) == Some("same-origin") {
        return Ok(());
    }
    let detail = "a write request with the cookie of a session has to come from a page of this server";
    Err(Problem::new(ProblemCode::CrossSite, detail))
}

/// Whether an origin is that of this host; the scheme decides only which port goes without saying, because who ends TLS
/// in front of us speaks to us without it.
fn is_ours(origin: &str, host: &str) -> bool {
    let (port, name) = match origin.split_once("://") {
        Some(("http", name)) => (":80", name),
        Some(("https", name)) => (":443", name),
        _ => return false,
    };
    let bare = |name: &str| name.strip_suffix(port).unwrap_or(name).to_ascii_lowercase();
    !name.is_empty() && bare(name) == bare(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_and_programs_may_change_something() {
        let local = "localhost:7979";
        for (host, headers, allowed) in [
            (local, &[][..], true),
            (local, &[("sec-fetch-site", "same-origin")], true),
            (local, &[("sec-fetch-site", "none")], true),
            (local, &[("sec-fetch-site", "same-site")], false),
            (local, &[("sec-fetch-site", "cross-site")], false),
            (local, &[("sec-fetch-site", "")], false),
            (local, &[("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")], false),
            (local, &[("origin", "http://localhost:7979")], true),
            (local, &[("origin", "HTTP://localhost:7979")], false),
            (local, &[("origin", "http://LOCALHOST:7979")], true),
            (local, &[("origin", "http://localhost:3000")], false),
            (local, &[("origin", "http://localhost")], false),
            (local, &[("origin", "http://127.0.0.1:7979")], false),
            (local, &[("origin", "http://evil.test")], false),
            (local, &[("origin", "http://localhost:7979.evil.test")], false),
            (local, &[("origin", "null")], false),
            (local, &[("origin", "")], false),
            (local, &[("origin", "http://localhost:7979"), ("origin", "http://evil.test")], false),
            (local, &[("origin", "http://localhost:7979"), ("sec-fetch-site", "cross-site")], false),
            ("strand.test", &[("origin", "https://strand.test")], true),
            ("strand.test:443", &[("origin", "https://strand.test")], true),
            ("strand.test", &[("origin", "https://strand.test:443")], true),
            ("strand.test", &[("origin", "http://strand.test:443")], false),
            ("strand.test:443", &[("origin", "http://strand.test")], false),
            ("", &[("origin", "http://")], false),
        ] {
            let mut context = Context::new(http::Method::POST, "/x", http::HeaderMap::new());
            let all = headers.iter().copied().chain([("host", host)]);
            for (name, value) in all {
                context.headers.append(name, http::HeaderValue::from_static(value));
            }
            let code = check(&context).err().map(|problem| problem.code);
            assert_eq!(code, (!allowed).then_some(ProblemCode::CrossSite), "{host} {headers:?}");
        }
    }
}
