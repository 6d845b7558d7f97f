//! Reads records in order, and verifies what it reads.

use super::compaction::Compaction;
use super::entry::Entry;
use super::error::LogError;
use super::floors;
use super::reader::LogReader;
use super::row::{self, RawRow};
use strandline_model::{Offset, Record};

/// Bytes of bodies after which a page of records ends, however few they are: objects may have a megabyte and more.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

impl LogReader {
    /// Up to `limit` records after `offset`, in order, each verified, fewer where they are large; none at the end of the log. Where retention has let
    /// changes go these are the ones that are left, and from there on there is no gap.
    ///
    /// # Errors
    /// When the log cannot be read, or a change is missing or damaged.
    pub fn after(&mut self, offset: Offset, limit: usize) -> Result<Vec<Record>, LogError> {
        self.read_after(offset, limit, |log, row, pruned| match pruned {
            true => log.pruned_record(row).map(|record| Some((0, record))),
            false => log.record_in_order(row).map(|record| Some((record.change.body().len(), record))),
        })
    }

    /// The same with their bodies as they were recorded, to go into another log; without those that have none any more.
    ///
    /// # Errors
    /// As [`LogReader::after`].
    pub fn entries_after(&mut self, offset: Offset, limit: usize) -> Result<Vec<Entry>, LogError> {
        self.read_after(offset, limit, |log, row, pruned| match pruned {
            true => Ok(None),
            false => log.entry(row).map(|entry| Some((entry.body.len(), entry))),
        })
    }

    fn read_after<T>(
        &mut self,
        offset: Offset,
        limit: usize,
        read: impl Fn(&mut Self, RawRow, bool) -> Result<Option<(usize, T)>, LogError>,
    ) -> Result<Vec<T>, LogError> {
        self.steady(|log| {
            let (mut at, thinned) = (offset, floors::reached(&log.connection)?);
            loop {
                let rows = log.rows_after(at, limit)?;
                let Some(last) = rows.last() else { return Ok(Vec::new()) };
                at = last.offset;
                let (mut found, mut bytes) = (Vec::new(), 0);
                for row in rows {
                    let pruned = row.has_no_body_left()
                        || (row.offset <= thinned && floors::is_pruned(&log.connection, &row)?);
                    if let Some((size, one)) = read(log, row, pruned)? {
                        bytes += size;
                        found.push(one);
                    }
                    if bytes >= PAGE_BYTES {
                        break;
                    }
                }
                if !found.is_empty() {
                    return Ok(found);
                }
            }
        })
    }

    fn rows_after(&self, offset: Offset, limit: usize) -> Result<Vec<RawRow>, LogError> {
        let compaction = Compaction::load(&self.connection)?;
        let mut rows = compaction.kept_after(&self.connection, offset, limit)?;
        if rows.is_empty() {
            let from = offset.max(compaction.swept);
            rows = row::after(&self.connection, from, limit)?;
            self.check_chain(from, &rows)?;
        }
        Ok(rows)
    }

    /// The record at `offset`.
    ///
    /// # Errors
    /// When there is no such change, or none any more, or it cannot be read.
    pub fn at(&mut self, offset: Offset) -> Result<Record, LogError> {
        self.steady(|log| {
            let row = log.row(offset)?;
            if log.is_pruned(&row)? {
                return Err(log.pruned_error(&row)?);
            }
            log.record(row)
        })
    }

    /// Checks the chain and the bodies of the changes after `from` up to and including `to`, as far as they are left.
    pub(super) fn verify(&mut self, from: Offset, to: Offset) -> Result<(), LogError> {
        self.steady(|log| {
            let mut at = from.max(Compaction::load(&log.connection)?.swept);
            while at < to {
                let rows = row::after(&log.connection, at, 500)?;
                log.check_chain(at, &rows)?;
                at = rows.last().ok_or_else(|| row::missing(at.next()))?.offset;
                for row in &rows {
                    log.check_body(row)?;
                }
            }
            Ok(())
        })
    }

    /// Checks that all is there that retention kept of what it pruned, each with its body.
    pub(super) fn verify_kept(&mut self) -> Result<(), LogError> {
        self.steady(|log| {
            let compaction = Compaction::load(&log.connection)?;
            compaction.check_kept(&log.connection)?;
            floors::check_kept_bodies(&log.connection)?;
            let mut at = Offset::ZERO;
            loop {
                let rows = compaction.kept_after(&log.connection, at, 500)?;
                let Some(last) = rows.last() else { return Ok(()) };
                at = last.offset;
                for row in &rows {
                    log.check_body(row)?;
                }
            }
        })
    }

    fn check_chain(&self, after: Offset, rows: &[RawRow]) -> Result<(), LogError> {
        if rows.is_empty() { Ok(()) } else { row::check_chain(after, self.hash_at(after)?, rows) }
    }
}
