//! The health of environments over time.
//!
//! An environment is as healthy as the worst of its roots that have a health. While a kind that it holds, or
//! its cluster as a whole, is not watched it is Unknown, with what was last known kept beside it.

use rusqlite::{OptionalExtension, params};

use super::context::Apply;
use super::{OPEN, health_from_i64, health_to_i64};
use crate::model::{Health, HealthCounts, Timestamp};

/// One row of health.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    state: Option<Health>,
    since: Timestamp,
    known: Option<Health>,
    known_since: Timestamp,
    counts: String,
}

/// Brings the health of every touched environment up to date.
pub(super) fn settle(at: &mut Apply<'_>) -> rusqlite::Result<()> {
    for environment in at.touched.environments.clone() {
        let held = held(at, environment)?;
        let wanted =
            if exists(at, environment)? { Some(judge(at, environment, held.as_ref())?) } else { None };
        if held == wanted {
            continue;
        }
        // The open row is the last; without saying so, every earlier one of the environment would be looked at.
        let close =
            "UPDATE environment_health SET to_offset = ?2 WHERE environment_id = ?1 AND to_offset = ?3
            AND from_offset = (SELECT max(from_offset) FROM environment_health WHERE environment_id = ?1)";
        at.connection.prepare_cached(close)?.execute(params![environment, at.offset.as_i64(), OPEN])?;
        if let Some(row) = wanted {
            open(at, environment, &row)?;
        }
    }
    Ok(())
}

fn exists(at: &Apply<'_>, environment: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM environment WHERE id = ?1 AND to_offset = ?2)";
    at.connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| row.get(0))
}

fn held(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Option<Row>> {
    let sql = "SELECT state, since, known, known_since, counts FROM environment_health
        WHERE environment_id = ?1 AND to_offset = ?2 ORDER BY from_offset DESC LIMIT 1";
    let row = at.connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| {
        Ok(Row {
            state: row.get::<_, Option<i64>>(0)?.map(health_from_i64),
            since: Timestamp::from_micros(row.get(1)?),
            known: row.get::<_, Option<i64>>(2)?.map(health_from_i64),
            known_since: Timestamp::from_micros(row.get(3)?),
            counts: row.get(4)?,
        })
    });
    row.optional()
}

fn judge(at: &Apply<'_>, environment: i64, held: Option<&Row>) -> rusqlite::Result<Row> {
    let (counts, known) = counts(at, environment)?;
    let gap = gap(at, environment)?;
    // What is known goes on through a gap, so that a short one does not make an old trouble look new.
    let known_since = held.filter(|held| held.known == known).map_or(at.observed_at, |held| held.known_since);
    let (state, since) = match gap {
        Some(since) => (Some(Health::Unknown), since),
        None => (known, known_since),
    };
    Ok(Row { state, since, known, known_since, counts: serde_json::json!(counts).to_string() })
}

/// The members by health, and the worst health among the roots.
fn counts(at: &Apply<'_>, environment: i64) -> rusqlite::Result<(HealthCounts, Option<Health>)> {
    let sql =
        "SELECT health, sum(total), sum(roots) FROM member_count WHERE environment_id = ?1 GROUP BY health";
    let mut statement = at.connection.prepare_cached(sql)?;
    let mut rows = statement.query([environment])?;
    let (mut counts, mut worst) = (HealthCounts::default(), None);
    while let Some(row) = rows.next()? {
        let (health, total, roots): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let health = (health >= 0).then(|| health_from_i64(health));
        *counts.slot(health) += u64::try_from(total).unwrap_or(0);
        if roots > 0 {
            worst = worst.max(health);
        }
    }
    Ok((counts, worst))
}

/// Since when something that the environment holds has not been watched. Where the whole cluster may not be seen, a watch
/// of the environment's own namespace will do.
fn gap(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Option<Timestamp>> {
    let sql = r#"SELECT min(g.since) FROM target t
        JOIN coverage g ON g.cluster_id = t.cluster_id AND g.state = 1 AND g.to_offset = ?2
            AND g.namespace IN ('', t.namespace)
        JOIN kind k ON k.id = g.kind_id
        WHERE t.environment_id = ?1 AND ((k.kind = '' AND k."group" = '') OR EXISTS (SELECT 1 FROM member_count c
            WHERE c.environment_id = t.environment_id AND c.kind_id = g.kind_id AND c.total > 0))
          AND (g.namespace <> '' OR NOT EXISTS (SELECT 1 FROM coverage w WHERE w.kind_id = g.kind_id
              AND w.namespace = t.namespace AND w.state = 0 AND w.to_offset = ?2))"#;
    let since: Option<i64> =
        at.connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| row.get(0))?;
    Ok(since.map(Timestamp::from_micros))
}

fn open(at: &Apply<'_>, environment: i64, row: &Row) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO environment_health
        (environment_id, from_offset, to_offset, state, since, known, known_since, counts)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    at.connection.prepare_cached(sql)?.execute(params![
        environment,
        at.offset.as_i64(),
        OPEN,
        row.state.map(health_to_i64),
        row.since.as_micros(),
        row.known.map(health_to_i64),
        row.known_since.as_micros(),
        row.counts
    ])?;
    Ok(())
}
