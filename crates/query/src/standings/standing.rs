//! How one environment stands: what is declared of it, and what it shows.

use std::sync::Arc;

use rusqlite::Row;

use super::shared::Shared;
use crate::row_filter::Aim;
use strandline_model::{Health, HealthCounts, Labels, Offset, Timestamp};
use strandline_sqlite::column::{VIEW, unreadable};
use strandline_syntax::diagnostics::of_json;
use strandline_view::{COUNTS, read_counts_at};

/// How one environment stands.
#[derive(Clone)]
pub(in super::super) struct Standing {
    /// The view's numbers of it, and of those who see it.
    pub(in super::super) number: i64,
    pub(in super::super) audience: i64,
    /// Since when all of the following is declared so.
    pub(super) declared: Offset,
    pub(in super::super) tier: Arc<str>,
    pub(in super::super) region: Arc<str>,
    pub(in super::super) state: Arc<str>,
    pub(in super::super) project: Arc<str>,
    pub(in super::super) id: Arc<str>,
    pub(in super::super) name: Arc<str>,
    pub(in super::super) labels: Arc<Labels>,
    pub(in super::super) targets: Arc<[Aim]>,
    shows: Shows,
}

/// What an environment shows at an offset.
#[derive(Clone, Copy)]
pub(super) struct Shows {
    shown: Shown,
    /// What it shows until a time.
    grace: Option<(Timestamp, Shown)>,
    resources: HealthCounts,
}

/// A health, and since when.
#[derive(Clone, Copy)]
pub(in super::super) struct Shown {
    pub(in super::super) health: Option<Health>,
    pub(in super::super) since: Timestamp,
}

/// The columns of [`Standing::read`], of a row `e` of what is declared …
macro_rules! declared {
    () => {
        "e.id, e.audience, e.from_offset, e.tier, e.region, e.state, e.project, e.name_id, e.name, e.labels, e.targets"
    };
}

/// … and of [`Shows::read`], of a row `h` of health.
macro_rules! shows {
    () => {
        "h.state, h.since, h.grace_state, h.grace_since, h.grace_until,
            h.healthy, h.suspended, h.progressing, h.missing, h.degraded, h.unknown, h.no_health"
    };
}

/// SQL that holds for the rows `h` of health that hold at `:at`.
macro_rules! holding {
    () => {
        "h.stretch = (SELECT max(from_offset) FROM stretch WHERE from_offset <= :at)
            AND h.from_offset <= :at AND h.to_offset > :at"
    };
}

pub(super) use {declared, holding, shows};

impl Standing {
    /// How many columns say what is declared.
    pub(super) const DECLARED: usize = 11;

    /// Reads what is declared from the first columns.
    pub(super) fn read(row: &Row<'_>, shows: Shows, shared: &mut Shared) -> rusqlite::Result<Self> {
        let text = |column: usize| Ok::<&str, rusqlite::Error>(row.get_ref(column)?.as_str()?);
        let mut word = |column: usize| text(column).map(|text| shared.text(text));
        Ok(Standing {
            number: row.get(0)?,
            audience: row.get(1)?,
            declared: row.get(2)?,
            tier: word(3)?,
            region: word(4)?,
            state: word(5)?,
            project: word(6)?,
            id: text(7)?.into(),
            name: text(8)?.into(),
            labels: shared.labels(text(9)?).map_err(|error| unreadable(9, of_json(&error)))?,
            targets: shared.targets(text(10)?).map_err(|error| unreadable(10, of_json(&error)))?,
            shows,
        })
    }

    /// The same environment, declared as it is, when it shows something else.
    pub(super) fn showing(&self, shows: Shows) -> Self {
        Standing { shows, ..self.clone() }
    }

    /// What it shows at a time, and since when.
    pub(in super::super) fn shown(&self, clock: Timestamp) -> Shown {
        let Shows { shown, grace, .. } = self.shows;
        grace.filter(|(until, _)| *until > clock).map_or(shown, |(_, shown)| shown)
    }

    /// How many of its resources have which health.
    pub(in super::super) fn resources(&self) -> HealthCounts {
        self.shows.resources
    }
}

impl Shows {
    /// Reads the columns from this one on.
    pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let grace: (Option<i64>, Option<i64>) = (row.get(first + 3)?, row.get(first + 4)?);
        let grace = match grace {
            (Some(since), Some(until)) => {
                let health = VIEW.get_at(row, first + 2, "stretch_health.grace_state")?;
                let shown = Shown { health, since: Timestamp::from_micros(since) };
                Some((Timestamp::from_micros(until), shown))
            }
            _ => None,
        };
        let (health, since) = (VIEW.get_at(row, first, "stretch_health.state")?, row.get(first + 1)?);
        Ok(Shows {
            shown: Shown { health, since: Timestamp::from_micros(since) },
            grace,
            resources: read_counts_at(row, first + 5, &COUNTS)?,
        })
    }
}
