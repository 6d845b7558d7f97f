//! Resources: those of an environment, and one by its uid.

use rusqlite::{Connection, Row, ToSql, named_params};

use crate::concerns::Concerns;
use crate::error::{QueryError, Result, gone_after};
use crate::filters::{PageRequest, ResourceFilter, ResourceOrder, ResourceRef};
use crate::judged::{judged, judged_since, later, later_columns, word};
use crate::kinds::Known;
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, belonged, in_sight, one_of, reads};
use crate::stretch::holds;
use crate::words::Words;
use crate::{environments, floors, kinds, last_seen};
use serde::Serialize;
use strandline_log::LogReader;
use strandline_model::{
    Change, EnvironmentId, Kind, Offset, ResourceId, ResourceKey, Stored, Timestamp, Uid, attention,
};
use strandline_protocol::{Answer, ObjectText, Page, Resource, ResourceDetail};
use strandline_sqlite::column::{PackedUid, VIEW};

/// The resources of an environment, in the order that the filter gives.
#[derive(Clone, Debug, Serialize)]
pub struct ListEnvironmentResources {
    /// The environment.
    pub environment: EnvironmentId,
    /// Which of its resources.
    pub filter: ResourceFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListEnvironmentResources {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId, filter: &ResourceFilter, page: &PageRequest) -> Self {
        ListEnvironmentResources {
            environment: environment.clone(),
            filter: filter.clone(),
            page: page.clone(),
        }
    }
}

impl Question for ListEnvironmentResources {
    const NAME: &'static str = "environment_resources";
    type Answer = Page<Resource>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    fn is_short(&self) -> bool {
        self.page.limit <= PageRequest::DEFAULT
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        list(context, &self.environment, &self.filter)
    }
}

/// One resource with its object.
#[derive(Clone, Debug, Serialize)]
pub struct GetResource {
    /// The resource.
    pub resource: ResourceRef,
}

impl GetResource {
    /// The question with these parts.
    pub fn new(uid: &Uid, cluster: Option<&str>) -> Self {
        GetResource { resource: ResourceRef::new(uid, cluster) }
    }
}

impl Question for GetResource {
    const NAME: &'static str = "resource";
    type Answer = Answer<ResourceDetail>;

    fn is_short(&self) -> bool {
        true
    }

    /// # Errors
    /// [`QueryError::NotFound`] when it did not exist at that time, [`QueryError::Ambiguous`] when several resources have
    /// the uid.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, log, moment, scope, .. } = context;
        get(view, log, &moment, scope, &self.resource)
    }
}

macro_rules! select_resources {
    ($gone:expr, $from:expr, $tail:expr) => {
        concat!(
            r#"SELECT r.id, r.uid, c.name, k."group", k.kind, r.namespace, r.name, "#,
            judged!("health"),
            ", ",
            judged!("reason"),
            ", ",
            judged!("message"),
            ", r.created_at, v.from_offset, v.observed_at, ",
            word!("rule"),
            ", v.terminating, ",
            judged_since!(),
            ", s.name, ",
            $gone,
            ", ",
            later_columns!(),
            " FROM ",
            $from,
            " JOIN kind k ON k.id = r.kind_id JOIN cluster c ON c.id = r.cluster_id
            JOIN version v ON v.resource_id = r.id AND v.from_offset =
                (SELECT max(from_offset) FROM version WHERE resource_id = r.id AND from_offset <= :at)
            JOIN rule_set s ON s.id = v.rule_set_id ",
            $tail
        )
    };
}

/// A uid by its column.
pub(super) fn uid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uid> {
    row.get(column).map(|PackedUid(uid)| Uid::new(uid))
}

/// A resource as the view holds it at a moment.
pub(super) struct Held {
    pub(super) id: ResourceId,
    pub(super) resource: Resource,
    rule: String,
    rule_set: String,
    /// Deleted by then, or no longer in the caller's sight.
    gone: bool,
}

impl Held {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let resource = Resource {
            id: uid(row, 1)?,
            key: ResourceKey {
                cluster: row.get(2)?,
                kind: Kind::new(row.get::<_, String>(3)?, row.get::<_, String>(4)?),
                namespace: row.get(5)?,
                name: row.get(6)?,
            },
            health: VIEW.get_at(row, 7, "version.health")?,
            health_since: Timestamp::from_micros(row.get(15)?),
            reason: row.get(8)?,
            message: row.get(9)?,
            created_at: row.get::<_, Option<i64>>(10)?.map(Timestamp::from_micros),
            offset: Offset::from_i64(row.get(11)?),
            observed_at: Timestamp::from_micros(row.get(12)?),
            terminating_since: row.get::<_, Option<i64>>(14)?.map(Timestamp::from_micros),
            later: later(row, 18)?.filter(|later| later.offset.is_none()),
        };
        let (rule, rule_set) = (row.get(13)?, row.get(16)?);
        Ok(Held { id: ResourceId(row.get(0)?), resource, rule, rule_set, gone: row.get(17)? })
    }
}

/// SQL that chooses members `m` of `:environment` as the filter says, with resource `r`, kind `k` and cluster `c`.
macro_rules! choose_members {
    ($tail:expr) => {
        concat!(
            "(SELECT m.resource_id AS number FROM membership m JOIN resource r ON r.id = m.resource_id
                JOIN kind k ON k.id = m.kind_id JOIN cluster c ON c.id = k.cluster_id
            WHERE m.environment_id = :environment AND ",
            holds!("membership" m, environment_id = ":environment"),
            " AND (:kinds IS NULL OR m.kind_id IN (SELECT value FROM json_each(:kinds)))
                AND (:healths IS NULL OR m.health IN (SELECT value FROM json_each(:healths)))
                AND (:owner IS NULL OR m.owner_id IN (SELECT id FROM resource WHERE uid = :owner)) ",
            $tail,
            " LIMIT :limit) chosen JOIN resource r ON r.id = chosen.number"
        )
    };
}

/// How early people want to see a health in a column, 0 first: the order of [`attention`].
macro_rules! rank {
    ($health:expr) => {
        concat!(
            "CASE ",
            $health,
            " WHEN 4 THEN 0 WHEN 5 THEN 1 WHEN 3 THEN 2 WHEN 2 THEN 3 WHEN 1 THEN 4
            WHEN 0 THEN 5 ELSE 6 END"
        )
    };
}

/// The position of a resource in a list in an order: what [`Start::after`] tells of it on the next page.
fn position(order: ResourceOrder, held: &Held) -> Vec<String> {
    let Resource { id, key, health, .. } = &held.resource;
    match order {
        ResourceOrder::Name => {
            let parts = [&key.kind.kind, &key.kind.group, &key.namespace, &key.name, &key.cluster];
            parts.into_iter().cloned().chain([id.as_str().to_owned()]).collect()
        }
        ResourceOrder::Health => vec![attention(*health).to_string(), held.id.0.to_string()],
    }
}

/// Members of an environment that a filter lets through. What is sorted is chosen from narrow rows, and only what a page
/// shows is read in full.
fn members(
    view: &Connection,
    at: Offset,
    environment: i64,
    (filter, kinds): (&ResourceFilter, Option<String>),
    start: &Start,
) -> Result<Vec<Held>> {
    let healths = one_of(&filter.healths, |health| health.number());
    let owner = filter.owner.as_ref().map(|owner| PackedUid(owner.as_str()));
    let (at, limit) = (at.as_i64(), start.rows());
    let after: Vec<&str> = (0..5).map(|part| start.after(part)).collect();
    let after_uid = PackedUid(start.after(5));
    let rank = (start.number(0), start.number(1));
    let mut params: Vec<(&str, &dyn ToSql)> = vec![
        (":environment", &environment),
        (":at", &at),
        (":kinds", &kinds),
        (":healths", &healths),
        (":owner", &owner),
        (":limit", &limit),
    ];
    let sql = match filter.order {
        ResourceOrder::Name => {
            params.push((":uid", &after_uid));
            let names = [":kind", ":group", ":namespace", ":name", ":cluster"];
            params.extend(names.into_iter().zip(&after).map(|(name, part)| (name, part as &dyn ToSql)));
            BY_NAME
        }
        ResourceOrder::Health => {
            params.extend([(":rank", &rank.0 as &dyn ToSql), (":number", &rank.1)]);
            BY_HEALTH
        }
    };
    let mut statement = view.prepare_cached(sql)?;
    let rows = statement.query_map(params.as_slice(), Held::from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

const BY_NAME: &str = select_resources!(
    "v.deleted",
    choose_members!(
        r#"AND (k.kind, k."group", r.namespace, r.name, c.name, r.uid)
                > (:kind, :group, :namespace, :name, :cluster, :uid)
        ORDER BY k.kind, k."group", r.namespace, r.name, c.name, r.uid"#
    ),
    r#"ORDER BY k.kind, k."group", r.namespace, r.name, c.name, r.uid"#
);

const BY_HEALTH: &str = select_resources!(
    "v.deleted",
    choose_members!(concat!(
        "AND (",
        rank!("m.health"),
        ", m.resource_id) > (:rank, :number) ORDER BY ",
        rank!("m.health"),
        ", m.resource_id"
    )),
    concat!("ORDER BY ", rank!(judged!("health")), ", r.id")
);

/// A page of an environment's resources.
fn list(context: Context<'_>, id: &EnvironmentId, filter: &ResourceFilter) -> Result<Page<Resource>> {
    let Context { view, log, moment, scope, start, .. } = context;
    let (number, _) = environments::find(view, &moment, scope, id)?;
    let kinds = kinds::numbers(&mut Known { view, log, moment: &moment, scope }, &filter.kinds)?;
    let mut items = members(view, moment.offset, number, (filter, kinds), &start)?;
    let next = start.finish(moment.offset, &mut items, |held| position(filter.order, held));
    let items: Vec<_> = items.into_iter().map(|held| held.resource).collect();
    let snapshot = moment.snapshot(view, scope, &Concerns::Environment(number))?;
    start.page(items, (snapshot, next), |found| {
        let known = &mut Known { view, log, moment: &moment, scope };
        kinds::words(known, Words::default(), &filter.kinds)?.unknown(view, &moment, scope, found)
    })
}

/// Resources by the view's numbers, ordered by kind, namespace and name.
pub(super) fn with_numbers(view: &Connection, at: Offset, numbers: &[i64]) -> Result<Vec<Held>> {
    let sql = select_resources!(
        "v.deleted",
        "json_each(:numbers) chosen JOIN resource r ON r.id = chosen.value",
        r#"ORDER BY k.kind, k."group", r.namespace, r.name, c.name, r.uid"#
    );
    let mut statement = view.prepare_cached(sql)?;
    let numbers = serde_json::json!(numbers).to_string();
    let rows =
        statement.query_map(named_params! { ":numbers": numbers, ":at": at.as_i64() }, Held::from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

macro_rules! with_uid {
    ($tail:expr) => {
        select_resources!(
            concat!("(v.deleted OR NOT ", in_sight!(), ") AS gone"),
            "resource r",
            concat!(
                "WHERE r.uid = :uid AND (:cluster IS NULL OR c.name = :cluster)
                AND (:scope IS NULL OR EXISTS (SELECT 1 FROM membership m
                        CROSS JOIN environment_audience e ON e.environment_id = m.environment_id
                    WHERE m.resource_id = r.id AND ",
                belonged!(),
                " AND ",
                reads!(),
                ")) ",
                $tail
            )
        )
    };
}

/// The resources that carry a uid and were there at or before a moment, the ones that still are first.
///
/// A resource is in sight of a scope while it belongs to one of its environments: once it has left them, be it to
/// another project, it is gone for that scope as if it had been deleted.
fn with_uid(
    view: &Connection,
    at: Offset,
    scope: &ResolvedScope,
    resource: &ResourceRef,
) -> Result<Vec<Held>> {
    let params = named_params! {
        ":uid": PackedUid(resource.uid.as_str()), ":at": at.as_i64(), ":scope": scope.as_sql(), ":cluster": resource.cluster,
    };
    let read = |sql| {
        let mut statement = view.prepare_cached(sql)?;
        statement.query_map(params, Held::from_row)?.collect::<rusqlite::Result<Vec<_>>>()
    };
    // Nearly always there is one, and sorting it costs as much as finding it.
    let some = read(with_uid!("LIMIT 2"))?;
    if some.len() < 2 {
        return Ok(some);
    }
    Ok(read(with_uid!("ORDER BY gone, c.name, k.kind, r.id LIMIT 100"))?)
}

/// The one resource that carries a uid; `present` asks for one that is there at the moment.
pub(super) fn find(
    view: &Connection,
    at: Offset,
    scope: &ResolvedScope,
    resource: &ResourceRef,
    present: bool,
) -> Result<Held> {
    let mut candidates = with_uid(view, at, scope, resource)?;
    let gone: Vec<i64> = candidates.iter().filter(|held| held.gone).map(|held| held.id.0).collect();
    if present || candidates.iter().any(|held| !held.gone) {
        candidates.retain(|held| !held.gone);
    }
    if candidates.len() > 1 {
        let keys = candidates.into_iter().map(|held| held.resource.key).collect();
        return Err(QueryError::Ambiguous { uid: resource.uid.clone(), keys });
    }
    match candidates.pop() {
        Some(found) => Ok(found),
        None => {
            if let Some((earliest, time)) = floors::of_uid(view, at, resource)?
                && !with_uid(view, earliest, scope, resource)?.is_empty()
            {
                return Err(QueryError::Compacted { earliest, time: Some(time) });
            }
            let gone = last_seen::of_any(view, at, scope, &gone)?.map(gone_after);
            Err(QueryError::gone("resource", &resource.uid, gone))
        }
    }
}

/// Everything about one resource.
pub(super) fn get(
    view: &Connection,
    log: &mut LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    resource: &ResourceRef,
) -> Result<Answer<ResourceDetail>> {
    let held = find(view, moment.offset, scope, resource, true)?;
    let offset = held.resource.offset;
    let Change::Applied { resource_version, body, changed_by, .. } = log.at(offset)?.change else {
        return Err(QueryError::Storage(format!("the change at offset {offset} is not a state")));
    };
    let metadata = moment.snapshot(view, scope, &Concerns::Cluster(&held.resource.key.cluster))?;
    let value = ResourceDetail {
        environments: environments_of(view, moment.offset, scope, held.id)?,
        waiting_for: held.resource.terminating_since.map(|_| finalizers(&object(&body))).unwrap_or_default(),
        resource: held.resource,
        resource_version,
        changed_by,
        rule: held.rule,
        rule_set: held.rule_set,
        object: ObjectText::new(&body),
    };
    Ok(Answer { value, metadata })
}

/// What has to be done before an object goes, as far as it is told as it should be.
fn finalizers(object: &serde_json::Value) -> Vec<String> {
    let finalizers = object.pointer("/metadata/finalizers").and_then(serde_json::Value::as_array);
    finalizers.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// A recorded body as JSON; one that is not JSON is shown as the text it is.
pub(super) fn object(body: &str) -> serde_json::Value {
    serde_json::from_str(body).unwrap_or_else(|_| serde_json::Value::String(body.to_owned()))
}

fn environments_of(
    view: &Connection,
    at: Offset,
    scope: &ResolvedScope,
    id: ResourceId,
) -> Result<Vec<EnvironmentId>> {
    let sql = concat!(
        "SELECT n.name_id FROM membership m CROSS JOIN environment_audience e ON e.environment_id = m.environment_id
            AND e.from_offset <= :at AND e.to_offset > :at
        JOIN environment_name n ON n.id = m.environment_id
        WHERE m.resource_id = :id AND m.from_offset <= :at AND m.to_offset > :at
            AND ",
        reads!(),
        " ORDER BY n.name_id"
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! { ":at": at.as_i64(), ":id": id.0, ":scope": scope.as_sql() };
    let rows = statement.query_map(params, |row| row.get::<_, String>(0).map(EnvironmentId::new))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
