//! Continues a log that lost its end, after someone accepted the loss: every watch gets a gap, and lists again.

use std::path::Path;

use rusqlite::{TransactionBehavior, params};

use super::bodies::Bodies;
use super::chain::HeadFile;
use super::error::LogError;
use super::ids::Ids;
use super::reader::LogReader;
use super::transaction::{Write, WriterState};
use super::{cursors, file, open};
use strandline_clock::Clock;
use strandline_model::{CoverageMark, Offset, Timestamp, reason};

/// A loss that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedLoss {
    /// Where the log ended.
    pub found: Offset,
    /// Up to where it had been acknowledged.
    pub recorded: Offset,
    /// How many watches got a gap.
    pub watches: usize,
    /// Where the log ends now.
    pub head: Offset,
}

/// Takes the log of a data directory, whose lock the caller holds, as it ends: everything that was watched gets a gap
/// `lost` since it was last known to be complete, and no watch resumes without a list. None where nothing is lost.
///
/// Offsets go on after the last change there is, so those of the lost ones are given to others.
///
/// # Errors
/// When what there is of the log is damaged too, or cannot be written.
pub fn accept_loss(directory: &Path, clock: &dyn Clock) -> Result<Option<AcceptedLoss>, LogError> {
    let path = file::path(directory);
    open::whole(&path)?;
    let mut connection = open::open_writer(directory).map_err(|error| open::of_file(&path, error))?;
    let mut reader = LogReader::open(directory)?;
    let head_file = HeadFile::new(directory);
    let (found, hash) = open::verify_end(directory, &mut reader)?;
    let Some((recorded, _)) = head_file.read().filter(|(recorded, _)| *recorded > found) else {
        // Anything else that is wrong with the end is no loss that could be accepted.
        open::verify(directory, &mut reader, &head_file)?;
        return Ok(None);
    };
    let observed_at = reader.observed_at(found)?.unwrap_or(Timestamp::from_micros(i64::MIN));
    let bodies = Bodies::load(&connection)?;
    let mut state =
        WriterState { head: found, hash, observed_at, ids: Ids::default(), bodies, epoch: None, closed: 0 };
    let now = clock.now().max(observed_at);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut write = Write { connection: &transaction, state: &mut state, now };
    let watches = write.lose(now, &format!("changes {} to {recorded} are lost", found.next()))?;
    transaction.commit()?;
    head_file
        .write(state.head, &state.hash)
        .map_err(|error| LogError::Copy { path: directory.join("log.head"), why: error.to_string() })?;
    Ok(Some(AcceptedLoss { found, recorded, watches, head: state.head }))
}

impl Write<'_> {
    /// Marks every watch as one that lost what came after it was last known to be complete, or after `otherwise` where
    /// that is not known, and deletes its cursor; returns how many there are.
    pub(super) fn lose(&mut self, otherwise: Timestamp, message: &str) -> Result<usize, LogError> {
        let watches = cursors::every_watch(self.connection)?;
        for (watch, seen_at) in &watches {
            let since = seen_at.unwrap_or(otherwise);
            self.mark(&CoverageMark::gap(watch.clone(), since, reason::LOST, message))?;
        }
        let epoch = self.next_epoch()?;
        let sql = "UPDATE cursor SET resource_version = NULL, epoch = ?1";
        self.connection.prepare_cached(sql)?.execute(params![epoch.0])?;
        Ok(watches.len())
    }
}
