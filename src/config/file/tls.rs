//! The certificate to listen with.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::values::Path;

/// The certificate to listen with. The files are read again when they change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Tls {
    /// The certificate, followed by intermediate ones, as PEM.
    #[schemars(with = "Path")]
    pub(in crate::config) certificate: Spanned<String>,
    /// Its private key, as PEM.
    #[schemars(with = "Path")]
    pub(in crate::config) key: Spanned<String>,
    /// Certificates of authorities, as PEM: every client has to present a certificate of one of these, probes too. Default:
    /// clients need none.
    #[schemars(with = "Option<Path>")]
    pub(in crate::config) client_ca: Option<Spanned<String>>,
}
