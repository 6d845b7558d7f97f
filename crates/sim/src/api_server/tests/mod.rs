//! What the simulated server promises, seen through HTTP.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod clients;
mod faults;
mod lists;
mod watches;

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::{ApiServer, builtin_kinds};

const CONFIG_MAPS: &str = "/api/v1/configmaps";

async fn server() -> ApiServer {
    ApiServer::start("test", builtin_kinds()).await.unwrap()
}

fn config_map(name: &str, value: u64) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
        "data": {"value": value.to_string()},
    })
}

async fn request(server: &ApiServer, method: &str, path: &str, accept: &str) -> Response<Incoming> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let uri = format!("{}{path}", server.url());
    let request = Request::builder().method(method).uri(uri).header("accept", accept).body(Empty::new());
    client.request(request.unwrap()).await.unwrap()
}

async fn get(server: &ApiServer, path: &str) -> (u16, Value) {
    let answer = request(server, "GET", path, "application/json").await;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// The lines of one watch as they come.
struct Lines {
    status: u16,
    body: Pin<Box<Incoming>>,
    buffer: Vec<u8>,
}

impl Lines {
    async fn open(server: &ApiServer, path: &str) -> Self {
        let answer = request(server, "GET", path, "application/json").await;
        let status = answer.status().as_u16();
        Lines { status, body: Box::pin(answer.into_body()), buffer: Vec::new() }
    }

    /// The next line as text, without its end; none at the end, where a cut line is left in the buffer.
    async fn text(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            let frame = self.body.frame().await?.unwrap();
            self.buffer.extend_from_slice(&frame.into_data().unwrap());
        }
    }

    async fn event(&mut self) -> Option<Value> {
        let line = self.text().await?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// The next event's type, name and resourceVersion.
    async fn brief(&mut self) -> Option<(String, String, u64)> {
        self.event().await.map(|event| brief(&event))
    }

    /// Whether nothing comes for a moment; only to tell what must never come.
    async fn quiet(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(100), self.text()).await.is_err()
    }
}

fn brief(event: &Value) -> (String, String, u64) {
    let metadata = &event["object"]["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let version = text(&metadata["resourceVersion"]).parse().unwrap_or(0);
    (text(&event["type"]), text(&metadata["name"]), version)
}
