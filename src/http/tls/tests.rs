//! Which certificate is in use as its files change.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::*;

const AUTHORITY: &[u8] = include_bytes!("testdata/authority.pem");
const ONE: (&[u8], &[u8]) = (include_bytes!("testdata/one.pem"), include_bytes!("testdata/one.key"));
const TWO: (&[u8], &[u8]) = (include_bytes!("testdata/two.pem"), include_bytes!("testdata/two.key"));
const CLIENT: (&[u8], &[u8]) = (include_bytes!("testdata/client.pem"), include_bytes!("testdata/client.key"));

struct Folder(TempDir);

impl Folder {
    fn of(pair: (&[u8], &[u8])) -> Self {
        let folder = Folder(TempDir::new().unwrap());
        folder.write("tls.crt", pair.0);
        folder.write("tls.key", pair.1);
        folder
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn config(&self) -> TlsConfig {
        let path = |name| self.0.path().join(name);
        TlsConfig { certificate: path("tls.crt"), key: path("tls.key"), client_ca: None }
    }
}

/// The certificate that a client gets, or why it gets none.
async fn presented(tls: &Tls, own: Option<(&[u8], &[u8])>) -> Result<Vec<u8>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key).unwrap();
            builder.with_client_auth_cert(certificates(chain).unwrap(), key).unwrap()
        }
    };
    let (ours, theirs) = duplex(64 * 1024);
    let acceptor = TlsAcceptor::from(tls.server());
    let serving = async {
        let mut stream = acceptor.accept(ours).await.map_err(|error| error.to_string())?;
        stream.write_all(b"!").await.map_err(|error| error.to_string())
    };
    let asking = async {
        let name = ServerName::try_from("localhost").unwrap();
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, theirs);
        let mut stream = connecting.await.map_err(|error| error.to_string())?;
        let mut byte = [0];
        stream.read_exact(&mut byte).await.map_err(|error| error.to_string())?;
        Ok(stream.get_ref().1.peer_certificates().unwrap()[0].to_vec())
    };
    let (served, got) = tokio::join!(serving, asking);
    served.and(got)
}

fn of(pair: (&[u8], &[u8])) -> Result<Vec<u8>, String> {
    Ok(CertificateDer::from_pem_slice(pair.0).unwrap().to_vec())
}

#[tokio::test]
async fn a_pair_is_swapped_as_a_whole_once_it_has_come_to_rest() {
    let folder = Folder::of(ONE);
    let tls = Tls::open(folder.config()).unwrap();
    assert!(tls.not_after().is_some());
    assert_eq!((presented(&tls, None).await, tls.look()), (of(ONE), Look::Same));
    // One half is there before the other, at any length.
    for length in [0, 1, 100, TWO.0.len()] {
        folder.write("tls.crt", &TWO.0[..length]);
        assert_eq!(tls.look(), Look::Same, "it may still be being written");
        assert!(matches!(tls.look(), Look::Refused(_)), "{length}");
        assert_eq!(tls.look(), Look::Same, "it is said once");
        assert!(!tls.is_current());
        assert_eq!(presented(&tls, None).await, of(ONE), "{length}");
    }
    folder.write("tls.key", TWO.1);
    assert_eq!((tls.look(), presented(&tls, None).await), (Look::Same, of(ONE)));
    assert_eq!((tls.look(), presented(&tls, None).await), (Look::Taken, of(TWO)));
    assert!(tls.is_current());
    // Back again before it was taken: nothing was wrong.
    folder.write("tls.key", b"");
    tls.look();
    folder.write("tls.key", TWO.1);
    assert_eq!([tls.look(), tls.look()], [Look::Same, Look::Same]);
    assert!(tls.is_current());
    fs::remove_file(folder.config().key).unwrap();
    assert!(matches!(tls.look(), Look::Refused(TlsError::Unreadable { .. })));
    assert_eq!((tls.look(), presented(&tls, None).await), (Look::Same, of(TWO)));
}

#[test]
fn what_cannot_be_served_is_refused_with_its_file_and_without_its_content() {
    let error = |pair: (&[u8], &[u8])| Tls::open(Folder::of(pair).config()).unwrap_err().to_string();
    let mismatch = error((ONE.0, TWO.1));
    assert!(mismatch.contains("tls.key is not that of the certificate"), "{mismatch}");
    for (pair, file) in [
        ((&b""[..], ONE.1), "tls.crt has no certificate"),
        ((ONE.1, ONE.1), "tls.crt has no certificate"),
        ((ONE.0, ONE.0), "tls.key has no private key"),
        ((&ONE.0[..300], ONE.1), "tls.crt has no certificate"),
        ((ONE.0, &ONE.1[..60]), "tls.key has no private key"),
        (
            (b"-----BEGIN CERTIFICATE-----\nQ0FOQVJZ\n-----END CERTIFICATE-----\n", ONE.1),
            "tls.crt has no certificate",
        ),
    ] {
        let error = error(pair);
        assert!(error.contains(file) && !error.contains("CANARY"), "{file}: {error}");
    }
    let folder = Folder::of(ONE);
    let config = TlsConfig { key: folder.0.path().to_owned(), ..folder.config() };
    assert!(matches!(Tls::open(config).unwrap_err(), TlsError::Unreadable { .. }), "a folder");
}

#[tokio::test]
async fn where_clients_need_a_certificate_nobody_is_served_without() {
    let folder = Folder::of(ONE);
    folder.write("ca.crt", AUTHORITY);
    let config = TlsConfig { client_ca: Some(folder.0.path().join("ca.crt")), ..folder.config() };
    let tls = Tls::open(config).unwrap();
    assert_eq!(presented(&tls, Some(CLIENT)).await, of(ONE));
    assert!(presented(&tls, None).await.is_err());
    assert!(presented(&tls, Some(TWO)).await.is_err(), "the certificate of a server is none of a client");
    folder.write("ca.crt", ONE.0);
    assert_eq!([tls.look(), tls.look()], [Look::Same, Look::Taken]);
    assert!(presented(&tls, Some(CLIENT)).await.is_err(), "another authority");
}
