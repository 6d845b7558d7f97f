//! Numbers for monitoring.

use std::fmt::Write as _;

use http::StatusCode;

use crate::app::AppState;
use crate::http::context::Context;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};

/// OpenMetrics, by its name and with its version.
const OPENMETRICS: &str = "application/openmetrics-text";
const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The older text of Prometheus, which people and most tools read.
const TEXT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `/metrics`: they tell of all clusters, so they are for who sees everything.
pub(super) async fn metrics(state: AppState, request: Request) -> Result<Response, Problem> {
    request.caller.require_everything()?;
    let text = state.metrics.text().map_err(Problem::internal)?;
    let (content_type, text) = match prefers_openmetrics(&request.context) {
        true => (OPENMETRICS_TYPE, text),
        false => (TEXT_TYPE, prometheus_text(&text).map_err(Problem::internal)?),
    };
    Ok(respond::uncached(StatusCode::OK, content_type, text.into_bytes()))
}

/// Whether the caller names OpenMetrics and likes nothing that we have better.
fn prefers_openmetrics(context: &Context) -> bool {
    context.prefers((OPENMETRICS, "1.0.0"), ("text/plain", "0.0.4"))
}

/// The text of OpenMetrics as that of Prometheus: families of counters are named as their samples are, and what it does not
/// know is left out.
///
/// # Errors
/// Never, as it is written into a text.
pub fn prometheus_text(open: &str) -> Result<String, std::fmt::Error> {
    let mut text = String::with_capacity(open.len() + open.len() / 16);
    let mut help = None;
    for line in open.lines() {
        if let Some(told) = line.strip_prefix("# HELP ") {
            help = told.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|told| told.split_once(' '))
        {
            let (end, kind) = match kind {
                "counter" => ("_total", kind),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            if let Some((_, help)) = help.take().filter(|(of, _)| *of == name) {
                // There a quotation mark is no escape.
                writeln!(text, "# HELP {name}{end} {}", help.replace("\\\"", "\""))?;
            }
            writeln!(text, "# TYPE {name}{end} {kind}")?;
        } else if !line.starts_with('#') {
            writeln!(text, "{line}")?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::{ACCEPT, HeaderValue};
    use http::{HeaderMap, Method};

    #[test]
    fn openmetrics_is_for_who_asks_for_it_and_likes_nothing_better() {
        for (accept, expected) in [
            ("", false),
            ("*/*", false),
            ("text/plain", false),
            ("text/plain; version=0.0.4", false),
            ("application/openmetrics-text", true),
            ("Application/OpenMetrics-Text; Version=1.0.0", true),
            ("application/openmetrics-text; version=\"1.0.0\"; charset=utf-8", true),
            ("application/openmetrics-text; version=2.0.0", false),
            ("application/openmetrics-text;q=0", false),
            ("application/openmetrics-text;q=0.0, */*", false),
            ("application/openmetrics-text;q=0.2, text/plain;q=0.3", false),
            ("application/openmetrics-text;q=0.3, text/plain;q=0.3", true),
            ("text/plain;q=0.5, application/openmetrics-text;q=0.9", true),
            ("application/openmetrics-text;q=0.5, */*;q=0.9", false),
            ("application/openmetrics-text;q=0.5, text/plain;q=0.1, */*;q=0.9", true),
            ("application/openmetrics-text;q=x", false),
            ("application/json, text/html", false),
            // What Prometheus sends.
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;\
                 version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                true,
            ),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            let context = Context::new(Method::GET, "/metrics", headers);
            assert_eq!(prefers_openmetrics(&context), expected, "{accept}");
        }
    }

    #[test]
    fn a_text_of_openmetrics_is_one_of_prometheus() {
        let open = "# HELP a_lists How \\\"many\\\" \\\\ there are.\n# TYPE a_lists counter\na_lists_total{b=\"c # d\"} 1\n\
                    # HELP a_bytes Size.\n# TYPE a_bytes gauge\n# UNIT a_bytes bytes\na_bytes 2\n# EOF\n";
        let expected = "# HELP a_lists_total How \"many\" \\\\ there are.\n# TYPE a_lists_total counter\na_lists_total{b=\"c # d\"} 1\n\
                        # HELP a_bytes Size.\n# TYPE a_bytes gauge\na_bytes 2\n";
        assert_eq!(prometheus_text(open).as_deref(), Ok(expected));
    }
}
