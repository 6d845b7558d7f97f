//! Server-Sent Events of a server, as they come.

use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

use super::transport::Broken;
use super::*;

/// The most that an event may have, in bytes.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A stream that is open.
pub(in crate::cli) struct EventStream {
    body: UnsyncBoxBody<Bytes, Broken>,
    /// What came of the next events.
    pending: Vec<u8>,
}

/// What a stream said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct StreamEvent {
    pub(in crate::cli) name: String,
    /// Where the stream is with it.
    pub(in crate::cli) id: Option<String>,
    pub(in crate::cli) data: String,
}

impl Client {
    /// Opens a stream, behind the event with this id if there is one.
    pub(in crate::cli) async fn stream(
        &self,
        what: &str,
        path: &str,
        query: &[Parameter],
        last_id: Option<&str>,
    ) -> Result<EventStream, CliError> {
        let request = Request::get(self.uri(&with_query(path, query)));
        let mut request = request.header(ACCEPT, "text/event-stream");
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = tokio::time::timeout(TIMEOUT, self.sent(what, request, Bytes::new())).await;
        let response = response.map_err(|_| self.silent(what))??;
        if response.status().is_success() {
            return Ok(EventStream { body: response.into_body(), pending: Vec::new() });
        }
        let (status, body) = whole(what, response).await?;
        Err(self.failed(what, query, status, &body))
    }
}

impl EventStream {
    /// The next event; none where the stream has ended, or the connection broke.
    pub(in crate::cli) async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(end) = self.pending.windows(2).position(|pair| pair == b"\n\n") {
                let event = self.pending.drain(..end + 2).collect::<Vec<_>>();
                return Some(parsed(&String::from_utf8_lossy(&event)));
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.pending.extend_from_slice(&data);
            }
            if self.pending.len() > EVENT_BYTES_MAX {
                return None;
            }
        }
    }
}

fn parsed(text: &str) -> StreamEvent {
    let mut event = StreamEvent::default();
    for line in text.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => event.name = value.to_owned(),
            "id" => event.id = Some(value.to_owned()),
            "data" if event.data.is_empty() => event.data = value.to_owned(),
            "data" => event.data = format!("{}\n{value}", event.data),
            _ => {}
        }
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_browsers_read_them() {
        let event = |name: &str, id: Option<&str>, data: &str| StreamEvent {
            name: name.into(),
            id: id.map(str::to_owned),
            data: data.into(),
        };
        for (text, expected) in [
            ("event:health\nid:12\ndata:{\"a\":1}\n\n", event("health", Some("12"), "{\"a\":1}")),
            ("data: one\ndata: two\nevent: x\n\n", event("x", None, "one\ntwo")),
            (":kept alive\n\n", StreamEvent::default()),
            ("id\nretry: 5\n\n", event("", Some(""), "")),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }
}
