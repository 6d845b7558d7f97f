//! The drawing as a file of its own, for a report: with its style in it, in the colours of a light page, and without
//! links, which lead nowhere from a file.

use std::sync::LazyLock;

use askama::Template;
use http::StatusCode;
use http::header::{CONTENT_SECURITY_POLICY, HeaderValue};

use super::super::assets::light;
use super::Drawing;
use crate::format::{clock_time, visible};
use crate::http::problem::Problem;
use crate::http::respond::{Response, uncached};
use strandline_protocol::{Graph, Snapshot};

/// Nothing in the file runs, and it loads nothing; its style stands in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

#[derive(Template)]
#[template(path = "graph_report.svg")]
struct Report<'d> {
    drawing: &'d Drawing,
    title: String,
    style: &'static str,
    linked: bool,
}

/// The style, with each colour as it is on a light page: what shows such files often knows no variables.
static STYLE: LazyLock<String> = LazyLock::new(|| {
    let mut style = format!(
        "text{{font:13px system-ui,sans-serif;fill:{text}}}.page{{fill:{card}}}.title{{font-size:16px;font-weight:650}}\
         .lane-name{{font-size:12px;font-weight:600;letter-spacing:.04em;fill:{quiet}}}.kind,.note{{font-size:12px;fill:{quiet}}}\
         .name{{font-weight:550}}.health{{font-size:12px;font-weight:600}}.body,.back{{fill:{card};stroke:{line}}}\
         .side{{fill:{line}}}.links path{{fill:none;stroke:{field};stroke-width:1.4}}.links .other{{stroke-dasharray:1 3}}\
         .links .missing{{stroke:{missing};stroke-dasharray:5 4}}.dashed .body{{stroke-dasharray:5 4}}",
        text = light("text"),
        card = light("card"),
        quiet = light("quiet"),
        line = light("line"),
        field = light("field"),
        missing = light("missing-fill"),
    );
    for health in ["healthy", "suspended", "progressing", "missing", "degraded", "unknown"] {
        let (text, fill) = (light(health), light(&format!("{health}-fill")));
        style.push_str(&format!(
            ".{health} .body{{stroke:{fill};stroke-width:1.5}}.{health} .side{{fill:{fill}}}.{health} .health{{fill:{text}}}"
        ));
    }
    style
});

/// The file.
pub(in crate::web) fn report(
    drawing: &Drawing,
    graph: &Graph,
    snapshot: &Snapshot,
) -> Result<Response, Problem> {
    let body = text(drawing, graph, snapshot).map_err(Problem::internal)?;
    let mut response = uncached(StatusCode::OK, "image/svg+xml; charset=utf-8", body.into_bytes());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    Ok(response)
}

fn text(drawing: &Drawing, graph: &Graph, snapshot: &Snapshot) -> Result<String, askama::Error> {
    let environment = &graph.environment;
    let health = environment.health.state.map(|health| format!(" · {health}")).unwrap_or_default();
    let time =
        snapshot.at.or(snapshot.time).map(|time| format!(" · {}", clock_time(time))).unwrap_or_default();
    let title =
        format!("{} {}{health}{time} · offset {}", environment.project, environment.name, snapshot.offset);
    let report = Report { drawing, title: visible(&title).into_owned(), style: &STYLE, linked: false };
    report.render()
}

/// The file as text, for tests.
#[cfg(test)]
pub(in crate::web) fn report_text(drawing: &Drawing, graph: &Graph, snapshot: &Snapshot) -> String {
    text(drawing, graph, snapshot).unwrap_or_default()
}
