//! The loop that keeps the view up with the log.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};
use thiserror::Error;

use super::apply;
use super::context::{Rules, Touched};
use super::due::NextDue;
use super::file;
use super::floors;
use super::ids::Ids;
use super::options::{ProjectorOptions, Sizes};
use super::prune::{self, Pass, Pruning};
use super::reading::{Batch, Position, Reading};
use crate::ruleset::RuleSet;
use strandline_clock::mark;
use strandline_log::{LogError, LogReader};
use strandline_model::Offset;
use strandline_sqlite::{Displaced, Identities, OpenError, Role, RoomWait, Watermark, column, is_corrupt};

/// How often to look whether the view is in place.
const LOOK: Duration = Duration::from_secs(1);

/// How long to sleep at most: whoever should wake the projector may fail to.
const TICK: Duration = Duration::from_millis(250);

/// Why the projection stopped.
#[derive(Debug, Error)]
pub enum ProjectorError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The view cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The view cannot be written.
    #[error("the view cannot be written: {0}")]
    View(#[from] rusqlite::Error),
    /// The thread that reads the log cannot be started.
    #[error("no thread can be started to read the log: {0}")]
    Thread(std::io::Error),
    /// The view was removed or replaced while it was written.
    #[error(transparent)]
    Displaced(#[from] Displaced),
    /// A newly built view cannot be put into place.
    #[error("the view cannot be put into place: {0}")]
    Place(#[from] std::io::Error),
    /// The view was made from another log: its last change is not in this one.
    #[error("the view ends at offset {checkpoint} of another log")]
    Foreign {
        /// Where the view is.
        checkpoint: Offset,
    },
    /// Retention has let go of changes that the view does not hold yet.
    #[error("the view ends at offset {checkpoint}, and retention pruned the changes after it up to {swept}")]
    Outrun {
        /// Where the view is.
        checkpoint: Offset,
        /// Up to where the log holds only what is kept.
        swept: Offset,
    },
}

impl ProjectorError {
    /// Whether building the view anew can help.
    pub fn is_mended_by_rebuild(&self) -> bool {
        match self {
            ProjectorError::View(error) | ProjectorError::Open(OpenError::Sqlite { source: error, .. }) => {
                is_corrupt(error) || column::unknown(error).is_some()
            }
            ProjectorError::Open(OpenError::Foreign { .. })
            | ProjectorError::Foreign { .. }
            | ProjectorError::Displaced(_)
            | ProjectorError::Outrun { .. } => true,
            ProjectorError::Log(_) | ProjectorError::Thread(_) | ProjectorError::Place(_) => false,
        }
    }

    /// Whether there is no room left, which can pass.
    pub fn is_disk_full(&self) -> bool {
        match self {
            ProjectorError::View(error) => strandline_sqlite::is_disk_full(error),
            ProjectorError::Open(error) => error.is_disk_full(),
            ProjectorError::Log(error) => error.is_disk_full(),
            ProjectorError::Place(error) => strandline_sqlite::is_storage_full(error),
            _ => false,
        }
    }
}

/// Takes what was read of the log and writes the view.
pub struct Projector {
    reading: Reading,
    view: Connection,
    rules: RuleSet,
    rule_set_id: i64,
    ids: Ids,
    position: Position,
    /// Batches applied in one transaction.
    batches: usize,
    sizes: Sizes,
    pass: Option<Pass>,
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
        let log = LogReader::open(directory)?;
        let swept = log.swept()?;
        let path = view;
        let view = file::open_writer(path, role)?;
        let files = file::identities(path);
        floors::take_over(&view, &log.floors()?)?;
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
        Ok(Projector {
            reading,
            view,
            rules,
            rule_set_id,
            ids: Ids::default(),
            position: Position { checkpoint, swept },
            batches: if role == Role::ViewBuilder { sizes.batches } else { 1 },
            sizes,
            pass: None,
            files,
        })
    }

    /// The last offset applied.
    pub fn checkpoint(&self) -> Offset {
        self.position.checkpoint
    }

    /// Whether a part of the view was judged by other rules, as its answers say; building it anew judges all alike.
    ///
    /// # Errors
    /// When the view cannot be read.
    pub fn has_other_rules(&self) -> Result<bool, ProjectorError> {
        Ok(file::has_other_rules(&self.view, self.rule_set_id)?)
    }

    /// Applies what comes next and tells what it touched; none when the view holds all of the log.
    ///
    /// # Errors
    /// When the log cannot be read or the view cannot be written; the view is then as before.
    pub fn step(&mut self) -> Result<Option<Touched>, ProjectorError> {
        let Some(first) = self.reading.next(self.position)? else { return Ok(None) };
        match self.apply(first) {
            Ok((touched, position)) => {
                self.position = position;
                Ok(Some(touched))
            }
            Err(error) => {
                // Numbers assigned in a transaction that did not happen must not be used.
                self.ids = Ids::default();
                Err(error)
            }
        }
    }

    /// Applies a batch, and in a build those after it, in one transaction with where the view is then.
    fn apply(&mut self, first: Batch) -> Result<(Touched, Position), ProjectorError> {
        let transaction = self.view.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let rules = Rules { set: &self.rules, id: self.rule_set_id };
        let (mut touched, mut batch) = (Touched::default(), first);
        for left in (0..self.batches).rev() {
            for record in &batch.records {
                if let Some(floor) = batch.floor.take_if(|(floor, _)| record.0.offset > *floor) {
                    touched.extend(apply::pass_time(&transaction, &mut self.ids, rules, self.sizes, floor)?);
                }
                touched.extend(apply::apply(&transaction, &mut self.ids, rules, self.sizes, record)?);
            }
            if left == 0 || !batch.has_more {
                break;
            }
            match self.reading.next(batch.end)? {
                Some(next) => batch = next,
                None => break,
            }
        }
        let sql = r#"INSERT OR REPLACE INTO checkpoint (id, "offset", hash) VALUES (1, ?1, ?2)"#;
        transaction.prepare_cached(sql)?.execute(params![batch.end.checkpoint.as_i64(), batch.hash])?;
        transaction.commit()?;
        Ok((touched, batch.end))
    }

    /// Lets go of a part of what nobody may ask for any more; false when nothing is left to do.
    ///
    /// # Errors
    /// When the view cannot be written; it is then as before.
    pub fn prune(&mut self, pruning: &Pruning) -> Result<bool, ProjectorError> {
        let pruned = prune::step(&mut self.view, &mut self.pass, pruning, self.sizes)?;
        if pruned {
            // Numbers that nothing referred to are gone with their rows.
            self.ids = Ids::default();
        }
        Ok(pruned)
    }

    /// Follows the log until `stop` says so, publishing the checkpoint after each commit, and prunes in between.
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
        let (mut looked, mut room) = (mark(), RoomWait::new("the view"));
        while !stop() {
            if looked.elapsed() >= LOOK {
                looked = mark();
                self.in_place()?;
            }
            let pruned = self.prune(pruning);
            match pruned.and_then(|pruned| Ok((self.step()?, pruned))) {
                Ok((Some(touched), _)) => {
                    room.over();
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
                    strandline_sqlite::sleep_unless(room.full(&error), &stop);
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
                strandline_sqlite::leave_files(&self.view)?;
                Err(displaced.into())
            }
        }
    }

    /// Closes the view with all of it in its one file.
    pub(super) fn close(self) -> Result<(), ProjectorError> {
        self.view.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        self.view.close().map_err(|(_, error)| error)?;
        Ok(())
    }
}
