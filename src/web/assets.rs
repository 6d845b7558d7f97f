//! What pages load besides themselves: a style sheet and an icon, both from the binary.

use std::sync::LazyLock;

use http::header::{CACHE_CONTROL, HeaderValue};

use super::VERSION;
use crate::api::problem::Problem;
use crate::api::request::Request;
use crate::api::respond::{Response, tagged};

const STYLE: &str = include_str!("assets/style.css");
const ICON: &str = include_str!("assets/icon.svg");

/// The style sheet's version: a digest of what it holds.
static STYLE_VERSION: LazyLock<String> =
    LazyLock::new(|| blake3::hash(STYLE.as_bytes()).to_hex()[..16].to_owned());

/// The style sheet's address, another one for every content.
pub(super) fn style() -> String {
    format!("/assets/style.css?v={}", *STYLE_VERSION)
}

/// `/assets/{name}`.
pub(super) async fn asset(request: Request) -> Result<Response, Problem> {
    let (content_type, body) = match request.argument(0) {
        "style.css" => ("text/css; charset=utf-8", STYLE),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return Err(Problem::no_such_address(&request.context.path)),
    };
    let mut response = tagged(&request.context, content_type, body.into());
    if request.query.one(VERSION) == Some(&STYLE_VERSION) {
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(CACHE_CONTROL, forever);
    }
    Ok(response)
}
