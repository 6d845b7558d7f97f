//! What is negotiated with a caller: compression, media types, pages of other sites, TLS, and how long an answer took.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::server::{Server, body, header, server, status};
use super::state;
use crate::api::routes;
use crate::app::AppState;
use crate::http::respond;
use crate::http::router::{Route, mount};
use crate::http::tls::{Look, Tls, TlsConfig};

const SITE: &str = "https://portal.test";

async fn api() -> Server {
    server(routes(&state(true)), |options| options.origins = [SITE.to_owned()].into_iter().collect()).await
}

#[tokio::test]
async fn answers_are_compressed_for_who_accepts_that_and_are_the_same() {
    let server = api().await;
    let plain = server.ask("GET", "/openapi.yaml", "").await;
    assert_eq!(header(&plain, "content-encoding"), None);
    let vary = Some("Accept, Accept-Encoding, Authorization, Cookie, Origin");
    assert_eq!(header(&plain, "vary"), vary);
    let tag = header(&plain, "etag").unwrap_or_default().to_owned();
    for coding in ["gzip", "br", "zstd"] {
        let accepted = format!("accept-encoding: {coding}\r\n");
        let answer = server.ask("GET", "/openapi.yaml", &accepted).await;
        assert_eq!((status(&answer), header(&answer, "content-encoding")), ("200", Some(coding)));
        assert_eq!(header(&answer, "vary"), vary);
        assert_eq!(
            header(&answer, "etag"),
            Some(format!("W/{tag}").as_str()),
            "other bytes that say the same"
        );
        let head = server.ask("HEAD", "/openapi.yaml", &accepted).await;
        assert_eq!(header(&head, "content-length"), header(&answer, "content-length"));
        let again =
            server.ask("GET", "/openapi.yaml", &format!("{accepted}if-none-match: W/{tag}\r\n")).await;
        assert_eq!((status(&again), body(&again), header(&again, "content-encoding")), ("304", "", None));
    }
    let refused = server.ask("GET", "/openapi.yaml", "accept-encoding: gzip;q=0, identity\r\n").await;
    assert_eq!(header(&refused, "content-encoding"), None);
    let small = server.ask("GET", "/livez", "accept-encoding: gzip\r\n").await;
    assert_eq!((header(&small, "content-encoding"), body(&small)), (None, "ok"));
}

#[tokio::test]
async fn what_no_media_type_is_accepted_of_is_refused() {
    let server = api().await;
    for (path, accepted, expected) in [
        ("/openapi.yaml", "application/yaml", "200"),
        ("/openapi.yaml", "text/html, */*;q=0.1", "200"),
        ("/openapi.yaml", "text/html", "406"),
        ("/openapi.yaml", "application/yaml;q=0", "406"),
        ("/livez", "image/png", "406"),
        ("/nothing", "text/html", "404"),
    ] {
        let answer = server.ask("GET", path, &format!("accept: {accepted}\r\n")).await;
        assert_eq!(status(&answer), expected, "{path} {accepted}");
        let told = body(&answer).contains(r#""code":"not_acceptable""#);
        assert_eq!(told, expected == "406", "a problem is always told: {answer}");
    }
}

#[tokio::test]
async fn pages_of_allowed_sites_may_ask_with_what_they_bring_and_others_may_not() {
    let server = api().await;
    let ours = format!("origin: {SITE}\r\nsec-fetch-site: cross-site\r\n");
    let preflight =
        "access-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n";
    let asked = server.ask("OPTIONS", "/api/v1/rebuild", &format!("{ours}{preflight}")).await;
    assert_eq!((status(&asked), header(&asked, "access-control-allow-origin")), ("204", Some(SITE)));
    assert_eq!(header(&asked, "access-control-allow-methods"), header(&asked, "allow"));
    assert!(
        header(&asked, "access-control-allow-headers").is_some_and(|names| names.contains("Authorization"))
    );
    assert!(!asked.contains("access-control-allow-credentials"), "{asked}");
    let read = server.ask("GET", "/openapi.yaml", &ours).await;
    assert_eq!(header(&read, "access-control-allow-origin"), Some(SITE));
    assert!(header(&read, "access-control-expose-headers").is_some_and(|names| names.contains("ETag")));
    for by_browser in ["cookie: a=b\r\n", "authorization: Basic eDp5\r\n", "authorization: Negotiate x\r\n"] {
        let answer = server.ask("GET", "/openapi.yaml", &format!("{ours}{by_browser}")).await;
        assert_eq!(status(&answer), "200", "{answer}");
        assert!(!answer.contains("access-control"), "{by_browser}{answer}");
    }
    let post = async |headers: &str| {
        let answer = server.ask("POST", "/api/v1/rebuild", &format!("content-length: 0\r\n{headers}")).await;
        status(&answer).to_owned()
    };
    assert_ne!(post(&format!("{ours}authorization: Bearer x\r\n")).await, "403");
    assert_eq!(
        post(&format!("{ours}authorization: Basic eDp5\r\n")).await,
        "403",
        "a browser adds that by itself"
    );
    assert_eq!(post(&format!("{ours}authorization: Bearer x\r\ncookie: a=b\r\n")).await, "403");
    for other in ["https://portal.test.evil.test", "http://portal.test", "https://PORTAL.test", "null"] {
        let theirs = format!("origin: {other}\r\nsec-fetch-site: cross-site\r\n");
        for answer in [
            server.ask("OPTIONS", "/api/v1/rebuild", &format!("{theirs}{preflight}")).await,
            server.ask("GET", "/openapi.yaml", &theirs).await,
        ] {
            assert!(!answer.contains("access-control"), "{answer}");
        }
        assert_eq!(post(&theirs).await, "403", "{other}");
    }
    let twice = format!("origin: {SITE}\r\n{ours}");
    assert_eq!(post(&twice).await, "403", "not guessed between");
}

#[tokio::test]
async fn how_long_it_took_is_said_to_who_sees_everything() {
    let server = api().await;
    let answer = server.ask("GET", "/api/v1/views", "").await;
    assert!(header(&answer, "server-timing").is_some_and(|text| text.contains("total;dur=")), "{answer}");
    let open = server.ask("GET", "/livez", "").await;
    assert_eq!(header(&open, "server-timing"), None);
}

fn connector() -> TlsConnector {
    let authority = include_bytes!("../../http/tls/testdata/authority.pem");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority).expect("a certificate")).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    TlsConnector::from(Arc::new(
        config.expect("versions").with_root_certificates(roots).with_no_client_auth(),
    ))
}

const CHOSEN: &[Route<AppState>] = &[Route::at("/chosen").get(&[], |_, request| {
    Box::pin(
        async move { Ok(respond::chosen(respond::tagged(&request.context, "text/plain", b"text".to_vec()))) },
    )
})];

#[tokio::test]
async fn a_media_type_that_a_parameter_chose_is_not_refused() {
    let server = server(mount(CHOSEN, &state(true), respond::problem), |_| {}).await;
    let answer = server.ask("GET", "/chosen", "accept: application/json\r\n").await;
    assert_eq!((status(&answer), body(&answer)), ("200", "text"));
}

/// Asks by TLS once, on a connection of its own; the status and the certificate.
async fn ask_by_tls(server: &Server, connector: &TlsConnector) -> (u16, Vec<u8>) {
    let stream = TcpStream::connect(server.address).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = connector.connect(name, stream).await.expect("a handshake");
    let certificate = stream.get_ref().1.peer_certificates().expect("a certificate")[0].to_vec();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
    let driving = tokio::spawn(connection);
    let request = http::Request::get("/openapi.yaml").header("host", "localhost");
    let answer = sender.send_request(request.body(Empty::<bytes::Bytes>::new()).expect("a request")).await;
    let answer = answer.expect("an answer");
    let status = answer.status().as_u16();
    let whole = answer.into_body().collect().await.expect("all of it").to_bytes();
    assert!(whole.starts_with(b"openapi"));
    drop(sender);
    let _ = driving.await;
    (status, certificate)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_rotated_under_load_and_no_request_fails() {
    let folder = TempDir::new().expect("a folder");
    let data = format!("{}/src/http/tls/testdata", env!("CARGO_MANIFEST_DIR"));
    let place = |name: &str| {
        for end in ["pem", "key"] {
            let (from, to) = (format!("{data}/{name}.{end}"), folder.path().join(format!("tls.{end}")));
            std::fs::copy(from, to).expect("copied");
        }
    };
    place("one");
    let path = |name| folder.path().join(name);
    let config = TlsConfig { certificate: path("tls.pem"), key: path("tls.key"), client_ca: None };
    let tls = Tls::open(config).expect("a certificate");
    let in_use = tls.clone();
    let server = Arc::new(server(routes(&state(true)), |options| options.tls = Some(in_use)).await);
    let (connector, done) = (connector(), Arc::new(AtomicBool::new(false)));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (server, connector, done) = (Arc::clone(&server), connector.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut seen = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    let (status, certificate) = ask_by_tls(&server, &connector).await;
                    assert_eq!(status, 200);
                    seen.push(certificate);
                }
                seen
            })
        })
        .collect();
    let before = ask_by_tls(&server, &connector).await.1;
    for (round, name) in ["two", "one", "two"].into_iter().enumerate() {
        place(name);
        assert_eq!(tls.look(), Look::Same);
        assert_eq!(tls.look(), Look::Taken);
        let after = ask_by_tls(&server, &connector).await.1;
        assert_eq!(after != before, round % 2 == 0, "a new connection has the new certificate");
    }
    done.store(true, Ordering::Relaxed);
    for caller in callers {
        assert!(!caller.await.expect("no request fails").is_empty());
    }
    // Whoever speaks without TLS gets no answer of the server.
    let plain = server.ask("GET", "/livez", "").await;
    assert!(!plain.contains("HTTP/1.1"), "{plain}");
}
