//! What happened one by one, with all that is told of each.

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::error::{QueryError, Result};
use crate::events;
use crate::judged::judged;
use crate::question::Context;
use crate::resources::{self, uid};
use crate::series::{HealthSeries, Mark};
use crate::timeline::gaps;
use crate::timeline::place::{Place, What};
use strandline_log::{LogError, LogReader};
use strandline_model::{Change, Happening, Kind, Lane, Offset, ResourceKey, Timestamp};
use strandline_object_diff::{Between, Class, Lens, compare};
use strandline_protocol::{Deployment, Entry, EntryHealth, EntryResource};
use strandline_sqlite::column::{Json, VIEW};

/// Tells of each place.
pub(super) fn told(
    q: &mut Context<'_>,
    places: &[Place],
    course: &HealthSeries,
    gaps: &[gaps::Found],
) -> Result<Vec<Entry>> {
    let mut entries = Vec::with_capacity(places.len());
    for place in places {
        entries.push(match place.what {
            What::Health => became(place, &course.marks),
            What::Gap => unwatched(place, gaps),
            What::Happened(what) => happened(q, place, what)?,
        });
    }
    Ok(entries)
}

fn entry(place: &Place, lane: Lane, what: &str) -> Entry {
    Entry {
        id: format!("{}.{}.{}", place.offset, place.what.code(), place.subject),
        offset: Offset::from_i64(place.offset),
        observed_at: place.time,
        lane,
        what: what.to_owned(),
        resource: None,
        event: None,
        deployment: None,
        health: None,
        gap: None,
    }
}

/// A change of the health of an environment.
pub(crate) fn health_entry(place: &Place, health: EntryHealth) -> Entry {
    Entry { health: Some(health), ..entry(place, Lane::Health, "became") }
}

fn became(place: &Place, marks: &[Mark]) -> Entry {
    let number = marks.partition_point(|mark| mark.time < place.time);
    let health = marks.get(number).map(|mark| EntryHealth {
        before: number.checked_sub(1).and_then(|before| marks.get(before)).and_then(|mark| mark.health),
        after: mark.health,
        reason: mark.reason.clone(),
        message: mark.message.clone(),
    });
    // An environment can become what it is twice by one change: at once, and when its grace time is over.
    let id = format!("{}.{}.{}", place.offset, place.what.code(), place.time.as_micros());
    Entry { id, health, ..entry(place, Lane::Health, "became") }
}

fn unwatched(place: &Place, gaps: &[gaps::Found]) -> Entry {
    let found = gaps.iter().find(|found| found.offset == place.offset);
    Entry { gap: found.map(|found| found.gap.clone()), ..entry(place, Lane::Gaps, "unwatched") }
}

/// What happened to a resource, or was deployed, with all that is told of it.
pub(crate) fn happened(q: &mut Context<'_>, place: &Place, what: Happening) -> Result<Entry> {
    let mut entry = entry(place, what.lane(), what.as_str());
    match what.lane() {
        Lane::Changes => entry.resource = resource(q.view, q.log, place)?,
        Lane::Events => entry.event = events::as_of(q.view, place.subject, place.offset)?,
        _ => entry.deployment = deployment(q.view, place)?,
    }
    Ok(entry)
}

/// A resource as it stood after a change, and where its state before stands in the log, if it has changed.
fn resource(view: &Connection, log: &mut LogReader, place: &Place) -> Result<Option<EntryResource>> {
    let sql = concat!(
        r#"SELECT r.uid, c.name, k."group", k.kind, r.namespace, r.name, "#,
        judged!("health"),
        ", ",
        judged!("reason"),
        ", ",
        judged!("message"),
        ", v.from_offset,
            (SELECT max(p.from_offset) FROM version p WHERE p.resource_id = r.id AND p.from_offset < v.from_offset)
        FROM resource r JOIN kind k ON k.id = r.kind_id JOIN cluster c ON c.id = r.cluster_id
        JOIN version v ON v.resource_id = r.id AND v.from_offset =
            (SELECT max(from_offset) FROM version WHERE resource_id = r.id AND from_offset <= :at)
        WHERE r.id = :id"
    );
    let read = |row: &Row<'_>| {
        let resource = EntryResource {
            id: uid(row, 0)?,
            key: ResourceKey {
                cluster: row.get(1)?,
                kind: Kind::new(row.get::<_, String>(2)?, row.get::<_, String>(3)?),
                namespace: row.get(4)?,
                name: row.get(5)?,
            },
            health: VIEW.get_at(row, 6, "version.health")?,
            reason: row.get(7)?,
            message: row.get(8)?,
            changed_by: None,
            cause: None,
            parts: Vec::new(),
        };
        Ok((resource, row.get::<_, i64>(9)?, row.get::<_, Option<i64>>(10)?))
    };
    let params = named_params! { ":id": place.subject, ":at": place.offset };
    let found = view.prepare_cached(sql)?.query_row(params, read).optional()?;
    let Some((mut resource, from, before)) = found else { return Ok(None) };
    // What came or went by its owner's or its labels' doing changed nothing by itself at that offset.
    if from == place.offset {
        complete(log, &mut resource, place, before)?;
    }
    Ok(Some(resource))
}

/// Adds what only the log holds.
fn complete(
    log: &mut LogReader,
    resource: &mut EntryResource,
    place: &Place,
    before: Option<i64>,
) -> Result<()> {
    // That it happened may be kept for longer than what it was.
    let Some(change) = change_at(log, place.offset)? else { return Ok(()) };
    match change {
        Change::Applied { changed_by, body, .. } => {
            resource.changed_by = changed_by;
            let before = before.filter(|_| place.what == What::Happened(Happening::Changed));
            if let Some(before) = before
                && let Some(Change::Applied { body: old, .. }) = change_at(log, before)?
            {
                resource.parts = parts(&resource.key.kind, &old, &body);
            }
        }
        Change::Deleted { cause, .. } => resource.cause = Some(cause),
        Change::Forgotten { .. }
        | Change::Coverage(_)
        | Change::Clock(_)
        | Change::Erased(_)
        | Change::Declared { .. }
        | Change::Withdrawn { .. } => {}
    }
    Ok(())
}

/// The change at an offset; none where retention has let go of what it was, or the log lost it with its end.
fn change_at(log: &mut LogReader, offset: i64) -> Result<Option<Change>> {
    match log.at(Offset::from_i64(offset)) {
        Ok(record) => Ok(Some(record.change)),
        Err(LogError::Compacted { .. }) => Ok(None),
        Err(LogError::Damaged { offset, .. }) if offset > log.head()? => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A state of a resource and the one before, where there are both.
pub(crate) fn states(
    q: &mut Context<'_>,
    resource: i64,
    offset: i64,
) -> Result<Option<(serde_json::Value, serde_json::Value)>> {
    let sql = "SELECT max(from_offset) FROM version WHERE resource_id = ?1 AND from_offset < ?2";
    let before: Option<i64> = q.view.prepare_cached(sql)?.query_row([resource, offset], |row| row.get(0))?;
    let mut state = |offset: i64| match change_at(q.log, offset)? {
        Some(Change::Applied { body, .. }) => Ok::<_, QueryError>(Some(resources::object(&body))),
        _ => Ok(None),
    };
    let Some(before) = before else { return Ok(None) };
    Ok(state(before)?.zip(state(offset)?))
}

/// What a change of state concerns; nothing where it is noise alone.
fn parts(kind: &Kind, before: &str, after: &str) -> Vec<Class> {
    let lens = Lens::new(Between::Versions, &[Class::Metadata, Class::Status]);
    let [before, after] = [before, after].map(resources::object);
    let found = compare(kind, Some(&before), Some(&after), &lens).differences;
    let concerns = |class: &Class| found.iter().any(|difference| difference.class == *class);
    Class::ALL.into_iter().filter(concerns).collect()
}

/// A deployment as it stood then.
fn deployment(view: &Connection, place: &Place) -> Result<Option<Deployment>> {
    let sql =
        "SELECT spec, observed_at FROM deployment WHERE id = :id AND from_offset <= :at AND to_offset > :at";
    let read = |row: &Row<'_>| {
        let observed_at = Timestamp::from_micros(row.get(1)?);
        Ok(Deployment { spec: VIEW.get_at::<Json<_>>(row, 0, "deployment.body")?.0, observed_at })
    };
    let params = named_params! { ":id": place.subject, ":at": place.offset };
    Ok(view.prepare_cached(sql)?.query_row(params, read).optional()?)
}
