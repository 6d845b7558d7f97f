//! The health of environments over time.
//!
//! An environment is as healthy as the worst of its roots that have a health and count. While a kind that it holds,
//! or its cluster as a whole, is not watched it is Unknown, with what was last known kept beside it. Where users
//! give Progressing a grace time, a row has what the environment shows until that has passed: a reader knows
//! the time that it reads for, and the projector does not.
//!
//! An environment is Unknown only for gaps that concern it: its cluster's discovery, or a kind of which it holds
//! resources. One broken kind, or one API group whose server is down, must not make every environment of a cluster
//! Unknown. Answers name all gaps of its clusters all the same, because what was never seen cannot be counted. A kind that
//! is *excluded*, by choice or because it cannot be watched, is no gap: nobody promised it.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use super::columns::{ENVIRONMENT_COUNTS, MemberHealth, OPEN, read_counts, write_counts};
use super::context::Apply;
use super::open_gaps::is_watched;
use super::segment::{Carried, SegmentTable};
use strandline_model::{Health, HealthCounts, Timestamp};
use strandline_sqlite::column::{Count, VIEW};

/// The same once more by time: a question about all environments at one time finds a row of each in few pages. Its only
/// owner is the log, and a segment is noted with what it took over.
const HEALTH_BY_TIME: SegmentTable = SegmentTable {
    name: "stretch_health",
    last: "SELECT s.from_offset AS start, s.taken AS first_count,
            (SELECT count(*) FROM stretch_health h WHERE h.stretch = s.from_offset) AS row_count
        FROM stretch s WHERE ?1 = 0 ORDER BY s.from_offset DESC LIMIT 1",
    open: "INSERT OR REPLACE INTO stretch_health (stretch, from_offset, to_offset, environment_id, state, since,
            grace_state, grace_since, grace_until,
            healthy, suspended, progressing, missing, degraded, unknown, no_health)
        VALUES (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    close: "UPDATE stretch_health SET to_offset = ?3 WHERE stretch = ?2 AND environment_id = ?5 AND to_offset = ?4",
    carry: "INSERT INTO stretch_health
        SELECT ?3, environment_id, from_offset, to_offset, state, since, grace_state, grace_since, grace_until,
            healthy, suspended, progressing, missing, degraded, unknown, no_health
        FROM stretch_health WHERE stretch = ?2 AND to_offset = ?4",
    carried: Carried::Unchanged { begin: "INSERT INTO stretch (from_offset, taken) VALUES (?3, ?5)", rows: 32 },
};

/// Who owns that.
const LOG: i64 = 0;

/// One row of health.
#[derive(Debug, PartialEq, Eq)]
struct HealthRow {
    state: Option<Health>,
    since: Timestamp,
    known: Option<Health>,
    known_since: Timestamp,
    grace: Option<Grace>,
    counts: HealthCounts,
}

/// How an environment shows that has not been Progressing for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grace {
    state: Option<Health>,
    since: Timestamp,
    until: Timestamp,
}

impl HealthRow {
    /// Since when a health has been known that is known now: a time of grace, which did not show, does not end it.
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
#[derive(Default)]
struct Members {
    counts: HealthCounts,
    worst: Option<Health>,
    /// The worst without those that are Progressing.
    settled: Option<Health>,
    /// The kinds of which there are any.
    kinds: BTreeSet<i64>,
}

/// Brings the health of every touched environment up to date.
pub(super) fn settle(at: &mut Apply<'_>) -> rusqlite::Result<()> {
    for environment in at.touched.environments.clone() {
        let current = current(at, environment)?;
        let wanted =
            if exists(at, environment)? { Some(judge(at, environment, current.as_ref())?) } else { None };
        if current == wanted {
            continue;
        }
        // The open row is the last; without saying so, every earlier one of the environment would be looked at.
        let close =
            "UPDATE environment_health SET to_offset = ?2 WHERE environment_id = ?1 AND to_offset = ?3
            AND from_offset = (SELECT max(from_offset) FROM environment_health WHERE environment_id = ?1)";
        let closed = at.connection.prepare_cached(close)?.execute(params![environment, at.offset, OPEN])?;
        debug_assert!(closed <= 1, "one row of health is open for an environment");
        at.segments.close(at.now(), &HEALTH_BY_TIME, LOG, &[&environment])?;
        if let Some(row) = wanted {
            let moved = current.is_none_or(|current| current.shown() != row.shown());
            open(at, environment, &row, moved)?;
        }
    }
    Ok(())
}

fn exists(at: &Apply<'_>, environment: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM environment WHERE id = ?1 AND to_offset = ?2)";
    at.connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| row.get(0))
}

/// The health of an environment that holds at present.
fn current(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Option<HealthRow>> {
    let sql = "SELECT state, since, known, known_since, grace_state, grace_since, grace_until,
            healthy, suspended, progressing, missing, degraded, unknown, no_health
        FROM environment_health WHERE environment_id = ?1 AND to_offset = ?2 ORDER BY from_offset DESC LIMIT 1";
    let row = at.connection.prepare_cached(sql)?.query_row(params![environment, OPEN], |row| {
        let grace = match (row.get("grace_since")?, row.get("grace_until")?) {
            (Some(since), Some(until)) => {
                Some(Grace { state: VIEW.get(row, "environment_health.grace_state")?, since, until })
            }
            _ => None,
        };
        Ok(HealthRow {
            state: VIEW.get(row, "environment_health.state")?,
            since: row.get("since")?,
            known: VIEW.get(row, "environment_health.known")?,
            known_since: row.get("known_since")?,
            grace,
            counts: read_counts(row, &ENVIRONMENT_COUNTS)?,
        })
    });
    row.optional()
}

fn judge(at: &mut Apply<'_>, environment: i64, current: Option<&HealthRow>) -> rusqlite::Result<HealthRow> {
    let members = members(at, environment)?;
    let known = members.worst;
    // A gap does not end what is known, so that a short one does not make an old trouble look new.
    let known_since =
        current.and_then(|current| current.lasts(known, at.observed_at)).unwrap_or(at.observed_at);
    let grace = grace(at, current, &members, known_since);
    let (state, since, grace) = match gap(at, environment, &members.kinds)? {
        Some(since) => (Some(Health::Unknown), since, None),
        None => (known, known_since, grace),
    };
    Ok(HealthRow { state, since, known, known_since, grace, counts: members.counts })
}

/// How the environment shows until it has been Progressing for long enough; where nothing else is known of it, it is
/// Progressing from the start.
fn grace(at: &Apply<'_>, current: Option<&HealthRow>, members: &Members, since: Timestamp) -> Option<Grace> {
    let until = since.plus(at.rules.set.progressing_grace);
    let patient =
        members.worst == Some(Health::Progressing) && members.settled.is_some() && until > at.observed_at;
    patient.then(|| {
        let shown = current.map(|current| match current.grace {
            Some(grace) if grace.until > at.observed_at => (grace.state, grace.since),
            _ => (current.state, current.since),
        });
        let kept = shown.filter(|(state, _)| *state == members.settled);
        Grace { state: members.settled, since: kept.map_or(at.observed_at, |(_, since)| since), until }
    })
}

/// The members by health, and the worst health among those that count.
fn members(at: &Apply<'_>, environment: i64) -> rusqlite::Result<Members> {
    let sql = "SELECT kind_id, health, total, counted FROM member_count WHERE environment_id = ?1";
    let mut statement = at.connection.prepare_cached(sql)?;
    let mut rows = statement.query([environment])?;
    let mut members = Members::default();
    while let Some(row) = rows.next()? {
        let Count(total) = VIEW.get(row, "member_count.total")?;
        let Count(counted) = VIEW.get(row, "member_count.counted")?;
        let MemberHealth(health) = VIEW.get(row, "member_count.health")?;
        *members.counts.slot(health) += total;
        if total > 0 {
            members.kinds.insert(row.get("kind_id")?);
        }
        if counted > 0 {
            members.worst = members.worst.max(health);
            members.settled = members.settled.max(health.filter(|health| *health != Health::Progressing));
        }
    }
    Ok(members)
}

/// Since when something that the environment holds has not been watched. Where the whole cluster may not be seen, a watch
/// of the environment's own namespace will do.
fn gap(at: &mut Apply<'_>, environment: i64, kinds: &BTreeSet<i64>) -> rusqlite::Result<Option<Timestamp>> {
    let mut statement =
        at.connection.prepare_cached("SELECT cluster_id, namespace FROM target WHERE environment_id = ?1")?;
    let mut targets = statement.query([environment])?;
    let mut since = None;
    while let Some(target) = targets.next()? {
        let namespace = target.get_ref("namespace")?.as_str()?;
        for gap in at.gaps.of(at.connection, target.get("cluster_id")?)? {
            let is_here = gap.namespace.is_empty() || namespace.is_empty() || gap.namespace == namespace;
            let is_earlier = since.is_none_or(|since| gap.since < since);
            if is_here
                && is_earlier
                && (gap.is_discovery || kinds.contains(&gap.kind))
                && (!gap.namespace.is_empty() || !is_watched(at.connection, gap.kind, namespace)?)
            {
                since = Some(gap.since);
            }
        }
    }
    Ok(since)
}

fn open(at: &mut Apply<'_>, environment: i64, row: &HealthRow, moved: bool) -> rusqlite::Result<()> {
    let sql =
        "INSERT OR REPLACE INTO environment_health (environment_id, from_offset, to_offset, observed_at,
            state, since, known, known_since, grace_state, grace_since, grace_until, moved, rule_set_id,
            healthy, suspended, progressing, missing, degraded, unknown, no_health)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";
    let HealthRow { state, since, known, known_since, grace, counts } = row;
    let grace_state = grace.and_then(|grace| grace.state);
    let (grace_since, grace_until) = grace.map(|grace| (grace.since, grace.until)).unzip();
    let [healthy, suspended, progressing, missing, degraded, unknown, no_health] = write_counts(*counts);
    at.connection.prepare_cached(sql)?.execute(params![
        environment,
        at.offset,
        OPEN,
        at.observed_at,
        state,
        since,
        known,
        known_since,
        grace_state,
        grace_since,
        grace_until,
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
    let by_time = params![
        environment,
        state,
        since,
        grace_state,
        grace_since,
        grace_until,
        healthy,
        suspended,
        progressing,
        missing,
        degraded,
        unknown,
        no_health,
    ];
    at.segments.open(at.now(), &HEALTH_BY_TIME, LOG, by_time)
}
