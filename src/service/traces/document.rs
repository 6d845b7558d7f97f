//! Spans as a collector takes them: OTLP in JSON, in which ids are hex and numbers of 64 bits are texts.

use serde_json::{Value, json};

use strandline_model::Timestamp;

/// A span that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FinishedSpan {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) name: &'static str,
    pub(super) begun: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) attributes: Vec<(&'static str, Value)>,
}

/// The attribute with the route of a request, which is part of the name of its span.
const ROUTE: &str = "http.route";
const METHOD: &str = "http.request.method";
const STATUS: &str = "http.response.status_code";

const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const ERROR: u8 = 2;

/// The body of a request to a collector.
pub(super) fn write(spans: &[FinishedSpan]) -> Vec<u8> {
    let resource =
        [("service.name", json!("strandline")), ("service.version", json!(env!("CARGO_PKG_VERSION")))];
    let document = json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&resource)},
        "scopeSpans": [{
            "scope": {"name": "strandline"},
            "spans": spans.iter().map(span).collect::<Vec<_>>(),
        }],
    }]});
    document.to_string().into_bytes()
}

fn span(span: &FinishedSpan) -> Value {
    let of = |name: &str| span.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    let text = |name: &str| of(name).and_then(Value::as_str);
    let (name, kind) = match (text(METHOD), text(ROUTE)) {
        (Some(method), Some(route)) => (format!("{method} {route}"), SERVER),
        (Some(method), None) => (method.to_owned(), SERVER),
        _ => (span.name.to_owned(), INTERNAL),
    };
    let failed = of(STATUS).and_then(Value::as_u64).is_some_and(|status| status >= 500);
    let mut written = json!({
        "traceId": span.trace,
        "spanId": span.id,
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds(span.begun),
        "endTimeUnixNano": nanoseconds(span.ended),
        "attributes": attributes(&span.attributes),
        "status": if failed { json!({"code": ERROR}) } else { json!({}) },
    });
    if let Some(parent) = &span.parent {
        written["parentSpanId"] = json!(parent);
    }
    written
}

fn nanoseconds(time: Timestamp) -> String {
    (i128::from(time.as_micros()) * 1000).to_string()
}

fn attributes(attributes: &[(&'static str, Value)]) -> Vec<Value> {
    let value = |value: &Value| match value {
        Value::Bool(flag) => json!({"boolValue": flag}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    };
    attributes.iter().map(|(name, of)| json!({"key": name, "value": value(of)})).collect()
}
