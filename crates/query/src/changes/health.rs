//! Changes of the health of environments, as entries of a feed: those that the timeline of each shows.
//!
//! Only environments of which something may show are looked at, those with the newest first, so that a page reads few.

use std::collections::HashSet;

use rusqlite::{ToSql, named_params};

use crate::changes::environments::Selection;
use crate::changes::rows::{FeedRow, Position};
use crate::error::Result;
use crate::question::Context;
use crate::series::{Mark, series_of_environment};
use crate::spans::Span;
use crate::timeline::{Place, What};
use strandline_model::Health;
use strandline_protocol::EntryHealth;

// Each statement selects environments of which health may have changed within the offsets `:from` to `:to`, and the offset after
// which no mark of theirs stands in the span, the last first. A grace time that is over in the span may have begun before it.

/// Some environments, each by itself.
const OF_SOME: &str = "WITH last AS (
        SELECT i.value AS id,
            (SELECT max(from_offset) FROM environment_health WHERE environment_id = i.value AND from_offset <= :to) AS moved,
            (SELECT max(from_offset) FROM environment_audience WHERE environment_id = i.value AND from_offset <= :to) AS began,
            (SELECT max(to_offset) FROM environment_audience WHERE environment_id = i.value AND to_offset <= :to) AS ended
        FROM json_each(:environments) i)
    SELECT id, max(moved, coalesce(began, 0), coalesce(ended, 0)) AS newest FROM last
    WHERE moved IS NOT NULL AND (max(moved, coalesce(began, 0), coalesce(ended, 0)) >= :from
        OR EXISTS (SELECT 1 FROM environment_health h WHERE h.environment_id = last.id AND h.from_offset = last.moved
            AND h.grace_until >= :since))
    ORDER BY newest DESC, id DESC";

/// All that moved or went, in the order of the log, so that it is read no further than a page goes: what comes moves as well …
pub(crate) const MOVED: &str =
    "SELECT environment_id, from_offset AS newest FROM environment_health INDEXED BY environment_health_by_time
        WHERE from_offset BETWEEN :from AND :to
    UNION ALL SELECT environment_id, to_offset FROM environment_audience INDEXED BY environment_audience_by_end
        WHERE to_offset BETWEEN :from AND :to AND to_offset < 140737488355327
    ORDER BY newest DESC";
/// … and where a page goes on, what had a grace time before the first offset that was not over when the span began.
const GRACES: &str = "SELECT environment_id, from_offset AS newest FROM stretch_health
    WHERE stretch = (SELECT max(from_offset) FROM stretch WHERE from_offset < :from)
        AND from_offset < :from AND to_offset >= :from AND grace_until >= :since
    ORDER BY newest DESC";

/// What a statement is given.
type Params<'p> = &'p [(&'p str, &'p dyn ToSql)];

/// As many changes as a page needs, the newest first.
pub(super) fn newest(
    q: &Context<'_>,
    selection: &mut Selection<'_>,
    (from, to): (i64, i64),
    (span, after): (Span, Position),
    limit: usize,
) -> Result<Vec<FeedRow>> {
    let (to, since) = (to.min(after.0), span.since.as_micros());
    let some = if selection.is_few()? { selection.numbers() } else { None };
    let of_some: Params<'_> =
        named_params! { ":environments": some, ":from": from, ":to": to, ":since": since };
    let moved: Params<'_> = named_params! { ":from": from, ":to": to };
    let graces: Params<'_> = named_params! { ":from": from, ":since": since };
    let statements = match some {
        Some(_) => vec![(OF_SOME, of_some)],
        None => vec![(MOVED, moved), (GRACES, graces)],
    };
    // As timelines do, which show nothing that was over at once, be it right after the span.
    let shown = Span { until: q.moment.clock(), ..span };
    let (mut known, mut found) = (HashSet::new(), Vec::<FeedRow>::new());
    for (sql, params) in statements {
        let mut statement = q.view.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            let (environment, newest): (i64, i64) = (row.get(0)?, row.get(1)?);
            if found.len() == limit && found.last().is_some_and(|row| row.place.offset > newest) {
                return Ok(found);
            }
            if !known.insert(environment) || selection.get(environment)?.is_none() {
                continue;
            }
            let series = series_of_environment(q.view, q.log, &q.moment, q.scope, environment, shown)?;
            let moves = series.moves_within(span).map(|(mark, before)| self::row(environment, mark, before));
            found.extend(moves.filter(|row| row.position() < after));
            found.sort_unstable_by_key(|row| std::cmp::Reverse(row.position()));
            found.truncate(limit);
        }
    }
    Ok(found)
}

fn row(environment: i64, mark: &Mark, before: Option<Health>) -> FeedRow {
    // An environment can become what it is twice by one change: at once, and when its grace time is over.
    let subject = mark.time.as_micros();
    let place = Place { time: mark.time, offset: mark.offset, what: What::Health, subject };
    let health = EntryHealth {
        before,
        after: mark.health,
        reason: mark.reason.clone(),
        message: mark.message.clone(),
    };
    FeedRow { environment, place, manager: String::new(), health: Some(health) }
}
