//! A stream of the server that is followed over the ends of its connections.

use std::time::Duration;

use super::client::Client;
use super::client::stream::{EventStream, StreamEvent};
use super::error::{CliError, Exit};
use super::query::Parameters;
use strandline_model::Offset;

/// How long to wait before a stream that ended is opened again.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// What changes in a list after an offset.
pub(super) struct Follow<'a> {
    client: &'a Client,
    what: &'a str,
    path: &'a str,
    query: &'a Parameters,
    /// Behind which event a stream goes on; an offset is one.
    last_id: String,
    stream: Option<EventStream>,
}

impl<'a> Follow<'a> {
    pub(super) fn new(
        client: &'a Client,
        what: &'a str,
        path: &'a str,
        query: &'a Parameters,
        offset: Offset,
    ) -> Self {
        Follow { client, what, path, query, last_id: offset.to_string(), stream: None }
    }

    /// The next event that says what changed; none where the list has to be read again.
    pub(super) async fn next(&mut self) -> Result<Option<StreamEvent>, CliError> {
        loop {
            let Some(stream) = &mut self.stream else {
                match self.client.stream(self.what, self.path, self.query, Some(self.last_id.as_str())).await
                {
                    Ok(stream) => self.stream = Some(stream),
                    // It is started again, or what came after the last event was pruned.
                    Err(error) if error.exit == Exit::Failure => {
                        tokio::time::sleep(AGAIN).await;
                        return Ok(None);
                    }
                    Err(error) => return Err(error),
                }
                continue;
            };
            let Some(event) = stream.next().await else {
                self.stream = None;
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            if let Some(id) = &event.id {
                self.last_id.clone_from(id);
            }
            match event.name.as_str() {
                "reset" => {
                    self.stream = None;
                    return Ok(None);
                }
                "enter" | "leave" | "health" | "change" => return Ok(Some(event)),
                _ => {}
            }
        }
    }
}
