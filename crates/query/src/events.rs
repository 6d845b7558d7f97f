//! What Kubernetes' Events said of resources, folded: as far as it is told to who asks.

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde::Serialize;

use crate::concerns::Concerns;
use crate::error::Result;
use crate::event_audience::{told_of, told_of_resources};
use crate::filters::{PageRequest, ResourceRef};
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::resources::uid;
use crate::scope::{ResolvedScope, one_of};
use crate::{environments, resources};
use strandline_log::LogReader;
use strandline_model::{EnvironmentId, Kind, ResourceKey, Timestamp, Uid};
use strandline_object::kube_event::EventType;
use strandline_protocol::{FoldedEvent, Page, PageMetadata};
use strandline_sqlite::column::{Count, VIEW};

/// Which Events a list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventFilter {
    /// Only these types; empty for all.
    pub types: Vec<EventType>,
    /// Only these reasons, such as `BackOff`, without regard to case; empty for all.
    pub reasons: Vec<String>,
}

/// A page of what is told as `$told` says: of each Event the last count that is.
macro_rules! select_events {
    ($told:expr) => {
        concat!(
            "WITH ",
            $told,
            ", newest AS (
                SELECT s.id, s.since, (SELECT max(from_offset) FROM kube_event_count
                    WHERE event_id = s.id AND from_offset <= s.until) AS said FROM told_of s
            ),
            told AS (
                SELECT k.*, lower(hex(k.identity)) AS token, n.count, n.first_at, n.last_at
                FROM (SELECT id, max(said) AS said FROM newest WHERE said >= since GROUP BY id) l
                JOIN kube_event k ON k.id = l.id JOIN kube_event_count n ON n.event_id = l.id AND n.from_offset = l.said
                WHERE (:types IS NULL OR k.type IN (SELECT value FROM json_each(:types)))
                    AND (:reasons IS NULL OR lower(k.reason) IN (SELECT lower(value) FROM json_each(:reasons)))
            )
            SELECT t.token, c.name, t.\"group\", t.kind, t.namespace, t.name, t.uid, t.type, t.reason, t.note,
                t.component, t.count, t.first_at, t.last_at
            FROM told t JOIN cluster c ON c.id = t.cluster_id
            WHERE :after = '' OR (t.last_at, t.id) < (SELECT last_at, id FROM told WHERE token = :after)
            ORDER BY t.last_at DESC, t.id DESC LIMIT :limit"
        )
    };
}

/// Whose Events, by the log's numbers.
#[derive(Clone, Copy)]
enum Whose {
    Environment(i64),
    Resource(i64),
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<FoldedEvent> {
    Ok(FoldedEvent {
        id: row.get(0)?,
        key: ResourceKey {
            cluster: row.get(1)?,
            kind: Kind::new(row.get::<_, String>(2)?, row.get::<_, String>(3)?),
            namespace: row.get(4)?,
            name: row.get(5)?,
        },
        uid: uid(row, 6)?,
        r#type: row.get(7)?,
        reason: row.get(8)?,
        note: row.get(9)?,
        component: row.get(10)?,
        count: VIEW.get_at::<Count>(row, 11, "kube_event.count")?.0,
        first_at: Timestamp::from_micros(row.get(12)?),
        last_at: Timestamp::from_micros(row.get(13)?),
    })
}

/// An Event, by the view's number, as it had been said by an offset.
pub(super) fn as_of(view: &Connection, event: i64, offset: i64) -> Result<Option<FoldedEvent>> {
    let sql = r#"SELECT lower(hex(k.identity)), c.name, k."group", k.kind, k.namespace, k.name, k.uid, k.type, k.reason,
            k.note, k.component, n.count, n.first_at, n.last_at
        FROM kube_event k JOIN cluster c ON c.id = k.cluster_id JOIN kube_event_count n ON n.event_id = k.id
            AND n.from_offset = (SELECT max(from_offset) FROM kube_event_count WHERE event_id = k.id AND from_offset <= :at)
        WHERE k.id = :id"#;
    let params = named_params! { ":id": event, ":at": offset };
    Ok(view.prepare_cached(sql)?.query_row(params, from_row).optional()?)
}

/// A page of Events, the newest first; of equally new ones those that arrived last.
fn page(
    (view, log): (&Connection, &LogReader),
    moment: &Moment,
    scope: &ResolvedScope,
    whose: Whose,
    filter: &EventFilter,
    start: &Start,
) -> Result<(Vec<FoldedEvent>, Option<String>)> {
    let (sql, of) = match whose {
        Whose::Environment(id) => (
            select_events!(told_of!(
                "json_each(:of) i CROSS JOIN membership m ON m.environment_id = i.value",
                ""
            )),
            id,
        ),
        Whose::Resource(id) => (select_events!(told_of_resources!()), id),
    };
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":of": of, ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":from": log.compacted()?.offset.as_i64(),
        ":types": one_of(&filter.types, |one| one.as_str()),
        ":reasons": one_of(&filter.reasons, String::as_str),
        ":after": start.after(0), ":limit": start.rows(),
    };
    let rows = statement.query_map(params, from_row)?;
    let mut items = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let next = start.finish(moment.offset, &mut items, |item| vec![item.id.clone()]);
    Ok((items, next))
}

/// Kubernetes Events of the resources of an environment, as far as they belonged to it, newest first.
#[derive(Clone, Debug, Serialize)]
pub struct ListEnvironmentEvents {
    /// The environment.
    pub environment: EnvironmentId,
    /// Which Events.
    pub filter: EventFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListEnvironmentEvents {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId, filter: &EventFilter, page: &PageRequest) -> Self {
        ListEnvironmentEvents { environment: environment.clone(), filter: filter.clone(), page: page.clone() }
    }
}

impl Question for ListEnvironmentEvents {
    const NAME: &'static str = "environment_events";
    type Answer = Page<FoldedEvent>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, log, moment, scope, start, .. } = context;
        let (number, _) = environments::find(view, &moment, scope, &self.environment)?;
        let (items, next) =
            page((view, log), &moment, scope, Whose::Environment(number), &self.filter, &start)?;
        let snapshot = moment.snapshot(view, scope, &Concerns::Environment(number))?;
        Ok(Page { items, metadata: PageMetadata::new(snapshot, next) })
    }
}

/// Kubernetes Events of a resource, existing or deleted, newest first.
#[derive(Clone, Debug, Serialize)]
pub struct ListResourceEvents {
    /// The resource.
    pub resource: ResourceRef,
    /// Which Events.
    pub filter: EventFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListResourceEvents {
    /// The question with these parts.
    pub fn new(uid: &Uid, cluster: Option<&str>, filter: &EventFilter, page: &PageRequest) -> Self {
        ListResourceEvents {
            resource: ResourceRef::new(uid, cluster),
            filter: filter.clone(),
            page: page.clone(),
        }
    }
}

impl Question for ListResourceEvents {
    const NAME: &'static str = "resource_events";
    type Answer = Page<FoldedEvent>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the resource never existed up to that time, [`QueryError::Ambiguous`] when several
    /// clusters have the uid and none is named.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, log, moment, scope, start, .. } = context;
        let found = resources::find(view, moment.offset, scope, &self.resource, false)?;
        let (items, next) =
            page((view, log), &moment, scope, Whose::Resource(found.id.0), &self.filter, &start)?;
        let snapshot = moment.snapshot(view, scope, &Concerns::Cluster(&found.resource.key.cluster))?;
        Ok(Page { items, metadata: PageMetadata::new(snapshot, next) })
    }
}
