//! Begins a run in the log, which knows where to resume.

use super::machine::{ListWatch, StreamingLists};
use super::state::{CatchUp, ListMode, ListRun, Position, Restart, Run, State};
use crate::sink::Sink;
use strandline_log::{AppendError, Begin};

impl<S: Sink> ListWatch<S> {
    pub(super) async fn begin(&mut self, run: Run) -> State {
        match self.begin_run(run.clone()).await {
            Ok(state) => state,
            Err(error) => self.after_append_error(&error, run),
        }
    }

    async fn begin_run(&mut self, run: Run) -> Result<State, AppendError> {
        let (is_first, restart) = match run {
            Run::First => (true, Restart::default()),
            Run::Next(restart) => (false, restart),
        };
        let begin = Begin {
            watch: self.watch.clone(),
            selector: self.selector.clone(),
            served_version: Some(self.api_version.clone()),
            definition: self.shared.definitions.settled(&self.watch.kind),
            fresh: restart.forget_cursor,
            since: restart.since,
        };
        let session = self.sink.begin(begin).await?;
        let mut catch_up = None;
        match session.last_seen {
            _ if !is_first => {}
            Some(last_seen) => {
                let is_new = self.coverage.resumed(last_seen).await?;
                // A gap that an earlier run left open is not only of this absence.
                catch_up = is_new.then(|| CatchUp::new(self.coverage.now()));
            }
            None => self.coverage.first().await?,
        }
        let Some(cursor) = session.cursor.clone() else {
            let streams = self.streaming_lists != StreamingLists::Unsupported;
            let streams = streams && restart.mode == ListMode::Preferred;
            let run = ListRun::new(session, restart);
            return Ok(if streams { State::StreamList(run) } else { State::PageList(run) });
        };
        self.verified_at = session.verified_at;
        self.doubt_from_before(session.unverified_since);
        let verified_at = self.verified_at;
        self.settings.stats.update(&self.watch, |status| status.verified_at = verified_at);
        if is_first {
            self.verify_soon();
        }
        Ok(State::OpenWatch(Position::new(session.epoch, cursor, catch_up)))
    }
}
