//! Which recorded times are exact, and where recorded time goes back.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension};

use super::compaction::prepare_if_there;
use super::error::LogError;
use strandline_model::{Offset, Timestamp};

use strandline_sqlite::column::LOG;

type Result<T> = std::result::Result<T, LogError>;

/// How recorded times are to be read: see [`TimeMap::load`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TimeMap {
    /// Ranges of changes whose recorded times are exact, the newest first. Time never goes back within them, nor from
    /// one to the next.
    pub(super) exact: Vec<Range<u64>>,
    /// Where recorded time may go back, in order.
    starts: Vec<u64>,
}

impl TimeMap {
    /// The times of the changes after `from`, and at it where it is one. Marks are taken from the newest to the oldest: one
    /// that was made under a wrong time itself counts no longer.
    pub(super) fn load(connection: &Connection, from: Offset) -> Result<Self> {
        let sql = r#"SELECT "offset", inexact_from, inexact_to FROM clock_mark WHERE "offset" > ?1 ORDER BY "offset" DESC"#;
        let mut map = TimeMap::default();
        let mut wrong: Vec<Range<u64>> = Vec::new();
        if let Some(mut statement) = prepare_if_there(connection, sql)? {
            let mut rows = statement.query([from])?;
            while let Some(row) = rows.next()? {
                let mark = LOG.get::<Offset>(row, "clock_mark.offset")?.get();
                let inexact = LOG.get::<Offset>(row, "clock_mark.inexact_from")?.get()
                    ..LOG.get::<Offset>(row, "clock_mark.inexact_to")?.get();
                if mark == inexact.end {
                    map.starts.push(mark);
                }
                if !wrong.iter().any(|range| range.contains(&mark)) {
                    wrong.push(inexact);
                }
            }
        }
        map.starts.reverse();
        wrong.sort_unstable_by_key(|range| range.start);
        let mut at = from.get();
        for range in wrong {
            if range.start > at {
                map.exact.push(at..range.start);
            }
            at = at.max(range.end);
        }
        map.exact.push(at..u64::MAX);
        map.exact.reverse();
        debug_assert!(
            map.exact.is_sorted_by(|later, earlier| earlier.end <= later.start),
            "ranges of exact times do not overlap, and the newest comes first"
        );
        Ok(map)
    }

    /// Whether the recorded time of a change is exact.
    pub(super) fn is_exact(&self, offset: Offset) -> bool {
        self.exact.iter().any(|range| range.contains(&offset.get()))
    }

    /// The last place at or before an offset where recorded time may go back; none where there is none.
    pub(super) fn start_of(&self, offset: Offset) -> Option<Offset> {
        self.starts.iter().rev().find(|start| **start <= offset.get()).map(|start| Offset::new(*start))
    }
}

/// Where the time is read that the last mark made the recorded one.
pub(super) fn last_adoption(connection: &Connection) -> Result<Option<(Offset, Timestamp)>> {
    let sql = r#"SELECT m."offset", c.observed_at FROM clock_mark m JOIN change c ON c."offset" = m."offset"
        WHERE m.inexact_to = m."offset" ORDER BY m."offset" DESC LIMIT 1"#;
    let mut statement = connection.prepare_cached(sql)?;
    let found =
        statement.query_row([], |row| Ok((LOG.get(row, "clock_mark.offset")?, row.get("observed_at")?)));
    Ok(found.optional()?)
}
