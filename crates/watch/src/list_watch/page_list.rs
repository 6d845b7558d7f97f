//! Reads everything there is of a kind in pages.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::error::StepError;
use super::machine::{ListWatch, TURN};
use super::page_fetcher::PageFetcher;
use super::state::{ListRun, Listing, Position, State};
use crate::document::{Page, applied, unreadable};
use crate::request::Failure;
use crate::sink::Sink;
use strandline_log::AppendError;
use strandline_model::ResourceVersion;

/// Pages that wait for being recorded: enough for fetching never to wait for one slow commit, few enough to hold.
const PAGES_AHEAD: usize = 4;

impl<S: Sink> ListWatch<S> {
    pub(super) async fn list_in_pages(&mut self, run: ListRun) -> State {
        let (mut listing, permit) = self.start_list(run).await;
        let result = self.record_pages(&mut listing).await;
        drop(permit);
        match result {
            Ok(position) => State::OpenWatch(position),
            Err(error) => self.leave_list(listing.restart(), error).await,
        }
    }

    /// Lists in pages, which are fetched ahead while others are recorded: the token of the next page does not grow
    /// old behind a slow disk.
    async fn record_pages(&mut self, listing: &mut Listing) -> Result<Position, StepError> {
        let (send, mut pages) = mpsc::channel(PAGES_AHEAD);
        let fetcher = PageFetcher::new(self.connection.client(), &self.path, &self.selector, &self.settings);
        let fetching = async { fetcher.fetch(send).await.map_err(StepError::from) };
        let recording = async {
            let (mut cursor, mut recorded) = (None, 0);
            while let Some(text) = pages.recv().await {
                let page = Page::parse(&text)?;
                if cursor.is_none() {
                    // All pages show the state of the first; where a server differs, the earlier is the safe one.
                    let shown = ResourceVersion::new(page.metadata.resource_version.clone());
                    self.reject_rollback(listing, &shown)?;
                    cursor = Some(shown);
                }
                self.record_page(listing, &page, cursor.as_ref()).await?;
                recorded += 1;
            }
            Ok::<_, StepError>((cursor, recorded))
        };
        let (fetched, (cursor, recorded)) = tokio::try_join!(fetching, recording)?;
        // What a list does not show is taken for deleted.
        assert_eq!(fetched, recorded, "every page of a list is recorded before its end");
        match cursor {
            Some(cursor) => Ok(self.end_list(listing, cursor).await?),
            None => Err(Failure::Invalid("a list without pages".to_owned()).into()),
        }
    }

    async fn record_page(
        &mut self,
        listing: &mut Listing,
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
                    applied(item, self.defaults(), &self.settings.rules).map_err(|error| error.code())
                };
                match result {
                    Ok(object) => observed.push(object),
                    Err(reason) => {
                        self.count_undecodable(reason);
                        match unreadable(item.get()) {
                            Some(object) => observed.push(object),
                            None => listing.is_partial = true,
                        }
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        if observed.is_empty() {
            return Ok(());
        }
        self.append_page(listing, observed, shown.cloned()).await
    }
}
