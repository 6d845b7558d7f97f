//! The health of environments over time.
//!
//! An environment is as healthy as the worst of its roots that have a health and count. While a kind that it holds,
//! or its cluster as a whole, is not watched it is Unknown, with what was last known kept beside it. Where users
//! give Progressing a grace time, a row says how the environment shows until that has passed: whoever reads it knows
//! the time it is read for, and this does not.
//!
//! An environment is Unknown only for gaps that concern it: its cluster's discovery, or a kind of which it holds
//! resources. One broken kind, or one API group whose server is down, must not make every environment of a cluster
//! Unknown. Answers name all gaps of its clusters all the same, because what was never seen cannot be counted. A kind that
//! is *excluded*, by choice or because it cannot be watched, is no gap: nobody promised it.

use rusqlite::{OptionalExtension, params};

use super::context::Apply;
use super::stretch;
use super::{ENVIRONMENT_COUNTS, OPEN, count_at, counts_at, counts_to_i64, health_at, member_health_at};
use strandline_model::{Health, HealthCounts, Stored, Timestamp};

/// One row of health.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) state: Option<Health>,
    pub(super) since: Timestamp,
    known: Option<Health>,
    known_since: Timestamp,
    pub(super) grace: Option<Grace>,
    pub(super) counts: HealthCounts,
}

/// How an environment shows that has not been Progressing for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grace {
    pub(super) state: Option<Health>,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
}

impl Row {
    /// Since when a health has been known that is known now: it goes on through a time of grace that did not show.
    fn lasts(&self, known: Option<Health>, now: Timestamp) -> Option<Timestamp> {
        let patient = self.grace.filter(|grace| grace.until > now && grace.state == known);
        let same = (self.known == known).then_some(self.known_since);
        same.or(patient.map(|grace| grace.since))
    }

    /// What shows, from when on, and what will show later on by itself.
    fn shown(&self) -> (Option<Health>, Timestamp, Option<Grace>) {
        (self.state, self.since, self.grace)
    }
}

/// What the counted members of an environment amount to.
struct Members {
    counts: HealthCounts,
    worst: Option<Health>,
    /// The worst without those that are Progressing.
    settled: Option<Health>,
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
        stretch::close(at, environment)?;
        if let Some(row) = wanted {
            let moved = held.is_none_or(|held| held.shown() != row.shown());
            open(at, environment, &row, moved)?;
            stretch::open(at, environment, &row)?;
        }
    }
    Ok(())
}

fn exists(at: &Apply<'_>, environment: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM environment WHERE id = ?1 AND to_offset = ?2)";
    at.connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| row.get(0))
}

fn held(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Option<Row>> {
    let sql = "SELECT state, since, known, known_since, grace_state, grace_since, grace_until, healthy, suspended,
        progressing, missing, degraded, unknown, no_health FROM environment_health WHERE environment_id = ?1 AND to_offset = ?2 ORDER BY from_offset DESC LIMIT 1";
    let row = at.connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| {
        let time =
            |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_micros));
        let grace = match (time(5)?, time(6)?) {
            (Some(since), Some(until)) => {
                Some(Grace { state: health_at(row, 4, "environment_health.grace_state")?, since, until })
            }
            _ => None,
        };
        Ok(Row {
            state: health_at(row, 0, "environment_health.state")?,
            since: Timestamp::from_micros(row.get(1)?),
            known: health_at(row, 2, "environment_health.known")?,
            known_since: Timestamp::from_micros(row.get(3)?),
            grace,
            counts: counts_at(row, 7, &ENVIRONMENT_COUNTS)?,
        })
    });
    row.optional()
}

fn judge(at: &Apply<'_>, environment: i64, held: Option<&Row>) -> rusqlite::Result<Row> {
    let members = members(at, environment)?;
    let known = members.worst;
    // What is known goes on through a gap, so that a short one does not make an old trouble look new.
    let known_since = held.and_then(|held| held.lasts(known, at.observed_at)).unwrap_or(at.observed_at);
    let grace = grace(at, held, &members, known_since);
    let (state, since, grace) = match gap(at, environment)? {
        Some(since) => (Some(Health::Unknown), since, None),
        None => (known, known_since, grace),
    };
    Ok(Row { state, since, known, known_since, grace, counts: members.counts })
}

/// How the environment shows until it has been Progressing for long enough; where nothing else is known of it, it is
/// Progressing from the start.
fn grace(at: &Apply<'_>, held: Option<&Row>, members: &Members, since: Timestamp) -> Option<Grace> {
    let until = since.plus(at.rules.set.progressing_grace);
    let patient =
        members.worst == Some(Health::Progressing) && members.settled.is_some() && until > at.observed_at;
    patient.then(|| {
        let shown = held.map(|held| match held.grace {
            Some(grace) if grace.until > at.observed_at => (grace.state, grace.since),
            _ => (held.state, held.since),
        });
        let kept = shown.filter(|(state, _)| *state == members.settled);
        Grace { state: members.settled, since: kept.map_or(at.observed_at, |(_, since)| since), until }
    })
}

/// The members by health, and the worst health among those that count.
fn members(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Members> {
    let sql =
        "SELECT health, sum(total), sum(counted) FROM member_count WHERE environment_id = ?1 GROUP BY health";
    let mut statement = at.connection.prepare_cached(sql)?;
    let mut rows = statement.query([environment])?;
    let mut members = Members { counts: HealthCounts::default(), worst: None, settled: None };
    while let Some(row) = rows.next()? {
        let total = count_at(row, 1, "member_count.total")?;
        let counted = count_at(row, 2, "member_count.counted")?;
        let health = member_health_at(row, 0, "member_count.health")?;
        *members.counts.slot(health) += total;
        if counted > 0 {
            members.worst = members.worst.max(health);
            members.settled = members.settled.max(health.filter(|health| *health != Health::Progressing));
        }
    }
    Ok(members)
}

/// Since when something that the environment holds has not been watched. Where the whole cluster may not be seen, a watch
/// of the environment's own namespace will do.
fn gap(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Option<Timestamp>> {
    let sql = r#"SELECT min(g.since) FROM target t
        JOIN coverage g ON g.cluster_id = t.cluster_id AND g.state = 1 AND g.to_offset = ?2
            AND (g.namespace IN ('', t.namespace) OR t.namespace = '')
        JOIN kind k ON k.id = g.kind_id
        WHERE t.environment_id = ?1 AND ((k.kind = '' AND k."group" = '') OR EXISTS (SELECT 1 FROM member_count c
            WHERE c.environment_id = t.environment_id AND c.kind_id = g.kind_id AND c.total > 0))
          AND (g.namespace <> '' OR NOT EXISTS (SELECT 1 FROM coverage w WHERE w.kind_id = g.kind_id
              AND w.namespace = t.namespace AND w.state = 0 AND w.to_offset = ?2))"#;
    let since: Option<i64> =
        at.connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| row.get(0))?;
    Ok(since.map(Timestamp::from_micros))
}

fn open(at: &Apply<'_>, environment: i64, row: &Row, moved: bool) -> rusqlite::Result<()> {
    let sql =
        "INSERT OR REPLACE INTO environment_health (environment_id, from_offset, to_offset, observed_at,
        state, since, known, known_since, grace_state, grace_since, grace_until, moved, rule_set_id, healthy, suspended,
        progressing, missing, degraded, unknown, no_health)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";
    let [healthy, suspended, progressing, missing, degraded, unknown, no_health] = counts_to_i64(row.counts);
    at.connection.prepare_cached(sql)?.execute(params![
        environment,
        at.offset.as_i64(),
        OPEN,
        at.observed_at.as_micros(),
        row.state.map(Stored::number),
        row.since.as_micros(),
        row.known.map(Stored::number),
        row.known_since.as_micros(),
        row.grace.and_then(|grace| grace.state).map(Stored::number),
        row.grace.map(|grace| grace.since.as_micros()),
        row.grace.map(|grace| grace.until.as_micros()),
        moved,
        at.rules.id,
        healthy,
        suspended,
        progressing,
        missing,
        degraded,
        unknown,
        no_health,
    ])?;
    Ok(())
}
