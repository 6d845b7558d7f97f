//! The span of a list that goes from the newest to the oldest.

use crate::error::{QueryError, Result};
use crate::moment::Moment;
use crate::question::Context;
use crate::series::{self, Span};
use strandline_log::LogReader;
use strandline_model::{At, Timestamp};

/// The span that was asked for, by default a day up to the moment; of a later page that of the first, which its token carries
/// as the parts from `kept` on.
pub(super) fn of_pages(q: &Context<'_>, since: Option<At>, until: Option<At>, kept: usize) -> Result<Span> {
    let part = |part: usize| q.start.after(part).parse().ok().map(Timestamp::from_micros);
    if let (Some(since), Some(until)) = (part(kept), part(kept + 1)) {
        return Ok(Span { since, until });
    }
    of(q.log, &q.moment, since, until)
}

/// The span that was asked for, by default a day up to the moment.
pub(super) fn of(log: &LogReader, moment: &Moment, since: Option<At>, until: Option<At>) -> Result<Span> {
    let Span { since: from, until: now } = series::span(log, moment, since)?;
    let until = match until {
        None | Some(At::Now) => now,
        Some(At::Ago(duration)) => now.minus(duration),
        Some(At::Time(time)) => time,
        Some(At::Offset(offset)) if offset > moment.offset => {
            let future = QueryError::FutureOffset { asked: offset, newest: moment.offset };
            return Err(future.given_by("until"));
        }
        Some(At::Offset(offset)) => log.observed_at(offset)?.unwrap_or(now),
    };
    let until = until.min(now);
    // Whoever names the later time first means the same span.
    let (from, until) = if since.is_some() && from > until { (until, from) } else { (from, until) };
    Ok(Span { since: from.min(until), until })
}
