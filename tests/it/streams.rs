//! Thousands of streams that wait: what they take, what is refused beyond them, and that a change reaches all.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::server::{Result, Server, get};

/// More than one stream may take in memory, in bytes: the program as it is built for tests takes about half.
const STREAM_BYTES_MAX: u64 = 64 * 1024;

/// Streams that are opened at a time.
const AT_A_TIME: usize = 50;

/// How many streams: what an ordinary run holds, and what a full one does.
fn streams() -> usize {
    if std::env::var_os("STRANDLINE_FULL").is_some() { 5000 } else { 1000 }
}

/// Reads until a text has come.
async fn read_until(stream: &mut TcpStream, wanted: &str) -> Result<String> {
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !text.contains(wanted) {
        match stream.read(&mut bytes).await? {
            0 => return Err(format!("it ended without {wanted}: {text}").into()),
            count => text.push_str(&String::from_utf8_lossy(&bytes[..count])),
        }
    }
    Ok(text)
}

/// Asks for a stream; the head of the answer, and where it goes on.
async fn open(address: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /api/v1/watch HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}

async fn metric(server: &Server, name: &str) -> Result<u64> {
    let (_, text) = get(&format!("{}/metrics", server.url())).await?;
    let line =
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).ok_or("no such metric")?;
    Ok(line.trim().parse()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_streams_take_little_and_a_change_reaches_all() -> Result<()> {
    let count = streams();
    rlimit::increase_nofile_limit(u64::MAX)?;
    let folder = tempfile::tempdir()?;
    // One address may have half of the connections.
    let limits =
        format!("limits: {{connections: {}, streams: {count}, streams_each: {count}}}\n", 2 * count + 200);
    let server = Server::start(folder.path(), &limits).await?;
    let address = server.url().trim_start_matches("http://").to_owned();
    let mut held = Vec::new();
    let mut before = 0;
    while held.len() < count {
        let mut opening = JoinSet::new();
        for _ in 0..AT_A_TIME.min(count - held.len()) {
            let address = address.clone();
            opening.spawn(async move {
                let mut stream = open(&address).await?;
                read_until(&mut stream, "bookmark").await?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(stream)
            });
        }
        while let Some(opened) = opening.join_next().await {
            held.push(opened??);
        }
        if before == 0 {
            // What the first take that others share.
            before = server.memory()?;
        }
    }
    let each = server.memory()?.saturating_sub(before) / (count - AT_A_TIME) as u64;
    println!("{count} idle streams: {each} bytes each");
    assert!(each < STREAM_BYTES_MAX, "{each} bytes for each stream");
    assert_eq!(metric(&server, "strandline_http_streams").await?, count as u64);
    let refused = read_until(&mut open(&address).await?, "too_many_requests").await?;
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert_eq!(metric(&server, "strandline_http_streams_refused_total").await?, 1);
    // Others are answered, and a change reaches every stream.
    let environment = json!({"project": "shop/web", "name": "production"});
    for (path, body) in
        [("projects/shop%2Fweb", json!({"id": 42})), ("environments/shop.web.production", environment)]
    {
        let (status, answer) = server.send("PUT", &format!("/{path}"), "", &body).await?;
        assert!(matches!(status, 200 | 201), "{path}: {status} {answer}");
    }
    let mut reading = JoinSet::new();
    for mut stream in held {
        reading.spawn(async move { read_until(&mut stream, "shop.web.production").await.map(|_| stream) });
    }
    let mut reached = 0;
    while let Some(read) = reading.join_next().await {
        drop(read??);
        reached += 1;
    }
    assert_eq!(reached, count);
    // Who is gone makes room.
    for attempt in 0.. {
        if metric(&server, "strandline_http_streams").await? == 0 {
            break;
        }
        assert!(attempt < 600, "streams of who is gone are counted still");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    server.stop().await
}
