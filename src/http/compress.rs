//! Compresses answers by what their caller accepts (RFC 9110, section 12.5.3), and keeps the compressed forms of those that
//! are given again.
//!
//! Streams are never compressed: they would wait for a block to fill. Nothing that a caller must not learn is ever in one
//! body with what the same caller chose, so that the length of a compressed body gives nothing away (BREACH): answers hold
//! no credentials and no tokens against forged requests.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flate2::write::GzEncoder;
use http::StatusCode;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
};
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::sync::Semaphore;

use super::accept::quality;
use super::context::Context;
use super::respond::Response;

/// A smaller answer is sent as it is: with its headers it fits in a packet.
const SMALLEST: u64 = 1024;

/// A larger one is compressed on a thread where blocking is allowed.
const INLINE_MAX: usize = 16 * 1024;

/// Answers that are compressed at a time; further ones are sent as they are, rather than wait.
const AT_A_TIME: usize = 4;

/// A form is kept while it has at most this part of the answer, so that all forms together have no more than the answer.
const KEPT_PART: usize = 3;

/// A content coding, in the order in which we prefer them: by what a byte saved costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Zstd,
    Brotli,
    Gzip,
}

const CODINGS: [Coding; 3] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];

impl Coding {
    const fn name(self) -> &'static str {
        match self {
            Coding::Zstd => "zstd",
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    /// What a caller accepts that we have; none where they prefer the answer as it is.
    fn accepted(headers: &HeaderMap) -> Option<Self> {
        let quality = |names: &[&str]| quality(headers, ACCEPT_ENCODING, |name| names.contains(&name));
        let of = |coding: Coding| match coding {
            Coding::Gzip => quality(&["gzip", "x-gzip"]),
            other => quality(&[other.name()]),
        };
        let any = quality(&["*"]);
        let plain = quality(&["identity"]);
        let mut best: Option<(u16, Coding)> = None;
        for coding in CODINGS {
            let weight = of(coding).or(any).unwrap_or(0);
            if weight > best.map_or(0, |(weight, _)| weight) {
                best = Some((weight, coding));
            }
        }
        best.filter(|(weight, _)| plain.is_none_or(|plain| *weight >= plain)).map(|(_, coding)| coding)
    }

    fn compress(self, plain: &[u8]) -> io::Result<Vec<u8>> {
        let room = plain.len() / 4;
        match self {
            Coding::Zstd => zstd::bulk::compress(plain, 3),
            Coding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::with_capacity(room), flate2::Compression::new(5));
                encoder.write_all(plain)?;
                encoder.finish()
            }
            Coding::Brotli => {
                let mut encoder = brotli::CompressorWriter::new(Vec::with_capacity(room), 4096, 4, 20);
                encoder.write_all(plain)?;
                encoder.flush()?;
                Ok(encoder.into_inner())
            }
        }
    }
}

/// The compressed forms of an answer that may be given again, as they are asked for; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms(Arc<[OnceLock<Bytes>; 3]>);

impl Forms {
    fn of(&self, coding: Coding) -> &OnceLock<Bytes> {
        &self.0[coding as usize]
    }
}

/// How many answers are compressed at a time; clones share it.
#[derive(Clone, Debug)]
pub struct Compression(Arc<Semaphore>);

impl Default for Compression {
    fn default() -> Self {
        Compression(Arc::new(Semaphore::new(AT_A_TIME)))
    }
}

impl Compression {
    /// The answer, compressed if it is worth it and its caller accepts that.
    pub(super) async fn apply(&self, response: Response, context: &Context) -> Response {
        let Some(coding) = Coding::accepted(&context.headers).filter(|_| is_worth_it(&response)) else {
            return response;
        };
        let forms = response.extensions().get::<Forms>().cloned();
        if let Some(form) = forms.as_ref().and_then(|forms| forms.of(coding).get()) {
            let form = form.clone();
            return compressed(response, coding, form);
        }
        let Ok(permit) = Arc::clone(&self.0).try_acquire_owned() else { return response };
        let (head, body) = response.into_parts();
        let plain = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => {
                let problem = super::problem::Problem::internal(error);
                return super::respond::problem(problem, context);
            }
        };
        let of_work = plain.clone();
        let work = move || {
            let _permit = permit;
            coding.compress(&of_work)
        };
        let form = match plain.len() <= INLINE_MAX {
            true => work(),
            false => {
                tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
            }
        };
        let form = form.ok().map(Bytes::from).filter(|form| form.len() < plain.len());
        let Some(form) = form else { return Response::from_parts(head, plain.into()) };
        if let Some(forms) = forms.filter(|_| form.len() <= plain.len() / KEPT_PART) {
            let _ = forms.of(coding).set(form.clone());
        }
        compressed(Response::from_parts(head, Bytes::new().into()), coding, form)
    }
}

/// Whether an answer becomes smaller, and is there as a whole.
fn is_worth_it(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    response.status() == StatusCode::OK
        && !response.headers().contains_key(CONTENT_ENCODING)
        && response.body().size_hint().exact().is_some_and(|size| size >= SMALLEST)
        && content_type.is_some_and(is_text)
}

fn is_text(content_type: &str) -> bool {
    let name = content_type.split(';').next().unwrap_or_default().trim();
    let structured = ["json", "yaml", "xml"].iter().any(|kind| {
        name.strip_prefix("application/")
            .is_some_and(|rest| rest == *kind || rest.ends_with(&format!("+{kind}")))
    });
    let others = ["application/openmetrics-text", "image/svg+xml"];
    (name.starts_with("text/") && name != "text/event-stream") || structured || others.contains(&name)
}

/// The response with this body. Its entity tag becomes a weak one: other bytes that say the same.
fn compressed(mut response: Response, coding: Coding, form: Bytes) -> Response {
    *response.body_mut() = form.into();
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).filter(|tag| tag.starts_with('"'));
    if let Some(weak) = tag.and_then(|tag| HeaderValue::from_str(&format!("W/{tag}")).ok()) {
        headers.insert(ETAG, weak);
    }
    response
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::io::Read;

    use http::Method;

    use super::*;
    use crate::http::respond;

    fn context(accepted: &str) -> Context {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, accepted.parse().unwrap())]);
        Context::new(Method::GET, "/things", headers)
    }

    fn name(response: &Response) -> Option<&str> {
        response.headers().get(CONTENT_ENCODING).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn the_coding_is_what_is_accepted_most() {
        for (accepted, expected) in [
            ("", None),
            ("gzip", Some("gzip")),
            ("x-gzip", Some("gzip")),
            ("GZIP", Some("gzip")),
            ("gzip, deflate, br, zstd", Some("zstd")),
            ("gzip, deflate, br", Some("br")),
            ("gzip;q=1, br;q=0.5, zstd;q=0.1", Some("gzip")),
            ("gzip;q=0", None),
            ("gzip;q=0.0, br", Some("br")),
            ("*", Some("zstd")),
            ("zstd;q=0, *", Some("br")),
            ("*;q=0", None),
            ("identity", None),
            ("identity;q=0.5, gzip;q=0.4", None),
            ("identity;q=0.5, gzip;q=0.5", Some("gzip")),
            ("gzip;q=2", None),
            ("gzip;q=x", None),
            ("gzip;q=-1", None),
            ("deflate, compress", None),
            ("gzi p", None),
        ] {
            let coding = Coding::accepted(&context(accepted).headers);
            assert_eq!(coding.map(Coding::name), expected, "{accepted}");
        }
        let mut several = context("gzip").headers;
        several.append(ACCEPT_ENCODING, "br".parse().unwrap());
        assert_eq!(Coding::accepted(&several), Some(Coding::Brotli), "a header that comes twice is one list");
    }

    fn read(coding: &str, body: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        match coding {
            "zstd" => plain = zstd::decode_all(body).unwrap(),
            "br" => _ = brotli::Decompressor::new(body, 4096).read_to_end(&mut plain).unwrap(),
            "gzip" => _ = flate2::read::GzDecoder::new(body).read_to_end(&mut plain).unwrap(),
            other => panic!("{other}"),
        }
        plain
    }

    async fn body(response: Response) -> Bytes {
        response.into_body().collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn what_was_compressed_is_what_was_said_and_is_kept_once() {
        let compression = Compression::default();
        for size in [SMALLEST as usize, INLINE_MAX + 1] {
            let plain = "{\"name\": \"shop\"}, ".repeat(size / 10);
            for coding in ["zstd", "br", "gzip"] {
                let asked = context(coding);
                let given = respond::tagged(&asked, "application/json", plain.clone().into_bytes());
                let (forms, tag) =
                    (given.extensions().get::<Forms>().unwrap().clone(), given.headers()[ETAG].clone());
                let first = compression.apply(given, &asked).await;
                assert_eq!(name(&first), Some(coding));
                let weak = format!("W/{}", tag.to_str().unwrap());
                assert_eq!(first.headers()[ETAG], weak.as_str());
                let sent = body(first).await;
                assert!(sent.len() < plain.len() / 2);
                assert_eq!(read(coding, &sent), plain.as_bytes());
                let kept = CODINGS.iter().find(|one| one.name() == coding).unwrap();
                assert_eq!(forms.of(*kept).get(), Some(&sent));
            }
        }
    }

    #[tokio::test]
    async fn what_is_small_or_no_text_or_not_whole_or_too_much_at_once_is_sent_as_it_is() {
        let (compression, asked) = (Compression::default(), context("gzip"));
        let of = |content_type, size| respond::uncached(StatusCode::OK, content_type, vec![b'a'; size]);
        let large = SMALLEST as usize;
        for (response, expected) in [
            (of("application/json", large), Some("gzip")),
            (of("application/vnd.x+json; charset=utf-8", large), Some("gzip")),
            (of("text/html; charset=utf-8", large), Some("gzip")),
            (of("image/svg+xml", large), Some("gzip")),
            (of("application/json", large - 1), None),
            (of("text/event-stream", large), None),
            (of("image/png", large), None),
            (respond::uncached(StatusCode::NOT_FOUND, "application/json", vec![b'a'; large]), None),
        ] {
            let response = compression.apply(response, &asked).await;
            assert_eq!(name(&response), expected, "{:?}", response.headers());
        }
        let all = Arc::clone(&compression.0).acquire_many_owned(u32::try_from(AT_A_TIME).unwrap()).await;
        let busy = compression.apply(of("application/json", large), &asked).await;
        assert_eq!(name(&busy), None);
        assert_eq!(body(busy).await.len(), large);
        drop(all);
    }
}
