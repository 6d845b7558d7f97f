//! The server: connections with limits, with TLS where it is configured, and an end that comes in time.
//!
//! Everybody who connects is accepted. Who finds no place is answered probes and metrics, or that there is no place.
//!
//! warp's own server has no timeouts, no limit of connections and no deadline for its end, so the loop is ours.
//! It speaks HTTP/1.1 only: telling HTTP/2 apart needs the first bytes, and waiting for these has no timeout.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::guard::{self, Peer};
use super::load::Account;
use super::places::Place;
use super::router::Router;
use super::server_options::ServerOptions;
use super::taking::{Patience, Taking, Watched};
use super::tls::Tls;

/// How long to wait after accepting failed, which it does while the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Most bytes that are read ahead, or gathered before they are written, for a connection. A head has to fit in.
const BUFFER_MAX: usize = 64 * 1024;

/// Serves until the end is asked for; then closes the listener, lets requests under way finish, and returns.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    options: ServerOptions,
    shutdown: CancellationToken,
) {
    let graceful = GracefulShutdown::new();
    let abort = CancellationToken::new();
    let options = Arc::new(options);
    let _abort_when_dropped = abort.clone().drop_guard();
    while let Some((stream, address)) = next(&listener, &shutdown).await {
        let connection = Connection {
            router: router.clone(),
            options: options.clone(),
            watcher: graceful.watcher(),
            place: options.load.places.take(address.ip(), &abort),
            address,
        };
        tokio::spawn(connection.run(stream));
    }
    drop(listener);
    if tokio::time::timeout(options.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("closed connections that did not finish in time");
    }
}

/// The next connection; none when the end was asked for.
async fn next(listener: &TcpListener, shutdown: &CancellationToken) -> Option<(TcpStream, SocketAddr)> {
    let accepted = async {
        loop {
            match listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) if concerns_the_caller_only(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    };
    shutdown.run_until_cancelled(accepted).await
}

fn concerns_the_caller_only(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Lets the system end a connection whose other end takes nothing for so long. What the system still keeps of an answer is
/// written for hyper, so that such a connection would pass for one that rests between two requests.
#[cfg(target_os = "linux")]
fn give_up_sending(stream: &TcpStream, patience: Duration) -> io::Result<()> {
    let milliseconds = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds)?)
}

#[cfg(not(target_os = "linux"))]
fn give_up_sending(_: &TcpStream, _: Duration) -> io::Result<()> {
    Ok(())
}

/// What serves one connection.
struct Connection {
    router: Router,
    options: Arc<ServerOptions>,
    watcher: Watcher,
    place: Place,
    address: SocketAddr,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        // Answers are written whole, so waiting to fill a packet would only delay their last one.
        let _ = stream.set_nodelay(true);
        let _ = give_up_sending(&stream, self.options.taking_timeout);
        let taking = Taking::new(self.place.rest.clone());
        let patience = Patience { head: self.options.header_timeout, step: self.options.taking_timeout };
        // Below TLS, which keeps what the network does not take.
        let stream = Watched::new(stream, taking.clone(), patience);
        match self.options.tls.clone() {
            None => self.serve(stream, taking).await,
            Some(tls) => {
                if let Some(stream) = self.encrypted(stream, &tls).await {
                    self.serve(stream, taking).await;
                }
            }
        }
    }

    /// The connection with TLS, if the client goes through with it in the time that it has for the head of a request.
    async fn encrypted<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        tls: &Tls,
    ) -> Option<TlsStream<S>> {
        let accepting = TlsAcceptor::from(tls.server()).accept(stream);
        let accepting = tokio::time::timeout(self.options.header_timeout, accepting);
        match self.place.cut.run_until_cancelled(accepting).await? {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!(%error, peer = %self.address, "a TLS handshake failed");
                None
            }
            Err(_) => None,
        }
    }

    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self, stream: S, taking: Taking) {
        let Connection { router, options, watcher, place, address } = self;
        let reserved = place.is_reserved();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            // From the end of an answer until the next head is there; heads themselves are timed by the stream.
            .header_read_timeout(options.idle_timeout)
            .max_headers(options.headers_max)
            .max_buf_size(BUFFER_MAX)
            .keep_alive(!reserved);
        let longest = if reserved { options.reserve_timeout } else { Duration::MAX };
        let service = service_fn(move |request| {
            taking.asked();
            let (router, options, taking) = (router.clone(), options.clone(), taking.clone());
            async move {
                let account = Account::of(&options.load);
                let peer = Peer { address, reserved, account: account.clone() };
                let answer = guard::answer(router, &options, peer, request).await;
                Ok::<_, Infallible>(answer.map(|body| taking.answer(body, account)))
            }
        });
        let connection = watcher.watch(http.serve_connection(TokioIo::new(stream), service));
        let connection = tokio::time::timeout(longest, connection);
        match place.cut.run_until_cancelled(connection).await {
            Some(Ok(Err(error))) => tracing::debug!(%error, "a connection ended early"),
            Some(Err(_)) | None => tracing::debug!("closed a connection"),
            Some(Ok(Ok(()))) => {}
        }
    }
}
