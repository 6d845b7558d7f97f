//! The server: connections with limits, and an end that comes in time.
//!
//! warp's own server has no timeouts, no limit of connections and no deadline for its end, so the loop is ours.
//! It speaks HTTP/1.1 only: telling HTTP/2 apart needs the first bytes, and waiting for these has no timeout.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::router::Router;
use super::{Hosts, RequestStats, guard};

/// How the server treats its connections.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Under which names it answers.
    pub hosts: Hosts,
    /// Counts what is answered.
    pub requests: RequestStats,
    /// Most connections at a time; more wait to be accepted.
    pub connections_max: usize,
    /// How long a caller may take to send the head of a request, or stay silent between two.
    pub header_timeout: Duration,
    /// Most headers in a request.
    pub headers_max: usize,
    /// How long requests under way may take once the end was asked for.
    pub drain: Duration,
}

impl ServerOptions {
    /// The usual limits for these names.
    pub fn new(hosts: Hosts) -> Self {
        ServerOptions {
            hosts,
            requests: RequestStats::default(),
            connections_max: 1024,
            header_timeout: Duration::from_secs(5),
            headers_max: 64,
            drain: Duration::from_secs(5),
        }
    }
}

/// How long to wait after accepting failed, which it does while the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until the end is asked for; then closes the listener, lets requests under way finish, and returns.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    options: ServerOptions,
    shutdown: CancellationToken,
) {
    let connections = Arc::new(Semaphore::new(options.connections_max));
    let graceful = GracefulShutdown::new();
    let abort = CancellationToken::new();
    let options = Arc::new(options);
    let _abort_when_dropped = abort.clone().drop_guard();
    while let Some((stream, permit)) = next(&listener, &connections, &shutdown).await {
        let connection = Connection {
            router: router.clone(),
            options: options.clone(),
            watcher: graceful.watcher(),
            abort: abort.clone(),
            permit,
        };
        tokio::spawn(connection.run(stream));
    }
    drop(listener);
    if tokio::time::timeout(options.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time and were cut");
    }
}

/// The next connection, once there is room for it; none when the end was asked for.
async fn next(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
    shutdown: &CancellationToken,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let accepted = async {
        let permit = connections.clone().acquire_owned().await.ok()?;
        loop {
            match listener.accept().await {
                Ok((stream, _)) => return Some((stream, permit)),
                Err(error) if concerns_the_caller_only(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    };
    shutdown.run_until_cancelled(accepted).await.flatten()
}

fn concerns_the_caller_only(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// What serves one connection.
struct Connection {
    router: Router,
    options: Arc<ServerOptions>,
    watcher: Watcher,
    abort: CancellationToken,
    permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        let Connection { router, options, watcher, abort, permit } = self;
        // Answers are written whole, so waiting to fill a packet would only delay their last one.
        let _ = stream.set_nodelay(true);
        let peer = stream.peer_addr().ok();
        let (header_timeout, headers_max) = (options.header_timeout, options.headers_max);
        let service = service_fn(move |request| {
            let (router, options) = (router.clone(), options.clone());
            async move { Ok::<_, Infallible>(guard::answer(router, &options, peer, request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(header_timeout)
            .max_headers(headers_max)
            .serve_connection(TokioIo::new(stream), service);
        if let Some(Err(error)) = abort.run_until_cancelled(watcher.watch(connection)).await {
            tracing::debug!(%error, "a connection ended early");
        }
        drop(permit);
    }
}
