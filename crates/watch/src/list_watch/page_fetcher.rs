//! Pages of a list, fetched ahead.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use tokio::sync::mpsc;

use crate::document::PageMeta;
use crate::request::{Failure, collect, get};
use crate::settings::ClusterSettings;
use strandline_syntax::diagnostics::of_json;
use strandline_syntax::percent_encode;

/// Fetches pages, smaller ones where they turn out too large.
pub(super) struct PageFetcher {
    client: kube::Client,
    path: String,
    selector: String,
    settings: Arc<ClusterSettings>,
    /// Objects in a page.
    objects: usize,
}

impl PageFetcher {
    pub(super) fn new(
        client: kube::Client,
        path: &str,
        selector: &str,
        settings: &Arc<ClusterSettings>,
    ) -> Self {
        let (path, selector) = (path.to_owned(), selector.to_owned());
        PageFetcher {
            client,
            path,
            selector,
            settings: Arc::clone(settings),
            objects: settings.limits.page_objects,
        }
    }

    /// Fetches page after page and returns how many there are; ends early where their receiver is gone.
    pub(super) async fn fetch(mut self, pages: mpsc::Sender<String>) -> Result<usize, Failure> {
        let (mut token, mut asked, mut fetched) = (String::new(), 0, 0);
        loop {
            let text = self.page(&token).await?;
            let next = token_of(&text)?;
            if !next.is_empty() && next == token {
                return Err(Failure::Invalid("the pages of the list do not advance".to_owned()));
            }
            asked += self.objects;
            if asked > self.settings.limits.list_objects {
                return Err(too_many(self.settings.limits.list_objects));
            }
            fetched += 1;
            if pages.send(text).await.is_err() || next.is_empty() {
                return Ok(fetched);
            }
            token = next;
        }
    }

    async fn page(&mut self, token: &str) -> Result<String, Failure> {
        loop {
            let mut path = format!("{}?limit={}{}", self.path, self.objects, self.selector);
            if !token.is_empty() {
                path.push_str("&continue=");
                path.push_str(&percent_encode(token));
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

/// A list that is broken off before it fills everything.
pub(super) fn too_many(most: usize) -> Failure {
    Failure::TooLarge(format!("a list of more than {most} objects"))
}

/// The token of the next page, without reading the objects behind it.
fn token_of(text: &str) -> Result<String, Failure> {
    let mut token = None;
    let read = serde_json::Deserializer::from_str(text).deserialize_map(UpToMetadata(&mut token));
    match (token, read) {
        // Stopping early is what the visitor was for.
        (Some(token), _) => Ok(token),
        (None, Ok(())) => Err(Failure::Invalid("a list without metadata".to_owned())),
        (None, Err(error)) => {
            Err(Failure::Invalid(format!("a list that cannot be read: {}", of_json(&error))))
        }
    }
}

/// Reads a list up to its metadata, which comes before the objects, and stops there.
struct UpToMetadata<'t>(&'t mut Option<String>);

impl<'de> Visitor<'de> for UpToMetadata<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<std::borrow::Cow<'de, str>>()? {
            if name == "metadata" {
                let metadata: PageMeta<'de> = members.next_value()?;
                *self.0 = Some(metadata.token.into_owned());
                return Ok(());
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_found_without_the_objects() {
        let cases = [
            (r#"{"kind":"PodList","metadata":{"resourceVersion":"1","continue":"a\"b"},"items":[{"#, "a\"b"),
            (r#"{"items":[{"metadata":{"continue":"no"}}],"metadata":{"resourceVersion":"1"}}"#, ""),
        ];
        for (text, expected) in cases {
            assert_eq!(token_of(text), Ok(expected.to_owned()), "{text}");
        }
        for text in ["", "[]", "{}", r#"{"metadata":7}"#, "<html>"] {
            assert!(matches!(token_of(text), Err(Failure::Invalid(_))), "{text}");
        }
    }
}
