//! One resource between two moments.

use rusqlite::{Connection, OptionalExtension, named_params};
use serde_json::Value;

use crate::concerns::Concerns;
use crate::diff::earlier;
use crate::error::{QueryError, Result};
use crate::filters::ResourceRef;
use crate::history::told;
use crate::moment::Moment;
use crate::question::{Context, Question};
use crate::resources;
use crate::resources::{Held, object};
use crate::scope::ResolvedScope;
use serde::Serialize;
use strandline_log::LogReader;
use strandline_model::{At, Change, ChangedBy, Offset, ResourceId, Timestamp};
use strandline_object_diff::Lens;
use strandline_object_diff::{Operation, compare, patch as operations};
use strandline_protocol::{Answer, ResourceDiff, StateAt, VersionAt};

/// What differs in a resource between an earlier time and the time asked for; it may not exist at one of them.
#[derive(Clone, Debug, Serialize)]
pub struct DiffResource {
    /// The resource.
    pub resource: ResourceRef,
    /// The earlier time; without it, the version before the one at the later time.
    pub from: Option<At>,
    /// What the answer shows of the differences.
    pub lens: Lens,
}

impl Question for DiffResource {
    const NAME: &'static str = "resource_diff";
    type Answer = Answer<ResourceDiff>;

    /// # Errors
    /// [`QueryError::NotFound`] when it existed at neither time, [`QueryError::Backwards`] when the earlier time is later, and
    /// as for [`ListResourceVersions`](crate::ListResourceVersions).
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        diff(context, self)
    }
}

/// The operations of a JSON Patch that make the earlier state of a resource the later one.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct PatchResource(pub DiffResource);

impl Question for PatchResource {
    const NAME: &'static str = "resource_patch";
    type Answer = Vec<Operation>;

    /// # Errors
    /// As for [`DiffResource`].
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        patch(context, &self.0)
    }
}

/// A version as far as a caller is told of it.
struct Row {
    offset: Offset,
    observed_at: Timestamp,
    deleted: bool,
    /// Where the next one begins, told or not.
    end: i64,
}

/// A resource at a moment, with its object.
struct State {
    at: StateAt,
    object: Option<Value>,
}

/// The resource and its two states.
struct States {
    held: Held,
    from: State,
    to: State,
    /// The earlier moment, where one was asked for.
    earlier: Option<Moment>,
}

/// What differs.
pub(super) fn diff(mut q: Context<'_>, question: &DiffResource) -> Result<Answer<ResourceDiff>> {
    let States { held, from, to, earlier } = states(&mut q, question)?;
    let key = held.resource.key;
    let comparison = compare(&key.kind, from.object.as_ref(), to.object.as_ref(), &question.lens);
    let concerns = Concerns::Cluster(&key.cluster);
    let other = (earlier.as_ref().unwrap_or(&q.moment), &concerns);
    let metadata = q.moment.snapshot_with(q.view, q.scope, &concerns, other)?;
    let value = ResourceDiff { id: held.resource.id, key, from: from.at, to: to.at, comparison };
    Ok(Answer { value, metadata })
}

/// The operations that make the earlier state the later one.
pub(super) fn patch(mut q: Context<'_>, question: &DiffResource) -> Result<Vec<Operation>> {
    let States { held, from, to, .. } = states(&mut q, question)?;
    Ok(operations(&held.resource.key.kind, from.object.as_ref(), to.object.as_ref(), &question.lens))
}

fn states(q: &mut Context<'_>, question: &DiffResource) -> Result<States> {
    let earlier = question.from.map(|from| earlier(q, from)).transpose();
    let earlier = earlier.map_err(|error| error.given_by("from"))?;
    let held = resources::find(q.view, q.moment.offset, q.scope, &question.resource, false)?;
    let lost = || QueryError::not_found("resource", &question.resource.uid);
    let Some(moment) = earlier else {
        let newest = version(q.view, q.scope, held.id, q.moment.offset, i64::MAX)?.ok_or_else(lost)?;
        let older = version(q.view, q.scope, held.id, q.moment.offset, newest.offset.as_i64())?;
        // Before the first version there was nothing, which the offset before it tells too.
        let before = older.as_ref().map_or(newest.offset.get().saturating_sub(1), |row| row.offset.get());
        let from = state(q.log, Offset::new(before), older)?;
        let to = state(q.log, q.moment.offset, Some(newest))?;
        return Ok(States { held, from, to, earlier: None });
    };
    let [from, to] = [&moment, &q.moment].map(|moment| held_at(q.view, q.scope, held.id, moment));
    let (from, to) = (from?, to?);
    if from.is_none() && to.is_none() {
        return Err(lost());
    }
    let (from, to) = (state(q.log, moment.offset, from)?, state(q.log, q.moment.offset, to)?);
    Ok(States { held, from, to, earlier: Some(moment) })
}

/// The version that holds at a moment.
fn held_at(view: &Connection, scope: &ResolvedScope, id: ResourceId, moment: &Moment) -> Result<Option<Row>> {
    let newest = version(view, scope, id, moment.offset, i64::MAX)?;
    Ok(newest.filter(|row| row.end > moment.offset.as_i64()))
}

/// The newest version up to a moment that begins before an offset.
fn version(
    view: &Connection,
    scope: &ResolvedScope,
    id: ResourceId,
    at: Offset,
    before: i64,
) -> Result<Option<Row>> {
    let sql = concat!(
        "SELECT v.from_offset, v.observed_at, v.deleted, v.to_offset FROM version v
        WHERE v.resource_id = :id AND v.from_offset <= :at AND v.from_offset < :before AND ",
        told!(),
        " ORDER BY v.from_offset DESC LIMIT 1"
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":id": id.0, ":at": at.as_i64(), ":before": before, ":scope": scope.as_sql(),
    };
    let row = statement.query_row(params, |row| {
        Ok(Row {
            offset: Offset::from_i64(row.get(0)?),
            observed_at: Timestamp::from_micros(row.get(1)?),
            deleted: row.get(2)?,
            end: row.get(3)?,
        })
    });
    Ok(row.optional()?)
}

fn state(log: &mut LogReader, offset: Offset, row: Option<Row>) -> Result<State> {
    let time = log.observed_at(offset)?;
    let Some(row) = row.filter(|row| !row.deleted) else {
        return Ok(State { at: StateAt { offset, time, version: None }, object: None });
    };
    let (object, changed_by) = body(log, row.offset)?;
    let version = VersionAt { offset: row.offset, observed_at: row.observed_at, changed_by };
    Ok(State { at: StateAt { offset, time, version: Some(version) }, object: Some(object) })
}

/// The object that a change made, and who made it.
pub(super) fn body(log: &mut LogReader, offset: Offset) -> Result<(Value, Option<ChangedBy>)> {
    match log.at(offset)?.change {
        Change::Applied { body, changed_by, .. } => Ok((object(&body), changed_by)),
        _ => Err(QueryError::Storage(format!("the change at offset {offset} is not a state"))),
    }
}
