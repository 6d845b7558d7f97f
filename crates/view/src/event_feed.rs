//! Kubernetes Events by environment, in the order in which they were said.
//!
//! A row stands for a count of an Event as an environment shows it: from where it was said, or where what it is about came to
//! belong, until the same is said again. So a list over many environments reads only what is on its page, whatever was said
//! before and elsewhere.
//!
//! Why: docs/decisions/0025-kubernetes-events-are-folded-not-resources.md.

use rusqlite::{OptionalExtension, params};

use super::columns::OPEN;
use super::context::Apply;
use strandline_model::Timestamp;
use strandline_object::kube_event::EventType;

/// Part of a digest of a reason, without regard to case: reasons with another mark are others.
pub fn reason_mark(reason: &str) -> i64 {
    let digest = blake3::hash(reason.to_ascii_lowercase().as_bytes());
    let [first, second, ..] = *digest.as_bytes();
    i64::from(u16::from_le_bytes([first, second]))
}

/// The last count of an Event.
pub(super) struct Said {
    pub(super) event: i64,
    pub(super) offset: i64,
    pub(super) said_at: Timestamp,
    reason_mark: i64,
    pub(super) is_warning: bool,
}

impl Said {
    /// Reads it, by the view's number of the Event; none where retention let go of all.
    pub(super) fn last(at: &Apply<'_>, event: i64) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT type, reason_mark FROM kube_event WHERE id = ?1";
        let (is_warning, reason_mark) = at.connection.prepare_cached(sql)?.query_row([event], |row| {
            let is_normal = row.get_ref("type")?.as_str()? == EventType::Normal.as_str();
            Ok((!is_normal, row.get("reason_mark")?))
        })?;
        let sql = "SELECT from_offset, said_at FROM kube_event_count WHERE event_id = ?1
            ORDER BY from_offset DESC LIMIT 1";
        let last = at.connection.prepare_cached(sql)?.query_row([event], |row| {
            let (offset, said_at) = (row.get("from_offset")?, row.get("said_at")?);
            Ok(Said { event, offset, said_at, reason_mark, is_warning })
        });
        last.optional()
    }

    /// Writes that it was said, for an environment of which what it is about is a part, or has become one. The count that
    /// the environment showed so far need not be the one before, which may have been told to others.
    pub(super) fn write(&self, at: &Apply<'_>, environment: i64) -> rusqlite::Result<()> {
        let sql = r#"UPDATE event_feed SET to_offset = ?4, said_again_at = ?5
            WHERE (said_at, "offset", environment_id) = (SELECT n.said_at, n.from_offset, ?3 FROM kube_event_count n
                WHERE n.event_id = ?1 AND n.from_offset < ?2 AND EXISTS (SELECT 1 FROM event_feed f
                    WHERE f.said_at = n.said_at AND f."offset" = n.from_offset AND f.environment_id = ?3)
                ORDER BY n.from_offset DESC LIMIT 1) AND to_offset = ?6"#;
        let row = params![self.event, self.offset, environment, at.offset, self.said_at, OPEN];
        at.connection.prepare_cached(sql)?.execute(row)?;
        self.insert(at, environment)
    }

    fn insert(&self, at: &Apply<'_>, environment: i64) -> rusqlite::Result<()> {
        let sql = r#"INSERT OR IGNORE INTO event_feed (said_at, "offset", environment_id, event_id, from_offset, to_offset,
                warned, reason_mark)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"#;
        let Said { event, offset, said_at, reason_mark, is_warning } = self;
        let row = params![said_at, offset, environment, event, at.offset, OPEN, is_warning, reason_mark];
        at.connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }
}
