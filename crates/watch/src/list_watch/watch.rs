//! Opens a watch where the log ends, and reads it to its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::error::StepError;
use super::line_reader::{Ending, LineReader, Read};
use super::machine::ListWatch;
use super::state::{Position, Restart, State, Watching};
use crate::consistency::number;
use crate::outcome::{Activity, Brought, Close, after_close};
use crate::request::{Failure, get_with_head};
use crate::sink::Sink;
use strandline_log::{AppendError, Phase};
use strandline_model::reason;
use strandline_syntax::percent_encode;

/// How recording resumes after a watch.
#[derive(Clone, Copy, Debug)]
enum Resume {
    /// By a watch from the cursor.
    Watch,
    /// By a list: the cluster was not reached, so that its store may have been rolled back meanwhile.
    List,
}

impl Resume {
    fn state(self, position: Position) -> State {
        match self {
            Resume::Watch => State::OpenWatch(position),
            Resume::List => State::Begin(position.restart().with_list()),
        }
    }
}

impl<S: Sink> ListWatch<S> {
    /// Opens a watch; having no connection for longer than a moment is a gap even before it fails.
    pub(super) async fn open_watch(&mut self, position: Position) -> State {
        let opened = Instant::now();
        let lifetime = self.lifetime();
        let settings = Arc::clone(&self.settings);
        let path = format!(
            "{}?watch=1&allowWatchBookmarks=true&resourceVersion={}{}&timeoutSeconds={}",
            self.path,
            percent_encode(position.cursor().as_str()),
            self.selector,
            lifetime
        );
        settings.stats.request();
        let client = self.connection.client();
        let sent = self.coverage.now();
        let mut request = std::pin::pin!(get_with_head(&client, &path, "application/json", &settings.limits));
        let (answer, resume) = match timeout(settings.limits.patience, &mut request).await {
            Ok(answer) => (answer, Resume::Watch),
            Err(_) => {
                let gap = self.coverage.gap(reason::UNREACHABLE, "no answer yet".to_owned()).await;
                if let Err(error) = gap {
                    return self.after_append_error(&error, position.restart().resume());
                }
                (request.await, Resume::List)
            }
        };
        let (head, body) = match answer {
            Ok(answer) => answer,
            Err(failure) => return self.leave_watch(position, resume, failure.into()).await,
        };
        self.shared.skew.observe(&head, sent, self.coverage.now());
        match resume {
            Resume::Watch => {
                let reader = LineReader::new(body, &settings.limits);
                State::Watch(Box::new(Watching::new(position, reader, opened)))
            }
            Resume::List => resume.state(position),
        }
    }

    /// Reads a watch until it ends.
    pub(super) async fn watch(&mut self, mut watching: Watching) -> State {
        match self.read_watch(&mut watching).await {
            Ok(ending) => {
                let restart = watching.position.restart();
                let closed = self.close_watch(watching, ending, &restart).await;
                closed.unwrap_or_else(|error| self.after_append_error(&error, restart.resume()))
            }
            Err(error) => self.leave_watch(watching.position, Resume::Watch, error).await,
        }
    }

    async fn read_watch(&mut self, watching: &mut Watching) -> Result<Ending, StepError> {
        let Watching { position, reader, progressed, .. } = watching;
        // That a watch was opened does not prove that everything was received: what it should send may be gone. After
        // watches that closed at once, an answer proves nothing at all.
        if self.empty_watches == 0 && position.catch_up.is_none() && self.coverage.is_recent() {
            self.set_caught_up(position).await?;
        }
        loop {
            let (watched, needs_proof) = (self.coverage.is_watched(), self.needs_proof());
            // Where nothing proves it, a watch that is silent for a moment has sent everything that it had kept back.
            let settles = !needs_proof && (!watched || position.catch_up.is_some());
            if needs_proof {
                self.check.abandon();
            }
            let read = tokio::select! {
                biased;
                read = reader.next() => read,
                Ok(()) = self.rollbacks.changed() => {
                    self.check_rollback_elsewhere().await?;
                    continue;
                }
                due = self.check.next(number(position.cursor())), if watched => {
                    self.verify(position, due).await?;
                    continue;
                }
                () = sleep(self.settings.limits.pace * 2), if settles => {
                    self.set_caught_up(position).await?;
                    continue;
                }
            };
            match read {
                Read::Lines(lines) => *progressed |= self.ingest(position, &lines).await?,
                Read::TooLong => return Err(self.line_too_long().into()),
                Read::Ended(ending) => return Ok(ending),
            }
        }
    }

    /// What follows from a watch that failed.
    async fn leave_watch(&mut self, mut position: Position, resume: Resume, error: StepError) -> State {
        let restart = position.restart();
        let result = match error {
            StepError::Request(failure) => {
                self.check.abandon();
                match self.raise_doubt(&mut position).await {
                    Ok(()) => {
                        let resumed = resume.state(position);
                        self.recover(Activity::Watching, &failure, resumed, &restart).await
                    }
                    Err(error) => Err(error),
                }
            }
            StepError::Loss(loss) => self.relist_after(loss, &restart).await,
            StepError::Append(error) => Err(error),
        };
        result.unwrap_or_else(|error| self.after_append_error(&error, restart.resume()))
    }

    /// What follows from a watch that ended without a failure.
    async fn close_watch(
        &mut self,
        watching: Watching,
        ending: Ending,
        restart: &Restart,
    ) -> Result<State, AppendError> {
        let brought = match (watching.progressed, watching.has_moved()) {
            (false, _) => Brought::Nothing,
            (true, false) => Brought::Repeats,
            (true, true) => Brought::Progress,
        };
        let Watching { mut position, opened, .. } = watching;
        tracing::debug!(watch = %self.watch, %ending, ?brought, "the watch ended");
        let resume = match ending {
            // A watch that ends when it was to end has sent everything; one that ends before may have been cut off.
            Ending::Closed if opened.elapsed() >= self.settings.limits.watch => {
                let ended = self.coverage.now();
                let cursor = position.cursor().clone();
                self.append_changes(&mut position, Phase::Confirmed(ended), Vec::new(), cursor).await?;
                self.coverage.confirm_all(ended);
                Resume::Watch
            }
            // Where bookmarks are sent, nothing at all for so long means that the other end is gone.
            Ending::Silence if self.sends_bookmarks => {
                self.raise_doubt(&mut position).await?;
                self.coverage.gap(reason::UNREACHABLE, "no sign of life for too long".to_owned()).await?;
                Resume::List
            }
            Ending::Closed | Ending::Silence | Ending::Broken(_) => {
                self.raise_doubt(&mut position).await?;
                Resume::Watch
            }
        };
        let limits = &self.settings.limits;
        let (lasted, patience) = (opened.elapsed(), limits.patience);
        let pause = limits.pace.saturating_sub(lasted);
        match after_close(lasted, brought, &mut self.empty_watches, limits) {
            Close::Now => {
                self.backoff.reset();
                Ok(resume.state(position))
            }
            Close::Later => {
                let wait = self.next_wait(Some(pause));
                if wait > patience {
                    self.mark_closing_at_once().await?;
                }
                Ok(State::BackOff { wait, then: Box::new(resume.state(position)) })
            }
            Close::Relist => {
                self.mark_closing_at_once().await?;
                Ok(self.back_off(Some(pause), State::Begin(restart.clone().with_list())))
            }
        }
    }

    async fn mark_closing_at_once(&mut self) -> Result<(), AppendError> {
        self.coverage.gap(reason::INVALID, "the server closes every watch at once".to_owned()).await
    }

    pub(super) fn line_too_long(&self) -> Failure {
        let most = self.settings.limits.line_bytes;
        Failure::TooLarge(format!("a watch line of more than {most} bytes"))
    }

    /// For how many seconds the server is asked to keep a watch open.
    pub(super) fn lifetime(&mut self) -> u64 {
        let watch: Duration = self.settings.limits.watch;
        self.spread.between(watch, watch + watch / 4).as_secs().max(1)
    }
}
