//! Somebody with a browser that keeps cookies, follows where it is sent, and sends forms as they are.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use crate::server::Result;

/// How far somebody follows.
const STEPS_MAX: usize = 20;

/// Somebody with a browser.
#[derive(Clone, Default)]
pub(super) struct Person {
    /// By host and port, and then by name.
    cookies: BTreeMap<String, BTreeMap<String, String>>,
    /// The last page.
    pub(super) page: String,
}

/// A form of a page: where it goes, and its fields.
fn form(page: &str) -> Option<(String, String)> {
    let form = page.split_once("<form")?.1.split_once("</form>")?.0;
    let value = |text: &str, name: &str| {
        text.split_once(&format!("{name}=\""))?.1.split_once('"').map(|(value, _)| value.to_owned())
    };
    let fields = form.split("<input type=\"hidden\"").skip(1);
    let fields =
        fields.filter_map(|input| Some(format!("{}={}", value(input, "name")?, value(input, "value")?)));
    Some((value(form, "action")?, fields.collect::<Vec<_>>().join("&")))
}

impl Person {
    /// Status and text of an answer.
    pub(super) async fn send(&mut self, method: &str, url: &str, body: &str) -> Result<(u16, String)> {
        let answer = self.ask(method, url, body).await?;
        let status = answer.status().as_u16();
        let text = answer.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8(text.to_vec())?))
    }

    /// Goes to a page and on to wherever that leads; the address of the last. `known` is a name of a server, and where it is.
    pub(super) async fn visit(&mut self, url: &str, known: Option<(&str, &str)>) -> Result<String> {
        let (mut url, mut method, mut body) = (url.to_owned(), "GET", String::new());
        for _ in 0..STEPS_MAX {
            if let Some((name, place)) = known
                && let Some(rest) = url.strip_prefix(name)
            {
                url = format!("{place}{rest}");
            }
            let answer = self.ask(method, &url, &body).await?;
            (method, body) = ("GET", String::new());
            if let Some(to) = answer.headers().get(LOCATION) {
                let to = to.to_str()?;
                let at: Uri = url.parse()?;
                let host = at.authority().ok_or("a host")?;
                url = if to.starts_with('/') { format!("http://{host}{to}") } else { to.to_owned() };
                continue;
            }
            self.page = String::from_utf8(answer.into_body().collect().await?.to_bytes().to_vec())?;
            // A page of ours ends the way.
            match form(&self.page).filter(|(action, _)| known.is_none() && action.starts_with("http")) {
                Some((action, fields)) => (url, method, body) = (action, "POST", fields),
                None => return Ok(url),
            }
        }
        Err(format!("no end of the way at {url}").into())
    }

    async fn ask(&mut self, method: &str, url: &str, body: &str) -> Result<Response<Incoming>> {
        let at: Uri = url.parse()?;
        let host = at.authority().ok_or("a host")?.to_string();
        let cookies = self.cookies.entry(host).or_default();
        let kept =
            cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
        let mut request = Request::builder().method(method).uri(url).header("sec-fetch-site", "same-origin");
        if !kept.is_empty() {
            request = request.header(COOKIE, kept);
        }
        if method == "POST" {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let answer = client.request(request.body(Full::from(body.to_owned()))?).await?;
        for cookie in answer.headers().get_all(SET_COOKIE) {
            let cookie = cookie.to_str()?;
            let pair = cookie.split(';').next().unwrap_or_default();
            let Some((name, value)) = pair.split_once('=') else { continue };
            let is_gone = value.is_empty()
                || cookie.contains("Max-Age=0")
                || cookie.contains("expires=Thu, 01 Jan 1970");
            match is_gone {
                true => cookies.remove(name),
                false => cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        Ok(answer)
    }
}
