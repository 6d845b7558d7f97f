//! Changes of the health of environments, as entries of a feed: those that the timeline of each shows.
//!
//! Only environments of which something may show are looked at, those with the newest first, so that a page reads few.

use rusqlite::named_params;

use crate::changes::environments::Selection;
use crate::changes::rows::{FeedRow, Position};
use crate::error::Result;
use crate::question::Context;
use crate::series::{Mark, series_of_environment};
use crate::spans::Span;
use crate::timeline::{Place, What};
use strandline_model::Health;
use strandline_protocol::EntryHealth;

/// Environments of which health may have changed within the offsets `:from` to `:to`, and no mark of which in the span stands
/// later than the offset told. A grace time that is over in the span may have begun before it, with the last move before it.
const MAY_SHOW: &str = "WITH last AS (
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

/// As many changes as a page needs, the newest first.
pub(super) fn newest(
    q: &Context<'_>,
    selection: &Selection<'_>,
    (from, to): (i64, i64),
    (span, after): (Span, Position),
    limit: usize,
) -> Result<Vec<FeedRow>> {
    let candidates = {
        let mut statement = q.view.prepare_cached(MAY_SHOW)?;
        let params = named_params! {
            ":environments": selection.numbers(), ":from": from, ":to": to.min(after.0),
            ":since": span.since.as_micros(),
        };
        let rows = statement.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<Vec<(i64, i64)>>>()?
    };
    // As timelines do, which show nothing that was over at once, be it right after the span.
    let shown = Span { until: q.moment.clock(), ..span };
    let mut found: Vec<FeedRow> = Vec::new();
    for (environment, newest) in candidates {
        if found.len() == limit && found.last().is_some_and(|row| row.place.offset > newest) {
            break;
        }
        let series = series_of_environment(q.view, q.log, &q.moment, q.scope, environment, shown)?;
        let moves = series.moves_within(span).map(|(mark, before)| row(environment, mark, before));
        found.extend(moves.filter(|row| row.position() < after));
        found.sort_unstable_by_key(|row| std::cmp::Reverse(row.position()));
        found.truncate(limit);
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
