//! The spans of time that questions are asked about, and their ends.

use std::time::Duration;

use rusqlite::Connection;

use crate::error::{QueryError, Result};
use crate::moment::{self, Moment};
use crate::question::Context;
use strandline_log::LogReader;
use strandline_model::{At, Offset, Timestamp};

/// The length of a span of which only its end is given, or nothing.
const LENGTH: Duration = Duration::from_secs(24 * 3600);

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
}

/// The span that was asked for; of a later page that of the first, which its token carries as the parts from `kept` on.
pub(super) fn of_pages(q: &Context<'_>, since: Option<At>, until: Option<At>, kept: usize) -> Result<Span> {
    let part = |part: usize| q.start.after(part).parse().ok().map(Timestamp::from_micros);
    if let (Some(since), Some(until)) = (part(kept), part(kept + 1)) {
        return Ok(Span { since, until });
    }
    of(q.view, q.log, &q.moment, since, until)
}

/// The span that was asked for, by default up to the moment, and a day long.
pub(super) fn of(
    view: &Connection,
    log: &LogReader,
    moment: &Moment,
    since: Option<At>,
    until: Option<At>,
) -> Result<Span> {
    let now = moment.clock();
    let until = match until {
        None => now,
        Some(at) => end(view, log, moment, at).map_err(|error| error.given_by("until"))?.min(now),
    };
    let since = match since {
        None => until.minus(LENGTH),
        Some(at) => {
            let since = end(view, log, moment, at).and_then(|since| moment.not_after_now(since));
            since.map_err(|error| error.given_by("since"))?.min(now)
        }
    };
    // Whoever names the later time first means the same span.
    Ok(Span { since: since.min(until), until: until.max(since) })
}

/// The time that an end of a span names.
fn end(view: &Connection, log: &LogReader, moment: &Moment, at: At) -> Result<Timestamp> {
    let offset = match at {
        At::Now => return Ok(moment.clock()),
        At::Ago(duration) => return Ok(moment.clock().minus(duration)),
        At::Time(time) => return Ok(time),
        At::Offset(offset) if offset > moment.offset => {
            return Err(QueryError::FutureOffset { asked: offset, newest: moment.offset });
        }
        At::Offset(offset) => offset,
    };
    let compacted = log.compacted()?;
    // Nothing was before the first change, so that this is where the record begins, whatever of it is kept.
    let offset = if offset == Offset::ZERO { compacted.offset.max(offset.next()) } else { offset };
    if offset < compacted.offset {
        return Err(QueryError::Compacted { earliest: compacted.offset, time: compacted.observed_at });
    }
    Ok(moment::observed_at(view, log, offset)?.unwrap_or(moment.clock()))
}
