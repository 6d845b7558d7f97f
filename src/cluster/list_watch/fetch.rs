//! Pages of a list.

use std::sync::Arc;

use super::super::request::{Failure, collect, get};
use super::ClusterSettings;

/// Fetches pages, smaller ones where they turn out too large.
pub(super) struct Fetch {
    pub(super) client: kube::Client,
    pub(super) path: String,
    pub(super) settings: Arc<ClusterSettings>,
    pub(super) objects: usize,
}

impl Fetch {
    pub(super) async fn page(&mut self, token: &str) -> Result<String, Failure> {
        loop {
            let mut path = format!("{}?limit={}", self.path, self.objects);
            if !token.is_empty() {
                path.push_str("&continue=");
                path.push_str(&encode(token));
            }
            let limits = &self.settings.limits;
            self.settings.stats.request();
            let body = get(&self.client, &path, "application/json", limits).await?;
            match collect(body, limits.page_bytes, limits.idle).await {
                Err(Failure::TooLarge(_)) if self.objects > 1 => self.objects = (self.objects / 4).max(1),
                result => return result,
            }
        }
    }
}

/// Escapes a value for a query.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
