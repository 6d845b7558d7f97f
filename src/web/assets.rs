//! What pages load besides themselves: a style sheet, two small scripts and an icon, all from the binary.

use std::sync::LazyLock;

use http::header::{CACHE_CONTROL, HeaderValue};

use crate::http::params::Parameter;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{Response, tagged};

/// The version of an asset that its address names.
pub(super) const VERSION: Parameter = Parameter::one("v");

/// Something that pages load.
pub(super) struct Asset {
    name: &'static str,
    content_type: &'static str,
    body: &'static str,
    /// A digest of what it holds.
    version: LazyLock<String>,
}

/// How pages look.
pub(super) static STYLE: Asset = Asset {
    name: "style.css",
    content_type: "text/css; charset=utf-8",
    body: include_str!("assets/style.css"),
    version: LazyLock::new(|| version(STYLE.body)),
};

/// What moves the focus within a chart.
pub(super) static CHART: Asset = Asset {
    name: "chart.js",
    content_type: "text/javascript; charset=utf-8",
    body: include_str!("assets/chart.js"),
    version: LazyLock::new(|| version(CHART.body)),
};

/// What shows a page anew while something goes on.
pub(super) static PROGRESS: Asset = Asset {
    name: "progress.js",
    content_type: "text/javascript; charset=utf-8",
    body: include_str!("assets/progress.js"),
    version: LazyLock::new(|| version(PROGRESS.body)),
};

/// The sign of the program.
static ICON: Asset = Asset {
    name: "icon.svg",
    content_type: "image/svg+xml",
    body: include_str!("assets/icon.svg"),
    version: LazyLock::new(|| version(ICON.body)),
};

fn version(body: &str) -> String {
    blake3::hash(body.as_bytes()).to_hex()[..16].to_owned()
}

impl Asset {
    /// Its address, another one for every content.
    pub(super) fn address(&self) -> String {
        format!("/assets/{}?v={}", self.name, *self.version)
    }
}

/// `/assets/{name}`.
pub(super) async fn asset(request: Request) -> Result<Response, Problem> {
    let asset =
        [&STYLE, &CHART, &PROGRESS, &ICON].into_iter().find(|asset| asset.name == request.argument(0));
    let asset = asset.ok_or_else(|| Problem::no_such_address(&request.context.path))?;
    let mut response = tagged(&request.context, asset.content_type, asset.body.into());
    if request.query.one(VERSION) == Some(&asset.version) {
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(CACHE_CONTROL, forever);
    }
    Ok(response)
}
