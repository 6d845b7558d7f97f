//! The command line against a server behind TLS, with a certificate that an authority of our own signed.
//!
//! The authority's key is gone; `openssl` made it, and the two certificates hold until 2126.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;

use crate::server::{PROGRAM, Result, Server};

pub(crate) const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/https/authority.pem");

/// Takes TLS off connections to the server at this address, as a proxy in front of it would.
pub(crate) async fn proxy(to: SocketAddr) -> Result<SocketAddr> {
    let chain =
        CertificateDer::pem_slice_iter(include_bytes!("https/server.pem")).collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("https/server.key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let acceptor = TlsAcceptor::from(Arc::new(config.with_no_client_auth().with_single_cert(chain, key)?));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // Who does not trust the certificate breaks off.
                let (Ok(mut inside), Ok(mut outside)) =
                    (TcpStream::connect(to).await, acceptor.accept(stream).await)
                else {
                    return;
                };
                let _ = copy_bidirectional(&mut inside, &mut outside).await;
            });
        }
    });
    Ok(address)
}

/// What a command prints, or the error that it ends with, where this file holds the authorities that are trusted.
async fn ask(server: &str, authorities: &Path) -> Result<String, String> {
    ask_with(server, authorities, &[]).await
}

/// The same with more arguments.
async fn ask_with(server: &str, authorities: &Path, more: &[&str]) -> Result<String, String> {
    let mut command = Command::new(PROGRAM);
    command
        .args(["get", "clusters", "--server", server])
        .args(more)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command.env("SSL_CERT_FILE", authorities).env_remove("SSL_CERT_DIR");
    let output = command.output().await.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_tls_is_asked_if_its_certificate_is_trusted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server =
        Server::start(folder.path(), "clusters: [{name: gone, url: \"http://127.0.0.1:1\"}]\n").await?;
    server.until("/clusters", |answer| answer["items"][0]["id"] == "gone").await?;
    let plain = server.url().strip_prefix("http://").ok_or("no address")?;
    let proxied = format!("https://{}", proxy(plain.parse()?).await?);
    let listed = ask(&proxied, Path::new(AUTHORITY)).await?;
    assert!(listed.contains("gone"), "{listed}");

    // The server's own certificate is no authority.
    let others = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/https/server.pem");
    let refused = ask(&proxied, &others).await.expect_err("nobody vouches for it");
    assert!(refused.contains("invalid peer certificate") && refused.contains("--ca-file"), "{refused}");
    let none = ask(&proxied, &folder.path().join("none.pem")).await.expect_err("no authority is known");
    assert!(none.contains("--ca-file"), "{none}");

    // An authority of one's own besides those of the machine, or where the machine has none.
    for trusted in [&others, &folder.path().join("none.pem")] {
        let listed = ask_with(&proxied, trusted, &["--ca-file", AUTHORITY]).await?;
        assert!(listed.contains("gone"), "{listed}");
    }
    let file = folder.path().join("config.yaml").display().to_string();
    let wrong = ask_with(&proxied, &others, &["--ca-file", &file]).await.expect_err("no certificate");
    assert!(wrong.contains("config.yaml") && wrong.contains("certificate"), "{wrong}");
    let without =
        ask(&format!("https://{plain}"), Path::new(AUTHORITY)).await.expect_err("it speaks plain HTTP");
    assert!(without.contains("cannot connect"), "{without}");
    server.stop().await
}
