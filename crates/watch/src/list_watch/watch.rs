//! Watches from where the log stands.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, timeout};

use super::reader::{Ending, Read, Reader};
use super::{ListWatch, State, Stop, TURN};
use crate::Sink;
use crate::consistency::number;
use crate::document::{Line, line};
use crate::evidence::Evidence;
use crate::outcome::{Brought, Close, after_close};
use crate::request::{Failure, get_with_head};
use strandline_clock::mark;
use strandline_log::{AppendError, Observed, Phase};
use strandline_model::{LATE_BOUND, ResourceVersion, reason};
use strandline_syntax::percent_encode;

/// What a batch of lines amounts to.
struct Told {
    observed: Vec<Observed>,
    /// Whether any line could be read.
    heard: bool,
    phase: Phase,
    failure: Option<Failure>,
    /// The cursor before it.
    before: Option<ResourceVersion>,
    evidence: Evidence,
}

impl<S: Sink> ListWatch<S> {
    pub(super) async fn watch(&mut self) -> Result<State, Stop> {
        let Some(from) = self.cursor.clone() else { return Ok(State::Begin { fresh: true }) };
        if self.distrusted {
            return Ok(State::Begin { fresh: true });
        }
        let opened = Instant::now();
        let mut reader = match self.opened.take() {
            Some(reader) => reader,
            None => self.open(&from).await?,
        };
        if self.distrusted {
            return Ok(State::Begin { fresh: true });
        }
        // That a watch was opened does not prove that all was heard: what it should tell may be gone. After watches that
        // closed at once, an answer proves nothing at all.
        if self.empty_watches == 0 && self.resumed.is_none() && self.coverage.is_recent() {
            self.caught_up().await?;
        }
        let mut heard = false;
        let why = loop {
            let cursor = self.cursor.as_ref().and_then(number);
            let (watched, needs_proof) = (self.coverage.is_watched(), self.needs_proof());
            // Where nothing proves it, a watch that says nothing for a moment has told all that it had kept back.
            let settles = !needs_proof && (!watched || self.resumed.is_some());
            if needs_proof {
                self.check.abandon();
            }
            let read = tokio::select! {
                biased;
                read = reader.next() => read,
                Ok(()) = self.set_back_elsewhere.changed() => match self.heed_set_back().await? {
                    Some(state) => return Ok(state),
                    None => continue,
                },
                due = self.check.next(cursor), if watched => match self.verify(due).await? {
                    Some(state) => return Ok(state),
                    None => continue,
                },
                () = sleep(self.settings.limits.pace * 2), if settles => {
                    self.caught_up().await?;
                    continue;
                }
            };
            match read {
                Read::Lines(lines) => heard |= self.take_lines(lines).await?,
                Read::TooLong => return Err(self.line_too_long().into()),
                Read::Ended(why) => break why,
            }
        };
        tracing::debug!(watch = %self.watch, %why, progressed = heard, "the watch ended");
        match why {
            // A watch that ends when it was to end has told everything; one that ends before may have been cut off.
            Ending::Closed if opened.elapsed() >= self.settings.limits.watch => {
                let ended = self.coverage.now();
                self.append(Phase::Confirmed(ended), Vec::new(), self.cursor.clone()).await?;
                self.undated = false;
                self.coverage.heard_at(ended);
            }
            Ending::Closed => self.doubt().await?,
            // Where bookmarks are sent, nothing at all for so long means that the other end is gone.
            Ending::Silence if self.bookmarks => {
                self.doubt().await?;
                self.coverage.gap(reason::UNREACHABLE, "no sign of life for too long".to_owned()).await?;
                self.distrusted = true;
            }
            Ending::Silence | Ending::Broken(_) => self.doubt().await?,
        }
        let brought = match heard {
            false => Brought::Nothing,
            true if self.cursor.as_ref() == Some(&from) => Brought::Repeats,
            true => Brought::Progress,
        };
        self.closed(opened.elapsed(), brought).await
    }

    pub(super) fn line_too_long(&self) -> Failure {
        let most = self.settings.limits.line_bytes;
        Failure::TooLarge(format!("a watch line of more than {most} bytes"))
    }

    async fn closed(&mut self, lasted: Duration, brought: Brought) -> Result<State, Stop> {
        let limits = &self.settings.limits;
        let rest = limits.pace.saturating_sub(lasted);
        match after_close(lasted, brought, &mut self.empty_watches, limits) {
            Close::Now => {
                self.backoff.reset();
                Ok(State::Watch)
            }
            Close::Later => {
                let patience = limits.patience;
                let pause = self.pause(Some(rest), State::Watch);
                if matches!(pause, State::Pause { wait, .. } if wait > patience) {
                    self.closes_at_once().await?;
                }
                Ok(pause)
            }
            Close::Relist => {
                self.closes_at_once().await?;
                Ok(self.pause(Some(rest), State::Begin { fresh: true }))
            }
        }
    }

    async fn closes_at_once(&mut self) -> Result<(), AppendError> {
        self.coverage.gap(reason::INVALID, "the server closes every watch at once".to_owned()).await
    }

    /// For how many seconds the server is asked to keep a watch open.
    pub(super) fn lifetime(&mut self) -> u64 {
        let watch = self.settings.limits.watch;
        self.spread.between(watch, watch + watch / 4).as_secs().max(1)
    }

    /// Opens a watch; having no connection for longer than a moment is a gap even before it fails.
    async fn open(&mut self, from: &ResourceVersion) -> Result<Reader, Stop> {
        let lifetime = self.lifetime();
        let limits = &self.settings.limits;
        let path = format!(
            "{}?watch=1&allowWatchBookmarks=true&resourceVersion={}{}&timeoutSeconds={}",
            self.path,
            percent_encode(from.as_str()),
            self.selector,
            lifetime
        );
        self.settings.stats.request();
        let client = self.connection.client();
        let sent = self.coverage.now();
        let mut request = std::pin::pin!(get_with_head(&client, &path, "application/json", limits));
        let (head, body) = match timeout(limits.patience, &mut request).await {
            Ok(answer) => answer?,
            Err(_) => {
                self.coverage.gap(reason::UNREACHABLE, "no answer yet".to_owned()).await?;
                self.distrusted = true;
                request.await?
            }
        };
        self.shared.skew.observe(&head, sent, self.coverage.now());
        Ok(Reader::new(body, limits))
    }

    /// Records what lines tell; whether any of them could be read.
    pub(super) async fn take_lines(&mut self, lines: Vec<Bytes>) -> Result<bool, Stop> {
        let (turns, received) = (Arc::clone(&self.shared.turns), mark());
        let received_at = self.coverage.now();
        let waits = turns.available_permits() == 0;
        let _turn = turns.acquire().await;
        let mut told = Told {
            observed: Vec::with_capacity(lines.len()),
            heard: false,
            phase: Phase::Watch,
            failure: None,
            before: self.cursor.clone(),
            evidence: self.evidence(),
        };
        for (at, bytes) in lines.iter().enumerate() {
            if at % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
            self.take(line(bytes, self.defaults(), &self.settings.rules), &mut told).await?;
            if told.failure.is_some() {
                break;
            }
        }
        let Told { observed, heard, phase, failure, before, evidence } = told;
        if self.listing {
            self.record(phase, observed, before).await?;
        } else {
            self.record_judged(phase, observed, before, evidence, received_at).await?;
            // The log knows only how long it kept them waiting itself.
            if waits && received.elapsed() > LATE_BOUND && self.coverage.is_watched() {
                let until = self.coverage.now();
                let message = "changes waited for others of this cluster to be recorded";
                let since = until.minus(received.elapsed());
                self.coverage.closed_gap(since, until, reason::STALLED, message).await?;
            }
        }
        if heard && !self.listing {
            self.empty_watches = 0;
            self.backoff.reset();
            if phase == Phase::UpToDate || evidence.is_recent() {
                self.caught_up().await?;
            }
        }
        failure.map_or(Ok(heard), |failure| Err(failure.into()))
    }

    async fn take(&mut self, line: Line, told: &mut Told) -> Result<(), Stop> {
        match line {
            Line::Observed { object, at } => {
                if !self.listing {
                    told.evidence.event(at.map(|at| self.shared.skew.to_ours(at)));
                    if let Some(version) = object.resource_version() {
                        self.advance(version);
                    }
                }
                told.observed.push(*object);
                (told.heard, told.phase) = (true, Phase::Watch);
            }
            Line::Bookmark { version, ends_list } if self.listing => {
                if ends_list {
                    self.stream_ended(std::mem::take(&mut told.observed), version).await?;
                    told.before.clone_from(&self.cursor);
                    told.evidence = self.evidence();
                }
                told.heard = true;
            }
            Line::Bookmark { version, .. } => {
                self.bookmarks = true;
                if self.advance(&version) {
                    self.coverage.record_bookmark();
                    (told.heard, told.phase) = (true, Phase::UpToDate);
                } else {
                    // Time does not run backwards in one cluster: it was restored or replaced.
                    told.failure = Some(Failure::Gone);
                }
            }
            Line::Undecodable { reason, resource_version, object } => {
                self.garbage(reason);
                match (self.listing, resource_version, object) {
                    (true, _, Some(object)) => told.observed.push(*object),
                    (true, _, None) => self.list_is_partial = true,
                    (false, Some(version), _) => _ = self.advance(&version),
                    (false, None, _) => {}
                }
            }
            Line::Failed(failure) => told.failure = Some(failure),
        }
        Ok(())
    }

    pub(super) async fn record(
        &mut self,
        phase: Phase,
        observed: Vec<Observed>,
        before: Option<ResourceVersion>,
    ) -> Result<(), AppendError> {
        if self.listing {
            return match observed.is_empty() {
                true => Ok(()),
                false => self.append(Phase::ListPage, observed, None).await,
            };
        }
        if observed.is_empty() && self.cursor == before && phase == Phase::Watch {
            return Ok(());
        }
        self.append(phase, observed, self.cursor.clone()).await
    }

    /// A streaming list told its end: what it showed is all there is, and what follows is the watch.
    async fn stream_ended(&mut self, last: Vec<Observed>, version: ResourceVersion) -> Result<(), Stop> {
        self.believe(&version).await?;
        if !last.is_empty() {
            self.append(Phase::ListPage, last, Some(version.clone())).await?;
        }
        self.end_of_list(version).await?;
        self.listing = false;
        Ok(())
    }

    /// Moves the cursor unless that would move it back; false when it would.
    fn advance(&mut self, to: &ResourceVersion) -> bool {
        let back =
            self.cursor.as_ref().and_then(|cursor| to.compare(cursor)).is_some_and(|order| order.is_lt());
        if !back {
            self.cursor = Some(to.clone());
            self.reached = Some(to.clone());
        }
        !back
    }
}
