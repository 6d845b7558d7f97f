//! Reads everything there is of a kind by a watch that begins with it.

use tokio::time::{Instant, timeout};

use super::error::StreamError;
use super::line_reader::{LineReader, Read};
use super::machine::{ListWatch, StreamingLists};
use super::page_fetcher::too_many;
use super::state::{ListMode, ListRun, Restart, State, Streamed, Watching};
use crate::request::{Failure, get_with_head};
use crate::sink::Sink;

impl<S: Sink> ListWatch<S> {
    /// Lists by a watch that begins with what there is. It continues as the watch, so that nothing lies between them.
    pub(super) async fn list_by_stream(&mut self, run: ListRun) -> State {
        let (listing, permit) = self.start_list(run).await;
        let mut streamed = Streamed::Listing(listing);
        let result = self.open_stream(&mut streamed).await;
        drop(permit);
        if let Streamed::Listed(_) = streamed {
            self.streaming_lists = StreamingLists::Supported;
        }
        let restart = streamed.restart();
        match (result, streamed) {
            (Ok(reader), Streamed::Listed(position)) => {
                State::Watch(Box::new(Watching::new(position, reader, Instant::now())))
            }
            // It returns at the end of the list only.
            (Ok(_), Streamed::Listing(_)) => State::Begin(restart.with_list()),
            (Err(StreamError::Unsupported(message)), _) => {
                self.streaming_lists = StreamingLists::Unsupported;
                tracing::debug!(watch = %self.watch, message, "streaming lists not supported; using paged lists");
                // Another run: what the broken stream showed may be gone by the time the pages are read.
                State::Begin(restart.with_list())
            }
            (Err(StreamError::Unusable(message)), _) => {
                tracing::debug!(watch = %self.watch, message, "streaming list failed; using paged lists");
                State::Begin(Restart { mode: ListMode::Pages, ..restart }.with_list())
            }
            (Err(StreamError::Step(error)), _) => self.leave_list(restart, error).await,
        }
    }

    async fn open_stream(&mut self, streamed: &mut Streamed) -> Result<LineReader, StreamError> {
        let lifetime = self.lifetime();
        let limits = &self.settings.limits;
        let path = format!(
            "{}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true{}&timeoutSeconds={}",
            self.path, self.selector, lifetime
        );
        self.settings.stats.request();
        let sent = self.coverage.now();
        let client = self.connection.client();
        let (head, body) = get_with_head(&client, &path, "application/json", limits).await?;
        self.shared.skew.observe(&head, sent, self.coverage.now());
        let mut reader = LineReader::new(body, limits);
        self.record_stream(&mut reader, streamed).await?;
        Ok(reader)
    }

    /// Records what a stream sends up to the end of the list, and what came with it.
    async fn record_stream(
        &mut self,
        reader: &mut LineReader,
        streamed: &mut Streamed,
    ) -> Result<(), StreamError> {
        let (silence, most) = (self.settings.limits.streaming_silence, self.settings.limits.list_objects);
        let mut objects = 0;
        while let Streamed::Listing(listing) = streamed {
            let read = timeout(silence, reader.next()).await;
            let read = read.map_err(|_| {
                let message = "the server does not mark the end of the list".to_owned();
                match self.streaming_lists {
                    // An older server ignores the parameters that it does not know and never sends the end.
                    StreamingLists::Untried | StreamingLists::Unsupported => {
                        StreamError::Unsupported(message)
                    }
                    StreamingLists::Supported => Failure::Unreachable(message).into(),
                }
            })?;
            let lines = match read {
                Read::Lines(lines) => lines,
                Read::TooLong => return Err(self.line_too_long().into()),
                // A server that sends nothing at all may not support streams; in pages it will show.
                Read::Ended(why) if objects == 0 => {
                    return Err(StreamError::Unusable(format!("a list that says nothing: {why}")));
                }
                Read::Ended(why) => {
                    return Err(Failure::Unreachable(format!("the list ended before its end: {why}")).into());
                }
            };
            objects += lines.len();
            if objects > most {
                return Err(too_many(most).into());
            }
            let turn = self.take_turn().await;
            let ended = self.ingest_list(listing, &lines).await?;
            if let Some((mut position, rest)) = ended {
                let rest = self.ingest_in_turn(&mut position, rest, true, &turn).await;
                *streamed = Streamed::Listed(position);
                rest?;
            }
        }
        Ok(())
    }
}
