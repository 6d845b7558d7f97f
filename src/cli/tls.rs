//! Whom the command line trusts when it asks a server over https.

use std::error::Error;
use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt;
use rustls::{ClientConfig, RootCertStore};

/// What to do where a certificate is not trusted.
pub(super) const TRUST_HINT: &str = "if an authority of your own signed the certificate, set SSL_CERT_FILE to a file with that authority's certificate";

/// How connections are encrypted: by what this machine trusts, which is read only where an address asks for it.
pub(super) fn tls(encrypted: bool) -> Result<ClientConfig, Box<dyn Error + Send + Sync>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = match encrypted {
        true => config.with_native_roots()?,
        false => config.with_root_certificates(RootCertStore::empty()),
    };
    Ok(config.with_no_client_auth())
}
