//! The server over real sockets: what it answers, what it refuses, and how it ends.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use warp::Filter;

use super::state;
use crate::api::routes;
use crate::app::AppState;
use crate::http::router::{Route, Router, mount};
use crate::http::{Hosts, Load, LoadLimits, RequestStats, RouteStats, ServerOptions, respond, serve};

/// A server on a port of its own; ends when dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

pub(super) async fn server(router: Router, change: impl FnOnce(&mut ServerOptions)) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let shutdown = CancellationToken::new();
    let mut options = ServerOptions::new(Hosts::for_listener(address, &[]));
    change(&mut options);
    let task = tokio::spawn(serve(listener, router, options, shutdown.clone()));
    Server { address, shutdown, task }
}

async fn api() -> Server {
    server(routes(&state(true)), |_| {}).await
}

impl Server {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }

    /// Sends bytes and reads until the server closes.
    pub(super) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("read");
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(super) async fn ask(&self, method: &str, path: &str, headers: &str) -> String {
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
        self.raw(head.as_bytes()).await
    }
}

pub(super) fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}

pub(super) fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

pub(super) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

#[tokio::test]
async fn methods_are_answered_as_the_document_says() {
    let server = api().await;
    let get = server.ask("GET", "/livez", "").await;
    assert_eq!((status(&get), body(&get)), ("200", "ok"));
    let head = server.ask("HEAD", "/livez", "").await;
    assert_eq!((status(&head), body(&head), header(&head, "content-length")), ("200", "", Some("2")));
    let options = server.ask("OPTIONS", "/api/v1/environments", "").await;
    assert_eq!((status(&options), header(&options, "allow")), ("204", Some("GET, HEAD, OPTIONS")));
    let post = server.ask("POST", "/api/v1/environments", "content-length: 0\r\n").await;
    assert_eq!((status(&post), header(&post, "allow")), ("405", Some("GET, HEAD, OPTIONS")));
    assert_eq!(header(&post, "content-type"), Some("application/problem+json"));
    assert!(body(&post).contains(r#""code":"method_not_allowed""#), "{post}");
}

#[tokio::test]
async fn a_target_without_a_path_is_refused_and_breaks_nothing() {
    let server = api().await;
    for (method, target) in
        [("CONNECT", "localhost:443"), ("CONNECT", "localhost:80"), ("GET", "*"), ("PUT", "*")]
    {
        let answer = server.ask(method, target, "").await;
        assert_eq!(status(&answer), "400", "{method} {target}: {answer}");
        assert!(body(&answer).contains(r#""code":"malformed_request""#), "{answer}");
        assert!(body(&answer).contains("has no path"), "{answer}");
    }
    let elsewhere = server.ask("CONNECT", "example.com:443", "").await;
    assert_eq!(status(&elsewhere), "421", "{elsewhere}");
    let whole = server.ask("OPTIONS", "*", "").await;
    assert_eq!(
        (status(&whole), header(&whole, "allow"), body(&whole)),
        ("204", Some("GET, HEAD, PUT, POST, DELETE, OPTIONS"), "")
    );
    assert_eq!(status(&server.ask("GET", "http://localhost", "").await), "404", "its path is /");
}

#[tokio::test]
async fn bad_addresses_are_refused_with_a_reason() {
    let server = api().await;
    for (path, expected, code) in [
        ("/api/v1/nothing", "404", "not_found"),
        ("/api", "404", "not_found"),
        ("/api/v1/environments/a/b/c", "404", "not_found"),
        ("/api/v1/environments?x=1", "400", "invalid_parameter"),
        ("/api/v1/environments?limit=0", "400", "invalid_parameter"),
        ("/api/v1/environments?at=1&at=2", "400", "invalid_parameter"),
        ("/api/v1/environments/%00", "400", "malformed_request"),
        ("/api/v1/environments/%c0%af", "400", "malformed_request"),
        ("/api/v1/environments/%zz", "400", "malformed_request"),
        ("/api/v1/environments?tier=%ff", "400", "malformed_request"),
    ] {
        let answer = server.ask("GET", path, "").await;
        assert_eq!(status(&answer), expected, "{path}");
        assert!(body(&answer).contains(&format!(r#""code":"{code}""#)), "{path}: {answer}");
    }
    let long = server.ask("GET", &format!("/api/v1/environments?region={}", "a".repeat(9000)), "").await;
    assert_eq!(status(&long), "414");
    // These are ids like others, however odd; whether there is such a thing is for the storage to say.
    for path in ["/api/v1/environments/a%2Fb", "/api/v1/environments/%2e%2e", "/api/v1/resources/%E2%80%AE/"]
    {
        let answer = server.ask("GET", path, "").await;
        assert!(matches!(status(&answer), "404" | "500"), "{path}: {answer}");
        assert!(!answer.contains("nothing is served"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn every_answer_carries_what_keeps_browsers_safe() {
    let server = api().await;
    for path in ["/livez", "/api/v1/openapi.json", "/api/v1/nothing"] {
        let answer = server.ask("GET", path, "x-request-id: my-id\r\n").await;
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"));
        assert_eq!(header(&answer, "x-request-id"), Some("my-id"));
        let policy = header(&answer, "content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    }
    let odd = server.ask("GET", "/livez", "x-request-id: a b\r\n").await;
    assert_eq!(header(&odd, "x-request-id").map(str::len), Some(32), "an odd one is not repeated");
    let traced = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";
    let answer = server.ask("GET", "/api/v1/nothing", traced).await;
    assert!(body(&answer).contains(r#""trace_id":"4bf92f3577b34da6a3ce929d0e0e4736""#));
}

#[tokio::test]
async fn strangers_names_are_refused() {
    let server = api().await;
    let answer = server.raw(b"GET /livez HTTP/1.1\r\nhost: evil.test\r\nconnection: close\r\n\r\n").await;
    assert_eq!(status(&answer), "421");
    let answer = server.raw(b"GET /livez HTTP/1.0\r\n\r\n").await;
    assert_eq!(status(&answer), "421");
}

#[tokio::test]
async fn an_unchanged_answer_is_not_sent_again() {
    let server = api().await;
    let first = server.ask("GET", "/openapi.yaml", "").await;
    assert_eq!(header(&first, "cache-control"), Some("private, no-cache"));
    let tag = header(&first, "etag").unwrap_or_default();
    let again = server.ask("GET", "/openapi.yaml", &format!("if-none-match: {tag}\r\n")).await;
    assert_eq!((status(&again), body(&again), header(&again, "etag")), ("304", "", Some(tag)));
    let second = format!("if-none-match: \"x\"\r\nif-none-match: {tag}\r\n");
    let second = server.ask("GET", "/openapi.yaml", &second).await;
    assert_eq!(status(&second), "304", "a header that comes twice is one list");
    let other = server.ask("GET", "/openapi.yaml", "if-none-match: \"x\"\r\n").await;
    assert_eq!(status(&other), "200");
}

#[tokio::test]
async fn readiness_is_told_in_lines_and_in_json() {
    let ready = api().await;
    assert_eq!(body(&ready.ask("GET", "/readyz", "").await), "ok");
    let verbose = ready.ask("GET", "/readyz?verbose", "").await;
    let lists = "2 of 2 first lists complete";
    assert_eq!(
        body(&verbose),
        format!(
            "[+]log ok\n[+]lists ok: {lists}; 1 of 1 clusters\n\
             [-]cluster east not complete (not counted): {lists}; in a gap: Secret (forbidden)\n\
             readyz check passed\n"
        )
    );
    assert_eq!(body(&ready.ask("GET", "/readyz/lists", "").await), "ok");
    let unready = server(routes(&state(false)), |_| {}).await;
    let lines = unready.ask("GET", "/readyz", "").await;
    assert_eq!((status(&lines), body(&lines)), ("503", "[-]log failed\nreadyz check failed\n"));
    let json = unready.ask("GET", "/readyz", "accept: application/json\r\n").await;
    assert_eq!(status(&json), "503");
    assert_eq!(body(&json), "{\"ok\":false,\"checks\":[{\"name\":\"log\",\"ok\":false,\"detail\":\"\"}]}\n");
    assert_eq!(status(&unready.ask("GET", "/livez", "").await), "200");
}

const TROUBLE: &[Route<AppState>] = &[
    Route::at("/panic").get(&[], |_, _| Box::pin(async { panic!("on purpose") })),
    Route::at("/never").get(&[], |_, _| Box::pin(std::future::pending())),
];

fn trouble() -> Router {
    let state = state(true);
    mount(TROUBLE, &state, respond::problem).or(routes(&state)).unify().boxed()
}

#[tokio::test]
async fn a_panic_costs_its_own_request_only() {
    let server = server(trouble(), |_| {}).await;
    let mut stream = server.connect().await;
    let request = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{more}\r\n");
    let both = request("/panic", "") + &request("/livez", "connection: close\r\n");
    stream.write_all(both.as_bytes()).await.expect("sent");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.expect("read");
    assert!(answers.starts_with("HTTP/1.1 500") && answers.contains(r#""code":"internal""#), "{answers}");
    assert!(answers.ends_with("ok") && !answers.contains("on purpose"), "the same connection goes on");
}

#[tokio::test]
async fn silent_and_slow_callers_are_cut() {
    let short = Duration::from_millis(20);
    let options = |options: &mut ServerOptions| {
        (options.header_timeout, options.idle_timeout) = (short, short);
    };
    let server = server(trouble(), options).await;
    for bytes in ["", "G", "GET /livez HTTP/1.1\r\nhost: localhost\r\n", "PRI * HTTP/2"] {
        let answer = server.raw(bytes.as_bytes()).await;
        assert!(!answer.contains("200"), "{bytes}: {answer}");
    }
    // The server closes after a while of silence, though the caller would keep the connection.
    let kept = server.raw(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!((status(&kept), body(&kept)), ("200", "ok"));
}

#[tokio::test]
async fn a_connection_that_does_nothing_makes_room_for_the_next() {
    let load = Load::new(LoadLimits { connections: 1, ..LoadLimits::default() });
    let server = server(trouble(), |options| options.load = load).await;
    let mut kept = server.connect().await;
    kept.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("sent");
    let mut answer = [0; 12];
    kept.read_exact(&mut answer).await.expect("answered");
    assert_eq!(&answer, b"HTTP/1.1 200");
    // That it rests is known once its answer is flushed, which may be after the caller has read it.
    while status(&server.ask("GET", "/openapi.yaml", "").await) != "200" {
        tokio::task::yield_now().await;
    }
    let mut rest = Vec::new();
    kept.read_to_end(&mut rest).await.expect("it was closed");
    assert!(rest.ends_with(b"ok"));
}

#[tokio::test]
async fn heads_without_measure_are_refused() {
    let server = api().await;
    let many: String = (0..100).map(|n| format!("x-{n}: 1\r\n")).collect();
    assert_eq!(status(&server.ask("GET", "/livez", &many).await), "431");
}

#[tokio::test]
async fn probes_are_answered_where_no_place_is_left_and_everything_else_is_refused() {
    let load = Load::new(LoadLimits { connections: 1, reserve: 2, ..LoadLimits::default() });
    let counted = load.clone();
    let server = server(trouble(), |options| options.load = load).await;
    let first = server.connect().await;
    let _silent = [server.connect().await, server.connect().await, server.connect().await];
    for path in ["/livez", "/readyz", "/healthz", "/metrics"] {
        let answer = server.ask("GET", path, "").await;
        assert_eq!((status(&answer), header(&answer, "connection")), ("200", Some("close")), "{path}");
    }
    for path in ["/api/v1/environments", "/openapi.yaml"] {
        let answer = server.ask("GET", path, "").await;
        assert_eq!((status(&answer), header(&answer, "retry-after")), ("503", Some("5")), "{path}");
        assert!(body(&answer).contains(r#""code":"too_many_connections""#), "{answer}");
    }
    drop(first);
    // That it is free is seen as soon as the server has seen the end of it.
    while counted.counts().connections > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&server.ask("GET", "/openapi.yaml", "").await), "200");
}

#[tokio::test]
async fn one_who_has_enough_under_way_is_refused_until_it_is_answered() {
    let load = Load::new(LoadLimits { requests_each: 1, ..LoadLimits::default() });
    let counted = load.clone();
    let server = server(trouble(), |options| options.load = load).await;
    let mut busy = server.connect().await;
    busy.write_all(b"GET /never HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("sent");
    while counted.counts().requests == 0 {
        tokio::task::yield_now().await;
    }
    let refused = server.ask("GET", "/api/v1/environments", "").await;
    assert_eq!((status(&refused), header(&refused, "retry-after")), ("429", Some("5")));
    assert!(body(&refused).contains(r#""code":"too_many_requests""#), "{refused}");
    assert_eq!(status(&server.ask("GET", "/readyz", "").await), "200", "probes are not counted");
    drop(busy);
    while counted.counts().requests > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&server.ask("GET", "/api/v1/environments", "").await), "200");
}

#[tokio::test]
async fn bodies_and_answers_are_held_to_what_may_be_under_way() {
    let limits = LoadLimits { bytes: 300_000, ..LoadLimits::default() };
    let load = Load::new(limits);
    let counted = load.clone();
    let server = server(routes(&state(true)), |options| options.load = load).await;
    let head = "PUT /api/v1/projects/shop HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 1000000\r\n\r\n";
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut stream = server.connect().await;
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.write_all(&[b' '; 70_000]).await.expect("sent");
        held.push(stream);
    }
    while counted.counts().bytes < 280_000 {
        tokio::task::yield_now().await;
    }
    let refused = server.ask("GET", "/openapi.yaml", "").await;
    assert_eq!((status(&refused), header(&refused, "retry-after")), ("503", Some("5")));
    assert!(body(&refused).contains(r#""code":"overloaded""#), "{refused}");
    let mut answer = String::new();
    held[0].write_all(&[b' '; 70_000]).await.expect("sent");
    held[0].read_to_string(&mut answer).await.expect("read");
    assert_eq!(status(&answer), "503", "{answer}");
    assert!(counted.counts().bytes <= limits.bytes);
    drop(held);
    while counted.counts().bytes > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&server.ask("GET", "/openapi.yaml", "").await), "200");
}

#[tokio::test]
async fn who_takes_no_answer_is_cut_and_holds_one_at_most() {
    let (load, requests) = (Load::default(), RequestStats::default());
    let (counted, answered) = (load.clone(), requests.clone());
    let server = server(routes(&state(true)), |options| {
        (options.load, options.requests, options.taking_timeout) = (load, requests, Duration::from_secs(1));
    })
    .await;
    let stream = server.connect().await;
    let mut all = "GET /openapi.yaml HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(2000).into_bytes();
    // What the system holds of a connection is a matter of the system; beyond it the server holds one answer.
    while let (Ok(()), false) = (stream.writable().await, all.is_empty()) {
        match stream.try_write(&all) {
            Ok(sent) => drop(all.drain(..sent)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
        assert!(counted.counts().requests <= 1, "{:?}", counted.counts());
        if answered.routes().iter().any(|route| route.codes.iter().any(|(_, count)| *count > 20)) {
            break;
        }
    }
    while counted.counts().connections > 0 {
        assert!(counted.counts().requests <= 1, "{:?}", counted.counts());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(counted.counts().bytes, 0, "who takes nothing is cut, and what they held is free");
    let answers: u64 = answered.routes().iter().flat_map(|route| &route.codes).map(|(_, count)| count).sum();
    assert!(answers < 2000, "{answers} were answered");
}

#[tokio::test]
async fn who_leaves_an_answer_with_the_system_does_not_rest() {
    let (load, requests) = (Load::default(), RequestStats::default());
    let (counted, answered) = (load.clone(), requests.clone());
    let server = server(routes(&state(true)), |options| {
        (options.load, options.requests, options.taking_timeout) = (load, requests, Duration::from_secs(1));
    })
    .await;
    // What does not fit into what this end takes unread stays with the server's system, which takes all of it from hyper.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small one");
    let mut stream = socket.connect(server.address).await.expect("a connection");
    stream.write_all(b"GET /openapi.yaml HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("sent");
    while answered.routes().is_empty() || counted.counts().connections > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut taken = Vec::new();
    let _ = stream.read_to_end(&mut taken).await;
    assert!(!String::from_utf8_lossy(&taken).contains("components:"), "the end was not sent");
}

#[tokio::test]
async fn the_end_does_not_wait_for_callers_that_never_end() {
    let mut server = server(trouble(), |options| options.drain = Duration::from_millis(20)).await;
    let mut idle = server.connect().await;
    let mut busy = server.connect().await;
    busy.write_all(b"GET /never HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("sent");
    assert_eq!(status(&server.ask("GET", "/livez", "").await), "200");
    server.shutdown.cancel();
    (&mut server.task).await.expect("the server ends");
    let mut rest = Vec::new();
    assert_eq!(idle.read_to_end(&mut rest).await.ok(), Some(0));
    assert!(busy.read_to_end(&mut rest).await.is_ok_and(|read| read == 0) || rest.is_empty());
    assert!(TcpStream::connect(server.address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn requests_are_counted_by_their_routes_and_never_by_their_paths() {
    let requests = RequestStats::default();
    let counted = requests.clone();
    let server = server(routes(&state(true)), |options| options.requests = counted).await;
    for path in
        ["/livez", "/livez?verbose", "/api/v1/resources/one/diff?x=1", "/api/v1/resources/two/diff?x=1"]
    {
        server.ask("GET", path, "").await;
    }
    for path in ["/nowhere", "/nor/here"] {
        server.ask("BREW", path, "").await;
    }
    let told = |stats: &RouteStats| {
        let mut text = String::new();
        let mut registry = prometheus_client::registry::Registry::default();
        registry.register("took", "How long", stats.took.clone());
        prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
        let count = text.lines().find_map(|line| line.strip_prefix("took_count ")).map(str::to_owned);
        format!("{} {} {:?} {}", stats.method, stats.route, stats.codes, count.unwrap_or_default())
    };
    // A connection is closed after its answer was counted.
    let routes: Vec<String> = requests.routes().iter().map(told).collect();
    assert_eq!(
        routes,
        [
            "GET /api/v1/resources/{uid}/diff [(400, 2)] 2",
            "GET /livez [(200, 2)] 2",
            "other unmatched [(404, 2)] 2",
        ]
    );
}
