//! Whom the command line trusts when it asks a server over https.

pub(super) use crate::http::outgoing::tls;

/// What to do where a certificate is not trusted.
pub(super) const TRUST_HINT: &str = "if an authority of your own signed the certificate, name a file with that authority's certificate with --ca-file, or set STRANDLINE_CA_FILE";
