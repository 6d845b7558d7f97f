//! Reads everything there is of a kind, as a stream where the server offers it and else in pages.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use super::ahead::{Ahead, too_many};
use super::reader::{Read, Reader};
use super::unreported::Unreported;
use super::{ListWatch, State, Stop, Streams, TURN};
use crate::Sink;
use crate::document::{Page, applied, unreadable};
use crate::request::{Failure, get_with_head};
use strandline_log::{AppendError, Phase};
use strandline_model::ResourceVersion;

/// Pages that wait for being recorded: enough for fetching never to wait for one slow commit, few enough to hold.
const PAGES_AHEAD: usize = 4;

impl<S: Sink> ListWatch<S> {
    pub(super) async fn list(&mut self) -> Result<State, Stop> {
        let lists = Arc::clone(&self.shared.lists);
        let _permit = lists.acquire().await;
        self.settings.stats.relist();
        self.list_is_partial = false;
        self.list_began = self.coverage.now();
        self.unreported = Unreported::after(self.reached.clone());
        let streamed = match self.streams {
            Streams::Unknown => None,
            _ if std::mem::take(&mut self.paged_next) => None,
            Streams::Untried | Streams::Known => Some(self.stream().await),
        };
        let message = match streamed {
            None => return self.pages().await,
            Some(Err(Stop::Failed(Failure::Rejected(message)))) => {
                tracing::debug!(watch = %self.watch, message, "streaming lists not supported; using paged lists");
                self.streams = Streams::Unknown;
                message
            }
            // Nothing against streams in general: what is between us and the server may be at fault, or one answer.
            Some(Err(Stop::Failed(Failure::Invalid(message)))) => {
                self.paged_next = true;
                message
            }
            Some(other) => return other,
        };
        tracing::debug!(watch = %self.watch, message, "streaming list failed; using paged lists");
        self.opened = None;
        // Another run: what the broken stream showed may be gone by the time the pages are read.
        Ok(State::Begin { fresh: true })
    }

    /// Lists by a watch that begins with what there is. It goes on as the watch, so that nothing lies between them.
    async fn stream(&mut self) -> Result<State, Stop> {
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
        let (silence, most) = (limits.streaming_silence, limits.list_objects);
        self.opened = Some(Reader::new(body, limits));
        self.listing = true;
        let result = self.take_stream(silence, most).await;
        if !std::mem::take(&mut self.listing) {
            self.streams = Streams::Known;
        }
        result
    }

    async fn take_stream(&mut self, silence: Duration, most: usize) -> Result<State, Stop> {
        let mut objects = 0;
        while self.listing {
            let Some(reader) = &mut self.opened else { return Ok(State::Begin { fresh: true }) };
            let read = timeout(silence, reader.next()).await;
            let read = read.map_err(|_| {
                let message = "the server does not mark the end of the list".to_owned();
                match self.streams {
                    // An older server takes no notice of what it does not know and never tells the end.
                    Streams::Untried | Streams::Unknown => Failure::Rejected(message),
                    Streams::Known => Failure::Unreachable(message),
                }
            })?;
            match read {
                Read::Lines(lines) => {
                    objects += lines.len();
                    if objects > most {
                        return Err(too_many(most).into());
                    }
                    self.take_lines(lines).await?;
                }
                Read::TooLong => return Err(self.line_too_long().into()),
                // Whoever says nothing at all may not know streams; in pages it will show.
                Read::Ended(why) if objects == 0 => {
                    return Err(Failure::Invalid(format!("a list that says nothing: {why}")).into());
                }
                Read::Ended(why) => {
                    return Err(Failure::Unreachable(format!("the list ended before its end: {why}")).into());
                }
            }
        }
        Ok(State::Watch)
    }

    /// Lists in pages, which are fetched ahead while others are recorded: the token of the next page does not grow
    /// old behind a slow disk.
    async fn pages(&mut self) -> Result<State, Stop> {
        let (send, mut pages) = mpsc::channel(PAGES_AHEAD);
        let ahead = Ahead::new(self.connection.client(), &self.path, &self.selector, &self.settings);
        let fetching = async { ahead.fetch(send).await.map_err(Stop::from) };
        let recording = async {
            let mut cursor = None;
            while let Some(text) = pages.recv().await {
                let page = Page::parse(&text)?;
                if cursor.is_none() {
                    // All pages show the state of the first; where a server differs, the earlier is the safe one.
                    let shown = ResourceVersion::new(page.metadata.resource_version.clone());
                    self.believe(&shown).await?;
                    cursor = Some(shown);
                }
                self.take_page(&page, cursor.as_ref()).await?;
            }
            Ok::<_, Stop>(cursor)
        };
        let ((), cursor) = tokio::try_join!(fetching, recording)?;
        match cursor {
            Some(cursor) => self.end_of_list(cursor).await,
            None => Err(Failure::Invalid("a list without pages".to_owned()).into()),
        }
    }

    /// A list that shows less than was seen already comes from a server that lags or from a cluster that was set back.
    /// The first is asked again; what is told twice is believed.
    pub(super) async fn believe(&mut self, shown: &ResourceVersion) -> Result<(), Stop> {
        if shown.is_empty() || shown.as_str() == "0" {
            return Err(Failure::Invalid("a list without resourceVersion".to_owned()).into());
        }
        let reached = self.reached.as_ref().or(self.recorded.as_ref());
        let back = reached.and_then(|reached| shown.compare(reached));
        if back.is_some_and(std::cmp::Ordering::is_lt) && !self.rolled_back {
            if !std::mem::replace(&mut self.set_back, true) {
                let message = "the list is older than what was seen already".to_owned();
                return Err(Failure::Invalid(message).into());
            }
            let was = reached.map_or("", ResourceVersion::as_str);
            let message = format!("the cluster is at {shown} and was at {was}: its store was rolled back");
            return Err(Stop::Again(self.was_set_back(message).await?));
        }
        self.set_back = false;
        Ok(())
    }

    /// What this list has not shown is gone; from here on the watch tells.
    pub(super) async fn end_of_list(&mut self, cursor: ResourceVersion) -> Result<State, Stop> {
        let end = if self.list_is_partial { Phase::PartialListEnd } else { Phase::ListEnd };
        let ended = self.append_batch(end, Vec::new(), Some(cursor.clone())).await?;
        self.mark_unreported(ended).await?;
        self.coverage.heard_at(self.list_began);
        self.verified_by_list(self.list_began);
        self.reached = Some(cursor.clone());
        self.cursor = Some(cursor);
        (self.undated, self.distrusted, self.rolled_back) = (false, false, false);
        Ok(State::Watch)
    }

    async fn take_page(
        &mut self,
        page: &Page<'_>,
        shown: Option<&ResourceVersion>,
    ) -> Result<(), AppendError> {
        let turns = Arc::clone(&self.shared.turns);
        let _turn = turns.acquire().await;
        let items = page.items.as_deref().unwrap_or_default();
        let mut observed = Vec::with_capacity(items.len());
        for turn in items.chunks(TURN) {
            for item in turn {
                let result = if item.get().len() > self.settings.limits.line_bytes {
                    Err("too_large")
                } else {
                    applied(item.get(), self.defaults(), &self.settings.rules).map_err(|error| error.code())
                };
                match result {
                    Ok(object) => observed.push(object),
                    Err(reason) => {
                        self.garbage(reason);
                        match unreadable(item.get()) {
                            Some(object) => observed.push(object),
                            None => self.list_is_partial = true,
                        }
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        if observed.is_empty() {
            return Ok(());
        }
        self.append(Phase::ListPage, observed, shown.cloned()).await
    }
}
