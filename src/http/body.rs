//! Bodies of requests: JSON, and of pages forms, with a bound; JSON is decoded once into a type, with an answer that says where it
//! is wrong.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::stream::{BoxStream, Stream, StreamExt};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::context::Context;
use super::problem::{BodyPosition, Problem, ProblemCode};
use strandline_object::json::{Lexer, Token, unquote};
use strandline_syntax::diagnostics::reason_of_json;

/// The most bytes that a body may have, where its route does not say less.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long a caller may take to send a body; with the bound, this keeps slow callers from holding memory.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a caller may send nothing of it.
const SILENCE: Duration = Duration::from_secs(5);

/// The longest name or value that is repeated in an answer.
const REPEATED_CHARS_MAX: usize = 200;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// JSON in UTF-8.
    Json,
    /// What the form of a page sends.
    Form,
}

/// A body on its way; an error in it means that the caller went away.
pub(super) type Incoming = BoxStream<'static, Option<Bytes>>;

/// A body as warp hands it over.
pub(super) fn incoming<B: Buf, E>(stream: impl Stream<Item = Result<B, E>> + Send + 'static) -> Incoming {
    stream.map(|part| part.ok().map(|mut part| part.copy_to_bytes(part.remaining()))).boxed()
}

/// Reads a body as far as its bytes. Where there is none it needs no type; whether there has to be one is for the
/// route to say.
///
/// A page of another site cannot send JSON without asking first, and we allow nobody that asks. Forms it can send, so where they come
/// from is looked at before.
///
/// # Errors
/// `unsupported_media_type`, `body_too_large`, `body_timeout`, or `invalid_body` when it breaks off; and when there is no
/// room for it.
pub(super) async fn read(
    context: &Context,
    body: Incoming,
    (media, most): (Media, usize),
) -> Result<Bytes, Problem> {
    if let Some(coding) = coding(context) {
        let detail = format!("the body has `Content-Encoding: {coding}`; send it without compression");
        return Err(Problem::new(ProblemCode::UnsupportedMediaType, detail));
    }
    let untyped = context.headers.get(CONTENT_TYPE).is_none();
    if !untyped && !context.header(CONTENT_TYPE).is_some_and(|typed| media.is(typed)) {
        return Err(media.wanted());
    }
    // What is not there needs no type; a page of another site is told by where it comes from.
    let most = if untyped { 0 } else { most };
    let too_large = |most| if untyped { media.wanted() } else { too_large(most) };
    let announced = context.header(CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(too_large(most));
    }
    let collected = in_time(BODY_TIMEOUT, "did not arrive within", collect(context, body, most)).await?;
    collected?.ok_or_else(|| too_large(most))
}

/// How a body is compressed, where it is.
fn coding(context: &Context) -> Option<String> {
    let codings = context.headers.get_all(CONTENT_ENCODING).iter();
    let codings: Vec<_> = codings.map(|coding| String::from_utf8_lossy(coding.as_bytes())).collect();
    let plain = |coding: &str| coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    let all = codings.join(", ");
    (!all.split(',').all(|coding| plain(coding.trim()))).then(|| shortened(&all))
}

impl Media {
    fn name(self) -> &'static str {
        match self {
            Media::Json => "application/json",
            Media::Form => "application/x-www-form-urlencoded",
        }
    }

    fn wanted(self) -> Problem {
        let what = if self == Media::Json { "JSON" } else { "a form" };
        let detail = format!("the body must be {what}; send it with `Content-Type: {}`", self.name());
        Problem::new(ProblemCode::UnsupportedMediaType, detail)
    }

    /// Whether a content type is this in UTF-8, which is JSON's only encoding between programs (RFC 8259).
    fn is(self, content_type: &str) -> bool {
        let mut parts = content_type.split(';').map(|part| part.trim().to_ascii_lowercase());
        parts.next().as_deref() == Some(self.name())
            && parts
                .all(|part| part.is_empty() || matches!(part.as_str(), "charset=utf-8" | "charset=\"utf-8\""))
    }
}

/// Gives up waiting for a body after so long.
async fn in_time<T>(longest: Duration, what: &str, waited: impl Future<Output = T>) -> Result<T, Problem> {
    let waited = tokio::time::timeout(longest, waited).await;
    waited.map_err(|_| {
        Problem::new(ProblemCode::BodyTimeout, format!("the body {what} {} s", longest.as_secs()))
    })
}

/// All of a body; none when it is longer than it may be.
async fn collect(context: &Context, mut body: Incoming, most: usize) -> Result<Option<Bytes>, Problem> {
    let mut whole = BytesMut::new();
    while let Some(part) = in_time(SILENCE, "stalled for", body.next()).await? {
        let Some(part) = part else {
            return Err(Problem::new(
                ProblemCode::InvalidBody,
                "the connection was closed before the end of the body",
            ));
        };
        if whole.len() + part.len() > most {
            return Ok(None);
        }
        context.account.take(part.len())?;
        whole.extend_from_slice(&part);
    }
    Ok(Some(whole.freeze()))
}

fn too_large(most: usize) -> Problem {
    Problem::new(ProblemCode::BodyTooLarge, format!("the body exceeds the limit of {most} bytes"))
}

/// Decodes a body; unknown and repeated members are for the type to refuse.
///
/// # Errors
/// `invalid_body`, with the field, the line and the column.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        wrong("the body is not UTF-8", &String::from_utf8_lossy(before), before.len())
    })?;
    if text.trim().is_empty() {
        return Err(Problem::new(ProblemCode::InvalidBody, "the body is empty; a JSON document is required"));
    }
    serde_json::from_str(text).map_err(|error| {
        let end = offset(text, error.line(), error.column());
        let message = reason_of_json(&error);
        // What is wrong with a value is told at its end; people look for its beginning.
        let start = match error.classify() {
            Category::Data => beginning(text, within(text, end, &message)),
            Category::Syntax | Category::Eof | Category::Io => end.saturating_sub(1),
        };
        wrong(&shortened(&message), text, text.floor_char_boundary(start))
    })
}

fn wrong(message: &str, text: &str, at: usize) -> Problem {
    let before = text.get(..at).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let line = before.matches('\n').count() + 1;
    let field = shortened(&field(text, at));
    let on = if field.is_empty() { String::new() } else { format!("{field}: ") };
    let place = BodyPosition { field, line: Some(line), column: Some(column) };
    Problem::new(ProblemCode::InvalidBody, format!("{on}{message}, in line {line}, column {column}"))
        .at(place)
}

/// The offset of what serde_json names by a line, from 1, and the bytes read of it.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column).min(text.len())
}

/// What a type finds wrong with the last member of the document is told where the document ends; what is missing is
/// missing there indeed.
fn within(text: &str, told: usize, message: &str) -> usize {
    let (before, after) = text.split_at_checked(told).unwrap_or((text, ""));
    match before.strip_suffix('}') {
        Some(before) if after.trim().is_empty() && !message.ends_with("is missing") => {
            before.trim_end().len()
        }
        _ => told,
    }
}

/// Where what is wrong begins: a value is told at its end, and a container, which nobody looked into, before it begins.
fn beginning(text: &str, told: usize) -> usize {
    let rest = text.get(told..).unwrap_or_default();
    if rest.trim_start().starts_with(['{', '[']) {
        return told + rest.len() - rest.trim_start().len();
    }
    let before = Lexer::new(text).take_while(|(_, range)| range.start < told);
    before.filter(|(token, _)| *token != Token::Comma).last().map_or(0, |(_, range)| range.start)
}

/// A step into a document.
enum Step<'a> {
    Item(usize),
    Member(&'a str),
    Nowhere,
}

/// The path of the value at a place, such as `targets[0].namespace`; empty for the whole document.
///
/// A closing bracket stands for all that it closes.
fn field(text: &str, at: usize) -> String {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for (token, range) in Lexer::new(text).take_while(|(_, range)| range.start <= at) {
        match token {
            Token::Object => steps.push(Step::Nowhere),
            Token::Array => steps.push(Step::Item(0)),
            Token::Close => _ = steps.pop(),
            Token::Key => replace(&mut steps, Step::Member(text.get(range).unwrap_or_default())),
            Token::Comma => match steps.last() {
                Some(&Step::Item(index)) => replace(&mut steps, Step::Item(index + 1)),
                _ => replace(&mut steps, Step::Nowhere),
            },
            // The first token of a container decides nothing: it stands in a place already.
            Token::Text | Token::Atom => {}
        }
    }
    let mut path = String::new();
    let opened = text.get(at..).is_some_and(|rest| rest.starts_with(['{', '[']));
    // A container that begins here is itself what is meant, not its first part.
    let steps = if opened { steps.split_last().map_or(&[][..], |(_, rest)| rest) } else { &steps };
    for step in steps {
        match step {
            Step::Item(index) => path.push_str(&format!("[{index}]")),
            Step::Member(key) => push_member(&mut path, key),
            Step::Nowhere => {}
        }
    }
    path
}

fn replace<'a>(steps: &mut [Step<'a>], with: Step<'a>) {
    if let Some(last) = steps.last_mut() {
        *last = with;
    }
}

fn push_member(path: &mut String, key: &str) {
    let name = unquote(key);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || !name.chars().all(plain) {
        path.push_str(&format!("[{key}]"));
    } else {
        path.push_str(if path.is_empty() { "" } else { "." });
        path.push_str(&name);
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(REPEATED_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
