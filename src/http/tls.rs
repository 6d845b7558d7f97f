//! TLS of the server: a certificate and its key from two files, and where it is asked for an authority whose certificates
//! clients have to present. The files are looked at again and again, and taken together or not at all.

mod not_after;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{RootCertStore, ServerConfig};
use thiserror::Error;

use not_after::not_after;
use strandline_model::Timestamp;

/// More than a certificate with its chain, a key, or a bundle of authorities ever has.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The files of a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate of the server, followed by those that lead to its authority, as PEM.
    pub certificate: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
    /// Authorities of clients' certificates, as PEM; where it is there, a client without such a certificate is refused.
    pub client_ca: Option<PathBuf>,
}

/// Why the files cannot be used. No variant shows anything that is in them.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// A file does not hold what it should.
    #[error("{} has no {what}, or is incomplete", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// The key is another certificate's.
    #[error("the key in {} is not that of the certificate in {}", key.display(), certificate.display())]
    Mismatch {
        /// The file of the key.
        key: PathBuf,
        /// The file of the certificate.
        certificate: PathBuf,
    },
}

/// What the files hold.
#[derive(Clone, PartialEq, Eq)]
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

/// TLS as it is now; clones share it.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    config: TlsConfig,
    state: Mutex<State>,
}

struct State {
    server: Arc<ServerConfig>,
    not_after: Option<Timestamp>,
    taken: Files,
    /// What was read last and is not taken yet, or why it could not be.
    seen: Result<Files, TlsError>,
    /// What was read and cannot be used.
    refused: Option<Files>,
    problem: bool,
}

/// What came of looking at the files.
#[derive(Debug, PartialEq, Eq)]
pub enum Look {
    /// They are as they were, or may still be being written.
    Same,
    /// They are others, and connections from now on get the new certificate.
    Taken,
    /// They cannot be used, which is said once; the certificate from before stays in use.
    Refused(TlsError),
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl Tls {
    /// With what the files hold now.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn open(config: TlsConfig) -> Result<Self, TlsError> {
        let taken = read(&config)?;
        let (server, not_after) = server(&config, &taken)?;
        let state =
            State { server, not_after, seen: Ok(taken.clone()), taken, refused: None, problem: false };
        Ok(Tls(Arc::new(Shared { config, state: Mutex::new(state) })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Everything is worked out before any of it is replaced.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a new connection is served with.
    pub(super) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.lock().server)
    }

    /// When the certificate in use expires, where that can be read.
    pub fn not_after(&self) -> Option<Timestamp> {
        self.lock().not_after
    }

    /// Whether the files hold what is in use.
    pub fn is_current(&self) -> bool {
        !self.lock().problem
    }

    /// Looks at the files. What is new is taken when it is found a second time, so that nothing is taken that is still being
    /// written; a certificate without its key never is.
    pub fn look(&self) -> Look {
        let read = read(&self.0.config);
        let mut state = self.lock();
        if read != state.seen {
            let refused = read.as_ref().err().cloned();
            state.seen = read;
            state.problem |= refused.is_some();
            return refused.map_or(Look::Same, Look::Refused);
        }
        let Ok(files) = state.seen.clone() else { return Look::Same };
        if files == state.taken {
            state.problem = false;
            return Look::Same;
        }
        if state.refused.as_ref() == Some(&files) {
            return Look::Same;
        }
        match server(&self.0.config, &files) {
            Ok((server, not_after)) => {
                (state.server, state.not_after, state.taken) = (server, not_after, files);
                (state.problem, state.refused) = (false, None);
                Look::Taken
            }
            Err(error) => {
                (state.problem, state.refused) = (true, Some(files));
                Look::Refused(error)
            }
        }
    }
}

fn read(config: &TlsConfig) -> Result<Files, TlsError> {
    let client_ca = config.client_ca.as_deref().map(read_file).transpose()?;
    Ok(Files { certificate: read_file(&config.certificate)?, key: read_file(&config.key)?, client_ca })
}

fn read_file(path: &Path) -> Result<Vec<u8>, TlsError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        io::Read::read_to_end(&mut io::Read::take(file, FILE_BYTES_MAX), &mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| TlsError::Unreadable { path: path.to_owned(), why: error.to_string() })
}

/// How to serve with these files, and until when their certificate is valid.
fn server(config: &TlsConfig, files: &Files) -> Result<(Arc<ServerConfig>, Option<Timestamp>), TlsError> {
    let unusable = |path: &Path, what| TlsError::Unusable { path: path.to_owned(), what };
    let chain =
        certificates(&files.certificate).ok_or_else(|| unusable(&config.certificate, "certificate"))?;
    let not_after = chain.first().and_then(|certificate| not_after(certificate));
    let no_key = || unusable(&config.key, "private key");
    let key = PrivateKeyDer::from_pem_slice(&files.key).map_err(|_| no_key())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // Compares the two halves.
    let pair = CertifiedKey::from_der(chain, key, &provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            TlsError::Mismatch { key: config.key.clone(), certificate: config.certificate.clone() }
        }
        rustls::Error::InvalidCertificate(_) => unusable(&config.certificate, "certificate that can be read"),
        _ => unusable(&config.key, "private key of a kind that is supported"),
    })?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|_| no_key())?;
    let builder = match (&config.client_ca, &files.client_ca) {
        (Some(path), Some(authorities)) => {
            let no_authority = || unusable(path, "certificate of an authority");
            let mut roots = RootCertStore::empty();
            for authority in certificates(authorities).ok_or_else(no_authority)? {
                roots.add(authority).map_err(|_| no_authority())?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|_| no_authority())?)
        }
        _ => builder.with_no_client_auth(),
    };
    let mut server = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(server), not_after))
}

/// All certificates of a file; none where it has none, or one that cannot be read.
fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let chain = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().ok()?;
    (!chain.is_empty()).then_some(chain)
}

#[cfg(test)]
mod tests;
