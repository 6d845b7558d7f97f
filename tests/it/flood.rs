//! Callers that mean harm, by the hundred: whatever they hold, probes are answered, recording goes on, and what they held is
//! free when they are gone.

use std::time::{Duration, Instant};

use strandline_sim::api_server::{ApiServer, builtin_kinds};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::faults::pod;
use crate::server::{Result, Server, get};

/// A bound on hanging, not on speed.
const PATIENCE: Duration = Duration::from_secs(60);

/// What callers can make the server hold, in all.
const BYTES_MAX: u64 = 128 << 20;

/// Readers of the view: those that answer questions, and those of the projector.
const VIEWS_MAX: usize = 8 + 4;

const VITAL: [&str; 4] = ["/livez", "/readyz", "/healthz", "/metrics"];

/// A server that records a cluster.
struct Flooded {
    cluster: ApiServer,
    server: Server,
    _folder: tempfile::TempDir,
}

impl Flooded {
    async fn start(pods: usize) -> Result<Self> {
        // Every connection is a file, here and there.
        rlimit::increase_nofile_limit(8192)?;
        let cluster = ApiServer::start("one", builtin_kinds()).await?;
        for n in 0..pods {
            cluster.apply(pod(&format!("web-{n}")));
        }
        let folder = tempfile::tempdir()?;
        let config = format!(
            "clusters:\n  - name: one\n    url: {}\nenvironments:\n  - project: shop/web\n    name: production\n    \
             cluster: one\n    namespace: shop\n",
            cluster.url()
        );
        let server = Server::start(folder.path(), &config).await?;
        let flooded = Flooded { cluster, server, _folder: folder };
        flooded.until_metric("strandline_view_checkpoint_offset ", |last| last >= pods as u64).await?;
        Ok(flooded)
    }

    fn address(&self) -> String {
        self.server.url().trim_start_matches("http://").to_owned()
    }

    async fn connect(&self) -> Result<TcpStream> {
        Ok(TcpStream::connect(self.address()).await?)
    }

    /// What monitoring reads of a number.
    async fn metric(&self, line: &str) -> Result<u64> {
        let (status, text) = answered(&format!("{}/metrics", self.server.url())).await?;
        assert_eq!(status, 200, "{text}");
        let value = text.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok());
        value.ok_or_else(|| format!("no {line} in {text}").into())
    }

    async fn until_metric(&self, line: &str, wanted: impl Fn(u64) -> bool) -> Result<()> {
        let started = Instant::now();
        loop {
            let value = self.metric(line).await?;
            if wanted(value) {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("{line} stays {value}").into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A change of the cluster is recorded, which monitoring sees.
    async fn records(&self, name: &str) -> Result<()> {
        let head = self.metric("strandline_log_head_offset ").await?;
        self.cluster.apply(pod(name));
        self.until_metric("strandline_log_head_offset ", |now| now > head).await
    }

    /// Nobody is left, and questions are answered.
    async fn recovers(&self) -> Result<()> {
        self.until_metric("strandline_http_in_flight_bytes ", |bytes| bytes == 0).await?;
        self.until_metric("strandline_queries{state=\"reading\"} ", |reading| reading == 0).await?;
        self.server.until("/environments", |_| true).await?;
        let (_, text) = answered(&format!("{}/openapi.yaml", self.server.url())).await?;
        assert!(text.starts_with("openapi:"));
        Ok(())
    }

    fn told(&self, when: &str) -> Result<()> {
        println!("{when}: {} MB resident", self.server.memory()? >> 20);
        Ok(())
    }
}

/// A GET that does not wait for ever.
async fn answered(url: &str) -> Result<(u16, String)> {
    tokio::time::timeout(PATIENCE, get(url)).await.map_err(|_| format!("{url} is not answered"))?
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sockets_that_never_read_keep_nobody_from_probes_and_stop_no_recording() -> Result<()> {
    let flooded = Flooded::start(1).await?;
    flooded.told("before")?;
    let ahead = "GET /openapi.yaml HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(12);
    let mut sockets = Vec::new();
    for _ in 0..1024 {
        let mut socket = flooded.connect().await?;
        // Who finds no place may be cut before all is sent.
        let _ = socket.write_all(ahead.as_bytes()).await;
        sockets.push(socket);
    }
    for round in 0..5 {
        for path in VITAL {
            let (status, text) = answered(&format!("{}{path}", flooded.server.url())).await?;
            assert_eq!(status, 200, "{path}: {text}");
        }
        flooded.records(&format!("during-{round}")).await?;
        let (status, text) = answered(&format!("{}/api/v1/environments", flooded.server.url())).await?;
        let refused = ["too_many_connections", "too_many_requests", "overloaded"];
        assert!(status == 200 || refused.iter().any(|code| text.contains(code)), "{status} {text}");
        assert!(flooded.metric("strandline_http_connections{place=\"ordinary\"} ").await? <= 512);
        assert!(flooded.metric("strandline_http_in_flight_bytes ").await? <= BYTES_MAX);
    }
    // How many depends on how fast they come: the first are cut after seconds.
    let refused = flooded.metric("strandline_http_connections_refused_total ").await?;
    flooded.told(&format!("with 1,024 sockets that do not read, of which {refused} found no place"))?;
    // Who has an answer that it does not take is cut. The others stay, and do nothing: they make room for whoever asks.
    flooded.until_metric("strandline_http_in_flight_bytes ", |bytes| bytes == 0).await?;
    let mut newcomers = Vec::new();
    for _ in 0..600 {
        newcomers.push(flooded.connect().await?);
        let newcomer = newcomers.last_mut().ok_or("the newest")?;
        newcomer.write_all(b"HEAD /openapi.yaml HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
        let mut answer = [0; 12];
        tokio::time::timeout(PATIENCE, newcomer.read_exact(&mut answer)).await??;
        assert_eq!(&answer, b"HTTP/1.1 200");
    }
    flooded.recovers().await?;
    flooded.told("after they were cut")?;
    drop(sockets);
    flooded.server.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hang_ups_by_the_thousand_leave_no_readers_behind() -> Result<()> {
    let flooded = Flooded::start(1500).await?;
    flooded.told("before")?;
    let question = "GET /api/v1/environments/shop.web.production/graph?collapse=none&limit=5000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut most = 0;
    for round in 0..40_u64 {
        let mut sockets = Vec::new();
        for _ in 0..50 {
            let mut socket = flooded.connect().await?;
            socket.write_all(question.as_bytes()).await?;
            sockets.push(socket);
        }
        tokio::time::sleep(Duration::from_millis(10 + round)).await;
        most = most.max(flooded.server.open_files("view.db")?);
        drop(sockets);
    }
    assert!(most <= VIEWS_MAX, "{most} views were open");
    flooded.told("after 2,000 hang-ups")?;
    flooded.records("after").await?;
    flooded.recovers().await?;
    let (status, text) =
        answered(&format!("{}/api/v1/environments/shop.web.production/graph", flooded.server.url())).await?;
    assert_eq!(status, 200, "{text}");
    assert!(flooded.server.open_files("view.db")? <= VIEWS_MAX);
    flooded.server.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_are_held_take_a_bounded_room() -> Result<()> {
    let flooded = Flooded::start(1).await?;
    flooded.told("before")?;
    let head = format!(
        "PUT /api/v1/projects/shop HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        1 << 20
    );
    let body = vec![b' '; (1 << 20) - 1];
    let mut sockets = Vec::new();
    for _ in 0..900 {
        let mut socket = flooded.connect().await?;
        // Who is refused may be cut before all is sent; what is not read by then is not waited for.
        let send = async {
            socket.write_all(head.as_bytes()).await?;
            socket.write_all(&body).await
        };
        let _ = tokio::time::timeout(Duration::from_millis(200), send).await;
        sockets.push(socket);
    }
    assert!(flooded.metric("strandline_http_in_flight_bytes ").await? <= BYTES_MAX);
    assert!(flooded.metric("strandline_http_requests_in_flight ").await? <= 64, "one caller has no more");
    flooded.told("with 900 bodies")?;
    for path in VITAL {
        assert_eq!(answered(&format!("{}{path}", flooded.server.url())).await?.0, 200, "{path}");
    }
    flooded.records("during").await?;
    let mut answers = 0;
    for socket in &mut sockets {
        let mut answer = String::new();
        let read = tokio::time::timeout(PATIENCE, socket.read_to_string(&mut answer)).await?;
        answers +=
            usize::from(read.is_ok() && ["408", "429", "503"].iter().any(|code| answer.contains(code)));
    }
    println!("{answers} of 900 were told why");
    drop(sockets);
    flooded.recovers().await?;
    flooded.told("after")?;
    assert!(flooded.server.peak_memory()? < 400 << 20, "{} MB", flooded.server.peak_memory()? >> 20);
    flooded.server.stop().await
}
