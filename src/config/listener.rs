//! The part of the file about connections: the certificate, and sites whose pages may ask.

use serde_saphyr::Spanned;

use super::check::Check;
use super::file::{File, Tls};
use crate::http::Origins;
use crate::http::tls::TlsConfig;

impl Check {
    /// The files of the certificate; whether they can be used is found out when they are.
    pub(super) fn tls(&mut self, written: Option<&Tls>) -> Option<TlsConfig> {
        let written = written?;
        Some(TlsConfig {
            certificate: self.path(&written.certificate.value),
            key: self.path(&written.key.value),
            client_ca: written.client_ca.as_ref().map(|path| self.path(&path.value)),
        })
    }

    pub(super) fn origins(&mut self, file: &File) -> Origins {
        for origin in &file.cors_origins {
            if !is_origin(origin) {
                let message = format!("`{}` is not the origin of a site", origin.value);
                self.report(origin.referenced, "bad_origin", message).hint = Some(
                    "use scheme and host in lower case, and the port unless it is the usual one, such as https://portal.example.com"
                        .to_owned(),
                );
            }
        }
        file.cors_origins.iter().map(|origin| origin.value.clone()).collect()
    }
}

/// Whether a text is what a browser sends as `Origin`. `*` and `null` are none: every site is one of them.
fn is_origin(written: &Spanned<String>) -> bool {
    let Some((scheme, host)) = written.value.split_once("://") else { return false };
    let usual = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return false,
    };
    let plain =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.' | b':' | b'[' | b']');
    !host.is_empty() && host.bytes().all(plain) && !host.ends_with(usual) && !host.ends_with(':')
}
