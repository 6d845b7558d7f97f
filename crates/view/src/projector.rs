//! The loop that keeps the view up with the log.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};

use super::context::{Cache, Rules, Touched};
use super::due::NextDue;
use super::error::ProjectorError;
use super::options::{ProjectorOptions, Sizes};
use super::prune::{self, Pass, Pruning};
use super::reading::{Batch, Position, Reading};
use super::recent::RecentChanges;
use super::ruleset::RuleSet;
use super::{apply, file, floors};
use strandline_clock::mark;
use strandline_log::LogReader;
use strandline_model::Offset;
use strandline_sqlite::{Checkpoints, FullDiskBackoff, Identities, Pace, Role, Watermark};

/// How often to look whether the view is in place.
const LOOK: Duration = Duration::from_secs(1);

/// How long to sleep at most: whoever should wake the projector may fail to.
const TICK: Duration = Duration::from_millis(250);

/// How many pages the WAL of a view becomes long. A page that changes often is written to the file once for each checkpoint, and so
/// seldom.
const WAL_PAGES: i64 = 16_384;

/// The same of a build, beside which nobody reads. That and its large transactions make waiting for the disk rare: a build need not
/// do without it, and is resumed after a power cut as well.
const BUILD_WAL_PAGES: i64 = 32_768;

/// Takes what was read of the log and writes the view.
pub struct Projector {
    reading: Reading,
    /// Closed before the view, which is to be the last connection of its file.
    checkpoints: Checkpoints,
    view: Connection,
    rules: RuleSet,
    rule_set_id: i64,
    cache: Cache,
    position: Position,
    sizes: Sizes,
    pass: Option<Pass>,
    recent: RecentChanges,
    files: Identities,
}

impl std::fmt::Debug for Projector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Projector(at {})", self.checkpoint())
    }
}

impl Projector {
    /// Opens the log and the view of a data directory, making an empty view where there is none. What changes from
    /// here on is judged by these rules.
    ///
    /// # Errors
    /// When either cannot be opened, or the view was made from another log.
    pub fn open(directory: &Path, options: impl Into<ProjectorOptions>) -> Result<Self, ProjectorError> {
        Self::open_file(directory, &file::path(directory), Role::ViewWriter, options.into())
    }

    /// The same for another file than the one that answers, or for its builder.
    pub(super) fn open_file(
        directory: &Path,
        view: &Path,
        role: Role,
        options: ProjectorOptions,
    ) -> Result<Self, ProjectorError> {
        let ProjectorOptions { rules, sizes } = options;
        let log = LogReader::open(directory)?.with_cache(sizes.log_cache)?;
        let swept = log.swept()?;
        let path = view;
        let view = file::open_writer(path, role)?;
        strandline_sqlite::size_cache(&view, sizes.view_cache)?;
        let files = file::identities(path);
        floors::write(&view, &log.floors()?)?;
        let checkpoint = match file::checkpoint(&view)? {
            None => Offset::ZERO,
            Some((checkpoint, _)) if checkpoint < swept => {
                return Err(ProjectorError::Outrun { checkpoint, swept });
            }
            Some((checkpoint, hash)) if checkpoint <= log.head()? && log.hash_at(checkpoint)? == hash => {
                checkpoint
            }
            Some((checkpoint, _)) => return Err(ProjectorError::Foreign { checkpoint }),
        };
        let rule_set_id = file::rule_set(&view, &rules.name())?;
        let reading = Reading::start(log, rules.clone(), rule_set_id).map_err(ProjectorError::Thread)?;
        let wal_pages = if role == Role::ViewBuilder { BUILD_WAL_PAGES } else { WAL_PAGES };
        Ok(Projector {
            reading,
            checkpoints: Checkpoints::of(path.to_owned(), wal_pages),
            view,
            rules,
            rule_set_id,
            cache: Cache::new(sizes),
            position: Position { checkpoint, swept },
            sizes,
            pass: None,
            recent: RecentChanges::default(),
            files,
        })
    }

    /// The same, which says here which environments changed.
    #[must_use]
    pub fn with_recent(self, recent: &RecentChanges) -> Self {
        Projector { recent: recent.clone(), ..self }
    }

    /// The last offset applied.
    pub fn checkpoint(&self) -> Offset {
        self.position.checkpoint
    }

    /// Whether a part of the view was judged by other rules, as each verdict is marked with its rules; a rebuild judges all alike.
    ///
    /// # Errors
    /// When the view cannot be read.
    pub fn has_other_rules(&self) -> Result<bool, ProjectorError> {
        Ok(file::has_other_rules(&self.view, self.rule_set_id)?)
    }

    /// Applies what comes next and returns what it touched; none when all of the log is applied.
    ///
    /// # Errors
    /// When the log cannot be read or the view cannot be written; the view is then as before.
    pub fn step(&mut self) -> Result<Option<Touched>, ProjectorError> {
        let Some(first) = self.reading.next(self.position)? else { return Ok(None) };
        match self.apply(first) {
            Ok((touched, position)) => {
                self.recent.add(self.position.checkpoint, position.checkpoint, &touched);
                self.position = position;
                self.checkpoints.after_commit(&self.view);
                Ok(Some(touched))
            }
            Err(error) => {
                // Numbers assigned in a transaction that did not happen must not be used.
                self.cache.clear();
                Err(error)
            }
        }
    }

    /// Applies a batch, and while the log has more those after it, in one transaction with where the view is then.
    fn apply(&mut self, first: Batch) -> Result<(Touched, Position), ProjectorError> {
        let from = first.records.first().map_or(0, |record| record.0.offset.get());
        let span =
            tracing::info_span!(target: "traces", "view.transaction", from, to = tracing::field::Empty)
                .entered();
        let transaction = self.view.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let rules = Rules { set: &self.rules, id: self.rule_set_id };
        let (mut touched, mut batch) = (Touched::default(), first);
        let mut applied = self.position.checkpoint;
        for left in (0..self.sizes.batches).rev() {
            for record in &batch.records {
                debug_assert!(record.0.offset > applied, "changes are applied once, in their order");
                applied = record.0.offset;
                if let Some(floor) = batch.floor.take_if(|(floor, _)| record.0.offset > *floor) {
                    touched.extend(apply::pass_time(&transaction, &mut self.cache, rules, floor)?);
                }
                touched.extend(apply::apply(&transaction, &mut self.cache, rules, record)?);
            }
            if left == 0 || !batch.has_more {
                break;
            }
            match self.reading.next(batch.end)? {
                Some(next) => batch = next,
                None => break,
            }
        }
        self.cache.write(&transaction, self.rule_set_id)?;
        // A checkpoint behind what is in the view would have it applied twice.
        assert_eq!(batch.end.checkpoint, applied, "the checkpoint is the last change applied");
        let sql = r#"INSERT OR REPLACE INTO checkpoint (id, "offset", hash) VALUES (1, ?1, ?2)"#;
        transaction.prepare_cached(sql)?.execute(params![applied, batch.hash])?;
        transaction.commit()?;
        span.record("to", applied.get());
        Ok((touched, batch.end))
    }

    /// Prunes a part of what is requested; false when nothing is left to do.
    ///
    /// # Errors
    /// When the view cannot be written; it is then as before.
    pub fn prune(&mut self, pruning: &Pruning) -> Result<bool, ProjectorError> {
        let pruned = prune::step(&mut self.view, &mut self.pass, pruning, self.sizes)?;
        if pruned {
            // Numbers that nothing referred to are gone with their rows.
            self.cache.clear();
            self.checkpoints.after_commit(&self.view);
        }
        Ok(pruned)
    }

    /// Follows the log until `stop` is true, publishing the checkpoint after each commit, and prunes in between.
    ///
    /// # Errors
    /// When the log cannot be read or the view cannot be written, save for a full disk, which it waits out.
    pub fn run(
        &mut self,
        head: &Watermark,
        checkpoint: &Watermark,
        (pruning, due): (&Pruning, &NextDue),
        stop: impl Fn() -> bool,
    ) -> Result<(), ProjectorError> {
        due.read(&self.view)?;
        checkpoint.set(self.checkpoint());
        pruning.begin_anew();
        let (mut looked, mut room) = (mark(), FullDiskBackoff::new("the view"));
        let mut pace = Pace::new(self.sizes.apart);
        while !stop() {
            pace.wait();
            if looked.elapsed() >= LOOK {
                looked = mark();
                self.in_place()?;
            }
            let pruned = self.prune(pruning);
            let before = self.checkpoint();
            match pruned.and_then(|pruned| Ok((self.step()?, pruned))) {
                Ok((Some(touched), _)) => {
                    pace.wrote(self.checkpoint().get() - before.get());
                    room.end();
                    due.read(&self.view)?;
                    checkpoint.set(self.checkpoint());
                    tracing::trace!(
                        checkpoint = %self.checkpoint(),
                        environments = touched.environments.len(),
                        resources = touched.resources.len(),
                        "projected"
                    );
                }
                Ok((None, true)) => {}
                Ok((None, false)) => {
                    head.wait_past(self.checkpoint(), TICK);
                }
                Err(error) if error.is_disk_full() => {
                    strandline_sqlite::sleep_unless(room.next_wait(&error), &stop);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// That the view is where it was opened; otherwise what took its place is left alone.
    fn in_place(&mut self) -> Result<(), ProjectorError> {
        match self.files.displaced() {
            None => Ok(()),
            Some(displaced) => {
                strandline_sqlite::skip_checkpoint_on_close(&self.view)?;
                Err(displaced.into())
            }
        }
    }

    /// Closes the view with all of it in its one file.
    pub(super) fn close(self) -> Result<(), ProjectorError> {
        let Projector { checkpoints, view, .. } = self;
        drop(checkpoints);
        view.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        view.close().map_err(|(_, error)| error)?;
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use strandline_clock::SystemClock;
    use strandline_log::LogWriter;

    #[test]
    #[should_panic(expected = "the checkpoint is the last change applied")]
    fn a_checkpoint_that_is_not_the_last_change_applied_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        drop(LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap());
        let mut projector = Projector::open(dir.path(), RuleSet::default()).unwrap();
        let end = Position { checkpoint: Offset::new(7), swept: Offset::ZERO };
        let batch = Batch { records: Vec::new(), end, hash: [0; 16], has_more: false, floor: None };
        let _ = projector.apply(batch);
    }
}
