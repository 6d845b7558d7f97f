//! Views of the start page that somebody keeps for themselves, beside those of the configuration.
//!
//! They are in a cookie of their browser: so they work without script, need no account, and nobody can make the server keep
//! anything. A page of ours shows them as what they are, so that a cookie that somebody else set shows nothing but words and
//! leads nowhere but to the start page.
//!
//! Why: docs/decisions/0042-views-of-readers-are-in-their-browser.md.

use data_encoding::BASE64URL_NOPAD;
use http::HeaderMap;

use super::render::see_other;
use crate::http::auth::cookie;
use crate::http::params::{GROUP_BY, HEALTH, ORDER, Parameter, Query, VIEW, environments_and};
use crate::http::problem::{ParameterError, Problem};
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_syntax::percent_encode;

/// The most bytes of the form of a view.
pub(super) const FORM_BYTES_MAX: usize = 16 * 1024;

const COOKIE: &str = "strandline-views";

/// As long as browsers keep a cookie.
const COOKIE_SECONDS: u32 = 400 * 24 * 3600;

/// The most views, and bytes of all of them: what a cookie may have.
const VIEWS_MAX: usize = 12;
const COOKIE_BYTES_MAX: usize = 3000;

const TITLE_CHARS_MAX: usize = 40;

const TITLE: Parameter = Parameter::one("title");
const SHOWN: Parameter = Parameter::one("shown");

/// What of an address makes a view; when it is looked at, and how, does not.
const PARTS: &[Parameter] = environments_and![HEALTH, GROUP_BY, VIEW, ORDER];

/// A view with what its address asks for, without a question mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnView {
    pub(super) title: String,
    pub(super) shown: String,
}

/// What of the address of a page makes a view: the same text for the same view.
pub(super) fn shown(query: &Query) -> String {
    let is_part = |name: &str| PARTS.iter().any(|part| part.name == name);
    let mut pairs: Vec<_> = query.pairs().filter(|(name, _)| is_part(name)).collect();
    pairs.sort_unstable();
    let pair = |(name, value)| format!("{name}={}", percent_encode(value));
    pairs.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

/// The views of a browser. What is none of ours is none.
pub(super) fn kept(headers: &HeaderMap) -> Vec<OwnView> {
    let bytes = cookie(headers, COOKIE).and_then(|text| BASE64URL_NOPAD.decode(text.as_bytes()).ok());
    let pairs: Vec<(String, String)> =
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let view = |(title, text): (String, String)| OwnView::new(&title, &text).ok();
    pairs.into_iter().filter_map(view).take(VIEWS_MAX).collect()
}

impl OwnView {
    fn new(title: &str, text: &str) -> Result<Self, Problem> {
        let title = title.trim();
        let length = title.chars().count();
        if length == 0 || length > TITLE_CHARS_MAX {
            let given =
                if length == 0 { "is missing".to_owned() } else { format!("has {length} characters") };
            return Err(wrong(TITLE, format!("{given}; use 1 to {TITLE_CHARS_MAX} characters")));
        }
        Ok(OwnView { title: title.to_owned(), shown: shown(&Query::parse(text, PARTS)?) })
    }
}

fn wrong(parameter: Parameter, detail: String) -> Problem {
    Problem::parameters(vec![ParameterError { parameter: parameter.name.to_owned(), detail }])
}

/// What a form says.
fn form(request: &Request) -> Result<Query, Problem> {
    Query::parse(&String::from_utf8_lossy(&request.body), &[TITLE, SHOWN])
}

/// Keeps what is shown under a title, in the place of what had the same title or showed the same.
pub(super) fn keep(request: &Request) -> Result<Response, Problem> {
    let form = form(request)?;
    let own = OwnView::new(form.one(TITLE).unwrap_or_default(), form.one(SHOWN).unwrap_or_default())?;
    let mut views = kept(&request.context.headers);
    let same = |view: &OwnView| view.title == own.title || view.shown == own.shown;
    let place = views.iter().position(same).unwrap_or(views.len());
    views.retain(|view| !same(view));
    views.insert(place.min(views.len()), own.clone());
    if views.len() > VIEWS_MAX {
        return Err(wrong(TITLE, format!("there are {VIEWS_MAX} views already; remove one first")));
    }
    answer(&own.shown, &views)
}

/// Forgets the view of a title.
pub(super) fn forget(request: &Request) -> Result<Response, Problem> {
    let form = form(request)?;
    let title = form.one(TITLE).unwrap_or_default();
    let mut views = kept(&request.context.headers);
    views.retain(|view| view.title != title);
    let shown = Query::parse(form.one(SHOWN).unwrap_or_default(), PARTS)?;
    answer(&self::shown(&shown), &views)
}

fn answer(to: &str, views: &[OwnView]) -> Result<Response, Problem> {
    let pairs: Vec<_> = views.iter().map(|view| (&view.title, &view.shown)).collect();
    let text = BASE64URL_NOPAD.encode(&serde_json::to_vec(&pairs).map_err(Problem::internal)?);
    if text.len() > COOKIE_BYTES_MAX {
        let detail =
            "all views together are too long for a browser to keep; remove one first, or use fewer filters";
        return Err(wrong(TITLE, detail.to_owned()));
    }
    let seconds = if views.is_empty() { 0 } else { COOKIE_SECONDS };
    let cookie = format!("{COOKIE}={text}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}");
    see_other(&if to.is_empty() { "/".to_owned() } else { format!("/?{to}") }, &[cookie])
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::http::context::Context;
    use crate::http::problem::ProblemCode;
    use bytes::Bytes;
    use http::header::{COOKIE as COOKIES, LOCATION, SET_COOKIE};
    use http::{HeaderValue, Method, StatusCode};

    /// A browser that keeps what it is told to.
    #[derive(Default)]
    struct Browser(HeaderMap);

    impl Browser {
        fn send(
            &mut self,
            to: fn(&Request) -> Result<Response, Problem>,
            form: &str,
        ) -> Result<String, Problem> {
            let context = Context::new(Method::POST, "/views", self.0.clone());
            let mut request = Request::new(context, vec![], Query::default());
            request.body = Bytes::from(form.to_owned());
            let answer = to(&request)?;
            assert_eq!(answer.status(), StatusCode::SEE_OTHER);
            let set = answer.headers()[SET_COOKIE].to_str().unwrap();
            let (pair, rest) = set.split_once("; ").unwrap();
            assert!(rest.contains("HttpOnly") && rest.contains("SameSite=Lax"), "{rest}");
            self.0 = cookies(pair);
            Ok(answer.headers()[LOCATION].to_str().unwrap().to_owned())
        }

        fn views(&self) -> Vec<(String, String)> {
            kept(&self.0).into_iter().map(|view| (view.title, view.shown)).collect()
        }
    }

    fn cookies(pair: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIES, HeaderValue::from_str(pair).unwrap())])
    }

    fn pair(title: &str, shown: &str) -> (String, String) {
        (title.to_owned(), shown.to_owned())
    }

    #[test]
    fn a_view_is_kept_replaced_and_forgotten() {
        let mut browser = Browser::default();
        let to = browser.send(keep, "title=Mine+%C3%A9&shown=tier%3Dall%26region%3Deu");
        assert_eq!(to.unwrap(), "/?region=eu&tier=all");
        assert_eq!(browser.send(keep, "title=Production&shown=").unwrap(), "/");
        assert_eq!(browser.views(), [pair("Mine é", "region=eu&tier=all"), pair("Production", "")]);
        // The same filters in another order are the same view, and so is the same title.
        browser.send(keep, "title=Europe&shown=region%3Deu%26tier%3Dall").unwrap();
        assert_eq!(browser.views(), [pair("Europe", "region=eu&tier=all"), pair("Production", "")]);
        browser.send(keep, "title=Europe&shown=region%3Deu").unwrap();
        assert_eq!(browser.views(), [pair("Europe", "region=eu"), pair("Production", "")]);
        assert_eq!(browser.send(forget, "title=Europe&shown=group%3Dshop").unwrap(), "/?group=shop");
        browser.send(forget, "title=Production").unwrap();
        assert_eq!(browser.views(), []);
    }

    #[test]
    fn what_cannot_be_kept_says_why_and_nothing_is_lost() {
        let mut browser = Browser::default();
        for n in 0..VIEWS_MAX {
            browser.send(keep, &format!("title={n}&shown=region%3D{n}")).unwrap();
        }
        let before = browser.views();
        let long = format!("title={}", "x".repeat(TITLE_CHARS_MAX + 1));
        let much = format!("title=0&shown=region%3D{}", "x".repeat(COOKIE_BYTES_MAX));
        for (form, said) in [
            ("shown=region%3Deu", "is missing; use 1 to 40 characters"),
            ("title=++&shown=", "is missing; use 1 to 40 characters"),
            (&long, "has 41 characters; use 1 to 40 characters"),
            ("title=more&shown=region%3Dmore", "there are 12 views already; remove one first"),
            (&much, "all views together are too long for a browser to keep"),
        ] {
            let problem = browser.send(keep, form).unwrap_err();
            assert_eq!(problem.code, ProblemCode::InvalidParameter, "{form}");
            assert!(problem.errors[0].detail.starts_with(said), "{form}: {:?}", problem.errors);
        }
        for form in ["title=a&shown=at%3D1", "title=a&shown=owner%3Dx", "title=a&other=1"] {
            assert!(browser.send(keep, form).is_err(), "{form}");
        }
        assert_eq!(browser.views(), before);
    }

    #[test]
    fn a_cookie_of_somebody_else_shows_nothing_but_words() {
        let kept = |text: &str| kept(&cookies(&format!("{COOKIE}={text}")));
        let encoded = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
        for text in ["", "%", "[1]", r#"[["", "region=eu"]]"#, r#"[["a", "at=1"], ["b", "//host"]]"#] {
            assert_eq!(kept(text), [], "{text}");
            assert_eq!(kept(&encoded(text)), [], "{text}");
        }
        let hostile = encoded(r#"[["<b>", "name=%22%3E%3Cscript%3E&tier=\"onload"]]"#);
        assert_eq!(kept(&hostile)[0].shown, "name=%22%3E%3Cscript%3E&tier=%22onload");
    }
}
