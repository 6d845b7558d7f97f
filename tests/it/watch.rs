//! A stream of what changes, over the end of the server that it was begun with.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};

use crate::server::{PROGRAM, Result, Server, items};

/// The connection of a stream, and what it said.
struct Stream {
    lines: BufReader<TcpStream>,
    last_id: String,
    /// The environments of the list, as the events lead to them.
    list: BTreeMap<String, Value>,
}

async fn connect(server: &Server, head: &str, body: &str) -> Result<TcpStream> {
    let address = server.url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).await?;
    let length = body.len();
    let request = format!(
        "{head}host: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}

/// Writes to the catalog.
async fn write(server: &Server, method: &str, path: &str, body: Value) -> Result<()> {
    let head = format!("{method} /api/v1/{path} HTTP/1.1\r\nconnection: close\r\n");
    let mut answer = String::new();
    connect(server, &head, &body.to_string()).await?.read_to_string(&mut answer).await?;
    if answer.starts_with("HTTP/1.1 20") { Ok(()) } else { Err(format!("{method} {path}: {answer}").into()) }
}

impl Stream {
    async fn open(server: &Server, query: &str, last_id: &str) -> Result<Self> {
        let resumed =
            if last_id.is_empty() { String::new() } else { format!("last-event-id: {last_id}\r\n") };
        let head = format!("GET /api/v1/watch{query} HTTP/1.1\r\n{resumed}");
        let mut lines = BufReader::new(connect(server, &head, "").await?);
        let mut line = String::new();
        lines.read_line(&mut line).await?;
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        Ok(Stream { lines, last_id: last_id.to_owned(), list: BTreeMap::new() })
    }

    /// The next event with its data; none where the stream has ended.
    async fn next(&mut self) -> Result<Option<(String, Value)>> {
        let (mut name, mut id) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).await.unwrap_or(0) == 0 {
                return Ok(None);
            }
            match line.trim_end().split_once(':') {
                Some(("event", value)) => name = value.trim().to_owned(),
                Some(("id", value)) => id = value.trim().to_owned(),
                Some(("data", value)) => {
                    let data: Value = serde_json::from_str(value)?;
                    // The members of an event stand in any order, and an empty line ends it.
                    while line.trim_end() != "" {
                        line.clear();
                        self.lines.read_line(&mut line).await?;
                        if let Some(("id", value)) = line.trim_end().split_once(':') {
                            id = value.trim().to_owned();
                        }
                        if let Some(("event", value)) = line.trim_end().split_once(':') {
                            name = value.trim().to_owned();
                        }
                    }
                    if !id.is_empty() {
                        self.last_id = id;
                    }
                    self.apply(&name, &data)?;
                    return Ok(Some((name, data)));
                }
                _ => {}
            }
        }
    }

    fn apply(&mut self, name: &str, data: &Value) -> Result<()> {
        let id = data["id"].as_str().unwrap_or_default().to_owned();
        let held = self.list.contains_key(&id);
        match (name, held) {
            ("bookmark", _) => {}
            ("enter", false) | ("change" | "health", true) => {
                self.list.insert(id, data["environment"].clone());
            }
            ("leave", true) => {
                self.list.remove(&id);
            }
            _ => return Err(format!("{name} of what is there or not: {data}").into()),
        }
        Ok(())
    }

    /// The names of the events and of what they are about, up to the next bookmark.
    async fn until_bookmark(&mut self) -> Result<Vec<String>> {
        let mut seen = Vec::new();
        while let Some((name, data)) = self.next().await? {
            if name == "bookmark" {
                return Ok(seen);
            }
            seen.push(format!("{name} {}", data["id"].as_str().unwrap_or_default()));
        }
        Err("the stream ended".into())
    }

    /// The next event, which is about this.
    async fn expect(&mut self, expected: &str) -> Result<()> {
        loop {
            let Some((name, data)) = self.next().await? else { return Err("the stream ended".into()) };
            if name == "bookmark" {
                continue;
            }
            assert_eq!(format!("{name} {}", data["id"].as_str().unwrap_or_default()), expected, "{data}");
            return Ok(());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_after_kill_nine_with_nothing_lost_and_nothing_twice() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = Server::start(folder.path(), "clusters: []\n").await?;
    let named = |name: &str| json!({ "project": "shop/web", "name": name });
    write(&server, "PUT", "projects/shop%2Fweb", json!({ "id": 42 })).await?;
    let offset = server.ask("/environments").await?["metadata"]["offset"].clone();
    let mut stream = Stream::open(&server, &format!("?from={offset}"), "").await?;
    assert!(stream.until_bookmark().await?.is_empty(), "nothing has changed yet");
    write(&server, "PUT", "environments/shop.web.production", named("production")).await?;
    stream.expect("enter shop.web.production").await?;
    write(&server, "PUT", "environments/shop.web.qa", named("qa")).await?;
    stream.expect("enter shop.web.qa").await?;
    server.kill().await?;
    while stream.next().await?.is_some() {}
    let (last, list) = (stream.last_id.clone(), stream.list.clone());
    server.start_again().await?;
    write(&server, "PUT", "environments/shop.web.staging", named("staging")).await?;
    write(&server, "PUT", "environments/shop.web.production", json!({ "labels": { "team": "a" } })).await?;
    write(&server, "POST", "environments/shop.web.qa/stop", json!({})).await?;
    server
        .until("/environments", |answer| {
            let names: Vec<_> = items(answer).filter_map(|item| item["name"].as_str()).collect();
            names == ["production", "staging"]
        })
        .await?;
    let mut stream = Stream { list, ..Stream::open(&server, "", &last).await? };
    let missed = ["change shop.web.production", "leave shop.web.qa", "enter shop.web.staging"];
    assert_eq!(stream.until_bookmark().await?, missed);
    write(&server, "POST", "environments/shop.web.staging/stop", json!({})).await?;
    stream.expect("leave shop.web.staging").await?;
    let now = server.ask("/environments").await?;
    assert_eq!(stream.list.values().collect::<Vec<_>>(), items(&now).collect::<Vec<_>>());
    // The end of the server does not wait for those who watch.
    let output = folder.path().join("output");
    server.stop().await?;
    while stream.next().await?.is_some() {}
    let output = std::fs::read_to_string(output)?;
    assert!(!output.contains("did not finish in time"), "{output}");
    Ok(())
}

/// A command that prints line by line.
struct Printing {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Printing {
    fn start(server: &Server, options: &[&str]) -> Result<Self> {
        let mut command = Command::new(PROGRAM);
        command.args(options).args(["--server", server.url()]).stdout(std::process::Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let output = child.stdout.take().ok_or("the command has no output")?;
        Ok(Printing { child, lines: BufReader::new(output) })
    }

    /// Reads lines up to the one that begins with these words.
    async fn until(&mut self, expected: &[&str]) -> Result<()> {
        loop {
            let words = self.next().await?;
            if words.is_empty() {
                return Err(format!("the command ended before {expected:?}").into());
            }
            if words.iter().zip(expected).all(|(word, expected)| word == expected) {
                return Ok(());
            }
        }
    }

    /// The words of the next line; none at the end.
    async fn next(&mut self) -> Result<Vec<String>> {
        let mut line = String::new();
        self.lines.read_line(&mut line).await?;
        Ok(line.split_whitespace().map(str::to_owned).collect())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_follows_a_list_over_a_restart_until_nobody_reads_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = Server::start(folder.path(), "clusters: []\n").await?;
    let named = |name: &str| json!({ "project": "shop/web", "name": name });
    write(&server, "PUT", "projects/shop%2Fweb", json!({ "id": 42 })).await?;
    write(&server, "PUT", "environments/shop.web.qa", named("qa")).await?;
    server.until("/environments", |answer| items(answer).count() == 1).await?;
    // A word that fits nothing is refused as it is without -w.
    for options in [&["--region", "mars"][..], &["--region", "mars", "-w"]] {
        let mut refused = Printing::start(&server, &[&["get", "env"], options].concat())?;
        let ended = tokio::time::timeout(Duration::from_secs(60), refused.child.wait()).await??;
        assert_eq!(ended.code(), Some(3), "{options:?}");
    }
    let mut rows = Printing::start(&server, &["get", "env", "--output-watch-events", "-w"])?;
    let mut names = Printing::start(&server, &["get", "environments", "--watch-only", "-o", "name"])?;
    for expected in [["EVENT", "NAME"], ["ADDED", "shop.web.qa"]] {
        assert_eq!(rows.next().await?.get(..2).unwrap_or_default(), expected);
    }
    write(&server, "PUT", "environments/shop.web.qa", json!({ "labels": { "team": "a" } })).await?;
    rows.until(&["MODIFIED", "shop.web.qa"]).await?;
    server.kill().await?;
    server.start_again().await?;
    write(&server, "PUT", "environments/shop.web.production", named("production")).await?;
    rows.until(&["ADDED", "shop.web.production"]).await?;
    names.until(&["environment/shop.web.production"]).await?;
    write(&server, "POST", "environments/shop.web.qa/stop", json!({})).await?;
    rows.until(&["DELETED", "shop.web.qa"]).await?;
    // Who reads no more learns of nothing, and that is no failure.
    let Printing { mut child, lines } = rows;
    drop(lines);
    write(&server, "PUT", "environments/shop.web.staging", named("staging")).await?;
    assert_eq!(child.wait().await?.code(), Some(0));
    drop(names);
    server.stop().await
}
