//! Credentials of a cluster that somebody else keeps, in memory.

use std::fmt;
use std::sync::Arc;

/// Credentials of a cluster: a kubeconfig, or why there is none. Nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials(Arc<Result<String, String>>);

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_ok() { "Credentials" } else { "NoCredentials" })
    }
}

impl Credentials {
    pub(super) fn new(kubeconfig: Result<String, String>) -> Self {
        Credentials(Arc::new(kubeconfig))
    }

    pub(super) fn kubeconfig(&self) -> &Result<String, String> {
        &self.0
    }

    /// That there are none, for this reason.
    pub fn missing(why: impl Into<String>) -> Self {
        Credentials(Arc::new(Err(why.into())))
    }

    /// Why there are none, if so.
    pub fn problem(&self) -> Option<&str> {
        self.0.as_ref().as_ref().err().map(String::as_str)
    }

    /// A digest: another one means another way to the cluster.
    pub fn digest(&self) -> [u8; 32] {
        let (kind, text) = match &*self.0 {
            Ok(text) => (&b"text "[..], text),
            Err(text) => (&b"error"[..], text),
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(kind).update(text.as_bytes());
        hasher.finalize().into()
    }
}
