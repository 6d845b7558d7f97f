//! The versions of one resource.

use rusqlite::{Connection, Row, named_params};

use crate::concerns::Concerns;
use crate::error::Result;
use crate::filters::{PageRequest, ResourceRef};
use crate::judged::{later, later_columns, word};
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::resources;
use crate::scope::ResolvedScope;
use serde::Serialize;
use strandline_log::LogReader;
use strandline_model::{Change, Offset, ResourceVersion, Timestamp, Uid};
use strandline_protocol::{ObjectText, Page, PageMetadata, Version, VersionChange};
use strandline_sqlite::column::VIEW;

/// The versions of a resource up to the time asked for, newest first.
#[derive(Clone, Debug, Serialize)]
pub struct ListResourceVersions {
    /// The resource.
    pub resource: ResourceRef,
    /// Whether each version comes with its object.
    pub bodies: bool,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListResourceVersions {
    /// The question with these parts.
    pub fn new(uid: &Uid, cluster: Option<&str>, bodies: bool, page: &PageRequest) -> Self {
        ListResourceVersions { resource: ResourceRef::new(uid, cluster), bodies, page: page.clone() }
    }
}

impl Question for ListResourceVersions {
    const NAME: &'static str = "resource_history";
    type Answer = Page<Version>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the resource never existed up to that time, [`QueryError::Ambiguous`] when several
    /// clusters have the uid and none is named.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, log, moment, scope, start, .. } = context;
        list(view, log, &moment, scope, &self.resource, self.bodies, &start)
    }
}

/// SQL that holds for a version `v` that `:scope` is told of at `:at`.
///
/// A scope sees the versions that held while the resource belonged to one of its environments, and the end if the
/// resource had last belonged there: nothing of what it was before it came or after it left for another project.
macro_rules! told {
    () => {
        concat!("(:scope IS NULL OR EXISTS (SELECT 1 FROM membership m
                CROSS JOIN environment_audience e ON e.environment_id = m.environment_id
            WHERE m.resource_id = v.resource_id AND ", $crate::scope::reads!(), "
              AND ", $crate::scope::belonged!(), "
              AND CASE v.deleted WHEN 0
                  THEN max(m.from_offset, e.from_offset, v.from_offset) < min(m.to_offset, e.to_offset, v.to_offset)
                  ELSE e.to_offset >= m.to_offset AND m.to_offset = (SELECT max(last.to_offset) FROM membership last
                      WHERE last.resource_id = v.resource_id AND last.from_offset < last.to_offset
                          AND last.to_offset <= v.from_offset) END))")
    };
}
pub(super) use told;

/// A page of versions up to the moment, newest first.
pub(super) fn list(
    view: &Connection,
    log: &mut LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    resource: &ResourceRef,
    bodies: bool,
    start: &Start,
) -> Result<Page<Version>> {
    let held = resources::find(view, moment.offset, scope, resource, false)?;
    let sql = concat!(
        "SELECT v.from_offset, v.observed_at, v.deleted, v.health, ",
        word!("reason"),
        ", v.message, ",
        word!("rule"),
        ", s.name, ",
        later_columns!(),
        "
        FROM version v JOIN rule_set s ON s.id = v.rule_set_id
        WHERE v.resource_id = :id AND v.from_offset <= :at AND v.from_offset < :before AND ",
        told!(),
        " ORDER BY v.from_offset DESC LIMIT :limit"
    );
    let mut items = {
        let mut statement = view.prepare_cached(sql)?;
        let before = start.after(0).parse().unwrap_or(i64::MAX);
        let params = named_params! {
            ":id": held.id.0, ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
            ":before": before, ":limit": start.rows(),
        };
        let rows = statement.query_map(params, from_row)?;
        rows.collect::<rusqlite::Result<Vec<_>>>()?
    };
    let next = start.finish(moment.offset, &mut items, |item| vec![item.id.clone()]);
    for version in &mut items {
        complete(log, version, bodies)?;
    }
    let snapshot = moment.snapshot(view, scope, &Concerns::Cluster(&held.resource.key.cluster))?;
    Ok(Page { items, metadata: PageMetadata::new(snapshot, next) })
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Version> {
    let offset = Offset::from_i64(row.get(0)?);
    Ok(Version {
        id: offset.to_string(),
        offset,
        observed_at: Timestamp::from_micros(row.get(1)?),
        change: if row.get(2)? { VersionChange::Deleted } else { VersionChange::Applied },
        resource_version: ResourceVersion::default(),
        health: VIEW.get_at(row, 3, "version.health")?,
        reason: row.get(4)?,
        message: row.get(5)?,
        rule: row.get(6)?,
        rule_set: row.get(7)?,
        later: later(row, 8)?,
        changed_by: None,
        cause: None,
        object: None,
    })
}

/// Adds what only the log holds.
fn complete(log: &mut LogReader, version: &mut Version, bodies: bool) -> Result<()> {
    match log.at(version.offset)?.change {
        Change::Applied { resource_version, changed_by, body, .. } => {
            version.resource_version = resource_version;
            version.changed_by = changed_by;
            version.object = bodies.then(|| ObjectText::new(&body));
        }
        Change::Deleted { cause, .. } => version.cause = Some(cause),
        Change::Forgotten { .. }
        | Change::Coverage(_)
        | Change::Clock(_)
        | Change::Erased(_)
        | Change::Declared { .. }
        | Change::Withdrawn { .. } => {}
    }
    Ok(())
}
