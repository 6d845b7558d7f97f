//! The moment an answer holds for.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, named_params};

use super::scope::{Sight, concerned, looked_at};
use super::types::{Coverage, Gap, Snapshot};
use super::{QueryError, Result, floors};
use crate::log::LogReader;
use crate::model::{At, Offset, Timestamp};

/// Clocks differ; a moment this little ahead of ours is taken for now.
const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// Gaps named in one answer.
const GAPS: usize = 100;

/// A moment, found in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) offset: Offset,
    time: Option<Timestamp>,
    asked: Option<Timestamp>,
    /// Changes in the log that belong to the moment and that the view does not hold yet.
    lag: u64,
    checkpoint: Offset,
    /// Our clock.
    pub(super) now: Timestamp,
    /// Whether nothing else than now was asked for; of a later page only its token can tell.
    pub(super) asked_for_now: bool,
    /// Whether what happens now is recorded.
    recording: bool,
}

/// Of which clusters an answer names the gaps.
pub(super) enum Concerns<'a> {
    /// Of all that the scope may see.
    Everything,
    /// Of those an environment looks at, by the view's number; of none while the scope may not read it.
    Environment(i64),
    /// Of one, by name.
    Cluster(&'a str),
}

impl Concerns<'_> {
    /// The view's number of the environment and the name of the cluster, where it is one.
    pub(super) fn as_sql(&self) -> (Option<i64>, Option<&str>) {
        match self {
            Concerns::Everything => (None, None),
            Concerns::Environment(id) => (Some(*id), None),
            Concerns::Cluster(name) => (None, Some(*name)),
        }
    }
}

impl Moment {
    /// Finds the moment asked for; `pinned` is that of the first page where this is a later one.
    pub(super) fn find(
        view: &Connection,
        log: &mut LogReader,
        now: Timestamp,
        at: At,
        pinned: Option<Offset>,
    ) -> Result<Self> {
        let sql = r#"SELECT "offset" FROM checkpoint"#;
        let checkpoint = view.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
        let (checkpoint, head) = (Offset::from_i64(checkpoint.unwrap_or(0)), log.head()?);
        let asked = match at {
            At::Now | At::Offset(_) => None,
            At::Time(time) => Some(time),
            At::Ago(duration) => Some(now.minus(duration)),
        };
        if let Some(asked) = asked.filter(|asked| *asked > now.plus(CLOCK_SKEW)) {
            return Err(QueryError::FutureTime { asked, now });
        }
        let offset = match (pinned, at, asked) {
            (Some(pinned), At::Offset(offset), _) if offset != pinned => {
                return Err(QueryError::BadToken("it belongs to another moment"));
            }
            // A time that more changes have reached since may mean a later offset by now, never an earlier one.
            (Some(pinned), At::Time(time), _) if log.observed_at(pinned)?.is_some_and(|of| of > time) => {
                return Err(QueryError::BadToken("it belongs to another moment"));
            }
            (Some(pinned), ..) => pinned,
            (None, At::Offset(offset), _) => offset,
            (None, _, Some(asked)) => log.offset_at(asked, checkpoint)?,
            (None, _, None) => checkpoint,
        };
        let compacted = log.compacted()?;
        if offset < compacted.offset {
            return Err(QueryError::Compacted { earliest: compacted.offset, time: compacted.observed_at });
        }
        if offset > head {
            return Err(QueryError::FutureOffset { asked: offset, newest: head });
        }
        if offset > checkpoint {
            return Err(QueryError::Building { checkpoint, head });
        }
        let (time, asked_for_now) = (log.observed_at(offset)?, pinned.is_none() && at == At::Now);
        // The view holds all of an offset that it has reached; of a time it may lack the last changes.
        let named = pinned.is_some() || matches!(at, At::Offset(_)) || offset < checkpoint;
        let lag = if named { 0 } else { head.get() - checkpoint.get() };
        Ok(Moment { offset, time, asked, lag, checkpoint, now, asked_for_now, recording: true })
    }

    /// The same moment of a log that takes changes, or of one that does not.
    pub(super) fn recorded(self, recording: bool) -> Self {
        Moment { recording, ..self }
    }

    /// The same moment in a later state of the view.
    pub(super) fn found_again(&self, view: &Connection, log: &mut LogReader) -> Result<Self> {
        let found = Moment::find(view, log, self.now, At::Offset(self.offset), None)?;
        Ok(Moment {
            asked: self.asked,
            asked_for_now: self.asked_for_now,
            lag: self.lag,
            recording: self.recording,
            ..found
        })
    }

    /// The time it stands for: what was asked for, or else our clock for now, or else when its change was observed.
    pub(super) fn clock(&self) -> Timestamp {
        match (self.asked, self.time) {
            (Some(asked), _) => asked,
            (None, Some(time)) if !self.asked_for_now => time,
            _ => self.now,
        }
    }

    /// When its change was observed; none while the log is empty.
    pub(super) fn time(&self) -> Option<Timestamp> {
        self.time
    }

    /// Whether nothing has been projected after it, so that what the view keeps of now only holds for it.
    pub(super) fn is_newest(&self) -> bool {
        self.offset == self.checkpoint
    }

    /// What an answer says of its moment.
    pub(super) fn snapshot(
        &self,
        view: &Connection,
        scope: &Sight,
        concerns: &Concerns<'_>,
    ) -> Result<Snapshot> {
        let mut gaps = gaps(view, scope, self.offset, concerns)?;
        gaps.extend(floors::gaps(view, scope, self.offset, concerns)?);
        gaps.truncate(GAPS);
        Ok(Snapshot {
            offset: self.offset,
            time: self.time,
            at: self.asked,
            lag_changes: self.lag,
            coverage: Coverage { complete: gaps.is_empty(), gaps },
            not_recording: self.asked_for_now && !self.recording,
        })
    }
}

/// The gaps after an offset, the oldest first; a cluster that the catalog does not hold is nobody's gap.
pub(super) fn gaps(
    view: &Connection,
    scope: &Sight,
    at: Offset,
    concerns: &Concerns<'_>,
) -> Result<Vec<Gap>> {
    let (environment, cluster) = concerns.as_sql();
    let sql = concat!(
        r#"SELECT c.name, k."group", k.kind, g.namespace, g.since, g.reason, g.message
        FROM coverage g JOIN kind k ON k.id = g.kind_id JOIN cluster c ON c.id = g.cluster_id
        JOIN cluster_spec s ON s.cluster_id = c.id AND s.from_offset <= :at AND s.to_offset > :at
        WHERE g.state = 1 AND g.from_offset <= :at AND g.to_offset > :at
          AND (:cluster IS NULL OR c.name = :cluster)
          AND "#,
        concerned!(
            " AND (g.namespace IN ('', t.value ->> '$.namespace') OR t.value ->> '$.namespace' = '')
                AND (g.namespace <> '' OR NOT EXISTS (SELECT 1 FROM coverage w WHERE w.kind_id = g.kind_id
                    AND w.namespace = t.value ->> '$.namespace' AND w.state = 0
                    AND w.from_offset <= :at AND w.to_offset > :at))"
        ),
        " AND ",
        looked_at!(namespace),
        r#" ORDER BY g.since, c.name, k."group", k.kind, g.namespace LIMIT :limit"#
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":at": at.as_i64(), ":cluster": cluster, ":environment": environment,
        ":scope": scope.as_sql(), ":limit": GAPS as i64,
    };
    let rows = statement.query_map(params, |row| {
        Ok(Gap {
            cluster: row.get(0)?,
            group: row.get(1)?,
            kind: row.get(2)?,
            namespace: row.get(3)?,
            since: Timestamp::from_micros(row.get(4)?),
            reason: row.get(5)?,
            message: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
