//! The rows of a page of the feed, the newest first: those of all environments in the order of the log, or those of some
//! environments, each from its own.

use rusqlite::{OptionalExtension, Row, named_params};

use crate::changes::environments::Selection;
use crate::changes::{ChangesFilter, health};
use crate::error::Result;
use crate::question::Context;
use crate::scope::reads;
use crate::spans::Span;
use crate::timeline::{Place, What};
use strandline_model::{Stored, Timestamp};
use strandline_protocol::{EntryHealth, FeedKind};
use strandline_sqlite::column::VIEW;
use strandline_syntax::Glob;

/// A row of the feed.
pub(super) struct FeedRow {
    pub(super) environment: i64,
    pub(super) place: Place,
    /// The field manager; empty where it is not known.
    pub(super) manager: String,
    /// Of a change of health, what it is.
    pub(super) health: Option<EntryHealth>,
}

/// The place of a row in the order of the feed.
pub(super) type Position = (i64, i64, i64, i64);

impl FeedRow {
    pub(super) fn position(&self) -> Position {
        (self.place.offset, self.environment, self.place.what.code(), self.place.subject)
    }
}

/// Rows of `$from` between two offsets and before a position, as far as the scope could read the environment then; those of
/// controllers on request.
macro_rules! select {
    ($from:literal) => {
        concat!(
            r#"SELECT f.observed_at, f."offset", f.what, f.subject, f.environment_id, coalesce(m.name, '') FROM "#,
            $from,
            r#" LEFT JOIN manager m ON m.id = f.manager_id
            LEFT JOIN controller k ON k.environment_id = f.environment_id AND k.manager_id = f.manager_id
                AND k.since <= :at
            WHERE f."offset" BETWEEN :from AND :to
                AND (f."offset", f.environment_id, f.what, f.subject) < (:offset, :environment, :what, :subject)
                AND f.what IN (SELECT value FROM json_each(:whats))
                AND (:controllers OR k.since IS NULL)
                AND EXISTS (SELECT 1 FROM environment_audience e WHERE e.environment_id = f.environment_id
                    AND e.from_offset <= f."offset" AND e.to_offset > f."offset" AND "#,
            reads!(),
            r#") ORDER BY f."offset" DESC, f.environment_id DESC, f.what DESC, f.subject DESC"#
        )
    };
}

/// In the order of the table, so that it is read no further than a page goes …
pub(crate) const OF_ALL: &str = select!("feed f NOT INDEXED");
/// … and of some environments alone.
pub(crate) const OF_SOME: &str = select!(
    "json_each(:environments) i CROSS JOIN feed f INDEXED BY feed_by_environment ON f.environment_id = i.value"
);

/// As many rows as a page needs.
pub(super) fn newest(
    q: &Context<'_>,
    filter: &ChangesFilter,
    selection: &mut Selection<'_>,
    (from, to): (i64, i64),
    span: Span,
) -> Result<Vec<FeedRow>> {
    let number = |part: usize| q.start.after(part).parse().ok();
    let (offset, environment) = (number(0).unwrap_or(i64::MAX), number(1).unwrap_or(i64::MAX));
    let after = (offset, environment, number(2).unwrap_or(i64::MAX), number(3).unwrap_or(i64::MAX));
    let limit = usize::try_from(q.start.rows()).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let whats: Vec<i64> =
        filter.kinds().iter().filter_map(|kind| kind.happening()).map(Stored::number).collect();
    if !whats.is_empty() && from <= to {
        let environments = selection.numbers();
        let mut statement = q.view.prepare_cached(if environments.is_some() { OF_SOME } else { OF_ALL })?;
        let whats = serde_json::json!(whats).to_string();
        let mut params: Vec<(&str, &dyn rusqlite::ToSql)> = Vec::new();
        let (at, scope, controllers) =
            (q.moment.offset.as_i64(), q.scope.as_sql(), filter.shows_controllers());
        let to = to.min(after.0);
        params.extend([
            (":from", &from as &dyn rusqlite::ToSql),
            (":to", &to),
            (":offset", &after.0),
            (":environment", &after.1),
            (":what", &after.2),
            (":subject", &after.3),
            (":whats", &whats),
            (":controllers", &controllers),
            (":at", &at),
            (":scope", &scope),
        ]);
        if environments.is_some() {
            params.push((":environments", &environments));
        }
        let mut rows = statement.query(params.as_slice())?;
        while found.len() < limit
            && let Some(row) = rows.next()?
        {
            let row = from_row(row)?;
            let within = span.since <= row.place.time && row.place.time <= span.until;
            if within && selection.get(row.environment)?.is_some() && is_by(q, &row, &filter.by)? {
                found.push(row);
            }
        }
    }
    if filter.kinds().contains(&FeedKind::Health) && filter.by.is_empty() {
        found.extend(health::newest(q, selection, (from, to), (span, after), limit)?);
        found.sort_unstable_by_key(|row| std::cmp::Reverse(row.position()));
        found.truncate(limit);
    }
    Ok(found)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<FeedRow> {
    let place = Place {
        time: Timestamp::from_micros(row.get(0)?),
        offset: row.get(1)?,
        what: What::Happened(VIEW.get_at(row, 2, "feed.what")?),
        subject: row.get(3)?,
    };
    Ok(FeedRow { environment: row.get(4)?, place, manager: row.get(5)?, health: None })
}

/// Whether one of those who are asked for made it.
fn is_by(q: &Context<'_>, row: &FeedRow, by: &[Glob]) -> Result<bool> {
    if by.is_empty() {
        return Ok(true);
    }
    let name = match row.place.what.happening() {
        Some(strandline_model::Happening::Deployed) => user(q, row)?,
        _ => row.manager.clone(),
    };
    Ok(!name.is_empty() && by.iter().any(|glob| glob.matches(&name)))
}

/// Whose deployment it is, as it was recorded first.
fn user(q: &Context<'_>, row: &FeedRow) -> Result<String> {
    let sql = "SELECT coalesce(spec ->> '$.user', '') FROM deployment
        WHERE id = :id AND from_offset <= :at AND to_offset > :at";
    let params = named_params! { ":id": row.place.subject, ":at": row.place.offset };
    let user = q.view.prepare_cached(sql)?.query_row(params, |row| row.get(0)).optional()?;
    Ok(user.unwrap_or_default())
}
