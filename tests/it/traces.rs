//! Traces that are sent to a collector of OTLP.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::net::TcpListener;

use crate::server::{Result, Server, get, items};

type Spans = Arc<Mutex<Vec<Value>>>;

/// What a request to the collector of these tests carries.
const LET_IN: &str = "Bearer of-the-collector";

/// A collector that keeps all spans that come from who may send some.
async fn collector() -> Result<(String, Spans)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (url, spans) = (format!("http://{}/v1/traces", listener.local_addr()?), Spans::default());
    let kept = Arc::clone(&spans);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let kept = Arc::clone(&kept);
            let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
                let kept = Arc::clone(&kept);
                async move {
                    if request.headers().get("authorization").is_none_or(|value| value != LET_IN) {
                        let mut refused = Response::new(Full::new(Bytes::new()));
                        *refused.status_mut() = http::StatusCode::UNAUTHORIZED;
                        return Ok(refused);
                    }
                    let body = request.into_body().collect().await?.to_bytes();
                    let document: Value = serde_json::from_slice(&body).unwrap_or_default();
                    for resource in document["resourceSpans"].as_array().into_iter().flatten() {
                        assert!(resource["resource"]["attributes"].to_string().contains("service.name"));
                        for scope in resource["scopeSpans"].as_array().into_iter().flatten() {
                            let found = scope["spans"].as_array().cloned().unwrap_or_default();
                            kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(found);
                        }
                    }
                    Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from("{}"))))
                }
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer),
            );
        }
    });
    Ok((url, spans))
}

async fn until(spans: &Spans, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let found = spans
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .iter()
            .find(|span| wanted(span))
            .cloned();
        if let Some(found) = found {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {spans:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn attribute<'s>(span: &'s Value, name: &str) -> Option<&'s Value> {
    span["attributes"]
        .as_array()?
        .iter()
        .find(|attribute| attribute["key"] == name)
        .map(|found| &found["value"])
}

async fn ask(server: &Server, path: &str, traceparent: &str) -> Result<()> {
    let request = http::Request::get(format!("{}{path}", server.url())).header("traceparent", traceparent);
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    client.request(request.body(Full::new(Bytes::new()))?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_commits_and_transactions_are_traced_where_a_collector_is_named() -> Result<()> {
    let (url, spans) = collector().await?;
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("authorization"), format!("{LET_IN}\n"))?;
    let config = format!(
        "clusters: [{{name: one, url: '{}'}}]\ntraces: {{endpoint: '{url}', header_files: {{authorization: authorization}}}}\n",
        cluster.url()
    );
    let server = Server::start(folder.path(), &config).await?;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    ask(&server, "/api/v1/environments/none", &format!("00-{trace}-00f067aa0ba902b7-01")).await?;
    let span = until(&spans, |span| span["traceId"] == trace).await;
    assert_eq!(span["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(
        (span["name"].as_str(), span["kind"].as_u64()),
        (Some("GET /api/v1/environments/{id}"), Some(2))
    );
    assert_eq!(attribute(&span, "http.response.status_code"), Some(&json!({"intValue": "404"})));
    assert!(span["startTimeUnixNano"].as_str() <= span["endTimeUnixNano"].as_str());
    until(&spans, |span| span["name"] == "log.transaction").await;
    until(&spans, |span| span["name"] == "view.transaction").await;
    // What its caller declines is not sent.
    let declined = "4bf92f3577b34da6a3ce929d0e0e4737";
    ask(&server, "/api/v1/clusters", &format!("00-{declined}-00f067aa0ba902b7-00")).await?;
    let after = "4bf92f3577b34da6a3ce929d0e0e4738";
    ask(&server, "/api/v1/clusters", &format!("00-{after}-00f067aa0ba902b7-01")).await?;
    until(&spans, |span| span["traceId"] == after).await;
    assert!(
        !spans
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .iter()
            .any(|span| span["traceId"] == declined)
    );
    let (_, metrics) = get(&format!("{}/metrics", server.url())).await?;
    assert!(metrics.contains("strandline_trace_spans_total{result=\"dropped\"} 0"), "{metrics}");
    assert!(!server.output().contains("request{"), "{}", server.output());
    assert!(!server.output().contains("of-the-collector"), "{}", server.output());
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_does_not_answer_costs_spans_and_nothing_else() -> Result<()> {
    let nobody = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v1/traces", nobody.local_addr()?);
    drop(nobody);
    let folder = tempfile::tempdir()?;
    let cluster = ApiServer::start("one", builtin_kinds()).await?;
    let config = format!(
        "clusters: [{{name: one, url: '{}'}}]\ntraces: {{endpoint: '{url}', sample: 1.0}}\n",
        cluster.url()
    );
    let server = Server::start(folder.path(), &config).await?;
    server.until("/clusters", |list| items(list).count() == 1).await?;
    let begun = Instant::now();
    loop {
        let (_, metrics) = get(&format!("{}/metrics", server.url())).await?;
        let dropped = metrics
            .lines()
            .find_map(|line| line.strip_prefix("strandline_trace_spans_total{result=\"dropped\"} "));
        if dropped.is_some_and(|count| count != "0") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{metrics}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(server.output().contains("sending traces failed"), "{}", server.output());
    server.stop().await
}
