//! The values that fields of one resource took, from when to when, and who changed them.
//!
//! Versions are walked from the newest back, and a value is told once the version is found from which it holds.
//!
//! They are read from the bodies, a thousand versions to a page: a table of values would have to foresee the fields.

use rusqlite::{Connection, named_params};
use serde_json::Value;

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::{PageRequest, ResourceRef};
use crate::history::told;
use crate::moment::Moment;
use crate::question::{Context, Question};
use crate::resources;
use crate::scope::ResolvedScope;
use serde::{Serialize, Serializer};
use strandline_log::LogReader;
use strandline_model::{Change, ChangedBy, Offset, Timestamp, Uid};
use strandline_object::json::Field;
use strandline_protocol::{FieldValue, Page, PageMetadata, VersionChange};

/// The most versions that one page reads.
const VERSIONS_MAX: usize = 1000;

/// A version to be looked into.
struct Version {
    offset: i64,
    observed_at: Timestamp,
}

/// The versions up to the moment and an offset, newest first, one more than a page reads.
fn versions(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    id: i64,
    last: i64,
) -> Result<Vec<Version>> {
    let sql = concat!(
        "SELECT v.from_offset, v.observed_at FROM version v
        WHERE v.resource_id = :id AND v.from_offset <= :at AND v.from_offset <= :last AND ",
        told!(),
        " ORDER BY v.from_offset DESC LIMIT :limit"
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":id": id, ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":last": last,
        ":limit": (VERSIONS_MAX + 1) as i64,
    };
    let rows = statement.query_map(params, |row| {
        Ok(Version { offset: row.get(0)?, observed_at: Timestamp::from_micros(row.get(1)?) })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What a version holds.
struct State {
    change: VersionChange,
    object: Value,
    changed_by: Option<ChangedBy>,
}

fn state(log: &mut LogReader, offset: i64) -> Result<State> {
    Ok(match log.at(Offset::from_i64(offset))?.change {
        Change::Applied { body, changed_by, .. } => {
            State { change: VersionChange::Applied, object: resources::object(&body), changed_by }
        }
        _ => State { change: VersionChange::Deleted, object: Value::Null, changed_by: None },
    })
}

/// The walk of one field: the value of the versions read last, as far back as it held.
struct Walk<'f> {
    field: &'f Field,
    /// When the value after it came, as the page before told.
    until: Option<Timestamp>,
    held: Option<FieldValue>,
}

impl Walk<'_> {
    /// Looks into the version before; what is found to have begun after it.
    fn step(&mut self, version: &Version, state: &State) -> Result<Option<FieldValue>> {
        let found = self.field.find(&state.object);
        let found = found.ok_or_else(|| QueryError::CostlyField { field: self.field.to_string() })?;
        let values: Vec<Value> = found.into_iter().cloned().collect();
        let begins_later = match &mut self.held {
            Some(held) if held.values == values && held.change == state.change => None,
            held => held.take(),
        };
        if let Some(later) = &begins_later {
            self.until = Some(later.from);
        }
        self.held = Some(FieldValue {
            id: format!("{} {}", version.offset, self.field),
            field: self.field.to_string(),
            values,
            change: state.change,
            from: version.observed_at,
            until: self.until,
            offset: Offset::from_i64(version.offset),
            changed_by: state.changed_by.clone(),
        });
        Ok(begins_later)
    }
}

/// The values of a page, and where the next one goes on: the version read last, and until when each value held there.
fn walk(
    log: &mut LogReader,
    versions: &[Version],
    walks: &mut [Walk<'_>],
    limit: usize,
) -> Result<(Vec<FieldValue>, Option<Vec<String>>)> {
    let (mut values, mut read) = (Vec::new(), None);
    for (number, version) in versions.iter().enumerate() {
        let full = values.len() + walks.len() > limit.max(walks.len()) || number == VERSIONS_MAX;
        if let Some(last) = read.filter(|_| full) {
            return Ok((values, Some(place(last, walks))));
        }
        let state = state(log, version.offset)?;
        for walk in walks.iter_mut() {
            values.extend(walk.step(version, &state)?);
        }
        read = Some(version.offset);
    }
    if let Some(last) = read.filter(|_| values.len() + walks.len() > limit.max(walks.len())) {
        return Ok((values, Some(place(last, walks))));
    }
    // What the record begins with was so before, and nobody knows who made it so.
    let first = walks.iter_mut().filter_map(|walk| walk.held.take());
    values.extend(first.map(|value| FieldValue { changed_by: None, ..value }));
    Ok((values, None))
}

/// A place in the walk, as a page's token holds it.
fn place(last: i64, walks: &[Walk<'_>]) -> Vec<String> {
    let untils =
        walks.iter().map(|walk| walk.until.map(|until| until.as_micros().to_string()).unwrap_or_default());
    std::iter::once(last.to_string()).chain(untils).collect()
}

fn list(q: Context<'_>, resource: &ResourceRef, fields: &[Field]) -> Result<Page<FieldValue>> {
    let Context { view, log, moment, scope, start, .. } = q;
    let held = resources::find(view, moment.offset, scope, resource, false)?;
    let last = start.after(0).parse().unwrap_or(i64::MAX);
    let versions = versions(view, &moment, scope, held.id.0, last)?;
    let walk_of = |(place, field)| {
        let until = start.after(place + 1).parse().ok().map(Timestamp::from_micros);
        Walk { field, until, held: None }
    };
    let mut walks: Vec<Walk<'_>> = fields.iter().enumerate().map(walk_of).collect();
    let (items, place) = walk(log, &versions, &mut walks, start.limit())?;
    let next = place.map(|place| start.token(moment.offset, &place));
    let snapshot = moment.snapshot(view, scope, &Concerns::Cluster(&held.resource.key.cluster))?;
    Ok(Page { items, metadata: PageMetadata::new(snapshot, next) })
}

/// Fields as they are written: their parsed form has no serialised one.
fn as_texts<S: Serializer>(fields: &[Field], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(fields.iter().map(Field::to_string))
}

/// The values that fields of a resource had up to the time asked for, newest first, with who changed them. A page
/// holds at least one value of each field, and may hold none where nothing changed for long.
#[derive(Clone, Debug, Serialize)]
pub struct ListResourceFields {
    /// The resource.
    pub resource: ResourceRef,
    /// The fields.
    #[serde(serialize_with = "as_texts")]
    pub fields: Vec<Field>,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListResourceFields {
    /// The question with these parts.
    pub fn new(uid: &Uid, cluster: Option<&str>, fields: &[Field], page: &PageRequest) -> Self {
        ListResourceFields {
            resource: ResourceRef::new(uid, cluster),
            fields: fields.to_vec(),
            page: page.clone(),
        }
    }
}

impl Question for ListResourceFields {
    const NAME: &'static str = "resource_fields";
    type Answer = Page<FieldValue>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the resource never existed up to that time, [`QueryError::Ambiguous`] when several
    /// clusters have the uid and none is named.
    /// [`QueryError::CostlyField`] for a path that reads too much.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        list(context, &self.resource, &self.fields)
    }
}
