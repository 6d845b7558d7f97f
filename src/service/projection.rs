//! The projector's thread: keeps the view up with the log, and builds it anew when it cannot be used or that was asked.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::error::ServiceError;
use super::rebuild::{Rebuild, Rules};
use super::recording::LogOpened;
use super::tasks::Ended;
use crate::app::Rebuilding;
use strandline_model::Offset;
use strandline_query::Queries;
use strandline_sqlite::FullDiskBackoff;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Build, Projector, ProjectorError, ProjectorOptions, Sizes, ViewState, ViewStatus};

/// How often a thread that has nothing to do looks whether it is to end.
const TICK: Duration = Duration::from_millis(250);

/// How long to wait before a view that is gone is built anew.
const SETTLE: Duration = Duration::from_secs(1);

/// A new view is begun of itself where the disk has room for the present one this many times: the log needs room, too.
const FREE_TIMES: u64 = 3;

/// Starts the projector, of a log that takes changes or of one that is only read. While no question can be answered it builds a view in
/// the sizes `unread`.
pub(super) fn spawn(
    data: &Path,
    status: &ViewStatus,
    queries: &Queries,
    rebuild: &Rebuild,
    unread: Sizes,
    stopping: &CancellationToken,
    log: Option<LogOpened>,
) -> Result<Ended<ProjectorError>, ServiceError> {
    let projection = Projection {
        data: data.to_owned(),
        status: status.clone(),
        queries: queries.clone(),
        rebuild: rebuild.clone(),
        unread,
        stopping: stopping.clone(),
    };
    Ended::spawn("projector", move || match log {
        Some(log) => projection.run(&log),
        None => projection.serve_read_only(),
    })
}

struct Projection {
    data: PathBuf,
    status: ViewStatus,
    queries: Queries,
    rebuild: Rebuild,
    /// In what sizes a view is built while no question can be answered.
    unread: Sizes,
    stopping: CancellationToken,
}

impl Projection {
    /// Keeps the view as far as a damaged log goes, and never builds it anew: what it holds may be all there is.
    fn serve_read_only(&self) -> Result<(), ProjectorError> {
        if let ViewState::Current(checkpoint) = strandline_view::inspect(&self.data) {
            self.status.checkpoint().set(checkpoint);
        }
        match Projector::open(&self.data, self.rebuild.options_in_effect()) {
            Ok(mut projector) => {
                let followed = loop {
                    match projector.step() {
                        Ok(Some(_)) => self.status.checkpoint().set(projector.checkpoint()),
                        other => break other,
                    }
                };
                if let Err(error) = followed {
                    tracing::warn!(%error, checkpoint = %projector.checkpoint(), "the view cannot follow the log; it stays at its checkpoint");
                }
            }
            Err(error) => tracing::warn!(%error, "updating the view failed; it stays unchanged"),
        }
        self.status.set_usable(true);
        self.wait_for_stop();
        self.rebuild.join();
        Ok(())
    }

    fn run(&self, log: &LogOpened) -> Result<(), ProjectorError> {
        self.wait_for_log(log);
        let result = match self.keep_up() {
            Err(error) if self.status.is_log_displaced() => {
                tracing::error!(%error, "the view cannot follow the log; the open view stays in use");
                self.status.set_usable(true);
                self.wait_for_stop();
                Ok(())
            }
            result => result,
        };
        self.rebuild.join();
        result
    }

    /// Lets the view answer as it is until the log is open: on a full disk neither can be written.
    fn wait_for_log(&self, log: &LogOpened) {
        if !log.get()
            && let ViewState::Current(checkpoint) = strandline_view::inspect_at_rest(&self.data)
        {
            self.status.checkpoint().set(checkpoint);
            self.status.set_usable(true);
        }
        strandline_sqlite::sleep_unless(Duration::MAX, || log.get() || self.stopping.is_cancelled());
    }

    /// Whoever wants this thread to end asks for it; nothing else wakes it.
    fn wait_for_stop(&self) {
        while !self.stopping.is_cancelled() {
            self.status.head().wait_past(Offset::new(u64::MAX), TICK);
        }
    }

    fn keep_up(&self) -> Result<(), ProjectorError> {
        let mut sound = self.is_current();
        let mut room = FullDiskBackoff::new("the view");
        while !self.stopping.is_cancelled() {
            if !sound {
                match self.build() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) if error.is_disk_full() => {
                        self.wait_for_room(&mut room, &error);
                        sound = self.is_current();
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            match self.follow(&mut room) {
                Err(error) if error.is_disk_full() => self.wait_for_room(&mut room, &error),
                Ok(()) => sound = !self.status.take_damage(),
                Err(error @ ProjectorError::Displaced(_)) => {
                    // Who removes the whole folder may come to the view first.
                    strandline_sqlite::sleep_unless(SETTLE, || self.stopping.is_cancelled());
                    if self.status.is_log_displaced() {
                        return Err(error);
                    }
                    tracing::error!(%error, "the view's files were removed or replaced; rebuilding the view from the log");
                    sound = false;
                }
                Err(error) if error.is_mended_by_rebuild() => {
                    tracing::error!(%error, "the view is unusable; rebuilding it from the log");
                    sound = false;
                }
                Err(error) => return Err(error),
            }
            if sound && let Some(rules) = self.rebuild.take_caught_up() {
                sound = self.replace(rules);
            }
        }
        Ok(())
    }

    /// Whether the view can be followed up; on a full disk it can only be looked at.
    fn is_current(&self) -> bool {
        matches!(strandline_view::inspect_at_rest(&self.data), ViewState::Current(_))
    }

    fn wait_for_room(&self, room: &mut FullDiskBackoff, error: &ProjectorError) {
        strandline_sqlite::sleep_unless(room.next_wait(error), || self.stopping.is_cancelled());
    }

    /// Builds the view while no question can be answered; false when asked to stop meanwhile.
    fn build(&self) -> Result<bool, ProjectorError> {
        self.status.set_usable(false);
        let started = Instant::now();
        let going_on = self.rebuild.wait();
        if self.stopping.is_cancelled() {
            return Ok(false);
        }
        let options = ProjectorOptions { sizes: self.unread, ..self.rebuild.options_in_effect() };
        let mut build = Build::open(&self.data, options)?;
        if !going_on {
            self.rebuild.begun(build.resumed_at());
        }
        let on_checkpoint = |reached: Offset| self.status.checkpoint().set(reached);
        if !self.rebuild.catch_up(&mut build, on_checkpoint)? {
            return Ok(false);
        }
        let offset = self.queries.replace(|| build.swap())?;
        self.rebuild.ended(Ok(()));
        if offset != Offset::ZERO {
            tracing::info!(%offset, took_ms = started.elapsed().as_millis() as u64, "the view was built from the log");
        }
        Ok(true)
    }

    /// Lets a view that has caught up take the place of the one that answers, which nobody writes meanwhile; false when
    /// neither is sound.
    fn replace(&self, rules: RuleSet) -> bool {
        let caught_up = Build::open(&self.data, self.rebuild.options(rules)).and_then(|mut build| {
            let caught_up = self.rebuild.catch_up(&mut build, |_| {})?;
            Ok(caught_up.then_some(build))
        });
        let build = match caught_up {
            Ok(Some(build)) => build,
            Ok(None) => return true,
            Err(error) => {
                self.rebuild.ended(Err(&error));
                return true;
            }
        };
        match self.queries.replace(|| build.swap()) {
            Ok(offset) => {
                self.rebuild.ended(Ok(()));
                tracing::info!(%offset, "the rebuilt view replaced the old one");
                true
            }
            Err(error) => {
                self.rebuild.ended(Err(&error));
                false
            }
        }
    }

    /// Evaluates earlier changes by these rules, too, while the view answers as it is: in a new view, which is about as large.
    fn rebuild_by(&self, rules: &str) {
        let used = std::fs::metadata(self.data.join("view.db")).map_or(0, |file| file.len());
        let free = strandline_sqlite::free_bytes(&self.data).unwrap_or(u64::MAX);
        if free / FREE_TIMES < used {
            tracing::warn!(
                rules,
                free_bytes = free,
                view_bytes = used,
                "earlier changes were evaluated by other health rules, and the disk has little room for a new view; \
                 run `strandline rebuild` when there is more"
            );
            return;
        }
        tracing::info!(
            rules,
            "earlier changes were evaluated by other health rules; rebuilding the view, which answers meanwhile"
        );
        self.rebuild.begin();
    }

    /// Follows the log until asked to stop, until a reader meets damage, other rules are in effect, or another view can take over.
    fn follow(&self, room: &mut FullDiskBackoff) -> Result<(), ProjectorError> {
        let Rules { version, rules } = self.rebuild.rules();
        let name = rules.name();
        let projector = Projector::open(&self.data, self.rebuild.options(rules))?;
        let mut projector = projector.with_recent(self.status.recent());
        room.end();
        // Who reads it on a full disk would not see what is written from now on.
        self.queries.reopen();
        if projector.has_other_rules()? {
            self.rebuild_by(&name);
        }
        self.status.checkpoint().set(projector.checkpoint());
        self.status.set_usable(true);
        let stop = || {
            self.stopping.is_cancelled()
                || self.status.is_damaged()
                || self.rebuild.is_caught_up()
                || !self.rebuild.has_rules(version)
        };
        let shared = (self.status.pruning(), self.status.due());
        projector.run(self.status.head(), self.status.checkpoint(), shared, stop)
    }
}
