//! What happened to an environment: counted from the hours that lie within one part of the axis, one by one at their
//! edges.

use rusqlite::{Connection, Row, named_params, params};

use crate::error::Result;
use crate::series::VisibleRange;
use crate::spans::Span;
use crate::timeline::axis::Axis;
use crate::timeline::filter::Order;
use crate::timeline::place::{EntryFilter, Place, What};
use strandline_log::LogReader;
use strandline_model::{Happening, Hour, Lane, Offset, Stored, Timestamp};
use strandline_sqlite::column::{Count, VIEW};

/// Offsets of which the caller may read, with the hours that lie between them as a whole.
pub(super) struct Part {
    from: i64,
    /// The first offset that is no longer of it.
    to: i64,
    first: Hour,
    last: Hour,
}

impl Part {
    /// Whether every change of an hour is of it.
    fn holds(&self, hour: Hour) -> bool {
        self.first < hour && hour < self.last
    }

    fn touches(&self, hour: Hour) -> bool {
        self.first <= hour && hour <= self.last
    }
}

/// The parts of what is in sight that lie at or before an offset, and that retention has not let go.
pub(super) fn parts(log: &LogReader, at: Offset, sight: &[VisibleRange]) -> Result<Vec<Part>> {
    let at = at.as_i64();
    let hour = |offset: i64| {
        let time = log.observed_at(Offset::from_i64(offset))?;
        Ok::<_, super::super::QueryError>(time.map(Hour::of))
    };
    let kept = log.compacted()?.offset.as_i64();
    let mut parts = Vec::new();
    for &(from, to) in sight {
        let (from, to) = (from.max(kept.saturating_add(1)), to.min(at.saturating_add(1)));
        if from >= to {
            continue;
        }
        let (first, last) = (hour(from)?.unwrap_or(Hour(i64::MIN)), hour(to - 1)?);
        parts.push(Part { from, to, first, last: last.unwrap_or(Hour(i64::MAX)) });
    }
    Ok(parts)
}

/// Counts what happened.
pub(super) fn count(
    view: &Connection,
    environment: i64,
    parts: &[Part],
    span: Span,
    axis: &mut Axis,
) -> Result<()> {
    let sql = "SELECT hour, changed, created, joined, deleted, parted, said, warned, deployed, progressed
        FROM happening_count WHERE environment_id = ?1 AND hour BETWEEN ?2 AND ?3";
    let mut statement = view.prepare_cached(sql)?;
    let mut rows = statement.query(params![environment, Hour::of(span.since).0, Hour::of(span.until).0])?;
    while let Some(row) = rows.next()? {
        let hour = Hour(row.get(0)?);
        let whole = parts.iter().any(|part| part.holds(hour));
        if !(whole && axis.count_between(hour.first(), hour.last(), &counts(row)?)) {
            count_each(view, environment, hour, parts, axis)?;
        }
    }
    Ok(())
}

/// What is counted of an hour; the columns stand in the order of [`Happening::ALL`].
fn counts(row: &Row<'_>) -> rusqlite::Result<Vec<(Happening, u64)>> {
    let columns = [
        "happening_count.changed",
        "happening_count.created",
        "happening_count.joined",
        "happening_count.deleted",
        "happening_count.parted",
        "happening_count.said",
        "happening_count.warned",
        "happening_count.deployed",
        "happening_count.progressed",
    ];
    let each = Happening::ALL.into_iter().zip(columns).zip(1..);
    each.map(|((what, column), place)| Ok((what, VIEW.get_at::<Count>(row, place, column)?.0))).collect()
}

fn count_each(
    view: &Connection,
    environment: i64,
    hour: Hour,
    parts: &[Part],
    axis: &mut Axis,
) -> Result<()> {
    let sql = r#"SELECT hour * 3600000000 + past, what FROM happening
        WHERE hour = ?1 AND environment_id = ?2 AND "offset" >= ?3 AND "offset" < ?4"#;
    let mut statement = view.prepare_cached(sql)?;
    for part in parts.iter().filter(|part| part.touches(hour)) {
        let mut rows = statement.query(params![hour.0, environment, part.from, part.to])?;
        while let Some(row) = rows.next()? {
            axis.count(Timestamp::from_micros(row.get(0)?), VIEW.get_at(row, 1, "happening.what")?);
        }
    }
    Ok(())
}

/// The hours in which something of the lanes happened.
macro_rules! select_hours {
    ($order:literal) => {
        concat!(
            "SELECT hour FROM happening_count WHERE environment_id = :environment AND hour BETWEEN :first AND :last
                AND ((:changes AND changed + created + joined + deleted + parted > 0)
                    OR (:events AND said + warned > 0) OR (:deployments AND deployed + progressed > 0))
            ORDER BY hour ",
            $order
        )
    };
}

/// What of the lanes happened in an hour.
macro_rules! select_rows {
    ($order:literal) => {
        concat!(
            r#"SELECT hour * 3600000000 + past, "offset", what, subject FROM happening
            WHERE hour = :hour AND environment_id = :environment AND "offset" BETWEEN :from AND :to
                AND what IN (SELECT value FROM json_each(:whats))
            ORDER BY "offset" "#,
            $order,
            ", what ",
            $order,
            ", subject ",
            $order
        )
    };
}

/// What happened one by one, as much as a page needs.
pub(super) fn page(
    view: &Connection,
    environment: i64,
    parts: &[Part],
    span: Span,
    wanted: &EntryFilter<'_>,
) -> Result<Vec<Place>> {
    let (hours, rows) = match wanted.order {
        Order::Newest => (select_hours!("DESC"), select_rows!("DESC")),
        Order::Oldest => (select_hours!("ASC"), select_rows!("ASC")),
    };
    let (mut first, mut last) = (Hour::of(span.since), Hour::of(span.until));
    if let Some(after) = wanted.after {
        match wanted.order {
            Order::Newest => last = last.min(Hour::of(after.time)),
            Order::Oldest => first = first.max(Hour::of(after.time)),
        }
    }
    let whats = Happening::ALL.into_iter().filter(|what| wanted.shows(what.lane())).map(Stored::number);
    let whats = serde_json::json!(whats.collect::<Vec<_>>()).to_string();
    let mut places = Vec::new();
    let (mut hours, mut rows) = (view.prepare_cached(hours)?, view.prepare_cached(rows)?);
    let mut hours = hours.query(named_params! {
        ":environment": environment, ":first": first.0, ":last": last.0,
        ":changes": wanted.shows(Lane::Changes), ":events": wanted.shows(Lane::Events),
        ":deployments": wanted.shows(Lane::Deployments),
    })?;
    while let Some(hour) = hours.next()? {
        let hour = Hour(hour.get(0)?);
        let touched = parts.iter().filter(|part| part.touches(hour));
        let touched: Vec<_> = match wanted.order {
            Order::Newest => touched.rev().collect(),
            Order::Oldest => touched.collect(),
        };
        for part in touched {
            let (from, to) = wanted.offsets(part.from, part.to - 1);
            let mut rows = rows.query(named_params! {
                ":hour": hour.0, ":environment": environment, ":from": from, ":to": to, ":whats": whats,
            })?;
            while let Some(row) = rows.next()? {
                let place = Place {
                    time: Timestamp::from_micros(row.get(0)?),
                    offset: row.get(1)?,
                    what: What::Happened(VIEW.get_at(row, 2, "happening.what")?),
                    subject: row.get(3)?,
                };
                if span.since <= place.time && place.time <= span.until && wanted.follows(&place) {
                    places.push(place);
                }
                if places.len() >= wanted.limit {
                    return Ok(places);
                }
            }
        }
    }
    Ok(places)
}
