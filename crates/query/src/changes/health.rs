//! Changes of the health of environments, as entries of a feed.
//!
//! A row that opens a grace time shows what was before it, and what it says itself only when that is over and nothing else came.

use rusqlite::{OptionalExtension, Row, named_params};

use crate::changes::environments::Selection;
use crate::changes::rows::{FeedRow, Position};
use crate::error::Result;
use crate::question::Context;
use crate::scope::reads;
use crate::timeline::{Place, What};
use strandline_model::{Health, Timestamp};
use strandline_protocol::EntryHealth;
use strandline_sqlite::column::VIEW;

/// Moves of health of some environments that a scope could read then, the newest first.
const MOVES: &str = concat!(
    "SELECT h.environment_id, h.from_offset, h.observed_at
    FROM json_each(:environments) i CROSS JOIN environment_health h ON h.environment_id = i.value
        AND h.from_offset BETWEEN :from AND :to
    WHERE (h.from_offset, h.environment_id, :code, 0) < (:offset, :environment, :what, :subject)
        AND EXISTS (SELECT 1 FROM environment_audience e WHERE e.environment_id = h.environment_id
            AND e.from_offset <= h.from_offset AND e.to_offset > h.from_offset AND ",
    reads!(),
    ") ORDER BY h.from_offset DESC, h.environment_id DESC LIMIT :limit"
);

/// As many moves as a page needs.
pub(super) fn newest(
    q: &Context<'_>,
    selection: &Selection<'_>,
    (from, to): (i64, i64),
    after: Position,
    limit: usize,
) -> Result<Vec<FeedRow>> {
    let mut statement = q.view.prepare_cached(MOVES)?;
    let params = named_params! {
        ":environments": selection.numbers(), ":from": from, ":to": to.min(after.0), ":code": What::Health.code(),
        ":offset": after.0, ":environment": after.1, ":what": after.2, ":subject": after.3,
        ":scope": q.scope.as_sql(), ":limit": i64::try_from(limit).unwrap_or(i64::MAX),
    };
    let rows = statement.query_map(params, |row| {
        let time = Timestamp::from_micros(row.get(2)?);
        let place = Place { time, offset: row.get(1)?, what: What::Health, subject: 0 };
        Ok(FeedRow { environment: row.get(0)?, place, manager: String::new() })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A move of health with the grace time that it opens.
struct Move {
    state: Option<Health>,
    grace: Option<(Option<Health>, Timestamp)>,
    time: Timestamp,
}

impl Move {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let until: Option<i64> = row.get(2)?;
        let grace_state = VIEW.get_at(row, 1, "environment_health.grace_state")?;
        Ok(Move {
            state: VIEW.get_at(row, 0, "environment_health.state")?,
            grace: until.map(|until| (grace_state, Timestamp::from_micros(until))),
            time: Timestamp::from_micros(row.get(3)?),
        })
    }

    /// What showed last of it, where it ended at a time.
    fn shown_last(&self, end: Timestamp) -> Option<Health> {
        match self.grace {
            Some((meanwhile, until)) if until >= end => meanwhile,
            _ => self.state,
        }
    }
}

macro_rules! select_move {
    ($condition:literal) => {
        concat!(
            "SELECT state, grace_state, grace_until, observed_at FROM environment_health
            WHERE environment_id = :id AND from_offset ",
            $condition
        )
    };
}

/// What the health of an environment was and became, and when it showed; none where it did not.
pub(super) fn change(q: &Context<'_>, row: &FeedRow) -> Result<Option<(Timestamp, EntryHealth)>> {
    let read = |sql: &str| {
        let params = named_params! { ":id": row.environment, ":offset": row.place.offset };
        q.view.prepare_cached(sql)?.query_row(params, Move::from_row).optional()
    };
    let Some(own) = read(select_move!("= :offset"))? else { return Ok(None) };
    let before = read(select_move!("< :offset ORDER BY from_offset DESC LIMIT 1"))?;
    let next = read(select_move!("> :offset ORDER BY from_offset LIMIT 1"))?;
    let clock = q.moment.clock();
    let end = next.map_or(clock, |next| next.time.min(clock));
    let before = before.and_then(|before| before.shown_last(own.time));
    let time = own.grace.map_or(own.time, |(_, until)| until);
    let shows = own.grace.is_none_or(|(_, until)| until < end) && own.state != before;
    let health = EntryHealth { before, after: own.state, reason: String::new(), message: String::new() };
    Ok(shows.then_some((time, health)))
}
