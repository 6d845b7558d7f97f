//! Answers: bodies with their type, their entity tag, and what caches may do with them.

use std::cell::Cell;

use bytes::Bytes;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LINK};
use serde::Serialize;

use super::compress::Forms;
use super::context::Context;
use super::params::{AT, CONTINUE, Parameter};
use super::problem::Problem;
use super::request::Request;
use strandline_protocol::{JsonAnswer, Page, PageMetadata, ProblemDocument};

/// An answer; its body's type is warp's own and has no name outside of it.
pub type Response = warp::reply::Response;

/// The whole of an answer that has an entity tag; a response carries it, so that it can be given again.
#[derive(Clone)]
pub(super) struct Tagged {
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
    pub(super) tag: HeaderValue,
    pub(super) forms: Forms,
}

/// That a parameter of the request chose the media type of the answer, so that `Accept` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen;

/// The same answer, whose media type a parameter chose.
pub fn chosen(mut response: Response) -> Response {
    response.extensions_mut().insert(Chosen);
    response
}

/// Headers that an answer has in the end, at most, so that room for them is made once.
const HEADERS: usize = 16;

/// An answer of this type, or 304 when the caller already holds the same bytes.
///
/// The tag is a digest of the body: the same for the same offset and question, and, unlike one made from
/// these two, also right when only the lag or a relative moment has moved.
pub fn tagged(context: &Context, content_type: &'static str, body: impl Into<Bytes>) -> Response {
    let (body, mut text) = (body.into(), [b'"'; 34]);
    text[1..33].copy_from_slice(&blake3::hash(&body).to_hex().as_bytes()[..32]);
    // Hex digits and quotes are a header's value; no tag at all would be right too.
    let tag = HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("\"\""));
    let mut headers = HeaderMap::with_capacity(HEADERS);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(ETAG, tag.clone());
    let forms = Forms::default();
    let mut response = conditional(context, &tag, headers, body.clone());
    response.extensions_mut().insert(forms.clone());
    response.extensions_mut().insert(Tagged { content_type, body, tag, forms });
    response
}

/// An answer with this tag, or 304 without its body and its type when the caller already holds it.
pub(super) fn conditional(context: &Context, tag: &HeaderValue, headers: HeaderMap, body: Bytes) -> Response {
    let tag = tag.to_str().unwrap_or_default();
    let mut lists = context.headers.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    let held = lists.any(|list| holds(list, tag));
    let mut response = Response::new(if held { Bytes::new() } else { body }.into());
    *response.headers_mut() = headers;
    if held {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().remove(CONTENT_TYPE);
    }
    response
}

/// Whether an If-None-Match header holds the tag; weak forms count, as RFC 9110 has it.
fn holds(header: &str, tag: &str) -> bool {
    let matches = |item: &str| item == "*" || item.strip_prefix("W/").unwrap_or(item) == tag;
    header.split(',').map(str::trim).any(matches)
}

/// JSON.
pub fn json<T: JsonAnswer>(request: &Request, value: &T) -> Result<Response, Problem> {
    Ok(tagged(&request.context, "application/json", json_text(value).map_err(Problem::internal)?))
}

/// A larger buffer is not kept for the next answer.
const BUFFER_MAX: usize = 64 * 1024;

/// A value as a line of JSON. It is written to a buffer that a thread has already, and copied out once its size is known.
fn json_text<T: JsonAnswer>(value: &T) -> serde_json::Result<Bytes> {
    thread_local!(static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    let mut buffer = BUFFER.take();
    buffer.clear();
    value.write_json(&mut buffer)?;
    buffer.push(b'\n');
    if buffer.len() > BUFFER_MAX {
        return Ok(Bytes::from(buffer));
    }
    let text = Bytes::copy_from_slice(&buffer);
    BUFFER.set(buffer);
    Ok(text)
}

/// A page of a list, with the address of the next one.
pub fn page<T>(request: &Request, page: &Page<T>) -> Result<Response, Problem>
where
    Page<T>: JsonAnswer,
{
    leading_on(request, page, &page.metadata)
}

/// JSON that holds a page of something, with the address of the next one.
pub fn leading_on<T: JsonAnswer>(
    request: &Request,
    value: &T,
    metadata: &PageMetadata,
) -> Result<Response, Problem> {
    Ok(with_next(json(request, value)?, request, &[AT], metadata.next.as_deref()))
}

/// The answer with the address of the next page, if there is one. The token pins the moment, so that address leaves out
/// what named it, which may be relative.
pub fn with_next(
    mut response: Response,
    request: &Request,
    moments: &[Parameter],
    next: Option<&str>,
) -> Response {
    let Some(token) = next else { return response };
    let mut changes: Vec<_> = moments.iter().map(|moment| (*moment, None)).collect();
    changes.push((CONTINUE, Some(token)));
    let link = format!("<{}{}>; rel=\"next\"", request.context.path, request.query.with(&changes));
    if let Ok(link) = HeaderValue::from_str(&link) {
        response.headers_mut().insert(LINK, link);
    }
    response
}

/// JSON that no cache keeps.
pub fn uncached_json(status: StatusCode, value: &impl Serialize) -> Result<Response, Problem> {
    let mut body = serde_json::to_vec(value).map_err(Problem::internal)?;
    body.push(b'\n');
    Ok(uncached(status, "application/json", body))
}

/// A problem, as `application/problem+json`.
pub fn problem(problem: Problem, context: &Context) -> Response {
    let (status, headers) = (problem.status(), problem.headers().collect::<Vec<_>>());
    let document = document(problem, context);
    // Serialising strings cannot fail; should it ever, an empty object still is valid JSON.
    let body = serde_json::to_vec(&document).unwrap_or_else(|_| b"{}".to_vec());
    let mut response = uncached(status, "application/problem+json", body);
    response.headers_mut().extend(headers);
    response
}

/// What a problem says of itself.
pub fn document(problem: Problem, context: &Context) -> ProblemDocument {
    let (code, status) = (problem.code, problem.status());
    ProblemDocument {
        kind: format!("urn:strandline:problem:{}", code.as_str()),
        title: code.title().to_owned(),
        status: status.as_u16(),
        detail: problem.detail,
        code: code.as_str().to_owned(),
        instance: context.path.clone(),
        trace_id: context.trace.as_str().to_owned(),
        errors: problem.errors,
        candidates: problem.candidates,
        earliest: problem.earliest.map(|earliest| *earliest),
        place: problem.place.map(|place| *place),
        gone: problem.gone.map(|gone| *gone),
    }
}

/// An answer that no cache keeps and that is never "not modified", whatever the caller says to hold.
pub fn uncached(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_as_a_list() {
        for (header, expected) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", \"a\"", true),
            ("*", true),
            ("\"b\"", false),
            ("", false),
        ] {
            assert_eq!(holds(header, "\"a\""), expected, "{header}");
        }
    }
}
